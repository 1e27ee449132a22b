# SPDX-License-Identifier: Apache-2.0
"""`Cause`: an experiment that shows why a claim does not hold here, and the table of all causes of an item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items import faces, verdicts
from rdcnlab_papers.items.judged import JudgedCase, cases

if TYPE_CHECKING:
    import pandas as pd

    from rdcnlab_papers.items.claims import Claim
    from rdcnlab_papers.items.item import Item


@dataclass(frozen=True)
class Cause:
    """An experiment that shows why a claim does not hold here. The claim's field ``because`` explains it in words.

    Parameters
    ----------
    claim : str
        Id of the claim. The causes of a claim have the same order as the sentences of its ``because``, and after them
        those of its ``tried``: an experiment may also show that something is not the cause.
    shown_by : Item
        The item, changed so that the cause is removed or added; `Item.with_parameters` makes such an item.
    look : callable, optional
        The measurement to make on the runs of `shown_by`. By default it is the measurement of the claim itself.
    """

    claim: str
    shown_by: Item
    look: Callable[[Runs], Measured] | None = None


@dataclass(frozen=True)
class Explained:
    """What the experiment of one cause measured.

    Parameters
    ----------
    claim, text : str
        The claim's id, and its statement.
    because : str
        The sentence on the cause or on the candidate.
    there : str
        The measurement in words.
    cases : tuple of JudgedCase
        The measurement by case.
    note : str
        What the measurement adds to its numbers.
    verdict : str
        The verdict on the claim in the experiment; empty if it was not judged there.
    """

    claim: str
    text: str
    because: str
    there: str
    cases: tuple[JudgedCase, ...]
    note: str
    verdict: str


@dataclass(frozen=True, repr=False)
class Explanation:
    """What the experiment of each cause measured; notebooks and terminals show the whole text.

    Parameters
    ----------
    head : str
        What is explained, in a line.
    rows : tuple of Explained
        One for each cause.
    """

    head: str
    rows: tuple[Explained, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """The table: claim (index), because, there, verdict there."""
        import pandas as pd

        rows = [(row.claim, row.because, row.there, row.verdict) for row in self.rows]
        return pd.DataFrame(rows, columns=["claim", "because", "there", "verdict there"]).set_index("claim")

    def __len__(self) -> int:
        return len(self.rows)

    def _by_claim(self) -> dict[str, list[Explained]]:
        groups: dict[str, list[Explained]] = {}
        for row in self.rows:
            groups.setdefault(row.text, []).append(row)
        return groups

    def _repr_html_(self) -> str:
        parts = []
        for text, rows in self._by_claim().items():
            parts.append(f"<p><strong>{escape(text)}</strong></p>")
            for row in rows:
                left = f"there: {faces.badge(row.verdict)}" if row.verdict else "observed"
                measurement = faces.measured(row.cases, row.note)
                parts.append(faces.row(left, f"<div>{faces.folded(row.because)}</div><div>{measurement}</div>"))
        return faces.card(self.head, parts)

    def __rich__(self) -> RenderableType:
        lines: list[RenderableType] = [Text(self.head)]
        for text, rows in self._by_claim().items():
            lines += [Text(""), Text(text, style="bold")]
            for row in rows:
                lines.append(faces.indented(Text(row.because)))
                measured = [faces.terminal_cases(row.cases, row.note, "measured there  ")]
                if row.verdict:
                    measured.append(Text.assemble("verdict there   ", faces.signed(row.verdict)))
                lines += [faces.indented(line, 4) for line in measured]
        return Group(*lines)

    def __repr__(self) -> str:
        return faces.plain(self)


def explain(item: Item, runs_of: Callable[[Item], Runs | None]) -> Explanation:
    """Return the measurement and the verdict of the experiment of each cause; see `Item.explain`.

    Parameters
    ----------
    item : Item
        The item whose claims are explained.
    runs_of : callable
        Returns the runs of an experiment, or None if runs are missing.
    """
    known: list[tuple[Item, Runs | None]] = []  # several causes may look at the same runs, which take long to read
    rows = []
    for cause, claim, sentence in _with_words(item):
        if not any(experiment == cause.shown_by for experiment, _ in known):
            known.append((cause.shown_by, runs_of(cause.shown_by)))
        runs = next(runs for experiment, runs in known if experiment == cause.shown_by)
        if runs is None:
            there = "runs are missing; item.explain(run=True) makes them"
            rows.append(Explained(claim.id, claim.text, sentence, there, (), there, str(verdicts.Verdict.NOT_RUN)))
            continue
        measurement = cause.shown_by.measure(runs)[claim.id] if cause.look is None else cause.look(runs)
        unit = claim.unit if cause.look is None else ""
        judgement = verdicts.judge(claim, measurement) if cause.look is None else None
        verdict = "" if judgement is None else str(judgement.verdict)
        if sentence in claim.candidates(item.column):
            sentence = verdicts.candidate(sentence, verdict)
        by_case = cases(measurement, unit, judgement.by_case if judgement else ())
        there = measurement.text(unit)
        rows.append(Explained(claim.id, claim.text, sentence, there, by_case, measurement.note, verdict))
    about = "experiments on causes" if rows else "no experiment on a cause"
    return Explanation(f"{item.paper}/{item.id}, column {item.column}: {about}.", tuple(rows))


def _with_words(item: Item) -> Iterator[tuple[Cause, Claim, str]]:
    """Return each cause with its claim and its sentence."""
    claims = {claim.id: claim for claim in item.claims.claims}
    words = {name: iter((*claim.causes(item.column), *claim.candidates(item.column))) for name, claim in claims.items()}
    for cause in item.explanation():
        yield cause, claims[cause.claim], next(words[cause.claim])
