# SPDX-License-Identifier: Apache-2.0
"""The classes of a switch that write their rule's version into packets, for receivers of NUFTCP (Dogar et al.)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rdcnlab.engines.network import Network
from rdcnlab.engines.network.forwarding import Entry
from rdcnlab.fields.errors import InputError

#: How a class handles versions: it writes none; at the first switch of a way it writes its own; at later switches it
#: writes its own if that is newer than the packet's.
NONE, WRITE, RAISE = 0, 1, 2
#: Microseconds that receivers hold duplicate ACKs with NUFTCP (Dogar et al., Sec. 3.2: "less than 1 ms or 2 ms").
HOLD_US = 1000


def versions_of(network: Network, entry: Entry, switch: int) -> int:
    """Return how the class of a way handles versions at a switch.

    It writes them if its rule changes there and one of its flows has NUFTCP.
    """
    way, every = entry.way, network.traffic.all
    if len(entry.durations) < 2 or not any(every[flow].control.reads_versions for flow, _ in way.flows):
        return NONE
    # the first whose rule changes, not the first of the way
    changes = [index for index in way.route.switches if index in way.steps and not way.steps[index].static]
    name = network.switches[switch]
    if name not in changes:
        return NONE
    return WRITE if changes[0] == name else RAISE


def check_countable(field: str, durations: Sequence[int], targets: Sequence[object], dark: object) -> None:
    """Raise InputError if a switch that counts slots of equal length cannot count a timetable's changes.

    Parameters
    ----------
    field : str
        Field of the timetable, for the message.
    durations : sequence of int
        Durations of its slots in ns.
    targets : sequence
        The target of each slot.
    dark : object
        The target of dark slots.
    """
    same = any(one == other for one, other in pairwise([*targets, targets[0]]))
    if len(set(durations)) > 1 or dark in targets or same:
        allowed = (
            "slots of one length, none of them dark, each with another link than the one before, with NUFTCP and bmv2: "
            "its program counts slots as versions"
        )
        raise InputError.of(field, f"a timetable of {len(targets)} slots", allowed)
