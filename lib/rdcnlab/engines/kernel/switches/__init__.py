# SPDX-License-Identifier: Apache-2.0
"""Kinds of switches. A new kind needs an entry here, a package, a module in the guest, and a name in scenarios."""

from __future__ import annotations

import importlib

from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.network import Network
from rdcnlab.fields.errors import InputError

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


def kinds_of(network: Network) -> tuple[Kind, ...]:
    """Return the kind of each switch of a network, by the switch's number.

    Raises
    ------
    InputError
        This engine does not have a kind.
    """
    modules = KINDS if network.is_named else KINDS | OWN_LINES
    kinds: list[Kind] = []
    for number, name in enumerate(network.kinds):
        if name not in modules:
            raise InputError.of(network.kind_field(number), name, " or ".join(map(repr, KINDS)))
        kinds.append(importlib.import_module(modules[name]).KIND)
    return tuple(kinds)
