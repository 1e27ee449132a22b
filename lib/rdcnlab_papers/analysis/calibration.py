# SPDX-License-Identifier: Apache-2.0
"""Find the values of a setting at which given statements hold, judged by intervals over seeds, not by means.

A statement *holds* at a value if the whole interval over seeds lies within the statement's bounds. It *fails* if the
whole interval lies outside. Otherwise it is *open*: more seeds are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab_papers.analysis.measured import Measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

State = Literal["holds", "open", "fails"]
#: Lower and upper bound; both are included.
Bounds = tuple[float, float]


def judge(stats: pd.DataFrame, bounds: Mapping[str, Bounds]) -> pd.DataFrame:
    """Judge every statement at every value.

    Parameters
    ----------
    stats : DataFrame
        Columns ``low`` and ``high``, as `rdcnlab_papers.analysis.measured.means` returns them. The index has two
        levels: name of the statement, and value of the setting.
    bounds : dict of str to (float, float)
        Bounds by the name of the statement.

    Returns
    -------
    DataFrame of str
        ``holds``, ``open`` or ``fails``. Rows are values in rising order, columns are statements.
    """
    low, high = (np.array([bounds[name][end] for name in stats.index.get_level_values(0)]) for end in (0, 1))
    # a single run has no interval, and so every statement is open
    is_single = stats["n"] < 2 if "n" in stats else np.zeros(len(stats), bool)
    lows, highs = stats["low"].mask(is_single), stats["high"].mask(is_single)
    inside = (lows >= low) & (highs <= high)
    outside = (highs < low) | (lows > high)
    states = pd.Series(np.where(inside, "holds", np.where(outside, "fails", "open")), index=stats.index)
    return states.unstack(0).reindex(columns=list(bounds)).sort_index()


def together(states: pd.DataFrame) -> pd.Series[str]:
    """Return for each value whether all statements hold; if one fails, the value fails."""
    verdicts = np.where(
        (states == "fails").any(axis=1), "fails", np.where((states == "holds").all(axis=1), "holds", "open")
    )
    return pd.Series(verdicts, index=states.index, dtype=str)


def interval(states: pd.Series[str]) -> tuple[float, float] | None:
    """Return the smallest and largest value of the longest row of neighbours that all hold; None if no value holds."""
    holds = (states == "holds").to_numpy()
    number = np.cumsum(np.r_[True, holds[1:] != holds[:-1]])
    rows = [states.index[(number == row) & holds] for row in np.unique(number[holds])]
    longest = max(rows, key=len, default=None)
    return None if longest is None else (float(longest[0]), float(longest[-1]))


def failures(states: pd.DataFrame) -> dict[str, list[float]]:
    """Return for each statement the values at which it fails."""
    return {str(name): [float(value) for value in states.index[states[name] == "fails"]] for name in states.columns}


def count_satisfied(states: pd.DataFrame, unit: str, note: str = "") -> Measured:
    """Count the values at which all statements hold; the note lists these values, and where a statement fails.

    Parameters
    ----------
    states : DataFrame
        Result of `judge`.
    unit : str
        Unit of the values.
    note : str
        A further remark.
    """
    verdicts = together(states)
    inside = interval(verdicts)
    holding_range = "no value" if inside is None else f"{inside[0]:g} to {inside[1]:g} {unit}"
    open_at = ", ".join(f"{value:g}" for value in verdicts.index[verdicts == "open"])
    failing = [
        f"{name} fails at {', '.join(f'{value:g}' for value in values)} {unit}"
        for name, values in failures(states).items()
        if values
    ]
    words = [f"{holding_range} for sure", f"open at {open_at} {unit}" if open_at else "", *failing, note]
    return Measured.one(float((verdicts == "holds").sum()), "; ".join(word for word in words if word))


def plot(
    stats: Mapping[str, pd.DataFrame],
    bounds: Mapping[str, Bounds],
    labels: Mapping[str, str],
    xlabel: str,
    mark: float,
    chosen: Sequence[str],
) -> Figure:
    """Draw each statement over the values, with its bounds.

    The values at which the `chosen` statements all hold are shaded, and those at which none of them fails are shaded
    more lightly.

    Parameters
    ----------
    stats : dict of str to DataFrame
        Numbers with intervals by the name of the curve, such as ``own``; each as in `judge`. The shading depends on
        the first.
    bounds, labels : dict of str to object
        Bounds, and label of the vertical axis, by statement; one panel for each statement.
    xlabel : str
        Label of the horizontal axis.
    mark : float
        A value to draw as a line.
    chosen : sequence of str
        Names of the statements that the shading depends on.
    """
    states = together(judge(next(iter(stats.values())), bounds)[list(chosen)])
    spans = [interval(states), interval(states.replace("open", "holds"))]
    with figures.style():
        figure = figures.drawing(2.7 * len(bounds), 2.6)
        axes = figure.subplots(1, len(bounds), sharex=True, squeeze=False)[0]
        for ax, (name, (low, high)) in zip(axes, bounds.items(), strict=True):
            for (kind, table), look in zip(stats.items(), ("main", "migrated"), strict=False):
                style = figures.look(look)
                if name not in table.index.get_level_values(0):
                    continue
                rows = pd.DataFrame(table.loc[name]).sort_index()
                error = figures.error_lengths(rows, least=0)  # nothing here is below 0
                ax.errorbar(
                    rows.index, rows["mean"], yerr=error, label=kind, color=style.color,
                    marker=style.marker, markersize=3, capsize=2, linewidth=0.9,
                    linestyle="-" if kind == next(iter(stats)) else "none",
                )  # fmt: skip
            for bound in (low, high):
                if np.isfinite(bound):
                    label = "bounds of the paper's statement"
                    ax.axhline(bound, color=figures.REFERENCE, linewidth=0.8, linestyle=":", label=label)
            figures.shade(ax, [span for span in spans if span is not None])
            figures.reference(ax, mark, "preset", along="x", style="--")
            ax.set(xscale="log", xlabel=xlabel, ylabel=labels[name], ylim=(0, None))
        figures.legend_of_all(figure, axes)
        figures.note(figure, "Grey: where all statements that the choice depends on hold; lighter where they may hold.")
    return figure
