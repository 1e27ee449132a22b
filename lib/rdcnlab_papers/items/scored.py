# SPDX-License-Identifier: Apache-2.0
"""`Scorecard`: the verdict on each claim of an item, as notebooks and terminals show it, and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from rdcnlab_papers.items import faces, judged
from rdcnlab_papers.items.claims import paper
from rdcnlab_papers.items.judged import JudgedClaim
from rdcnlab_papers.items.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

#: Type of the rows of a card among the outputs of a notebook, for programs that read it.
ROWS = "application/vnd.rdcnlab.scorecard+json"


@dataclass(frozen=True, repr=False)
class Scorecard:
    """The verdict on each claim of an item in one column.

    Notebooks and terminals show the whole text. `frame` is the table for programs.

    Parameters
    ----------
    rows : tuple of JudgedClaim
        The rows of `rdcnlab_papers.items.item.Item.rows`, for one item in one column.
    legend : bool
        Whether it is said below what the verdicts mean.

    Examples
    --------
    >>> from rdcnlab_papers import aykurt
    >>> card = Scorecard(tuple(aykurt.fig3().rows(None)))
    >>> card.summary
    '6 not run.'
    >>> card.frame.columns.tolist()
    ['text', 'expected', 'measured', 'verdict', 'remark']
    """

    rows: tuple[JudgedClaim, ...]
    legend: bool = True

    @property
    def frame(self) -> pd.DataFrame:
        """The scorecard as a table: claim (index), text, expected, measured, verdict, remark."""
        import pandas as pd

        rows = [(row.claim, row.text, row.expected, row.measured, row.verdict, row.remarks) for row in self.rows]
        columns = ["claim", "text", "expected", "measured", "verdict", "remark"]
        return pd.DataFrame(rows, columns=columns).set_index("claim")

    @property
    def head(self) -> str:
        """What was judged, in a line: item, column, profile, number of runs."""
        first = self.rows[0]
        title = paper(first.paper).item(first.item).title
        message = f"{first.paper}/{first.item}, {title}. Column {first.column}, "
        message += f"profile {first.profile}, {first.runs} runs." if first.runs else "no runs."
        if any(row.shipped for row in self.rows):
            message += " Beside each verdict from these few runs: that from the shipped runs of the paper profile."
        return message

    @property
    def summary(self) -> str:
        """How many claims have which verdict, in words."""
        words = _counts(row.verdict for row in self.rows)
        shipped = _counts(row.shipped for row in self.rows if row.shipped)
        return f"{words}. Paper profile: {shipped}." if shipped else f"{words}."

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:  # noqa: ARG002
        """Return the rows for programs that read an executed notebook; Jupyter adds the other forms to it."""
        return {ROWS: judged.to_data(self.rows)}

    def _repr_html_(self) -> str:
        parts = [faces.row(_badges(row), _words(row)) for row in self.rows]
        return faces.card(self.head, [*parts, f"<p><strong>{escape(self.summary)}</strong></p>"], legend=self.legend)

    def __rich__(self) -> RenderableType:
        return Group(*self._terminal())

    def __repr__(self) -> str:
        return faces.plain(self)

    def _terminal(self) -> Iterator[RenderableType]:
        yield Text(self.head)
        for row in self.rows:
            shipped = ("  (paper profile: ", faces.signed(row.shipped), ")") if row.shipped else ()
            yield Text("")
            yield Text.assemble(faces.signed(row.verdict), *shipped)
            lines = [Text(row.text), faces.labelled("expected  ", Text(row.expected))]
            if row.cases or row.note:
                lines.append(faces.terminal_cases(row.cases, row.note, "measured  "))
            if remark := row.remarks:
                lines.append(faces.labelled("remark    ", Text(remark)))
            if row.weak:
                lines.append(faces.labelled("weak      ", Text(row.weak)))
            for line in lines:
                yield faces.indented(line)
        yield Text(f"\n{self.summary}", style="bold")
        if self.legend:
            yield Text("")
            yield faces.terminal_legend(
                verdict for row in self.rows for verdict in (row.verdict, row.shipped) if verdict
            )


def _counts(names: Any) -> str:
    counts = Counter(names)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])


def _badges(row: JudgedClaim) -> str:
    shipped = f'<div class="rlc-small">paper profile:<br>{faces.badge(row.shipped)}</div>' if row.shipped else ""
    return faces.badge(row.verdict) + shipped


def _words(row: JudgedClaim) -> str:
    parts = [f"<div>{escape(row.text)}</div>", f'<div class="rlc-small">expected: {escape(row.expected)}</div>']
    if row.cases or row.note:
        parts.append(f"<div>{faces.measured(row.cases, row.note)}</div>")
    if remark := row.remarks:
        parts.append(f'<div class="rlc-small">{escape(remark)}</div>')
    if row.weak:
        parts.append(f'<div class="rlc-small">weak: {escape(row.weak)}</div>')
    return "".join(parts)
