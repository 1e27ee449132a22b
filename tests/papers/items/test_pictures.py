# SPDX-License-Identifier: Apache-2.0
"""Every figure of every paper, drawn from shipped runs: what is drawn can be seen and read."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from rdcnlab.analysis.figures import READ_WIDTH, drawing, style
from rdcnlab_papers import full_names, select
from rdcnlab_papers.app import gallery
from rdcnlab_papers.items.item import Item

pytestmark = pytest.mark.slow
#: The smallest text in points, in a figure that is not wider than it is read.
SMALLEST = 6.5
#: Units are in square brackets: [us].
WRONG_UNIT = r"\((ns|us|µs|ms|s|B|kB|MB|GB|b/s|Mb/s|Gb/s|%|packets|segments)\)"


@pytest.fixture(autouse=True)
def in_style() -> Iterator[None]:
    """Read figures in the style in which they are drawn: the number of ticks depends on it."""
    with style():
        yield


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


def cut_intervals(ax: Axes) -> Iterator[str]:
    """Yield the bars of intervals in a panel that go on beyond an end of its axes."""
    ends = np.sort([ax.get_xlim(), ax.get_ylim()])
    slack = 1e-6 * (ends[:, 1] - ends[:, 0])
    for bars in ax.collections:
        if isinstance(bars, LineCollection) and bars.get_transform() == ax.transData:
            points = np.concatenate([*bars.get_segments(), np.empty((0, 2))])
            points = points[np.isfinite(points).all(axis=1)]
            beyond = (points < ends[:, 0] - slack) | (points > ends[:, 1] + slack)
            if beyond.any():
                yield f"{points[beyond.any(axis=1)][0]}, axes {ends.tolist()}"


def cut_marks(ax: Axes) -> Iterator[str]:
    """Yield the lines and clouds of a panel some of whose marks are cut at an end of its axes."""
    dots = 72 / ax.figure.dpi  # type: ignore[union-attr]
    marks = [
        (line.get_label(), np.column_stack(line.get_data(orig=False)), line.get_markersize() / 2, line)
        for line in ax.lines
        if line.get_marker() not in ("None", None, "", " ") and line.get_transform() == ax.transData
    ] + [
        (cloud.get_label(), np.asarray(cloud.get_offsets()), np.sqrt(cloud.get_sizes().max()) / 2, cloud)
        for cloud in ax.collections
        if isinstance(cloud, PathCollection) and len(cloud.get_sizes())
    ]
    for name, points, radius, artist in marks:
        if not artist.get_clip_on() or not artist.get_visible():
            continue
        places = ax.transData.transform(points[np.isfinite(points.astype(float)).all(axis=1)].astype(float))
        box = ax.get_window_extent()
        room = np.min([places - box.min, box.max - places], axis=(0, 2)) if len(places) else np.array([np.inf])
        # less than half of a mark is seen of what is further out, and what is far outside is another matter
        cut = (room < 0.6 * radius / dots) & (room > -radius / dots)
        if cut.any():
            yield f"{name}: {points[np.isfinite(points.astype(float)).all(axis=1)][cut][0]}"


def unnamed(panels: Sequence[Axes]) -> Iterator[str]:
    """Yield the axes with numbers that have no name, neither beside this panel nor beside one of its row or column."""
    for ax in panels:
        place = ax.get_subplotspec()
        if place is None or not ax.axison:
            continue
        for name, kind, of in (("x", "colspan", Axes.get_xlabel), ("y", "rowspan", Axes.get_ylabel)):
            axis = ax.xaxis if name == "x" else ax.yaxis
            labels = [label.get_text() for label in axis.get_ticklabels() if label.get_visible()]
            if not any(re.search(r"\d", label) for label in labels if not re.search(r"[a-z]{2}", label)):
                continue
            near = [one for one in panels if one.get_subplotspec() is not None]
            rows = [one for one in near if one.get_subplotspec().rowspan == place.rowspan]
            columns = [one for one in near if getattr(one.get_subplotspec(), kind) == getattr(place, kind)]
            if not any(of(one) for one in [*rows, *columns]) and not re.search(r"[a-z]", ax.get_title()):
                yield f"{ax.get_title()}: {name}"


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
    """The picture of the gallery is this figure, but for what another machine rounds otherwise.

    The figure must not have been drawn: a second drawing moves panels that share a bar of colours.
    """
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
    FigureCanvasAgg(figure).draw()
    panels = [panel for panel in figure.findobj(Axes) if isinstance(panel, Axes)]  # also panels inside panels
    for ax in panels:
        # a number alone does not say what it counts
        assert not re.fullmatch(r"[\d.]+ ?[a-zA-Z/]*", ax.get_title()), ax.get_title()
        found = list(outside(ax, inset=ax not in figure.axes)) if ax.axison else []
        assert not found, (ax.get_title(), found)
        # a figure may end intervals at its edge if it says so
        cut = [] if "Intervals" in (figure.get_supxlabel() or "") else [*cut_bands(ax), *cut_intervals(ax)]
        assert not cut, (ax.get_title(), cut)
        marks = list(cut_marks(ax)) if ax.axison else []
        assert not marks, (ax.get_title(), marks)
    assert not list(unnamed(panels))
    for text in words(figure):
        assert not re.search(WRONG_UNIT, text.get_text()), text.get_text()
        size = text.get_fontsize() * min(1.0, READ_WIDTH / figure.get_size_inches()[0])
        assert size >= SMALLEST, (text.get_text(), size)
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
    check_small(item, item.plot(runs))


def test_a_curve_that_leaves_an_inset_at_its_top_is_noticed() -> None:
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
    ax = Figure().subplots()
    ax.fill_between([0, 1], [-1, -1], [5, 9])
    ax.set_ylim(0, 9)
    assert list(cut_bands(ax)) == []
    ax.set_ylim(0, 8)
    assert list(cut_bands(ax)) == ["to 9, axis to 8"]


def test_an_interval_or_a_mark_that_is_cut_is_noticed() -> None:
    figure = Figure()
    ax = figure.subplots()
    ax.errorbar([0, 1], [1, 2], [2, 1], fmt="o", label="measured")
    ax.set(xlim=(-1, 2), ylim=(-1, 4))
    assert [*cut_intervals(ax), *cut_marks(ax)] == []
    ax.set(xlim=(0, 2), ylim=(0, 4))
    assert len(list(cut_intervals(ax))) == len(list(cut_marks(ax))) == 1


def test_a_figure_of_ours_does_not_cut_marks() -> None:
    figure = drawing(4, 3)
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], "o")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    assert len(list(cut_marks(ax))) == 1
    FigureCanvasAgg(figure).draw()
    assert list(cut_marks(ax)) == []


def test_an_axis_without_a_name_is_noticed() -> None:
    first, second = Figure().subplots(1, 2)
    first.set(xlabel="time [s]", ylabel="rate [Gb/s]")
    assert list(unnamed([first, second])) == []
    first.set(xlabel="")
    assert list(unnamed([first, second])) == [": x", ": x"]
