# SPDX-License-Identifier: Apache-2.0
"""Rows of the benchmark have the spread of their rounds, and warn where rounds or other work leave a ratio open."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from typing import Any

import pytest

from rdcnlab.app import bench_rounds
from rdcnlab.app.bench_rounds import Rounds, missing, row, take, without


def _ratio(*rounds: tuple[float, float], other: float = 0.0, **goal: Any) -> dict[str, Any]:
    """The row of slow over fast, from the times of rounds."""
    times = [{"slow": slow, "fast": fast} for slow, fast in rounds]
    made = Rounds(times, [0.0] * (len(times) - 1) + [other])
    return made.row("slow over fast", lambda t: t["slow"] / t["fast"], "", ratio=True, **goal)


def test_a_ratio_is_computed_for_each_round() -> None:
    """Other work doubled both times of the second round. That of the least times of all rounds is 1.5."""
    made = _ratio((3.0, 2.0), (8.0, 4.0), (4.4, 2.0))
    assert made["value"] == 2
    assert (made["minimum"], made["maximum"], made["rounds"]) == (1.5, 2.2, 3)
    assert made["warning"] is None


def test_a_ratio_whose_rounds_disagree_on_the_faster_is_undecided() -> None:
    """1 / 1.1, 1.2 and 1.3: two of the rounds say that the first side is slower, one the opposite."""
    made = _ratio((1.0, 1.1), (1.2, 1.0), (1.3, 1.0))
    assert made["value"] == 1.2
    assert made["warning"] == "undecided which is faster: the range contains 1"


@pytest.mark.parametrize(("other", "warned"), [(0.09, False), (0.11, True)])
def test_a_round_with_other_work_warns(other: float, warned: bool) -> None:
    """More than a tenth of the cores in one of the rounds is enough."""
    made = _ratio((3.0, 2.0), (3.0, 2.0), (3.0, 2.0), other=other)
    assert made["other_percent"] == pytest.approx(100 * other)
    words = "other work had 11 % of the cores, which can turn this ratio round"
    assert made["warning"] == (words if warned else None)


def test_a_time_with_other_work_warns_in_other_words() -> None:
    assert row("time", [1.0, 3.0], "s", other=0.5)["warning"] == "other work had 50 % of the cores, which costs time"


@pytest.mark.parametrize(
    ("values", "holds", "warned"), [([1.8, 1.9], True, False), ([1.5, 1.6], False, False), ([1.6, 1.8], None, True)]
)
def test_a_goal_holds_in_all_rounds_or_is_undecided(values: list[float], holds: bool | None, warned: bool) -> None:
    made = row("two workers over one", values, "", at_least=1.7, ratio=True)
    assert made["holds"] is holds
    assert made["warning"] == ("undecided: rounds on both sides of the goal" if warned else None)


def test_a_goal_that_is_a_limit_holds_below_it() -> None:
    assert row("time", [1.0, 2.0], "s", at_most=2.0)["holds"] is True
    assert row("time", [2.1], "s", at_most=2.0)["holds"] is False


def test_a_ratio_of_one_round_has_no_spread() -> None:
    assert _ratio((3.0, 2.0))["warning"] == "one round, so the spread is unknown"


def test_a_round_in_which_setup_took_longest_gives_no_value() -> None:
    """A difference of two negative times would be a positive ratio."""
    assert math.isnan(without(1.0, 1.2) / without(2.0, 2.1))
    made = row("packets a second", [100.0, math.nan, 120.0], "1/s")
    assert (made["value"], made["rounds"]) == (110, 2)
    assert made["warning"] == "1 of 3 rounds gave no value: set-up took longer than all"
    assert row("packets a second", [math.nan], "1/s")["value"] is None


def test_what_cannot_be_measured_says_why() -> None:
    made = missing("BMv2", "simple_switch not found")
    assert made["measure"] == "BMv2: not measured, simple_switch not found"
    assert made["value"] is made["other_percent"] is made["warning"] is None
    assert made["rounds"] == 0


def test_all_measurements_are_made_in_each_round_in_alternating_order() -> None:
    """With a load that only rises, one side would otherwise always be the later one."""
    order: list[str] = []

    def measurement(name: str) -> float:
        order.append(name)
        return float(len(order))

    said: list[str] = []
    rounds = take(
        {name: lambda name=name: measurement(name) for name in "ab"},  # type: ignore[misc]
        say=said.append,
        what="letters",
    )
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert rounds.times == [{"a": 1, "b": 2}, {"b": 3, "a": 4}, {"a": 5, "b": 6}]
    assert len(rounds.others) == 3
    assert said[:2] == ["letters: a, round 1 of 3", "letters: b, round 1 of 3"]


def test_only_processes_that_are_not_ours_are_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores, 10 s: they were busy for 8 s, of which 5 s were ours. So others had 3 of 20."""
    clock = iter([100.0, 110.0])
    busy, own = iter([50.0, 58.0]), iter([1.0, 6.0])
    monkeypatch.setattr(bench_rounds, "cores", lambda: [0, 1])
    monkeypatch.setattr(bench_rounds, "busy_s", lambda: next(busy))
    monkeypatch.setattr(bench_rounds, "own_s", lambda: next(own))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert bench_rounds.Load().other() == pytest.approx(0.15)


def test_the_time_of_processes_below_ours_is_ours() -> None:
    """A child of a child counts, also after its end."""
    work = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'n = 0\\nwhile n < 10**7: n += 1'])"
    busy, own = bench_rounds.busy_s(), bench_rounds.own_s()
    subprocess.run([sys.executable, "-c", work], check=True)
    spent = bench_rounds.own_s() - own
    # ten million steps take every processor more than a tick of 10 ms
    assert spent > 0.01
    assert bench_rounds.busy_s() - busy > 0.01
