# SPDX-License-Identifier: Apache-2.0
"""The instants of timetables, in the order of time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence


def changes(timetables: Mapping[int, tuple[int, Sequence[int]]]) -> Iterator[tuple[int, int, int]]:
    """Yield instant, number of the timetable, and how many slots have begun before, for each slot that begins.

    Parameters
    ----------
    timetables : mapping
        By number: the instant at which the first slot begins, and the ns of each slot. The slots repeat for ever; a
        single slot never ends.
    """
    waiting = [(first, number, 0) for number, (first, _) in timetables.items()]
    heapq.heapify(waiting)
    while waiting:
        instant, number, count = heapq.heappop(waiting)
        yield instant, number, count
        durations = timetables[number][1]
        if len(durations) > 1:
            heapq.heappush(waiting, (instant + durations[count % len(durations)], number, count + 1))
