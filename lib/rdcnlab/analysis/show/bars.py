# SPDX-License-Identifier: Apache-2.0
"""The parts of a drawn timetable: panels of rows of bars."""

from __future__ import annotations

from dataclasses import dataclass

from rdcnlab.analysis.show.names import compress
from rdcnlab.fields.units import DURATION

#: Target of the only bar if a P4 program selects the links.
PROGRAM = "program"


@dataclass(frozen=True)
class Bar:
    """A slot, or a part of it, within a panel. Times are in ns after the panel's begin.

    Parameters
    ----------
    begin, end : int
        Begin and end of the bar.
    target : str
        A link, `DARK`, `BYPASS`, a switch (in rows of lines) or `PROGRAM`.
    label : str
        Text in the bar.
    slot : int
        Index of the slot of the way.
    guard : int
        Time at the end of the bar, in ns, in which the slot is already dark for senders.
    further : tuple of str
        The links that packets pass after `target`, up to the next switch that has a row of its own.
    """

    begin: int
    end: int
    target: str
    label: str
    slot: int = 0
    guard: int = 0
    further: tuple[str, ...] = ()


@dataclass(frozen=True)
class Label:
    """The text beside a row.

    Parameters
    ----------
    names : tuple of str
        Names of flows, of a schedule or of a line.
    suffix : str
        The end of the label, such as ``, back at left``.
    senders, receivers : tuple of str
        Names of the hosts or switches at both ends.
    acts : str
        How late the switch acts.
    """

    names: tuple[str, ...]
    suffix: str = ""
    senders: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    acts: str = ""

    @property
    def name(self) -> str:
        """The label."""
        return compress(self.names) + self.suffix

    @property
    def about(self) -> str:
        """The smaller line below the label: senders and receivers, and how late the switch acts."""
        ends = [f"{compress(self.senders)} to {compress(self.receivers)}"] if self.senders else []
        return ", ".join([*ends, self.acts] if self.acts else ends)


@dataclass(frozen=True)
class Row:
    """A row of bars.

    Parameters
    ----------
    label : Label
        Text beside the row.
    bars : tuple of Bar
        Bars in order of time.
    strip : tuple of Bar
        Settings of the queue, drawn below the bars.
    drawn : tuple of (int, int)
        Spans from which random instants of updates are drawn.
    group : tuple of bool
        Whether the row is a way back, and whether it is of a schedule. Only rows of the same group are joined.
    """

    label: Label
    bars: tuple[Bar, ...]
    strip: tuple[Bar, ...] = ()
    drawn: tuple[tuple[int, int], ...] = ()
    group: tuple[bool, ...] = ()

    @property
    def lanes(self) -> int:
        """Number of lanes of the row: one for each link that its longest way passes one after the other."""
        return max((1 + len(bar.further) for bar in self.bars), default=1)


@dataclass(frozen=True)
class Panel:
    """Rows that share an axis of time.

    Parameters
    ----------
    title : str
        Text above the panel.
    begin : int
        Begin of the panel, in ns after the scenario's start. The times of bars count from here.
    length : int
        Length in ns; 0 if nothing ever changes.
    rows : tuple of Row
        Rows from top to bottom.
    left_out : int
        Number of rows that are not drawn.
    marks : tuple of int
        Instants at which a switch without delay changes.
    ordered : tuple of str
        Targets in order, if targets are switches; empty if targets are links.
    near : bool
        Whether the panel shows a single change in detail, instead of a cycle.
    """

    title: str
    begin: int
    length: int
    rows: tuple[Row, ...]
    left_out: int = 0
    marks: tuple[int, ...] = ()
    ordered: tuple[str, ...] = ()
    near: bool = False


def unit_of(length: int) -> tuple[str, int]:
    """Return the unit for a time in ns, and the ns of that unit. It is the largest unit that fits in twice."""
    units = [(name, factor) for name, factor in DURATION.units.items() if length >= 2 * factor]
    return units[-1] if units else ("ns", 1)
