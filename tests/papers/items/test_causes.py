# SPDX-License-Identifier: Apache-2.0
"""A claim that does not hold on the shipped runs has a cause, or candidates; experiments agree with what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.analysis.intervals import Estimate
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab_papers import select
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.items.verdicts import Verdict, judge
from tests.papers.conftest import Judged

FAILED = (Verdict.PARTLY, Verdict.DIFFERS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", select(), ids=lambda kind: f"{kind.paper}-{kind.id}")
def test_each_claim_that_does_not_hold_is_explained(kind: type[Item], judged: Judged, tmp_path: Path) -> None:
    """The reason for ``undecided`` is in its row, that of a claim which depends on our inputs is in its text."""
    store = Store(tmp_path / "runs")
    rows = [row for row in judged(kind) if row.profile == "paper" and row.runs]
    if not rows:
        pytest.skip("no column's runs are shipped")
    for column in dict.fromkeys(row.column for row in rows):
        failed = {row.claim: row for row in rows if row.column == column and row.verdict in FAILED}
        explained = [row for row in failed.values() if row.counted or row.own]
        assert [row.claim for row in explained if not (row.because or row.tried)] == []
        item = kind(profile="paper", column=column)
        compared = [cause for cause in item.causes() if cause.look is None and cause.claim in failed]
        if compared:
            runs = item.stored_runs(store)
            assert runs is not None
            assert disagreements(item, runs, set(failed), store) == []


def disagreements(item: Item, runs: Runs, failed: set[str], store: Store) -> list[str]:
    """Return the sentences about claims that do not hold which their shipped experiments contradict."""
    claims = {claim.id: claim for claim in item.claims.claims}
    here = item.measure(runs)
    words = {name: iter((*claim.causes(item.column), *claim.candidates(item.column))) for name, claim in claims.items()}
    wrong = []
    for cause in item.causes():
        claim, sentence = claims[cause.claim], next(words[cause.claim])
        experiment = cause.shown_by.stored_runs(store)
        if cause.look is not None or experiment is None or claim.id not in failed:
            continue
        there = cause.shown_by.measure(experiment)[claim.id]
        holds = judge(claim, there).verdict == Verdict.REPRODUCED
        if sentence in claim.candidates(item.column) and holds:
            wrong.append(f"{claim.id} holds there, so this is a cause: {sentence}")
        if sentence in claim.causes(item.column) and not (holds or differs(here[claim.id], there)):
            wrong.append(f"{claim.id} is the same there, so this is no cause: {sentence}")
    return wrong


def differs(here: Measured, there: Measured) -> bool:
    """Return whether the numbers of a case surely differ; without intervals, whether they differ at all."""
    cases = here.cases.keys() & there.cases.keys()
    return not cases or any(apart(here.cases[case], there.cases[case]) for case in cases)


def apart(one: float, other: float) -> bool:
    """Return whether two numbers' intervals do not overlap."""
    (low, high), (low_other, high_other) = (
        (number.low, number.high) if isinstance(number, Estimate) and number.known else (number, number)
        for number in (one, other)
    )
    return high < low_other or high_other < low


def test_numbers_differ_if_their_intervals_do_not_overlap() -> None:
    one = Measured({"a": Estimate(1, 0.5, 1.5), "b": 2.0})
    assert not differs(one, Measured({"a": Estimate(2, 1.4, 2.6)}))
    assert differs(one, Measured({"a": Estimate(2, 1.6, 2.4)}))
    assert differs(one, Measured({"a": Estimate(1, 0.5, 1.5), "b": 2.1}))
    assert differs(one, Measured({"c": 1.0}))
