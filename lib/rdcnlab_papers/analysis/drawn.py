# SPDX-License-Identifier: Apache-2.0
"""The numbers that a figure draws, as one tidy table, so that readers can download them.

The table is taken from the figure itself. So it holds exactly what is drawn, for every figure, without a second path of
computation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

#: Columns of the table. ``low`` and ``high`` are the ends of an interval or of a span.
COLUMNS = ("panel", "kind", "series", "x", "y", "low", "high", "category", "x_axis", "y_axis")


def table(figure: Figure) -> pd.DataFrame:
    """List the values that a figure draws, one row for each point, bar, cell or span.

    Parameters
    ----------
    figure : Figure
        A drawn figure.

    Returns
    -------
    DataFrame
        ``panel`` (title of the panel, or its label, or its number), ``kind`` (``line``, ``band``, ``points``, ``bar``,
        ``cell``, ``span`` or ``reference``), ``series`` (label in the legend), ``x``, ``y``, ``low``, ``high`` (in the
        units of the axes), ``category`` (label of the nearest tick if ticks have names), ``x_axis``, ``y_axis`` (labels
        of the axes, with units).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> _ = figure.subplots().plot([0, 1], [5, 7], label="CUBIC")
    >>> table(figure)[["kind", "series", "x", "y"]].values.tolist()
    [['line', 'CUBIC', 0.0, 5.0], ['line', 'CUBIC', 1.0, 7.0]]
    """
    panels = [ax for ax in figure.axes if ax.axison]
    rows: list[dict[str, Any]] = []
    for number, ax in enumerate(panels, start=1):
        axes = {"x_axis": _label(panels, ax, "x"), "y_axis": _label(panels, ax, "y")}
        panel, ticks = ax.get_title() or str(ax.get_label()) or str(number), _named_ticks(ax)
        rows += [{"panel": panel, "category": _category(ticks, row), **axes, **row} for row in _of_panel(ax)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def describe(rows: pd.DataFrame) -> str:
    """Describe a figure in one or two sentences, for readers who do not see it.

    Parameters
    ----------
    rows : DataFrame
        Result of `table`.
    """
    if rows.empty:
        return ""
    panels, series = list(dict.fromkeys(rows["panel"])), list(dict.fromkeys(name for name in rows["series"] if name))
    x_axis, y_axis = (next((name for name in rows[axis] if name), "") for axis in ("x_axis", "y_axis"))
    titles = [panel for panel in panels if not panel.isdigit()]
    parts = [f"{y_axis} against {x_axis}" if x_axis and y_axis else x_axis or y_axis]
    parts.append(f"panels: {_several(titles)}" if len(titles) > 1 else "")
    parts.append(f"series: {_several(series)}" if series else "")
    return "; ".join(part for part in parts if part)


def _several(names: list[str], most: int = 8) -> str:
    flat = [" ".join(name.split()) for name in names]
    return ", ".join(flat[:most]) + (f" and {len(flat) - most} more" if len(flat) > most else "")


def _label(panels: list[Axes], ax: Axes, axis: str) -> str:
    """Return the label of an axis; panels that share an axis often have it only at the edge of the grid."""
    own_label = str(getattr(ax, f"get_{axis}label")())
    shared = getattr(ax, f"get_shared_{axis}_axes")()
    other_labels = (str(getattr(panel, f"get_{axis}label")()) for panel in panels if shared.joined(ax, panel))
    return own_label or next((label for label in other_labels if label), "")


def _of_panel(ax: Axes) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of one panel; lines and rectangles of containers are no series of their own."""
    inside: set[int] = set()
    for container in ax.containers:
        inside |= {id(part) for part in _flat(container)}
        if isinstance(container, BarContainer):
            yield from _bars(container)
        elif isinstance(container, ErrorbarContainer):
            yield from _with_errors(container)
    colors = {to_hex(line.get_color()): _name(line) for line in ax.lines if _name(line)}
    for line in ax.lines:
        if id(line) not in inside:
            yield from _line(ax, line)
    for artist in ax.collections:
        if id(artist) in inside:
            continue
        if isinstance(artist, QuadMesh):
            yield from _cells(artist)
        elif isinstance(artist, PathCollection):
            for x, y in np.ma.getdata(artist.get_offsets()):
                yield {"kind": "points", "series": _name(artist), "x": float(x), "y": float(y)}
        elif isinstance(artist, PolyCollection) and not isinstance(artist, LineCollection):
            yield from _band(artist, colors)
    for patch in ax.patches:
        if isinstance(patch, Rectangle) and id(patch) not in inside:
            low, high = patch.get_x(), patch.get_x() + patch.get_width()
            yield {"kind": "span", "series": _name(patch), "low": low, "high": high}


