# SPDX-License-Identifier: Apache-2.0
"""Heat maps over two thresholds with the number of each setting, and the order of values along rows and columns."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from seaborn.utils import relative_luminance

from rdcnlab.analysis.intervals import Estimate, jackknife

Places = npt.NDArray[np.intp]

#: Colour of dark numbers, and its relative luminance.
_DARK_COLOR = "0.15"
_DARK = relative_luminance(_DARK_COLOR)


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
    annotations = table.map(lambda value: "" if math.isnan(value) else text(value))
    sns.heatmap(
        table, ax=ax, norm=norm, cmap=map_, annot=annotations, fmt="", annot_kws={"size": 6}, linewidths=0.3,
        cbar_kws={"label": label},
    )  # fmt: skip
    _contrast(ax, columns=table.shape[1])
    ax.set_title(title)
    ax.tick_params(axis="y", rotation=0)
    ax.grid(visible=False)


def _contrast(ax: Axes, columns: int) -> None:
    """Give each number the colour, light or dark, that contrasts more with its cell (WCAG's relative luminance)."""
    colors = ax.collections[0].get_facecolor()
    for number in ax.texts:
        x, y = number.get_position()
        cell = relative_luminance(colors[int(y) * columns + int(x)])
        number.set_color("white" if 1.05 / (cell + 0.05) > (cell + 0.05) / (_DARK + 0.05) else _DARK_COLOR)


def along(frame: pd.DataFrame, group: str, column: str, value: str, *, least: float) -> dict[float, Estimate]:
    """Return the concordance of a value with one threshold, for each value of the other one.

    It is Kendall's coefficient of those pairs of means that differ: the share of pairs in the threshold's order, less
    the share of pairs in the opposite order. Ranks of all means would let the errors of runs decide where the value
    hardly depends on the threshold.

    Parameters
    ----------
    frame : DataFrame
        One row for each run, with ``seed``.
    group : str
        Column that distinguishes the rows (or columns) of the map.
    column, value : str
        The threshold and the value.
    least : float
        Smallest difference of the means of a pair that counts. A row of the map without such a pair is left out.
    """
    coefficients = {}
    for key, part in frame.groupby(group):
        means = part.groupby(column)[value].mean().to_numpy(float)
        first, second = np.triu_indices(len(means), 1)
        # the jackknife has the same pairs without each seed: only their directions depend on seeds
        differ = np.abs(means[second] - means[first]) >= least
        first, second = first[differ], second[differ]

        def concordance(rows: pd.DataFrame, first: Places = first, second: Places = second) -> float:
            values = rows.groupby(column)[value].mean().to_numpy(float)
            return float(np.sign(values[second] - values[first]).mean())

        if len(means) > 2 and len(first):
            coefficients[float(str(key))] = jackknife(part, concordance).within(-1, 1)
    return coefficients
