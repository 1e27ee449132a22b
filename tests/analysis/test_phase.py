# SPDX-License-Identifier: Apache-2.0
"""Equal senders that lose unequally at a full queue are named, with a jitter that ends it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rdcnlab.analysis.results import phase
from rdcnlab.runs.campaign import hints_of
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.run import Run
from tests.analysis.computed import line, run

EQUAL = {"rate": "10 Mb/s", "until": "4 s"}


def made(lost: tuple[int, int], event: str = "drop_tail", second: dict[str, Any] = EQUAL, sent: int = 3397) -> Run:
    """Return a run of two senders into a line of 10 Mb/s, of whose packets some are lost."""
    scenario = line("10 Mb/s", flows=(EQUAL, second))
    events = [
        {"t_ns": 1000 * number, "event": event, "link": "l@a", "flow": name, "value": 1500}
        for name, count in zip(("f1", "f2"), lost, strict=True)
        for number in range(count)
    ]
    counts = zip(("f1", "f2"), lost, strict=True)
    frames = {name: ("l@a", np.arange(1, sent - count + 1) / 1e3) for name, count in counts}
    return run(scenario, frames, events=events)


def test_of_two_equal_senders_one_loses_nearly_all() -> None:
    (effect,) = phase.effects(made((143, 3350)))
    assert (effect.place, effect.lost, effect.sent) == ("l@a", {"f1": 143, "f2": 3350}, {"f1": 3397, "f2": 3397})
    words = str(effect)
    assert words.startswith(
        "phase effect at l@a: equal senders lose unequally, f1 lost 143 of 3397, f2 lost 3350 of 3397"
    )
    # a frame of 1538 B takes 1.2304 ms
    assert "network.hosts.s1.jitter: 1300 us" in words
    assert "--check-phase" in words
    (hint,) = hints_of([made((143, 3350))])
    assert "phase effect at l@a" in hint


def test_it_is_no_phase_effect_if_chance_or_the_senders_explain_it() -> None:
    # binomial shares of 3397 packets, half of them lost, differ by 1.2 % in the standard deviation
    assert not phase.effects(made((1700, 1750)))
    assert not phase.effects(made((0, 0)))
    assert not phase.effects(made((143, 3350), event="drop_loss"))
    assert not phase.effects(made((143, 3350), second={**EQUAL, "rate": "11 Mb/s"}))
    few = made((2, 5), sent=10)
    assert not phase.effects(few), "4 standard deviations of the difference of 10 packets are 0.85"


def test_the_jitter_is_on_the_cables_of_all_senders() -> None:
    scenario = phase.jittered(line("10 Mb/s", flows=(EQUAL, EQUAL)))
    assert [host.jitter for host in scenario.network.hosts] == [1_300_000, 1_300_000, 0]
    given = line("10 Mb/s", flows=(EQUAL, EQUAL)).with_(**{"network.hosts.s1.jitter": "7 us"})
    assert [host.jitter for host in phase.jittered(given).network.hosts] == [7_000, 1_300_000, 0]


def test_the_numbers_that_change_are_told_from_those_that_do_not() -> None:
    before, after = Runs([made((143, 3350))]), Runs([made((1740, 1753))])
    table = phase.compared(before, after).set_index(["flow", "number"])
    assert table.loc[("f2", "lost packets"), ["plain", "jitter", "changes"]].tolist() == [3350, 1753, True]
    assert table.loc[("f1", "received packets"), ["plain", "jitter"]].tolist() == [3254, 1657]
    assert table["changes"].all()
    same = phase.compared(before, before)
    assert len(same) == 4
    assert not same["changes"].any()
    # within a tenth
    assert not phase.compared(Runs([made((1700, 1750))]), Runs([made((1800, 1650))]))["changes"].any()


@pytest.mark.parametrize("count", [2, 40])
def test_a_sentence_lists_few_senders(count: int) -> None:
    lost = {f"f{number}": 10 * number for number in range(count)}
    words = str(phase.PhaseEffect("l@a", dict.fromkeys(lost, 1000), lost, "Cure"))
    assert words.count(" lost ") == min(count, 4)
    assert ("(and 36 between)" in words) == (count == 40)
