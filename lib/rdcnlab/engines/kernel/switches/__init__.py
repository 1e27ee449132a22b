# SPDX-License-Identifier: Apache-2.0
"""Kinds of switches. A new kind needs an entry here, a package, a module in the guest, and a name in scenarios."""

from __future__ import annotations

import importlib

from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario

#: Modules of the kinds; each has an object ``KIND``.
KINDS = {
    "ocs": "rdcnlab.engines.kernel.switches.ocs",
    "bmv2": "rdcnlab.engines.kernel.switches.bmv2",
    "linux": "rdcnlab.engines.kernel.switches.linux",
}


def kind_of(scenario: Scenario) -> Kind:
    """Return the kind of a scenario's switches.

    Raises
    ------
    InputError
        This engine does not have this kind.
    """
    name = scenario.switch.kind
    if name not in KINDS:
        raise InputError.of("switch.kind", name, " or ".join(repr(known) for known in KINDS))
    found: Kind = importlib.import_module(KINDS[name]).KIND
    return found
