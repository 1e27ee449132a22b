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
    "ovs": "rdcnlab.engines.kernel.switches.ovs",
    "linux": "rdcnlab.engines.kernel.switches.linux",
}
#: Kinds that have lines of their own, instead of the kernel's, in a network that names no switch.
OWN_LINES = {
    "bmv2": "rdcnlab.engines.kernel.switches.bmv2.alone",
    "linux": "rdcnlab.engines.kernel.switches.linux_alone",
}


def kinds_of(scenario: Scenario) -> tuple[Kind, ...]:
    """Return the kind of each switch of a scenario, by the switch's number.

    Raises
    ------
    InputError
        This engine does not have a kind.
    """
    modules = KINDS if scenario.network.switches else KINDS | OWN_LINES
    found = []
    for node in scenario.network.nodes:
        name = scenario.kind_at(node.name)
        if name not in modules:
            raise InputError.of(scenario.kind_field(node.name), name, " or ".join(map(repr, KINDS)))
        kind: Kind = importlib.import_module(modules[name]).KIND
        found.append(kind)
    return tuple(found)
