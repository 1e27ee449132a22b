# SPDX-License-Identifier: Apache-2.0
"""The common style of all figures: the colours and markers of every variant and every role.

Each transport has one colour and one marker in all figures. The colours are those of Okabe and Ito, and where these do
not suffice those of Tol's scheme "muted"; readers with any colour vision can distinguish them. Markers carry the same
information as colours. The roles (main flow, migrated flow) are those of figures in which colours do not stand for
transports.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario.congestion import CONTROLS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rdcnlab.analysis.drawing import Drawing


@dataclass(frozen=True)
class Look:
    """The colour and marker of a variant or role, and its label in legends."""

    label: str
    color: str
    marker: str


LOOKS: dict[str, Look] = {
    **{name: Look(control.label, control.color, control.marker) for name, control in CONTROLS.items()},
    "tdtcp": Look("TDTCP", "#000000", "P"),
    "mptcp": Look("MPTCP", "#882255", "<"),
    "retcpdyn": Look("reTCPdyn", "#332288", ">"),
    "main": Look("main flow", "#0072B2", "o"),
    "migrated": Look("migrated flow", "#D55E00", "D"),
    "bursts": Look("UDP bursts", "#009E73", "^"),
    "single": Look("single flow", "#555555", "x"),
}
#: Colours and markers for variants whose own are already used by another variant of the figure.
_FURTHER = (("#000000", "*"), ("#F0E442", "p"), ("#999999", "8"))
#: The colour of reference lines: what a paper states, a line rate, a fair share.
REFERENCE = "#888888"


def look(name: str) -> Look:
    """Return the look of a variant or role. Unknown names are grey, so a new variant can be drawn without a change."""
    return LOOKS.get(name, Look(name, "#555555", "."))


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the looks of variants that are in one figure, where no two have the same colour or the same marker."""
    chosen: dict[str, Look] = {}
    further = iter(_FURTHER)
    for name in names:
        usual = look(name)
        alike = any(usual.color == other.color or usual.marker == other.marker for other in chosen.values())
        if alike:
            color, marker = next(further)
            usual = Look(usual.label, color, marker)
        chosen[name] = usual
    return chosen


def shades(count: int) -> list[str]:
    """Return colours for an ordered series, such as periods, from light to dark; the order also shows in grey."""
    import seaborn as sns  # loads the statistics of SciPy, for a second; judging claims needs neither

    return list(sns.color_palette("mako_r", count).as_hex())


#: The width in inches at which a wide figure is read.
READ_WIDTH = 10.0
#: Widths of columns in inches: one of two columns, and both (IEEE and ACM differ by up to 0.2 in).
COLUMNS = {"single": 3.5, "double": 7.16}
#: Sizes of text in points in a figure for a column; captions of journals have 8.
_SMALL: dict[Any, Any] = {
    "font.size": 7.5, "axes.labelsize": 7.5, "axes.titlesize": 7.5, "legend.fontsize": 7, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "axes.linewidth": 0.7, "lines.linewidth": 1.0, "figure.titlesize": 8,
}  # fmt: skip
_width: contextvars.ContextVar[float | None] = contextvars.ContextVar("width of a column", default=None)


