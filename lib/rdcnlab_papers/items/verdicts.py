# SPDX-License-Identifier: Apache-2.0
"""The verdict on a claim, from its measurement and the intervals over seeds; `docs/verdicts.md` describes it.

A number has one of three verdicts: it satisfies the claim (``reproduced``), it is only on the right side of "no effect"
(``partly``), or neither (``differs``). A measurement with an interval has a verdict only if all numbers of the interval
have the same one; otherwise it is ``undecided``. A claim about several cases has the verdict of its worst case.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rdcnlab.analysis.intervals import Estimate
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items import openness
from rdcnlab_papers.items.claims import Claim

#: The remark of a verdict that another half of the seeds would change.
FLIPS = "flips on halves of the seeds; more seeds needed"
#: The remark of a verdict that is open only between `partly` and `differs`.
NOT_REPRODUCED = "not reproduced; the direction is undecided"


class Verdict(enum.StrEnum):
    """The verdict on a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    UNDECIDED = "undecided"
    DIFFERS = "differs"
    NOT_RUN = "not run"


#: The verdicts that a number can have, from the worst to the best.
_RANK = (Verdict.DIFFERS, Verdict.PARTLY, Verdict.REPRODUCED)


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim, and how it came about.

    Parameters
    ----------
    verdict : Verdict
        The verdict.
    holding, cases : int
        Number of cases that are reproduced, and number of all cases.
    remark : str
        A remark for readers, such as that there is no interval.
    by_case : tuple of Verdict
        The verdict on each case by itself.
    """

    verdict: Verdict
    holding: int = 0
    cases: int = 0
    remark: str = ""
    by_case: tuple[Verdict, ...] = ()

    @property
    def holds(self) -> str:
        """How many of several cases hold, in words; empty for a single case."""
        return f"{self.holding} of {self.cases} hold" if self.cases > 1 else ""


def judge(claim: Claim, measured: Measured | None, halves: Sequence[Measured] = ()) -> Judgement:
    """Judge a claim by the measurement for it.

    Parameters
    ----------
    claim : Claim
        The claim.
    measured : Measured or None
        The measurement; None if it was not run.
    halves : sequence of Measured
        The same measurement on halves of the seeds. If the numbers of one half alone would give another verdict, the
        claim is undecided. Their intervals do not matter: with half of the seeds they are wider.
    """
    if measured is None or not measured.cases:
        return Judgement(Verdict.NOT_RUN)
    possible = [_possible(claim, value) for value in measured.cases.values()]
    worst, best = (_of_cases(claim, [case[end] for case in possible]) for end in (0, 1))
    with_interval = sum(isinstance(value, Estimate) and value.known for value in measured.cases.values())
    missing = len(possible) - with_interval
    remark = (
        ""
        if not missing
        else "no interval"
        if not with_interval
        else f"no interval in {missing} of {len(possible)} cases"
    )
    verdict = worst if worst is best else Verdict.UNDECIDED
    if verdict is Verdict.UNDECIDED:
        not_reproduced = "" if best is Verdict.REPRODUCED else NOT_REPRODUCED
        remark = "; ".join(part for part in (remark, not_reproduced, *_open(claim, measured)) if part)
    if verdict is not Verdict.UNDECIDED and any(_contradicts(claim, half, verdict) for half in halves):
        alone = ", ".join(str(judge_numbers(claim, half)) for half in halves)
        verdict, remark = Verdict.UNDECIDED, f"{FLIPS}; alone they are: {alone}"
    by_case = tuple(low if low is high else Verdict.UNDECIDED for low, high in possible)
    return Judgement(verdict, by_case.count(Verdict.REPRODUCED), len(possible), remark, by_case)


def _open(claim: Claim, measured: Measured) -> tuple[str, str]:
    """Return why a claim is undecided by the intervals of its cases, and how many runs decide it; see `openness`."""
    cases = {
        case: value
        for case, value in measured.cases.items()
        if isinstance(value, Estimate) and len(set(_possible(claim, value))) > 1
    }
    by_numbers = judge_numbers(claim, measured)
    # one case that differs is enough; any other verdict needs all
    one = by_numbers is Verdict.DIFFERS and not claim.some
    deciding = {case: value for case, value in cases.items() if not one or _of_number(claim, value) is by_numbers}
    return openness.why_open(claim, cases), openness.runs_needed(claim, deciding, all_of_them=not one)


def _contradicts(claim: Claim, half: Measured, verdict: Verdict) -> bool:
    """Return whether the numbers of one half of the seeds give another verdict."""
    return judge_numbers(claim, half) not in (verdict, Verdict.NOT_RUN)


def judge_numbers(claim: Claim, measured: Measured | None) -> Verdict:
    """Return the verdict on a claim by the measured numbers alone, without their intervals."""
    if measured is None or not measured.cases:
        return Verdict.NOT_RUN
    return _of_cases(claim, [_of_number(claim, value) for value in measured.cases.values()])


def _of_number(claim: Claim, value: float) -> Verdict:
    """Return the verdict on a claim if the measured number is exactly `value`."""
    if claim.expect.holds(value):
        return Verdict.REPRODUCED
    if claim.none is not None and (value - claim.none) * claim.expect.direction(claim.none) > 0:
        return Verdict.PARTLY
    return Verdict.DIFFERS


def _possible(claim: Claim, value: float) -> tuple[Verdict, Verdict]:
    """Return the worst and the best verdict among all numbers of an interval."""
    numbers = [float(value)]
    if isinstance(value, Estimate) and value.known:
        # on each side of the expected numbers the verdict gets worse with the distance, so these are enough
        nearest = [min(max(bound, value.low), value.high) for bound in claim.expect.bounds]
        numbers += [value.low, value.high, *nearest]
    ranks = [_RANK.index(_of_number(claim, number)) for number in numbers]
    return _RANK[min(ranks)], _RANK[max(ranks)]


def _of_cases(claim: Claim, verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a claim from the verdicts on its cases."""
    ranks = [_RANK.index(verdict) for verdict in verdicts]
    worst = _RANK[min(ranks)]
    if claim.some and worst is not Verdict.REPRODUCED and max(ranks) == _RANK.index(Verdict.REPRODUCED):
        return Verdict(claim.some)
    return worst


def candidate(sentence: str, verdict: str = "") -> str:
    """Return what an experiment says about a candidate for an unknown cause.

    Parameters
    ----------
    sentence : str
        The candidate, and what was changed: one of a claim's `tried`.
    verdict : str
        Verdict on the claim in the experiment. Empty if the experiment did not judge it, or was not run.
    """
    if verdict in ("", Verdict.NOT_RUN):
        return f"cause unknown; tried: {sentence}"
    if verdict in (Verdict.PARTLY, Verdict.DIFFERS):
        return f"cause unknown; ruled out: {sentence}"
    if verdict == Verdict.UNDECIDED:
        return f"cause unknown; neither shown nor ruled out: {sentence}"
    return f"perhaps the cause, because the claim holds there: {sentence}"
