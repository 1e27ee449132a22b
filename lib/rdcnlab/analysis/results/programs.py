# SPDX-License-Identifier: Apache-2.0
"""The programs of a run over time: when each one ran, and a row of a picture for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdcnlab.analysis import figures
from rdcnlab.analysis.results.lanes import name_rows
from rdcnlab.analysis.show.paint import INK, width
from rdcnlab.runs.parts import Part
from rdcnlab.runs.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

#: Most programs that have a row of a picture each.
MOST = 8
#: Size of commands in points, and the space around them in inches.
_SIZE, _AROUND = 6.0, 0.04
#: Letters of a command that is shown, at most.
_LETTERS = 60
_PROGRAMS = Part(("program", "command", "start_s", "end_s"))


@dataclass(frozen=True)
class Ran:
    """A program that ran.

    Parameters
    ----------
    name : str
        Its name.
    command : str
        Its command line, without the end of a long one.
    begin_s : float
        When it started, in s.
    end_s : float or None
        When it ended; None if it went on until the run ended.
    """

    name: str
    command: str
    begin_s: float
    end_s: float | None


def programs(run: Run) -> list[Ran]:
    """Return the programs of a run in the order of the scenario; without rows if the shipped run lacks them."""
    if not run.scenario.programs or not run.holds({"programs": _PROGRAMS}):
        return []
    rows = run.table("programs", _PROGRAMS).to_pylist()
    return [Ran(row["program"], _short(row["command"], _LETTERS), row["start_s"], row["end_s"]) for row in rows]


def draw(ax: Axes, ran: Sequence[Ran], span_s: tuple[float, float], wide: float) -> None:
    """Draw a row for each program: a bar from its start to its end, with its command.

    Parameters
    ----------
    ax : Axes
        The panel; its horizontal axis is in ms.
    ran : sequence of Ran
        The programs. Of more than `MOST`, the last row says how many are not drawn.
    span_s : (float, float)
        The drawn time in s.
    wide : float
        Width of the panel in inches.
    """
    begin, end = span_s
    inches = wide / (end - begin)
    for row, program in enumerate(ran[:MOST]):
        first = max(program.begin_s, begin)
        last = end if program.end_s is None else min(program.end_s, end)
        if last < first:
            continue
        # of a program that took no time, a line is seen, also at the end
        first = min(first, end - 0.02 / inches)
        length = max(last - first, 0.02 / inches)
        ax.broken_barh([(first * 1e3, length * 1e3)], (row - 0.4, 0.8), facecolor=figures.REFERENCE, edgecolor="none")
        _label(ax, program.command, (first - begin) * inches, (first + length - begin) * inches, row, span_s, wide)
    name_rows(ax, (program.name for program in ran[:MOST]), len(ran) - MOST)


def _label(ax: Axes, text: str, left: float, right: float, row: int, span_s: tuple[float, float], wide: float) -> None:
    """Write a command into its bar (its ends are in inches), or where there is most room beside it."""
    room = max(right - left, wide - right, left) - 2 * _AROUND
    while len(text) > 2 and width(text, _SIZE) > room:
        text = _short(text, len(text) - 1)
    if width(text, _SIZE) <= right - left - 2 * _AROUND:
        at, side, ink = (left + right) / 2, "center", "black"
    elif wide - right >= left:
        at, side, ink = right + _AROUND, "left", INK
    else:
        at, side, ink = left - _AROUND, "right", INK
    ms = (span_s[0] + at / wide * (span_s[1] - span_s[0])) * 1e3
    ax.text(ms, row, text, ha=side, va="center_baseline", fontsize=_SIZE, color=ink)


def _short(text: str, letters: int) -> str:
    """Return a text without its end, if it is longer than so many letters."""
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip('…')}…"
