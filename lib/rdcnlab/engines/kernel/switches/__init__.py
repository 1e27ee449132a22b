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


def kinds_of(scenario: Scenario) -> tuple[Kind, ...]:
    """Return the kind of each switch of a scenario, by the switch's number.

    Raises
    ------
    InputError
        This engine does not have a kind.
    """
    nodes = scenario.network.switches
    if not nodes:
        return (_kind(scenario.switch.kind, "switch.kind"),)
    fields = ("switch.kind" if node.kind is None else f"network.switches.{node.name}.kind" for node in nodes)
    return tuple(_kind(scenario.kind_at(node.name), field) for node, field in zip(nodes, fields, strict=True))


def _kind(name: str, field: str) -> Kind:
    if name not in KINDS:
        raise InputError.of(field, name, " or ".join(repr(known) for known in KINDS))
    found: Kind = importlib.import_module(KINDS[name]).KIND
    return found