def _flat(value: Any) -> Iterator[Any]:
    """Iterate over the artists of a container, which may contain others."""
    for part in value if isinstance(value, tuple | list) else ():
        yield part
        yield from _flat(part)
    errors = getattr(value, "errorbar", None)
    if errors is not None:
        yield from _flat(errors)


def _name(artist: Any) -> str:
    """Return the label in the legend; names with an underscore are made by matplotlib."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _line(ax: Axes, line: Line2D) -> Iterator[dict[str, Any]]:
    xs, ys = (np.asarray(data, dtype=float) for data in (line.get_xdata(orig=False), line.get_ydata(orig=False)))
    if line.get_transform() == ax.get_yaxis_transform():
        yield {"kind": "reference", "series": _name(line), "y": float(ys[0])}
    elif line.get_transform() == ax.get_xaxis_transform():
        yield {"kind": "reference", "series": _name(line), "x": float(xs[0])}
    else:
        kind = "points" if line.get_linestyle() in ("None", "", " ") else "line"
        for x, y in zip(xs, ys, strict=True):
            yield {"kind": kind, "series": _name(line), "x": float(x), "y": float(y)}


def _band(band: PolyCollection, colors: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Iterate over the points of an interval; a band without a label belongs to the line of its colour."""
    faces: Any = band.get_facecolor()
    face = to_hex(faces[0]) if len(faces) else ""
    series = _name(band) or colors.get(face, "")
    for path in band.get_paths():
        corners = pd.DataFrame(np.asarray(path.vertices), columns=["x", "y"])
        ends = corners.groupby("x")["y"].agg(["min", "max"])
        for x, low, high in ends.itertuples():
            yield {"kind": "band", "series": series, "x": float(x), "low": float(low), "high": float(high)}


def _ends(errors: ErrorbarContainer | None) -> list[tuple[float, float, float, float]]:
    """Return begin and end of each error bar: x, y, x, y."""
    if errors is None:
        return []
    segments = [segment for lines in errors.lines[2] for segment in lines.get_segments()]
    return [(*map(float, segment[0]), *map(float, segment[-1])) for segment in segments if len(segment)]  # type: ignore[misc]


def _bars(bars: BarContainer) -> Iterator[dict[str, Any]]:
    ends = _ends(bars.errorbar)
    for index, patch in enumerate(bars.patches):
        upright = bars.orientation != "horizontal"
        x, y, width, height = patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()
        end = {"x": x + width / 2, "y": y + height} if upright else {"x": x + width, "y": y + height / 2}
        row = {"kind": "bar", "series": _name(bars), **{name: float(value) for name, value in end.items()}}
        if index < len(ends):
            row["low"], row["high"] = (ends[index][1], ends[index][3]) if upright else (ends[index][0], ends[index][2])
        yield row


def _with_errors(bars: ErrorbarContainer) -> Iterator[dict[str, Any]]:
    data, ends = bars.lines[0], _ends(bars)
    if data is None:
        return
    ends_of: Any = (data.get_xdata(orig=False), data.get_ydata(orig=False))
    points = list(zip(*ends_of, strict=True))
    for index, (x, y) in enumerate(points):
        row = {"kind": "points", "series": _name(bars), "x": float(x), "y": float(y)}
        if index < len(ends) and bars.has_yerr != bars.has_xerr:
            row["low"], row["high"] = (ends[index][1], ends[index][3]) if bars.has_yerr else ends[index][::2]
        yield row


def _cells(mesh: QuadMesh) -> Iterator[dict[str, Any]]:
    values: Any = np.ma.filled(np.ma.asarray(mesh.get_array(), dtype=float), np.nan)
    height, width = np.asarray(mesh.get_coordinates()).shape[:2]
    for index, value in enumerate(values.reshape(height - 1, width - 1).ravel()):
        row, column = divmod(index, width - 1)
        yield {
            "kind": "cell",
            "series": f"row {row + 1}",
            "x": column + 0.5,
            "y": row + 0.5,
            "low": value,
            "high": value,
        }


#: Axis, positions and names of ticks that have names instead of numbers.
_Names = list[tuple[str, npt.NDArray[np.float64], list[str]]]


def _named_ticks(ax: Axes) -> _Names:
    """Return the ticks of the axes whose ticks have names instead of numbers."""
    ticks: _Names = []
    for axis, name in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        if isinstance(axis.get_major_locator(), FixedLocator):
            labels = [label.get_text() for label in axis.get_majorticklabels()]
            if not all(_is_number(label) for label in labels):
                ticks.append((name, np.asarray(axis.get_majorticklocs(), dtype=float), labels))
    return ticks


def _category(ticks: _Names, row: dict[str, Any]) -> str:
    """Return the names of the ticks that are nearest to a row."""
    names = [labels[int(np.argmin(np.abs(places - row[name])))] for name, places, labels in ticks if name in row]
    return ", ".join(names)


def _is_number(label: str) -> bool:
    try:
        float(label.replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return not label or "$" in label  # a power of ten
    return True
