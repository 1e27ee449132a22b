# SPDX-License-Identifier: Apache-2.0
"""Heat maps over two thresholds with the number of each setting, and rank correlations along rows and columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from rdcnlab.analysis.intervals import Estimate
from rdcnlab_papers.analysis.measured import trend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

#: Colour of dark numbers.
_DARK_COLOR = "0.15"


def draw(
    ax: Axes, table: pd.DataFrame, norm: Normalize, *, title: str, label: str, text: Callable[[float], str], map_: str
) -> None:
    """Draw a table as a heat map with the number of each cell.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    table : DataFrame
        Values by row and column; NaN is left out. The names of both indices are the labels of the axes.
    norm : Normalize
        The values of the first and the last colour.
    title, label : str
        Title of the map, and label of its colours.
    text : callable
        Writes a value.
    map_ : str
        Name of the colour map.
    """
    import seaborn as sns  # see `rdcnlab.analysis.figures.style`

    annotations = table.map(lambda value: "" if math.isnan(value) else text(value))
    sns.heatmap(
        table, ax=ax, norm=norm, cmap=map_, annot=annotations, fmt="", annot_kws={"size": 7.5}, linewidths=0.3,
        cbar_kws={"label": label, "extend": _beyond(table, norm)},
    )  # fmt: skip
    _contrast(ax, columns=table.shape[1])
    ax.set_title(title)
    ax.tick_params(axis="y", rotation=0)
    ax.grid(visible=False)


def frame(ax: Axes, table: pd.DataFrame, row: float, column: float) -> None:
    """Frame a cell of a table that `draw` has drawn.

    Parameters
    ----------
    ax, table
        As for `draw`.
    row, column : float
        Its keys in the table.
    """
    from matplotlib.patches import Rectangle

    corner = ([*table.columns].index(column), [*table.index].index(row))
    ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="#D55E00", linewidth=1.6, clip_on=False))


def _beyond(table: pd.DataFrame, norm: Normalize) -> str:
    """Return the ends of the colours beyond which the table has values, as ``extend`` of a colour bar takes them."""
    values = table.to_numpy(dtype=float)  # comparisons with NaN are false
    below, above = bool((values < norm.vmin).any()), bool((values > norm.vmax).any())
    return "both" if below and above else "min" if below else "max" if above else "neither"


def _contrast(ax: Axes, columns: int) -> None:
    """Give each number the colour, light or dark, that contrasts more with its cell (WCAG's relative luminance)."""
    from seaborn.utils import relative_luminance

    colors, dark = ax.collections[0].get_facecolor(), relative_luminance(_DARK_COLOR)
    for number in ax.texts:
        x, y = number.get_position()
        cell = relative_luminance(colors[int(y) * columns + int(x)])
        number.set_color("white" if 1.05 / (cell + 0.05) > (cell + 0.05) / (dark + 0.05) else _DARK_COLOR)


def along(frame: pd.DataFrame, group: str, column: str, value: str, *, least: float) -> dict[float, Estimate]:
    """Return Spearman's coefficient of a value over one threshold, for each value of the other one.

    Parameters
    ----------
    frame : DataFrame
        One row for each run, with ``seed``.
    group : str
        Column that distinguishes the rows (or columns) of the map.
    column, value : str
        The columns to correlate.
    least : float
        Smallest range of the means in a row. A row with a smaller range is left out: its means differ only by the
        errors of runs.
    """
    coefficients = {}
    for key, part in frame.groupby(group):
        means = part.groupby(column)[value].mean()
        if len(means) > 2 and means.max() - means.min() >= least:
            coefficients[float(str(key))] = trend(part, column, value)
    return coefficients
