# SPDX-License-Identifier: Apache-2.0
"""Common functions for the parts of a picture: a sheet in inches, text of known width."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.textpath import text_to_path

from rdcnlab.analysis.drawing import Drawing
from rdcnlab.analysis.figures import REFERENCE, shades
from rdcnlab.analysis.palettes import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

#: Width of a picture in inches: the width of a notebook's column, and of a page without its margins.
WIDTH = 7.4
#: Sizes of text in points: for names, and for all other text.
NAME, SMALL = 8.0, 7.0
INK, PALE = "#333333", "#F4F4F4"
_POINTS = 72.0
#: Less than the width of the narrowest letter, as a part of the size of the text.
_NARROWEST = 0.2


@functools.lru_cache(maxsize=4096)
def width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a text in inches. For several lines it is the width of the longest line."""
    properties = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=size)
    ends = [text_to_path.get_text_width_height_descent(line, properties, False)[0] for line in text.splitlines()]
    # a drawn text is up to 5 % wider, because glyphs are moved to whole pixels
    return 1.05 * max((float(end) for end in ends), default=0.0) / _POINTS


def fitting(text: str, space: float, *sizes: float) -> float | None:
    """Return the first of the sizes at which a text fits into `space` (inches), or None."""
    return next((size for size in sizes if width(text, size) <= space), None)


def wrap(text: str, space: float, size: float) -> list[str]:
    """Split a text into lines that fit into `space` (inches). A longer word gets a line of its own."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width(f"{lines[-1]} {word}", size) <= space:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def shorten(text: str, space: float, size: float) -> str:
    """Return a text if it fits into `space` (inches), otherwise its beginning followed by dots."""
    # a line of thousands of names is not measured as a whole, which takes seconds
    most = int(space * _POINTS / (_NARROWEST * size)) + 1
    if len(text) <= most and width(text, size) <= space:
        return text
    fits = bisect.bisect_right(range(1, min(len(text), most) + 1), space, key=lambda n: width(f"{text[:n]} ...", size))
    return f"{text[:fits].rstrip(' ,')} ..."


def sheet(figure: Drawing, top: float, height: float, total: float) -> Axes:
    """Return axes without a frame whose unit is an inch; (0, 0) is its lower left corner.

    Parameters
    ----------
    figure : Drawing
        A figure `WIDTH` inches wide and `total` inches high.
    top, height : float
        Distance below the figure's upper edge, and height of the sheet, in inches.
    total : float
        Height of the figure in inches.
    """
    ax = figure.add_axes((0, (total - top - height) / total, 1, height / total))
    ax.set(xlim=(0, WIDTH), ylim=(0, height))
    ax.set_axis_off()
    return ax


def write(
    ax: Axes, x: float, y: float, text: str, size: float = SMALL, *, ha: str = "center", va: str = "center_baseline",
    color: str = INK, bold: bool = False, halo: bool = False, rotation: float = 0,
) -> Text:  # fmt: skip
    """Write text. With `halo` it has a white background, so that lines behind it do not cross it.

    The rotation is in degrees, counter-clockwise.
    """
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0} if halo else None
    weight = "bold" if bold else "normal"
    return ax.text(
        x, y, text, fontsize=size, ha=ha, va=va, color=color, fontweight=weight, bbox=box, zorder=5, linespacing=1.15,
        rotation=rotation,
    )  # fmt: skip


def line(
    ax: Axes, xs: Iterable[float], ys: Iterable[float], color: str = INK, wide: float = 1.0,
    style: Literal["-", "--"] = "-", *, name: str | None = None, above: bool = False,
) -> None:  # fmt: skip
    """Draw a line through points, below or above boxes; `name` is the link that the line represents."""
    artist = Line2D(list(xs), list(ys), color=color, linewidth=wide, linestyle=style, solid_capstyle="butt")
    artist.set(zorder=3.5 if above else 1, gid=name)
    ax.add_line(artist)


def box(
    ax: Axes, x: float, y: float, wide: float, high: float, *, round_: bool = True, fill: str = PALE,
    style: Literal["-", "--"] = "-",
) -> None:  # fmt: skip
    """Draw a box around a centre; `style` is that of the edges of a box that is not round."""
    corner = (x - wide / 2, y - high / 2)
    if round_:
        shape = f"round,pad=0,rounding_size={min(0.06, high / 4)}"
        ax.add_patch(FancyBboxPatch(corner, wide, high, boxstyle=shape, fc=fill, ec=INK, lw=0.9, zorder=3))
    else:
        ax.add_patch(Rectangle(corner, wide, high, fc=fill, ec=INK, lw=0.7, ls=style, zorder=3))


def queue(ax: Axes, x: float, y: float, *, upright: bool = False, size: float = 0.13) -> None:
    """Draw a queue of three cells around a point. It is upright if the line leaves upwards or downwards."""
    for cell in (-1, 0, 1):
        step = cell * size / 2.6
        centre = (x, y + step) if upright else (x + step, y)
        wide, high = (size * 0.8, size / 2.6) if upright else (size / 2.6, size * 0.8)
        corner = (centre[0] - wide / 2, centre[1] - high / 2)
        ax.add_patch(Rectangle(corner, wide, high, fc="white", ec=INK, lw=0.6, zorder=4))


def ordered_colors(names: Iterable[str]) -> dict[str, str]:
    """Return colours from light to dark for switches, in their order."""
    names = list(names)
    return dict(zip(names, shades(len(names)), strict=True))


def ink_on(color: str) -> str:
    """Return the colour, black or white, in which text is readable on a background colour."""
    red, green, blue = to_rgb(color)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else "black"


__all__ = [
    "FAINT", "INK", "NAME", "PALE", "REFERENCE", "SMALL", "WIDTH", "box", "fitting", "ink_on",
    "line", "ordered_colors", "queue", "sheet", "shorten", "width", "wrap", "write",
]  # fmt: skip
