# SPDX-License-Identifier: Apache-2.0
"""Rounds of measurements that are compared, the spread of what they give, and what other work did meanwhile.

All measurements of a comparison are made in each round, one beside the other, so that other work on the machine meets
all of them. A ratio is computed for each round from the times of that round. A row has the median of its rounds and
their range. It has a warning if the rounds disagree on which side is faster, or if other work had much of the machine.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel import cores

#: The least number of rounds whose range says something.
ROUNDS = 3
#: Share of the cores' time above which other work is reported. An idle machine's services stay below it.
OTHER_SHARE = 0.1

Row = dict[str, Any]
#: Seconds of each measurement of a round, by name.
Times = Mapping[str, float]
#: Called with what happens now, in words.
Say = Callable[[str], None]


def silent(_words: str) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class Rounds:
    """What was measured in some rounds.

    Parameters
    ----------
    times : sequence of mapping
        For each round, the seconds of each measurement by name.
    others : sequence of float
        For each round, the share of the cores' time that processes other than ours had, 0 to 1.
    """

    times: Sequence[Times]
    others: Sequence[float]

    def row(
        self,
        measure: str,
        quantity: Callable[[Times], float],
        unit: str,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        ratio: bool = False,
    ) -> Row:
        """Return the line of the table for a quantity that is computed for each round; see `row`."""
        return row(
            measure,
            [quantity(times) for times in self.times],
            unit,
            at_most=at_most,
            at_least=at_least,
            ratio=ratio,
            other=max(self.others, default=0.0),
        )


def take(
    measured: Mapping[str, Callable[[], float]], count: int = ROUNDS, *, say: Say = silent, what: str = ""
) -> Rounds:
    """Make all measurements in each round; every second round has them in reverse order.

    Parameters
    ----------
    measured : mapping of str to callable
        By name, what makes a measurement and returns its seconds.
    count : int
        Number of rounds.
    say : callable
        Called before each measurement with what happens now.
    what : str
        What the measurements are about, for `say`.
    """
    rounds, others = [], []
    for number in range(count):
        load = Load()
        times = {}
        for name in list(measured)[:: -1 if number % 2 else 1]:
            say(f"{what}: {name}, round {number + 1} of {count}")
            times[name] = measured[name]()
        rounds.append(times)
        others.append(load.other())
    return Rounds(rounds, others)


def without(whole_s: float, empty_s: float) -> float:
    """Return the time of a run without that of its set-up; NaN if other work made the set-up take longer.

    Examples
    --------
    >>> without(3.0, 1.0)
    2.0
    >>> without(1.0, 1.5)
    nan
    """
    return whole_s - empty_s if whole_s > empty_s else math.nan


def row(
    measure: str,
    values: Sequence[float],
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    ratio: bool = False,
    other: float = 0.0,
) -> Row:
    """Return one line of the benchmark's table.

    Parameters
    ----------
    measure, unit : str
        What was measured, and its unit.
    values : sequence of float
        The value of each round; none if it cannot be measured here, NaN if a round gave none.
    at_most, at_least : float, optional
        The goal.
    ratio : bool
        Whether this compares two measurements, so that 1 means that both are equal.
    other : float
        Share of the cores' time that other processes had in the round in which they had most, 0 to 1.

    Returns
    -------
    dict
        ``value`` is the median; ``holds`` is None without a goal, and also where some rounds hold and others do not.
    """
    known = [value for value in values if math.isfinite(value)]
    goal, held = None, set()
    if at_most is not None:
        goal, held = f"at most {at_most:g}", {value <= at_most for value in known}
    if at_least is not None:
        goal, held = f"at least {at_least:g}", {value >= at_least for value in known}
    warning = "; ".join(_warnings(values, known, undecided=len(held) > 1, ratio=ratio, other=other))
    return {
        "measure": measure,
        "value": statistics.median(known) if known else None,
        "minimum": min(known, default=None),
        "maximum": max(known, default=None),
        "rounds": len(known),
        "unit": unit,
        "goal": goal,
        "holds": held.pop() if len(held) == 1 else None,
        "other_percent": round(100 * other, 1) if values else None,
        "warning": warning or None,
    }


def _warnings(
    values: Sequence[float], known: Sequence[float], *, undecided: bool, ratio: bool, other: float
) -> list[str]:
    """Return what a reader must know before using a row."""
    messages = []
    if ratio and known and min(known) <= 1 <= max(known):
        messages.append("undecided which is faster: the range contains 1")
    if undecided:
        messages.append("undecided: rounds on both sides of the goal")
    if ratio and len(known) == 1:
        messages.append("one round, so the spread is unknown")
    if len(known) < len(values):
        messages.append(
            f"{len(values) - len(known)} of {len(values)} rounds gave no value: set-up took longer than all"
        )
    if values and other > OTHER_SHARE:
        effect = "can turn this ratio round" if ratio else "costs time"
        messages.append(f"other work had {100 * other:.0f} % of the cores, which {effect}")
    return messages


def missing(measure: str, reason: str, unit: str = "") -> Row:
    """Return the line of a measurement that cannot be made here, with the reason."""
    return row(f"{measure}: not measured, {reason}", [], unit)


class Load:
    """The share of the cores' time that other processes have, from the moment in which this is made.

    Ours are this process and all below it. Time that a hypervisor gives to other machines counts as other work.
    """

    def __init__(self) -> None:
        self._start = time.monotonic(), busy_s(), own_s()

    def other(self) -> float:
        """Return the share until now, 0 to 1."""
        start_s, busy, own = self._start
        all_s = (time.monotonic() - start_s) * len(cores())
        share = (busy_s() - busy - (own_s() - own)) / all_s if all_s else 0.0
        return min(max(share, 0.0), 1.0)


def busy_s() -> float:
    """Return the seconds since boot in which the cores that we may use were not idle, all cores together."""
    mine = {f"cpu{number}" for number in cores()}
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in mine:
            # user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user
            user, nice, system, _, _, irq, softirq, steal = (int(field) for field in fields[:8])
            ticks += user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def own_s() -> float:
    """Return the processor seconds of this process, of all processes below it, and of those that have ended."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue  # the process has ended
        # the name may contain spaces; after it: state, parent, ...; fields 14 to 17 of proc(5) are times
        fields = text.rpartition(")")[2].split()
        number = int(path.parent.name)
        parents[number], ticks[number] = int(fields[1]), sum(int(field) for field in fields[11:15])
    total = 0
    for number, spent in ticks.items():
        above: int | None = number
        while above and above != os.getpid():
            above = parents.get(above)
        total += spent if above else 0
    return total / os.sysconf("SC_CLK_TCK")
