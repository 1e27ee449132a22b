# SPDX-License-Identifier: Apache-2.0
"""How columns get inputs: ``python -m rdcnlab_papers.dogar.calibration`` shows the tables of ``calibrated``.

With the word ``cards`` it takes the meeting of the column ``cards``, and writes it. docs/decisions/dogar.md and
cards.md fix statements, grids and rules. Missing runs are made, so the command goes on where it ended.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import change_all
from rdcnlab_papers.dogar import testbeds
from rdcnlab_papers.dogar.fig2 import STATED, Fig2
from rdcnlab_papers.dogar.fig9 import Fig9
from rdcnlab_papers.dogar.space import SMALL, Setting
from rdcnlab_papers.items import calibrated, claims

#: The values that are tried: longest time for which the groups meet, and gap without a rule for f_m, both in ms.
MEETINGS_MS = tuple(round(0.2 + 0.05 * number, 2) for number in range(13))
GAPS_MS = (100, 200, 300, 400, 500, 600)
#: What is stated: packets that BBR loses with the small buffer, and the loss at an update every second in %.
LOST, COST = Fig9.stated_numbers["bbr"], STATED[1.0]
#: Gaps whose costs differ by no more points from the nearest are as near.
_ALIKE = 1.0
#: A longer meeting loses more, so step 1 ends at the first value that loses so many times the text's number.
_FAR = 1.5
#: Without a gap, flows have forgotten an update after some milliseconds, so step 1 has all of its times shortened.
_SCALE = 0.1


def lost(
    meeting_ms: float, gap_ms: int, *, scale: float, updates: int, changes: Mapping[str, Any] | None = None
) -> float:
    """Return the packets that BBR loses in 300 updates with the small buffer, mean of seeds 0 and 1.

    `changes` are those of another column, which are made in addition.
    """
    item = Fig9(
        profile="paper",
        column=testbeds.CALIBRATED,
        variants=("bbr",),
        seeds=2,
        scale=scale,
        updates=updates,
        change_ms=meeting_ms / scale,
        dark_ms=gap_ms,
        changes=dict(changes or {}),
    )
    scenarios = [item.scenario("bbr", Setting(SMALL), seed) for seed in item.seed_range]
    made = campaign(change_all(scenarios, item.all_changes), needs=item.parts_of, workers=1, progress=False)
    return float(item.lost(Runs(tuple(made), item.read_parts))["value"].mean())


def cost(meeting_ms: float, gap_ms: int) -> float:
    """Return the throughput in % that an update every second costs with the large buffer, mean of the variants."""
    # figure 2 is not scored in the column, so its inputs and its kernel are given one by one
    given = testbeds.FIXED._replace(change_ms=meeting_ms, dark_ms=gap_ms)._asdict()
    inputs = {name: value for name, value in given.items() if name in Fig2.model_fields}
    changes = next(column.changes for column in claims.paper("dogar").columns if column.id == testbeds.CALIBRATED)
    item = Fig2(profile="paper", intervals_s=(1.0,), seeds=1, updates=2, changes=changes, **inputs)
    return float(item.lost(item.run(workers=1, progress=False))["value"].mean())


def distance(number: float) -> float:
    """Return how far a number of losses is from the text's, as the logarithm of their ratio without its sign."""
    return abs(math.log(number / LOST)) if number > 0 else math.inf


def shortest_of_nearest(costs: Mapping[int, float]) -> int:
    """Return the shortest gap whose cost is at most a point farther from the text's number than the nearest cost."""
    least = min(abs(value - COST) for value in costs.values())
    return min(gap for gap, value in costs.items() if abs(value - COST) <= least + _ALIKE)


def walk(start: float, number_at: Callable[[float], float]) -> float:
    """Go from a meeting to its neighbours in the direction of the text's number as long as the distance shrinks."""
    place = MEETINGS_MS.index(start)
    step = 1 if number_at(start) < LOST else -1
    while 0 <= place + step < len(MEETINGS_MS):
        here, there = (distance(number_at(MEETINGS_MS[at])) for at in (place, place + step))
        if there >= here:
            break
        place += step
    return MEETINGS_MS[place]


def _shown(name: str, unit: str, numbers: Iterable[tuple[float, float]]) -> dict[float, float]:
    """Print numbers as they come, and return them."""
    table = {}
    for value, number in numbers:
        table[value] = number
        print(f"{name} {value:g} ms: {number:.4g} {unit}", flush=True)
    return table


def meeting_without_gap(**options: Any) -> float:
    """Print step 1, and return the meeting whose number is nearest to the text's."""
    first: dict[float, float] = {}
    for value in MEETINGS_MS:
        number = lost(value, 0, scale=_SCALE, updates=20, **options)
        first |= _shown("step 1, meeting", "packets", [(value, number)])
        if number > _FAR * LOST:
            break
    return min(first, key=lambda value: distance(first[value]))


def meeting_with_gap(start: float, gap_ms: int, **options: Any) -> float:
    """Print step 3, and return the meeting at which it ends."""
    third: dict[float, float] = {}

    def number_at(value: float) -> float:
        if value not in third:
            number = lost(value, gap_ms, scale=1, updates=5, **options)
            third.update(_shown(f"step 3, gap {gap_ms} ms, meeting", "packets", [(value, number)]))
        return third[value]

    return walk(start, number_at)


def show_calibrated() -> None:
    """Print the three tables of the column ``calibrated``, and the value that each step takes."""
    meeting = meeting_without_gap()
    second = _shown(f"step 2, meeting {meeting:g} ms, gap", "%", ((gap, cost(meeting, gap)) for gap in GAPS_MS))
    gap = shortest_of_nearest({int(value): number for value, number in second.items()})
    print(f"meeting {meeting_with_gap(meeting, gap):g} ms, gap {gap} ms")


def take_cards() -> None:
    """Take the meeting of the column ``cards``, with the wait that the column ``cards`` of aykurt has.

    Raises
    ------
    FileNotFoundError
        That wait has not been taken.
    """
    wait_us = calibrated.values("aykurt", testbeds.CARDS)["wait_us"]
    wait = {"offload.coalesce": f"{wait_us:g} us"}
    changes = {**calibrated.planned("dogar", testbeds.CARDS), **wait}
    meeting = meeting_with_gap(meeting_without_gap(changes=changes), testbeds.GAP_MS, changes=changes)
    values = {testbeds.MEETING: meeting, "wait_us": wait_us}
    path = calibrated.write("dogar", testbeds.CARDS, values, wait, "rdcnlab_papers.dogar.calibration cards")
    print(f"meeting {meeting:g} ms, wait {wait_us:g} us: {path}")


if __name__ == "__main__":
    take_cards() if sys.argv[1:] == [testbeds.CARDS] else show_calibrated()
