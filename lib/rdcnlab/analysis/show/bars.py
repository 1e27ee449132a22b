# SPDX-License-Identifier: Apache-2.0
"""What a drawn timetable is made of: panels of rows of bars."""

from __future__ import annotations

from dataclasses import dataclass

from rdcnlab.analysis.show.names import compressed
from rdcnlab.fields.units import DURATION

#: Target of the only bar where a P4 program decides.
PROGRAM = "program"


@dataclass(frozen=True)
class Bar:
    """A slot, or a part of it, within a panel; times are ns after the panel's begin.

    Parameters
    ----------
    begin, end : int
        From when to when.
    target : str
        A link, `DARK`, `BYPASS`, a switch (in rows of lines) or `PROGRAM`.
    label : str
        What stands in it.
    slot : int
        The slot of the way that it is.
    guard : int
        ns at its end in which it is dark already for those who send.
    """

    begin: int
    end: int
    target: str
    label: str
    slot: int = 0
    guard: int = 0


@dataclass(frozen=True)
class Label:
    """What is written beside a row.

    Parameters
    ----------
    names : tuple of str
        Flows, a schedule or a line.
    place : str
        The end of the label, such as ``, back at left``.
    senders, receivers : tuple of str
        From where to where.
    acts : str
        How late the switch is.
    """

    names: tuple[str, ...]
    place: str = ""
    senders: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    acts: str = ""

    @property
    def name(self) -> str:
        """The label."""
        return compressed(self.names) + self.place

    @property
    def about(self) -> str:
        """A smaller line below the label: from where to where, and how late the switch is."""
        ends = [f"{compressed(self.senders)} to {compressed(self.receivers)}"] if self.senders else []
        return ", ".join([*ends, self.acts] if self.acts else ends)


@dataclass(frozen=True)
class Row:
    """A row of bars.

    Parameters
    ----------
    label : Label
        What is written beside it.
    bars : tuple of Bar
        In rising order.
    strip : tuple of Bar
        What the queue is set to, below the bars.
    drawn : tuple of (int, int)
        Spans from which the instants of updates are drawn.
    group : tuple of bool
        Whether it is a way back, and whether it is a schedule's; only rows of one group are joined.
    """

    label: Label
    bars: tuple[Bar, ...]
    strip: tuple[Bar, ...] = ()
    drawn: tuple[tuple[int, int], ...] = ()
    group: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Panel:
    """Rows that share an axis of time.

    Parameters
    ----------
    title : str
        What is above it.
    begin : int
        ns after the scenario's start; bars count from here.
    length : int
        ns; 0 where nothing ever changes.
    rows : tuple of Row
        From top to bottom.
    left_out : int
        How many more rows there are.
    marks : tuple of int
        Instants at which switches that are in time change.
    ordered : tuple of str
        Targets that are switches in an order; none where targets are links.
    near : bool
        Whether it is a change from near, and no cycle.
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
    """Return the unit in which a time (ns) is told, the largest of which there are two, and its ns."""
    units = [(name, factor) for name, factor in DURATION.units.items() if length >= 2 * factor]
    return units[-1] if units else ("ns", 1)
