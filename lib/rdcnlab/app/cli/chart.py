# SPDX-License-Identifier: Apache-2.0
"""A small chart of a run in the terminal: the rate of each flow over time, and the fullest queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.text import Text

from rdcnlab.runs.run import Run
from rdcnlab.system.blocks import blocks, can_show

if TYPE_CHECKING:
    from rdcnlab.analysis.results.series import Series

#: Most flows that have a line each, and widest chart in characters.
MOST, WIDEST = 6, 120


def print_chart(run: Run) -> None:
    """Print the chart of a run, if standard output is a terminal that shows block characters.

    The environment's ``NO_COLOR`` leaves out the colours.
    """
    if not can_show():
        return
    console = Console()
    for line in chart(run, console.width):
        console.print(line, no_wrap=True, crop=True)


def chart(run: Run, width: int) -> list[Text]:
    """Return the lines of a chart that is at most `width` characters wide.

    Each cell shows the mean over its time. The number at the end of a line is the value of a full block: all flows have
    the same, so that their heights can be compared.
    """
    # imported here because it loads pandas, which help does without
    from rdcnlab.analysis import palettes
    from rdcnlab.analysis.results.series import Series, total

    series = Series(run)
    rates = dict(series.rates)
    if not rates:
        return []
    if len(rates) > MOST:
        rates = {"all flows": total(rates.values())}
    fullest = next(iter(series.fullest), "")
    name_width = min(16, max(len(name) for name in [*rates, f"queue {fullest}"]))
    cells = min(width, WIDEST) - name_width - 14
    if cells < 10:
        return []
    top = max((float(cell.max()) for cell in (_cells(values, series, cells) for values in rates.values())), default=0.0)
    lines = [Text(f"{series.rate_name} over {series.end_s * 1e3:.4g} ms, run {run.id[:12]}", style="bold")]
    for name, values in rates.items():
        color = series.colors.get(name, palettes.FLOWS[0])
        lines.append(_line(name, _cells(values, series, cells), top, "Gb/s", name_width, color))
    if fullest:
        values = _cells(series.queues[fullest].mean_B / 1e3, series, cells)
        lines.append(_line(f"queue {fullest}", values, float(values.max()), "kB", name_width, "dim"))
    return lines


def _cells(values: npt.NDArray[np.float64], series: Series, count: int) -> npt.NDArray[np.float64]:
    """Return the mean of the values in each of `count` equal parts of the run."""
    edges = np.linspace(0, series.end_s / series.bin_s, count + 1)
    # the integral of the values up to each edge, linear within a bin
    total = np.interp(edges, np.arange(len(values) + 1), np.append(0, np.cumsum(values)))
    means: npt.NDArray[np.float64] = np.diff(total) / np.diff(edges)
    return means


def _line(name: str, values: npt.NDArray[np.float64], top: float, unit: str, width: int, style: str) -> Text:
    line = Text(f"{name[:width]:{width}} ")
    line.append(blocks(values, top), style=style)
    line.append(f" {top:6.4g} {unit}")
    return line
