# SPDX-License-Identifier: Apache-2.0
"""Curves of the rates of flows, or of programs, while runs go on.

They are lines of blocks in a terminal, and a small picture in a notebook.
"""

from __future__ import annotations

import html
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rdcnlab.engines import Arrived
from rdcnlab.scenario import Scenario
from rdcnlab.system.blocks import blocks, can_show

#: Most curves that are shown; the flows of a run with more are added up.
MOST = 6
#: Parts of the time so far that a curve has: characters in a terminal, points in a notebook.
CELLS = 60
_NAME = 20
#: Width and height of a curve in a notebook, in px.
_WIDE, _HIGH = 300, 26


@dataclass(frozen=True)
class Curve:
    """The rate of a flow in equal parts of the time so far.

    Parameters
    ----------
    name : str
        The flow's name, with the seed if there are several runs.
    Gbps : ndarray
        Payload that arrived in each part, in Gb/s, shape (`CELLS`,).
    until_s : float
        Virtual time so far in s.
    finished : bool
        Whether everything has arrived.
    """

    name: str
    Gbps: npt.NDArray[np.float64]
    until_s: float
    finished: bool = False

    @property
    def words(self) -> str:
        """The rate at the end, or that the flow has finished."""
        return "finished" if self.finished else f"{self.Gbps[-1]:.3g} Gb/s"


def curves(scenario: Scenario, arrived: Arrived | None, *, of_many: bool = False) -> list[Curve]:
    """Return the curves of a run in progress; none before there are two instants to compare.

    Parameters
    ----------
    scenario : Scenario
        What is run.
    arrived : Arrived or None
        What its flows have received so far.
    of_many : bool
        Whether the curves are shown beside those of other runs, so that their names need the seed.

    Examples
    --------
    >>> scenario = Scenario.from_dict({"network": "aykurt", "flows": [
    ...     {"name": "main", "size": "1 GB", "path": "green"}]})
    >>> t_ns = np.array([0, 10_000_000, 20_000_000])
    >>> (curve,) = curves(scenario, Arrived(t_ns, np.array([[0], [5_000_000], [10_000_000]])))
    >>> curve.name, curve.words, curve.until_s
    ('main', '4 Gb/s', 0.02)
    """
    if arrived is None or len(arrived.t_ns) < 2:
        return []
    received, names = arrived.received_B, list(arrived.names)
    # nobody knows how much programs will send
    sizes = np.full(len(names), np.inf)
    if not names:
        sizes = np.array([scenario.total_B(flow) for flow in scenario.flows])
        names = [flow.name for flow in scenario.flows]
    if len(names) != received.shape[1]:
        return []
    if len(names) > MOST:
        received, sizes, names = received.sum(axis=1, keepdims=True), sizes.sum(keepdims=True), ["all flows"]
    edges_ns = np.linspace(0, arrived.t_ns[-1], CELLS + 1)
    seed = f", seed {scenario.seed}" if of_many else ""
    lines = []
    for name, of_flow, size in zip(names, received.T, sizes, strict=True):
        gained = np.diff(np.interp(edges_ns, arrived.t_ns, of_flow))
        rates = 8 * gained / np.diff(edges_ns)
        lines.append(Curve(f"{name}{seed}", rates, float(arrived.t_ns[-1]) / 1e9, bool(of_flow[-1] >= size)))
    return lines


class Screen(Protocol):
    """A place that shows curves."""

    def show(self, curves: Sequence[Curve]) -> None:
        """Show these curves in place of earlier ones."""

    def close(self) -> None:
        """Remove the curves."""


def screen() -> Screen:
    """Return the screen of this process: the notebook, the terminal, or none."""
    if in_notebook():
        try:
            return Notebook()
        except ImportError:  # no widgets
            return Nowhere()
    return Terminal() if can_show(sys.stderr) else Nowhere()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules


class Nowhere:
    """Nobody watches."""

    def show(self, curves: Sequence[Curve]) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Nothing is to be removed."""


class Terminal:
    """Lines below the progress bar on standard error."""

    def __init__(self) -> None:
        self._lines: list[Any] = []

    def show(self, curves: Sequence[Curve]) -> None:
        """Show these curves in place of earlier ones."""
        from tqdm import tqdm

        texts = lines(curves, shutil.get_terminal_size().columns)
        while len(self._lines) < len(texts):
            # tqdm keeps lines below each other, also when other text is printed above them
            self._lines.append(tqdm(total=0, bar_format="{desc}", leave=False, position=len(self._lines) + 1))
        for line, text in zip(self._lines, [*texts, *[""] * len(self._lines)], strict=False):
            line.set_description_str(text)

    def close(self) -> None:
        """Remove the curves."""
        for line in reversed(self._lines):
            line.close()
        self._lines = []


def lines(curves: Sequence[Curve], columns: int) -> list[str]:
    """Return a line of text for each curve; a full block is the largest rate of all."""
    shown = curves[:MOST]
    width = min(_NAME, max((len(curve.name) for curve in shown), default=0))
    top = max((float(curve.Gbps.max()) for curve in shown), default=0.0)
    room = columns - width - 14
    texts = []
    for curve in shown:
        cells = blocks(curve.Gbps, top) if room >= CELLS else ""
        texts.append(f"{curve.name[:width]:{width}} {cells} {curve.words}")
    return texts


class Notebook:
    """A small picture below the progress bar in a notebook."""

    def __init__(self) -> None:
        import ipywidgets

        self._widget = ipywidgets.HTML()
        self._open = False

    def show(self, curves: Sequence[Curve]) -> None:
        """Show these curves in place of earlier ones."""
        if curves and not self._open:
            from IPython.display import display

            self._open = True
            display(self._widget)  # type: ignore[no-untyped-call]
        self._widget.value = picture(curves)

    def close(self) -> None:
        """Remove the curves."""
        self._widget.close()


def picture(curves: Sequence[Curve]) -> str:
    """Return the curves as HTML: one row for each flow, with its name, its curve and its rate."""
    shown = curves[:MOST]
    top = max((float(curve.Gbps.max()) for curve in shown), default=0.0) or 1.0
    rows = []
    for curve in shown:
        points = [
            f"{_WIDE * place / (len(curve.Gbps) - 1):.1f},{_HIGH - 1 - (_HIGH - 2) * rate / top:.1f}"
            for place, rate in enumerate(curve.Gbps)
        ]
        name, words = html.escape(curve.name), html.escape(curve.words)
        rows.append(
            f'<tr style="vertical-align:middle"><td style="padding-right:1em">{name}</td><td>'
            f'<svg role="img" aria-label="rate of {name}: {words}" '
            f'width="{_WIDE}" height="{_HIGH}" fill="none" stroke="currentColor" stroke-width="1.5">'
            f'<polyline points="{" ".join(points)}"/></svg></td><td style="padding-left:1em">{words}</td>'
            f'<td style="padding-left:1em">0 to {curve.until_s:.2f} s</td></tr>'
        )
    if not rows:
        return ""
    scale = f"Rates at the receivers over virtual time; the highest is {top:.3g} Gb/s."
    return f'<table class="rdcnlab-live">{"".join(rows)}</table><small>{scale}</small>'
