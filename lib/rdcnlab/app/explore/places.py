# SPDX-License-Identifier: Apache-2.0
"""The networks of the explorer: where two groups of flows meet, and which timetables are possible there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: What may happen to the network over time.
STILL, MOVES, WEEK = "nothing changes", "second group moves", "days and nights"


@dataclass(frozen=True)
class Group:
    """A group of flows.

    Parameters
    ----------
    name : str
        Begin of the flows' names. A preset gives addresses by it.
    fields : dict
        Fields of the first flow; ``{n}`` in a text stands for the flow's number.
    """

    name: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A network, and what one can ask in it.

    Parameters
    ----------
    label : str
        Its name in the menu.
    network : str or dict
        As in a scenario.
    groups : pair of Group
        The flows whose transports are compared.
    most : int
        Most flows of a group.
    links : tuple of str
        Two ways between which the flows of the second group can move: first the one where they begin, then the one
        that they share with the first group. Empty if there are none.
    schedules : tuple of str
        Schedules with days and nights; see `rdcnlab.app.explore.choice`.
    slot_ms, dark_ms, limit_ms : float
        Usual lengths of a slot or day, of a night, and of the run.
    start_ms : float
        Each flow begins at a random time until then. Without it most networks would give every seed the same run.
    """

    label: str
    network: Any
    groups: tuple[Group, Group]
    most: int = 8
    links: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()
    slot_ms: float = 10.0
    dark_ms: float = 0.0
    limit_ms: float = 200.0
    start_ms: float = 1.0

    @property
    def timetables(self) -> tuple[str, ...]:
        """The timetables that this network can have, the usual one first."""
        if isinstance(self.network, dict) and self.network["fabric"] == "rotor":
            return (WEEK,)
        return (MOVES, STILL) if self.links else (WEEK, STILL) if self.schedules else (STILL,)


# The hosts' lines are faster than the link. With lines of the same rate and a short queue, the phase between the two
# senders decides whose packets are dropped (Floyd and Jacobson 1991, "On Traffic Phase Effects in Packet-Switched
# Gateways"): two flows of Reno got 99.7 % and 0.3 %.
_DUMBBELL = {
    "fabric": "dumbbell", "pairs": 2, "mtu": "9000 B", "rate": "10 Gb/s", "delay": "40 us", "buffer": "500 kB",
    "host_rate": "40 Gb/s",
}  # fmt: skip
_ROTOR = {"fabric": "rotor", "racks": 4, "hosts": 2, "packet_rate": "10 Gb/s"}

PLACES: dict[str, Place] = {
    "aykurt": Place(
        "one switch (Aykurt)",
        "aykurt",
        (Group("main", {"path": "green"}), Group("migrated")),
        links=("blue", "green"),
    ),
    "two-switches": Place(
        "two switches (Dogar)",
        "two-switches",
        (Group("fn", {"path": "l_n", "back": "same"}), Group("fm", {"back": "same"})),
        links=("l_m", "l_n"),
        limit_ms=50.0,
    ),
    "two-tier-clos": Place(
        "leaves, spines (Dogar)",
        "two-tier-clos",
        (Group("fn", {"path": "spine1", "back": "same"}), Group("fm", {"back": "same"})),
        links=("spine2", "spine1"),
        limit_ms=50.0,
    ),
    "tdtcp": Place(
        "packets, circuit (Chen)",
        "tdtcp",
        (
            Group("first", {"src": "a{n}", "dst": "b{n}", "path": "forward", "back": "reverse", "connect": "ahead"}),
            Group("second", {"src": "a1{n}", "dst": "b1{n}", "path": "forward", "back": "reverse", "connect": "ahead"}),
        ),
        most=6,
        schedules=("forward", "reverse"),
        slot_ms=0.18,
        dark_ms=0.02,
        limit_ms=10.0,
    ),
    "rotor": Place(
        "rotor, four racks",
        _ROTOR,
        (
            Group("first", {"src": "h1", "dst": "h3", "connect": "ahead"}),
            Group("second", {"src": "h2", "dst": "h4", "connect": "ahead"}),
        ),
        slot_ms=0.18,
        dark_ms=0.02,
        limit_ms=10.0,
    ),
    "dumbbell": Place(
        "one link",
        _DUMBBELL,
        (Group("first", {"src": "s1", "dst": "r1"}), Group("second", {"src": "s2", "dst": "r2"})),
        limit_ms=100.0,
    ),
    "vargas": Place(
        "near and far (Vargas)",
        "vargas",
        (
            Group("near", {"src": "n{n}", "dst": "r", "path": "shared"}),
            Group("far", {"src": "f{n}", "dst": "r", "path": "shared"}),
        ),
        limit_ms=500.0,  # at 1 s the first curve would take more than 9 s of CPU time
        start_ms=50.0,  # the longer RTT
    ),
}
