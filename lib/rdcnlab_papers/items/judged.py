# SPDX-License-Identifier: Apache-2.0
"""`JudgedClaim`: the verdict on a claim in one column, with all that readers see of it, and its form as plain data."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from pydantic import TypeAdapter

from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.claims import Claim, EarlierWording
from rdcnlab_papers.items.verdicts import Verdict, judge, judge_numbers


@dataclass(frozen=True)
class JudgedCase:
    """The measured number of one case in words, and the verdict on it; the verdict is empty if it was not judged."""

    case: str
    measured: str
    verdict: str


@dataclass(frozen=True)
class JudgedWording:
    """An earlier wording of a claim, the day on which it was changed, and the verdict on it by the rule of its time."""

    text: str
    expected: str
    measured: str
    verdict: str
    until: str


@dataclass(frozen=True)
class JudgedClaim:
    """A row of a scorecard.

    Parameters
    ----------
    paper, item, claim, column : str
        The claim's id, and where it was judged.
    text, expected, measured : str
        The statement, the numbers that satisfy it, and the measured ones, in words.
    verdict : str
        The verdict.
    cases : tuple of JudgedCase
        The measurement by case.
    note : str
        What the measurement adds to its numbers.
    profile : str
        Profile of the runs.
    runs : int
        Number of runs.
    shipped : str
        Verdict from the shipped runs of the paper profile, if the runs are fewer; otherwise empty.
    holds, remark : str
        How many of several cases hold, with the median of ratios that should be 1, and a remark on the verdict.
    because, tried : tuple of str
        The sentences on causes and on candidates for them; see `Claim`.
    own : bool
        Whether the expectation is ours.
    counted : bool
        Whether the claim counts in the score.
    uncounted : str
        The kind of reason why it does not count; see `Claim.reasons`.
    sign : bool
        Whether the claim is about a sign only; see `Claim.is_sign`.
    weak : str
        Why little follows if it holds; empty for most claims.
    was : tuple of JudgedWording
        The earlier wordings, if the claim was restated; the first one first.
    """

    paper: str
    item: str
    claim: str
    column: str
    text: str
    verdict: str
    expected: str
    measured: str
    cases: tuple[JudgedCase, ...]
    note: str
    profile: str
    runs: int
    shipped: str
    holds: str
    remark: str
    because: tuple[str, ...]
    tried: tuple[str, ...]
    own: bool
    counted: bool
    uncounted: str
    sign: bool
    weak: str
    was: tuple[JudgedWording, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The item and the claim's id: the same in all columns of a paper."""
        return self.item, self.claim

    @property
    def remarks(self) -> str:
        """How many cases hold, and the remark on the verdict."""
        return "; ".join(part for part in (self.holds, self.remark) if part)

    @property
    def first_verdict(self) -> str:
        """The verdict on the first wording; if the claim was not restated, on the only one."""
        return self.was[0].verdict if self.was else self.verdict


Rows = Sequence[JudgedClaim]
_FORM = TypeAdapter(list[JudgedClaim])


def to_data(rows: Iterable[JudgedClaim]) -> list[dict[str, Any]]:
    """Return judged claims as plain data, for JSON."""
    data: list[dict[str, Any]] = _FORM.dump_python([*rows], mode="json")
    return data


def from_data(data: Iterable[Any]) -> list[JudgedClaim]:
    """Return judged claims from plain data that `to_data` made.

    Raises
    ------
    ValueError
        The data have another form.
    """
    return _FORM.validate_python([*data])


def cases(measured: Measured | None, unit: str, by_case: Sequence[Verdict] = ()) -> tuple[JudgedCase, ...]:
    """Return the number of each case in words, and the verdict on it."""
    words = {} if measured is None else measured.words(unit)
    of_cases: Sequence[str] = by_case or [""] * len(words)
    return tuple(
        JudgedCase(case, number, str(verdict)) for (case, number), verdict in zip(words.items(), of_cases, strict=True)
    )


def judged(
    paper: str,
    item: str,
    column: str,
    claim: Claim,
    measured: Measured | None,
    *,
    before: Sequence[Measured | None] = (),
    halves: Sequence[Measured] = (),
    own: bool,
    profile: str,
    runs: int,
    shipped: str = "",
) -> JudgedClaim:
    """Judge a claim in a column.

    Parameters
    ----------
    paper, item, column : str
        Paper, item and column in which the claim is judged.
    claim : Claim
        The claim.
    measured : Measured or None
        The measurement for the claim. None if it was not run.
    before : sequence of Measured or None
        The measurements for its earlier wordings.
    halves : sequence of Measured
        The measurement for the claim on halves of the seeds; see `judge`.
    own : bool
        Whether the item's expectations are our goals.
    profile, runs, shipped
        As `JudgedClaim` has them.
    """
    judgement = judge(claim, measured, halves)
    not_counted = claim.not_counted(column)
    return JudgedClaim(
        paper=paper,
        item=item,
        claim=claim.id,
        column=column,
        text=claim.text + (f" [{not_counted}]" if not_counted else ""),
        verdict=str(judgement.verdict),
        expected=claim.expect.text(claim.unit),
        measured="" if measured is None else measured.text(claim.unit),
        cases=cases(measured, claim.unit, judgement.by_case),
        note="" if measured is None else measured.note,
        profile=profile,
        runs=runs,
        shipped=shipped,
        holds=", ".join(part for part in (judgement.holds, _median(claim, measured)) if part),
        remark=judgement.remark,
        because=claim.causes(column),
        tried=claim.candidates(column),
        own=own or claim.own,
        counted=not (not_counted or own or claim.own),
        uncounted=next(iter(claim.reasons(column)), ""),
        sign=claim.is_sign,
        weak=claim.weak,
        was=tuple(_judged_before(claim, was, of_then) for was, of_then in zip_longest(claim.was, before)),
    )


def _median(claim: Claim, measured: Measured | None) -> str:
    """Return the median of several ratios that are expected to be 1: one number for how near all cases come."""
    is_ratio = claim.expect.near == 1 and not claim.unit
    if not is_ratio or measured is None or len(measured.cases) < 2:
        return ""
    return f"median {statistics.median(map(float, measured.cases.values())):.2g}"


def measured_before(claim: Claim, measured: Mapping[str, Measured]) -> list[Measured | None]:
    """Return the measurement for each earlier wording of a claim, that of the first one first.

    The last one's has the key ``<claim> was``; those before it have ``<claim> was 1``, ``<claim> was 2`` and so on, the
    first one first. A wording without its key has the measurement of the next later one.
    """
    later = measured.get(claim.id)
    measurements = []
    for number in range(len(claim.was), 0, -1):
        key = f"{claim.id} was" if number == len(claim.was) else f"{claim.id} was {number}"
        later = measured.get(key, later)
        measurements.append(later)
    return measurements[::-1]


def _judged_before(claim: Claim, was: EarlierWording, measured: Measured | None) -> JudgedWording:
    unit = claim.unit if was.unit is None else was.unit
    words = "" if measured is None else measured.text(unit)
    # the rule of that time: numbers without intervals, and partly if some cases satisfied the claim
    of_then = Claim(id=claim.id, text=was.text, expect=was.expect, some="partly")
    verdict = str(judge_numbers(of_then, measured))
    return JudgedWording(was.text, was.expect.text(unit), words, verdict, was.until.isoformat())