@contextlib.contextmanager
def column(width: str | float) -> Iterator[None]:
    """Draw figures for a column of a paper inside the block: its width, and text of 7 to 8 points.

    Parameters
    ----------
    width : {'single', 'double'} or float
        One column of two (3.5 in), both (7.16 in), or a width in inches.

    Raises
    ------
    InputError
        The width has no such name, or is not between 1 and 20 in.

    Examples
    --------
    >>> with column("single"):
    ...     figure = drawing(7.4, 3.0)
    >>> float(figure.get_size_inches()[0])
    3.5
    """
    inches = COLUMNS.get(width) if isinstance(width, str) else float(width)
    if inches is None or not 1 <= inches <= 20:
        raise InputError.of("width", width, f"{', '.join(COLUMNS)}, or a number of inches from 1 to 20")
    token = _width.set(inches)
    try:
        yield
    finally:
        _width.reset(token)


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Apply the common style inside the block."""
    import matplotlib as mpl
    import seaborn as sns  # loads the statistics of SciPy, for a second; judging claims needs neither
    from cycler import cycler

    settings: dict[Any, Any] = {
        **sns.axes_style("ticks"),
        **sns.plotting_context("paper"),
        "axes.grid": True,
        # lines that no look names: told apart by readers who see few colours
        "axes.prop_cycle": cycler(color=sns.color_palette("colorblind").as_hex()),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.constrained_layout.use": True,
        "figure.dpi": 110,
        "grid.alpha": 0.3,
        "legend.frameon": False,
        # TrueType: journals refuse bitmaps of letters (Type 3)
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "savefig.dpi": 150,
        "svg.hashsalt": "rdcnlab",
    }
    with mpl.rc_context(settings | (_SMALL if _width.get() is not None else {})):
        yield


def drawing(width: float, height: float) -> Drawing:
    """Return an empty figure; width and height are in inches. Inside `column`, it has the width of the column."""
    from rdcnlab.analysis.drawing import Drawing  # loads matplotlib, which judging claims does not need

    inches = _width.get()
    if inches is not None:
        # a narrow figure is higher in proportion: text does not shrink with it
        width, height = inches, height * math.sqrt(inches / width)
    figure = Drawing(figsize=(width, height), layout="constrained")
    figure.for_column = inches is not None
    return figure


def in_column() -> bool:
    """Return whether figures are drawn for a paper, whose caption says what a title would say; see `column`."""
    return _width.get() is not None


def panels(
    rows: int,
    columns: int,
    *,
    width: float = 3.0,
    height: float = 2.3,
    sharex: Literal["all", "col"] = "all",
    sharey: bool = True,
) -> tuple[Drawing, npt.NDArray[np.object_]]:
    """Return a figure with a grid of panels, and the panels. A single panel is a grid, too.

    All panels share the y axis, unless `sharey` is false: panels of several quantities have an axis each. They share
    the x axis too, or the panels of each column do, if `sharex` is ``col``.
    """
    figure = drawing(width * columns, height * rows)
    return figure, figure.subplots(rows, columns, sharex=sharex, sharey=sharey, squeeze=False)


@contextlib.contextmanager
def single(width: float, height: float, *, columns: int | None = None) -> Iterator[tuple[Drawing, Axes]]:
    """Draw one panel in the common style, with a legend above it.

    The legend is in one line, or in the given number of columns, see `legend`.
    """
    with style():
        figure = drawing(width, height)
        ax = figure.subplots()
        yield figure, ax
        legend(figure, ax, columns=columns)


def error_lengths(stats: pd.DataFrame, *, least: float = -math.inf) -> npt.NDArray[np.float64]:
    """Return the lengths of error bars.

    Parameters
    ----------
    stats : DataFrame
        With columns ``mean``, ``low`` and ``high``.
    least : float
        The least value that there can be, at which an interval ends: 0 for a count.

    Returns
    -------
    ndarray of shape (2, rows)
        Lengths below and above the mean, as ``errorbar`` takes them; 0 where the interval is on one side only.
    """
    low, mean, high = (stats[name].to_numpy(float) for name in ("low", "mean", "high"))
    return np.stack([mean - low.clip(min=least), high - mean]).clip(min=0)


def bars(
    ax: Axes, stats: Mapping[str, pd.DataFrame], x: str, ticks: Sequence[str], colors: Sequence[str] | None = None
) -> None:
    """Draw bars with intervals side by side.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    stats : dict of str to DataFrame
        By the label in the legend: columns `x`, ``mean``, ``low``, ``high``, as `rdcnlab.analysis.tables.mean_ci`
        returns them.
    x : str
        Column that gives the order of the bars.
    ticks : sequence of str
        Labels of the groups of bars on the x axis.
    colors : sequence of str, optional
        A colour for each of `stats`; by default shades of one colour.
    """
    width = 0.8 / len(stats)
    chosen_colors = shades(len(stats)) if colors is None else colors
    for index, ((label, rows), color) in enumerate(zip(stats.items(), chosen_colors, strict=True)):
        chosen = rows.sort_values(x)
        positions = np.arange(len(chosen)) + (index + 0.5) * width - 0.4
        error = error_lengths(chosen, least=0)
        ax.bar(positions, chosen["mean"], width, color=color, yerr=error, label=label, error_kw={"linewidth": 0.8})
    ax.set_xticks(range(len(ticks)), ticks)
    ax.grid(axis="x", visible=False)


def counts(ax: Axes, measured: pd.DataFrame, ticks: Sequence[str], stated: Sequence[float] | None = None) -> None:
    """Draw counts that differ by factors of ten: points with intervals, beside the numbers that a paper states.

    Points instead of bars, because on a logarithmic axis the length of a bar means nothing. The axis has 0, and a
    count of 0 and a missing number are written beside each other's places.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    measured : DataFrame
        Columns ``mean``, ``low``, ``high``, one row for each tick.
    ticks : sequence of str
        Labels on the x axis.
    stated : sequence of float, optional
        The paper's numbers, one for each tick; NaN where it has none.
    """
    series = {"measured": (measured["mean"].to_numpy(float), "o", "#333333", "#333333")}
    if stated is not None:
        series["paper"] = (np.asarray(stated, dtype=float), "D", "none", "#333333")
    shifts = (0.0,) if stated is None else (-0.14, 0.14)
    for shift, (label, (values, marker, face, edge)) in zip(shifts, series.items(), strict=True):
        places = np.arange(len(values)) + shift
        error = error_lengths(measured, least=0) if label == "measured" else None
        ax.errorbar(places, values, yerr=error, fmt=marker, color=edge, markerfacecolor=face, markersize=5, capsize=2,
                    linewidth=0.8, label=label if stated is not None else None)  # fmt: skip
        for place, value in zip(places, values, strict=True):
            if not value > 0:
                words = "0" if value == 0 else "none"
                ax.annotate(words, (place, 0), (0, 5), textcoords="offset points", ha="center", va="bottom", fontsize=8)
    drawn = [float(np.nanmax(values)) for values, *_ in series.values() if np.isfinite(values).any()]
    top = max([1.0, *drawn, *measured["high"].dropna()])
    ax.set(yscale="symlog", xlim=(-0.6, len(ticks) - 0.4), ylim=(-0.2, 3 * top))
    ax.set_xticks(range(len(ticks)), ticks)
    ax.grid(axis="x", visible=False)


def confusion(ax: Axes, counts: pd.DataFrame) -> None:
    """Draw a confusion matrix; the shade of a cell shows its share of the row.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    counts : DataFrame
        Number of samples of each class (rows) that were classified as each class (columns). Index and columns are keys
        of `LOOKS`.
    """
    import seaborn as sns  # loads the statistics of SciPy, for a second; judging claims needs neither

    shares = counts.div(counts.sum(axis=1).clip(lower=1), axis=0)
    labels = [look(name).label for name in counts.columns]
    sns.heatmap(
        shares, annot=counts, fmt="d", cmap="Blues", vmin=0, vmax=1, cbar=False, square=True, ax=ax,
        linewidths=0.5, xticklabels=labels, yticklabels=labels,
    )  # fmt: skip
    ax.tick_params(axis="x", rotation=30)
    ax.tick_params(axis="y", rotation=0)


def distribution(ax: Axes, values: pd.Series[float], name: str) -> None:
    """Draw the empirical distribution of values; `name` is a key of `LOOKS`."""
    line, appearance = tables.cdf(values), look(name)
    ax.step(line["value"], line["share"], where="post", color=appearance.color, label=appearance.label)


def draw_stated(ax: Axes, name: str, points: Sequence[tuple[float, float]]) -> None:
    """Draw points that a paper states, with one entry in the legend; `name` is a key of `LOOKS`."""
    appearance = look(name)
    for number, point in enumerate(points):
        label = None if number else f"{appearance.label}, paper"
        ax.plot(*point, marker="o", markerfacecolor="none", linestyle="", color=appearance.color, label=label)


def reference(
    ax: Axes, value: float, label: str, *, along: Literal["x", "y"] = "y", style: Literal[":", "--", "-."] = ":"
) -> None:
    """Draw a reference line, which is not a measurement: a rate, a share, or a value that the paper states.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    value : float
        Position of the line on the axis `along`.
    label : str
        Label in the legend.
    along : {'x', 'y'}
        The axis of the value.
    style : {':', '--', '-.'}
        Style of the line, to tell several lines of one figure apart.
    """
    line = ax.axhline if along == "y" else ax.axvline
    line(value, color=REFERENCE, linewidth=0.8, linestyle=style, label=label)


def shade(ax: Axes, spans: Sequence[tuple[float, float]]) -> None:
    """Shade spans of the x axis, such as the days of a circuit."""
    for begin, end in spans:
        ax.axvspan(begin, end, color=REFERENCE, alpha=0.15, linewidth=0)


def note(figure: Figure, text: str) -> None:
    """Write a sentence below a figure: what a reader must know about it and cannot see.

    It is larger below a wide figure, which is read smaller than it is drawn, and has as many lines as it needs.
    """
    wide = float(figure.get_size_inches()[0])
    size = 7.0 if in_column() else 8.0 * max(1.0, wide / READ_WIDTH)
    # a letter is half as wide as high, or a little more
    lines = textwrap.wrap(text, int(wide * 72 / (0.56 * size)))
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=size, color="#555555")


def legend(figure: Figure, ax: Axes, *, columns: int | None = None) -> None:
    """Put the legend of one panel above all panels, in one line or in the given number of columns.

    It has fewer columns if it would be wider than the figure.
    """
    legend_of(figure, *ax.get_legend_handles_labels(), columns=columns)


def legend_of_all(figure: Figure, axes: Iterable[Axes]) -> None:
    """Put one legend of several panels above all panels: each label once."""
    entries: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            entries.setdefault(label, handle)
    legend_of(figure, list(entries.values()), list(entries))


def legend_of(figure: Figure, handles: Sequence[Any], labels: Sequence[str], *, columns: int | None = None) -> None:
    """Put a legend of some artists above all panels; see `legend`."""
    for count in range(columns or len(labels), 0, -1):
        box = figure.legend(handles, labels, loc="outside upper center", ncols=count)
        if count == 1 or box.get_window_extent().width <= 0.97 * figure.bbox.width:
            for line in box.get_lines():  # thin lines of single runs could not be seen in a legend
                line.set_alpha(1.0)
            return
        box.remove()


def legend_above(ax: Axes, *, right: bool = False) -> None:
    """Put a small legend directly above a panel, with as many columns as fit into its width."""
    for count in range(len(ax.get_legend_handles_labels()[1]), 0, -1):
        box = ax.legend(
            loc="lower right" if right else "lower left", bbox_to_anchor=(float(right), 1.0), ncols=count,
            fontsize=6.5, borderpad=0, borderaxespad=0.4, handlelength=1.5, columnspacing=1.0,
        )  # fmt: skip
        if box.get_window_extent().width <= 0.78 * ax.figure.bbox.width:
            return


def band(
    ax: Axes, stats: pd.DataFrame, x: str, name: str, *, scale: float = 1.0, width: float = 1.0,
    alpha: float = 1.0, label: str | None = None, dash: Any = "-",
) -> None:  # fmt: skip
    """Draw a mean over `x` with its interval.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    stats : DataFrame
        Columns `x`, ``mean``, ``low``, ``high``, as `rdcnlab.analysis.tables.mean_ci` returns them.
    name : str
        A key of `LOOKS`.
    scale : float
        Factor on the values, to change their unit.
    width : float
        Width of the line in points. If curves overlap, draw later ones thinner so that all stay visible.
    alpha : float
        Opacity of the line, 0 to 1.
    label : str, optional
        Label in the legend, if it is not that of the look; empty for none.
    dash : line style of matplotlib
        Style of the line. A dashed line shows another one that it would hide.
    """
    appearance = look(name)
    text = appearance.label if label is None else label
    ax.plot(
        stats[x],
        stats["mean"] * scale,
        color=appearance.color,
        label=text,
        linewidth=width,
        alpha=alpha,
        linestyle=dash,
    )
    ax.fill_between(
        stats[x], stats["low"] * scale, stats["high"] * scale, color=appearance.color, alpha=0.25, linewidth=0
    )
