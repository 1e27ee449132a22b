# SPDX-License-Identifier: Apache-2.0
"""Every figure of every paper, drawn from shipped runs: what is drawn can be seen and read."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from rdcnlab.analysis.figures import style
from rdcnlab_papers import full_names, select
from rdcnlab_papers.app import gallery
from rdcnlab_papers.items.item import Item

pytestmark = pytest.mark.slow


def outside(ax: Axes, *, inset: bool) -> Iterator[str]:
    """Yield the lines of a panel that have points beyond the ends of its axes.

    An inset shows a part of the curves around it, so it may end along x. Along y it must show all of this part.
    """
    for line in ax.lines:
        if line.get_transform() != ax.transData or not line.get_visible():
            continue
        xs, ys = (np.asarray(data, dtype=float) for data in (line.get_xdata(orig=False), line.get_ydata(orig=False)))
        known = np.isfinite(xs) & np.isfinite(ys)
        if inset:
            known &= (xs >= min(ax.get_xlim())) & (xs <= max(ax.get_xlim()))
        for name, values, ends in (("x", xs[known], ax.get_xlim()), ("y", ys[known], ax.get_ylim())):
            low, high = sorted(ends)
            slack = 1e-6 * (high - low)
            if len(values) and (values.min() < low - slack or values.max() > high + slack):
                yield f"{line.get_label()}: {name} {values.min():g} to {values.max():g}, axis {low:g} to {high:g}"


def cut_bands(ax: Axes) -> Iterator[str]:
    """Yield the intervals of a panel that go on above its end. Below zero, where no value is, they may end."""
    low, high = sorted(ax.get_xlim())
    top = max(ax.get_ylim())
    for band in ax.collections:
        if not isinstance(band, PolyCollection) or band.get_transform() != ax.transData:
            continue
        points = np.concatenate([path.vertices for path in band.get_paths()] or [np.empty((0, 2))])
        points = points[np.isfinite(points).all(axis=1) & (points[:, 0] >= low) & (points[:, 0] <= high)]
        if len(points) and points[:, 1].max() > top + 1e-6 * abs(top):
            yield f"to {points[:, 1].max():g}, axis to {top:g}"


def words(figure: Figure) -> list[Text]:
    """Return the visible texts. Matplotlib also keeps tick labels that it does not draw."""
    unseen = {
        label
        for ax in figure.findobj(Axes)  # also panels inside panels
        if isinstance(ax, Axes)
        for axis, ends in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim()))
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        for label in (tick.label1, tick.label2)
        if not ax.axison or not min(ends) <= tick.get_loc() <= max(ends)
    }
    found = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    return [text for text in found if text not in unseen and text.get_visible() and text.get_text().strip()]


def check_small(item: Item, figure: Figure) -> None:
    """The picture of the gallery is this figure, but for what another machine rounds otherwise."""
    stale = f"the picture in the gallery is not this figure; this draws it: tools/index pictures {item.paper}/{item.id}"
    contents = gallery.path(item.paper, item.id).read_bytes(), gallery.content(figure)
    shipped, drawn = (np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), dtype=int) for content in contents)
    assert shipped.shape == drawn.shape, stale
    # figures that are most alike, 18 and 20 of dogar, differ by 2
    assert np.abs(shipped - drawn).mean() < 1, stale


@pytest.mark.parametrize("name", full_names())
def test_nothing_is_clipped_and_no_word_is_on_another(name: str) -> None:
    (kind,) = select([name])
    item = kind(profile="paper")
    runs = item.stored_runs()
    if runs is None:
        pytest.skip("not all runs of the paper profile are shipped")
    figure = item.plot(runs)
    with style():
        FigureCanvasAgg(figure).draw()
    panels = [panel for panel in figure.findobj(Axes) if isinstance(panel, Axes)]  # also panels inside panels
    for ax in panels:
        # a number alone does not say what it counts
        assert not re.fullmatch(r"[\d.]+ ?[a-zA-Z/]*", ax.get_title()), ax.get_title()
        found = list(outside(ax, inset=ax not in figure.axes)) if ax.axison else []
        assert not found, (ax.get_title(), found)
        # a figure may end intervals at its edge if it says so
        cut = [] if "Intervals" in (figure.get_supxlabel() or "") else list(cut_bands(ax))
        assert not cut, (ax.get_title(), cut)
    # the box around rotated words is larger than the words
    texts = [text for text in words(figure) if text.get_rotation() % 90 == 0]
    for one, other in itertools.combinations(texts, 2):
        first, second = one.get_window_extent(), other.get_window_extent()
        apart = first.x1 - 1 <= second.x0 or second.x1 - 1 <= first.x0
        assert apart or first.y1 - 1 <= second.y0 or second.y1 - 1 <= first.y0, (one.get_text(), other.get_text())
    for text in texts:
        box = text.get_window_extent()
        assert box.x0 >= -1, text.get_text()
        assert box.x1 <= figure.bbox.width + 1, text.get_text()
    # last, because it draws the figure at another size
    check_small(item, figure)


def test_a_curve_that_leaves_an_inset_at_its_top_is_noticed() -> None:
    with style():
        figure = Figure()
        inset = figure.subplots().inset_axes((0.5, 0.5, 0.3, 0.3))
        inset.plot([0, 1, 2], [0, 5, 9], label="curve")
        inset.set(xlim=(0, 1), ylim=(0, 5))
        FigureCanvasAgg(figure).draw()
    # what is beyond the part of the time that it shows is not missing; what is above it is
    assert list(outside(inset, inset=True)) == []
    assert len(list(outside(inset, inset=False))) == 2
    inset.set_ylim(0, 4)
    assert list(outside(inset, inset=True)) == ["curve: y 0 to 5, axis 0 to 4"]


def test_an_interval_that_is_cut_at_the_top_is_noticed() -> None:
    with style():
        ax = Figure().subplots()
        ax.fill_between([0, 1], [-1, -1], [5, 9])
        ax.set_ylim(0, 9)
    assert list(cut_bands(ax)) == []
    ax.set_ylim(0, 8)
    assert list(cut_bands(ax)) == ["to 9, axis to 8"]
