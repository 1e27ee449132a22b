# SPDX-License-Identifier: Apache-2.0
"""Verdicts from numbers and their intervals."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

import pytest

from rdcnlab.analysis.intervals import Estimate
from rdcnlab.runs.store import Store
from rdcnlab_papers import aykurt
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.claims import Claim
from rdcnlab_papers.items.judged import JudgedWording, from_data, judged, measured_before, to_data
from rdcnlab_papers.items.verdicts import FLIPS, Verdict, candidate, judge, judge_numbers

GAIN: dict[str, Any] = {"expect": {"near": 24, "tolerance": "25 %"}, "none": 0, "unit": "%"}
SMALL: dict[str, Any] = {"expect": {"below": 10}, "unit": "ms"}


def claim(**fields: Any) -> Claim:
    return Claim.model_validate({"id": "x", "text": "x", **fields})


@pytest.mark.parametrize(
    ("number", "verdict"),
    [
        (Estimate(24, 20, 28), "reproduced"),
        (Estimate(24, 17.9, 30), "undecided"),  # reaches out of the expected numbers
        (Estimate(17, 15, 19), "undecided"),  # reaches into them
        (Estimate(15, 12, 17.9), "partly"),
        (Estimate(60, 50, 70), "partly"),
        (Estimate(5, -1, 11), "undecided"),  # contains "no effect"
        (Estimate(-5, -9, -1), "differs"),
        (Estimate(20, -10, 50), "undecided"),
        (24.0, "reproduced"),
        (15.0, "partly"),
        (-1.0, "differs"),
        (math.nan, "differs"),
        (Estimate(24), "reproduced"),
    ],
)
def test_a_verdict_is_that_of_every_number_of_the_interval(number: float, verdict: str) -> None:
    assert judge(claim(**GAIN), Measured.one(number)).verdict == verdict


def test_without_none_a_claim_has_no_direction() -> None:
    without = claim(expect=GAIN["expect"])
    assert judge(without, Measured.one(Estimate(15, 12, 17))).verdict is Verdict.DIFFERS
    assert judge(claim(**SMALL), Measured.one(Estimate(9, 8, 10))).verdict is Verdict.UNDECIDED
    assert judge(claim(**SMALL), Measured.one(Estimate(9, 8, 9.9))).verdict is Verdict.REPRODUCED


def test_the_worst_case_decides_and_the_row_counts() -> None:
    def of(**numbers: float) -> tuple[str, str]:
        found = judge(claim(**GAIN), Measured(numbers))
        return str(found.verdict), found.holds

    good, small, bad, unsure = Estimate(24, 23, 25), Estimate(9, 8, 10), Estimate(-9, -10, -8), Estimate(18, 17, 19)
    assert of(a=good, b=good) == ("reproduced", "2 of 2 hold")
    assert of(a=good, b=small) == ("partly", "1 of 2 hold")
    assert of(a=good, b=unsure) == ("undecided", "1 of 2 hold")
    # the other cases cannot mend a case that differs
    assert of(a=unsure, b=bad) == ("differs", "0 of 2 hold")
    assert of(a=good) == ("reproduced", "")


@pytest.mark.parametrize(("some", "one", "with_unsure"), [("partly", "partly", "undecided"), ("reproduced",) * 3])
def test_a_claim_may_say_what_some_cases_are_worth(some: str, one: str, with_unsure: str) -> None:
    good, bad, unsure = Estimate(24, 23, 25), Estimate(-9, -10, -8), Estimate(18, 17, 19)
    asked = claim(**GAIN, some=some)
    assert judge(asked, Measured({"a": good, "b": bad})).verdict == one
    assert judge(asked, Measured({"a": good, "b": unsure})).verdict == with_unsure
    assert judge(asked, Measured({"a": bad, "b": bad})).verdict is Verdict.DIFFERS


def test_numbers_alone() -> None:
    assert judge_numbers(claim(**GAIN), Measured.one(Estimate(24, -100, 100))) is Verdict.REPRODUCED
    assert judge_numbers(claim(**GAIN), None) is Verdict.NOT_RUN


def test_a_row() -> None:
    first = {"text": "y", "expect": {"below": 5}, "until": date(2026, 11, 22)}
    asked = claim(**SMALL, was=first, calibrates="z")
    known: dict[str, Any] = {"own": False, "profile": "quick", "runs": 3}
    one = judged("p", "i", "c", asked, Measured({"a": Estimate(1, 0.5, 1.5), "b": 20}, "why"), **known)
    assert one.measured == "a: 1 ms (0.5 to 1.5), b: 20 ms; why"
    assert (one.verdict, one.holds) == ("differs", "1 of 2 hold")
    assert one.remark == "no interval in 1 of 2 cases"
    assert one.text == "x [used to calibrate: z]"
    assert not one.counted
    assert one.was == (JudgedWording("y", "< 5 ms", "", "not run", "2026-11-22"),)
    for missing in (None, Measured(), Measured(note="not all variants ran")):
        assert judged("p", "i", "c", asked, missing, before=[missing], **known).verdict == "not run"
    # the first wording is judged by the rule of its time: partly if some cases satisfied it
    partly = judged("p", "i", "c", asked, None, before=[Measured({"a": 1, "b": 20})], **known)
    assert partly.was[0].verdict == partly.first_verdict == "partly"
    assert from_data(json.loads(json.dumps(to_data([one, partly])))) == [one, partly]


def test_each_earlier_wording_has_the_measurement_of_its_time_or_of_the_next_later_one() -> None:
    names, until = ("first", "second", "third"), date(2026, 11, 22)
    wordings = [{"text": name, "expect": {"below": 5}, "until": until} for name in names]
    asked = claim(**SMALL, was=wordings)
    now, third, second = Measured.one(1), Measured.one(9), Measured.one(2)
    assert measured_before(asked, {"x": now}) == [now] * 3
    assert measured_before(asked, {"x": now, "x was": third}) == [third] * 3
    assert measured_before(asked, {"x": now, "x was": third, "x was 2": second}) == [second, second, third]
    before = measured_before(asked, {"x": now, "x was": third, "x was 1": second})
    row = judged("p", "i", "c", asked, now, before=before, own=False, profile="paper", runs=3)
    assert [(was.text, was.verdict) for was in row.was] == [
        ("first", "reproduced"), ("second", "differs"), ("third", "differs"),
    ]  # fmt: skip
    assert row.first_verdict == "reproduced"
    assert judged("p", "i", "c", asked, now, own=False, profile="paper", runs=3).first_verdict == "not run"


def test_the_median_of_ratios_that_are_expected_to_be_1_stands_beside_the_verdict() -> None:
    known: dict[str, Any] = {"own": False, "profile": "paper", "runs": 3}
    measured = Measured({"a": Estimate(0.5, 0.4, 0.6), "b": 1.0, "c": 0.62})
    ratios = claim(expect={"near": 1, "tolerance": "10 %"})
    assert judged("p", "i", "c", ratios, measured, **known).holds == "1 of 3 hold, median 0.62"
    assert judged("p", "i", "c", ratios, Measured.one(0.5), **known).holds == ""
    assert judged("p", "i", "c", ratios, None, **known).holds == ""
    assert judged("p", "i", "c", claim(**SMALL), measured, **known).holds == "3 of 3 hold"


def test_a_verdict_that_half_of_the_seeds_would_change_is_undecided() -> None:
    asked, whole = claim(**SMALL), Measured.one(Estimate(9, 8.5, 9.5))
    same, other = Measured.one(Estimate(9.4, 0, 20)), Measured.one(10.1)
    assert judge(asked, whole, [same, same]).verdict is Verdict.REPRODUCED
    found = judge(asked, whole, [same, other])
    assert (found.verdict, found.remark) == (Verdict.UNDECIDED, f"{FLIPS}; alone they are: reproduced, differs")
    # a half that lacks the runs of a claim says nothing
    assert judge(asked, whole, [same, Measured()]).verdict is Verdict.REPRODUCED
    # the reason of what the interval leaves open is the interval
    remark = judge(asked, Measured.one(Estimate(9, 7, 11)), [other, other]).remark
    assert remark == f"the interval reaches from 3 below to 1 above 10{needed('at most 4')}"


def needed(times: str) -> str:
    return f"; {times} times as many runs are needed if the numbers stay"


@pytest.mark.parametrize(
    ("cases", "listed", "decided_by"),
    [
        # all cases must be decided
        (
            {"a": Estimate(9, 7, 11), "b": Estimate(8, 5, 11), "c": Estimate(1, 0, 2)},
            "a (3 below to 1 above 10), b (5 below to 1 above 10)",
            needed("at most 4"),
        ),
        # one case that differs decides
        (
            {"a": Estimate(9, 7, 11), "b": Estimate(12, 9, 15)},
            "a (3 below to 1 above 10), b (1 below to 5 above 10)",
            needed("at most 2.3"),
        ),
        (
            {"a": Estimate(10, 9, 11)},
            "a (1 below to 1 above 10)",
            "; no number of runs decides if the number stays, which is the bound itself",
        ),
        ({"a": Estimate(9.99, 8.99, 10.99)}, "a (1.01 below to 0.99 above 10)", needed("more than 1000")),
        # not the interval of a mean
        ({"a": Estimate(9, 8, 11)}, "a (2 below to 1 above 10)", ""),
    ],
)
def test_a_row_says_what_is_open_and_how_many_runs_decide(
    cases: dict[str, float], listed: str, decided_by: str
) -> None:
    assert judge(claim(**SMALL), Measured(cases)).remark == f"open: {listed}{decided_by}"


def test_no_effect_is_a_bound_too_and_not_all_cases_are_listed() -> None:
    found = judge(claim(**GAIN), Measured.one(Estimate(1, -1, 3)))
    reach = "the interval reaches from 1 below to 3 above 0"
    assert found.remark == f"not reproduced; the direction is undecided; {reach}{needed('at most 4')}"
    many = judge(claim(**SMALL), Measured({name: Estimate(9, 7, 11) for name in "abcde"})).remark
    assert "c (3 below to 1 above 10), and 2 more; at most" in many


@pytest.mark.usefixtures("fake_engine")
def test_halves_have_every_other_seed(store: Store) -> None:
    item = aykurt.fig8a(seeds=5, periods_ms=[50])
    runs = item.run(store=store, progress=False)
    seeds = [sorted(run.scenario.seed for run in half) for half in item.halves(runs)]
    assert seeds == [[0, 2, 4], [1, 3]]
    assert item.halves(runs.select(lambda scenario: scenario.seed == 0)) == []
    # only one seed has all scenarios, so a half would lack some
    more = aykurt.fig8a(seeds=2, periods_ms=[50, 10]).run(store=store, progress=False)
    assert len(item.halves(more)) == 2
    assert item.halves(more.part(0, 3)) == []
    for kind in (aykurt.fig15, aykurt.tab3, aykurt.general):
        assert kind.undivided
        assert kind().halves(runs) == []


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("", "cause unknown; tried: the card"),
        ("not run", "cause unknown; tried: the card"),
        ("differs", "cause unknown; ruled out: the card"),
        ("partly", "cause unknown; ruled out: the card"),
        ("undecided", "cause unknown; neither shown nor ruled out: the card"),
        ("reproduced", "perhaps the cause, because the claim holds there: the card"),
    ],
)
def test_the_verdict_of_an_experiment_says_whether_a_candidate_is_ruled_out(verdict: str, said: str) -> None:
    assert candidate("the card", verdict) == said
