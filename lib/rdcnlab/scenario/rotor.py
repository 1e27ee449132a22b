# SPDX-License-Identifier: Apache-2.0
"""Weeks of a rotor switch: the timetable of one pair of racks, which has its circuit once a week."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario.timetable import DARK

#: Nights of a week in which the pair is dark: the one before its circuit, this and the one after, all, or none.
Blocked = Literal["before", "around", "all", "none"]


def week(
    *,
    day: int,
    night: int,
    days: int = 7,
    packet: str = "packet",
    circuit: str = "circuit",
    blocked: Blocked = "before",
    queue: str | None = None,
    grown: str | None = None,
    ahead: int = 0,
) -> list[dict[str, Any]]:
    """Return the slots of a week as plain data of `Schedule.slots`; the circuit is up on the last day.

    Parameters
    ----------
    day, night : int
        Durations in ns; a night follows each day.
    days : int
        Number of days of the week, at least 2.
    packet, circuit : str
        Links that carry the packets during the days: `packet` on all days but the last, `circuit` on the last.
    blocked : {'before', 'around', 'all', 'none'}
        Nights in which the pair is dark. In the other nights it uses the packet network.
    queue, grown : str or None
        Limits of the schedule's queue, such as ``16 packets``. The limit is `grown` from `ahead` before the circuit's
        day until the end of that day, and `queue` at all other times. Give both or neither.
    ahead : int
        Time in ns.

    Raises
    ------
    InputError
        The queue would grow before the week begins, or only one of the two limits is given.
    """
    if days < 2:
        raise InputError.of("days", days, "at least 2")
    if (queue is None) != (grown is None):
        raise InputError.of("grown", grown, "given with queue", reason="set grown and queue together, or neither")
    spans: list[tuple[int, str]] = []
    for number in range(days):
        dark = (
            blocked == "all"
            or (blocked != "none" and number == days - 2)
            or (blocked == "around" and number == days - 1)
        )
        spans += [(day, circuit if number == days - 1 else packet), (night, DARK if dark else packet)]
    slots: list[dict[str, Any]] = []
    for duration, link in spans:
        if not duration:
            continue
        if slots and slots[-1]["link"] == link:
            slots[-1]["duration"] += duration
        else:
            slots.append({"duration": duration, "link": link})
    for slot in slots:
        if slot["link"] == circuit:
            slot["tdn"] = 1
    return slots if grown is None else _growing(slots, circuit, queue, grown, ahead)


def rotation(links: Sequence[str], *, day: int, night: int) -> list[dict[str, Any]]:
    """Return the slots of a week in which each day is a different network, as plain data of `Schedule.slots`.

    Parameters
    ----------
    links : sequence of str
        One link for each day. Day i is time-division network i; hosts are notified when it begins.
    day, night : int
        Durations in ns; a night in which no packet passes follows each day.
    """
    return [
        {"duration": duration, "link": target, "tdn": number}
        for number, link in enumerate(links)
        for duration, target in ((day, link), (night, DARK))
        if duration
    ]


def _growing(
    slots: list[dict[str, Any]], circuit: str, queue: str | None, grown: str, ahead: int
) -> list[dict[str, Any]]:
    """Split the slot in which the queue grows, and shrink the queue when the circuit's day ends."""
    index = next(number for number, slot in enumerate(slots) if slot["link"] == circuit)
    start = sum(slot["duration"] for slot in slots[:index]) - ahead
    if start < 0:
        raise InputError.of("ahead", ahead, "at most the time from the start of the week to the circuit's day")
    split: list[dict[str, Any]] = []
    elapsed = 0
    for slot in slots:
        until_growth = start - elapsed
        if 0 < until_growth < slot["duration"]:
            split += [
                {**slot, "duration": until_growth},
                {**slot, "duration": slot["duration"] - until_growth, "queue": grown},
            ]
        else:
            split.append({**slot, "queue": grown} if until_growth == 0 else dict(slot))
        elapsed += slot["duration"]
    end = next(number for number, slot in enumerate(split) if slot["link"] == circuit) + 1
    split[end % len(split)]["queue"] = queue
    return split
