# SPDX-License-Identifier: Apache-2.0
"""The table of a figure holds what was drawn, for each kind of drawing that figures use."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.figure import Figure

from rdcnlab.analysis import figures
from rdcnlab_papers.analysis import drawn


def rows(figure: Figure, kind: str) -> pd.DataFrame:
    table = drawn.table(figure)
    assert list(table.columns) == list(drawn.COLUMNS)
    return table[table["kind"] == kind]


def test_a_band_belongs_to_the_line_of_its_colour() -> None:
    stats = pd.DataFrame(
        {"t": [0.0, 1.0, 2.0], "mean": [4.0, 5.0, 6.0], "low": [3.0, 4.5, 5.0], "high": [5.0, 5.5, 9.0]}
    )
    with figures.single(3, 2) as (figure, ax):
        figures.band(ax, stats, "t", "main", scale=2)
        figures.band(ax, stats, "t", "migrated")
    lines, bands = rows(figure, "line"), rows(figure, "band")
    assert list(lines["series"]) == ["main flow"] * 3 + ["migrated flow"] * 3
    assert list(lines["y"][:3]) == [8, 10, 12]
    assert list(bands["series"]) == ["main flow"] * 3 + ["migrated flow"] * 3
    assert bands[["x", "low", "high"]].to_numpy()[:3].tolist() == [[0, 6, 10], [1, 9, 11], [2, 10, 18]]


def test_bars_have_their_intervals_and_their_categories() -> None:
    stats = {
        "CUBIC": pd.DataFrame({"x": [1, 2], "mean": [4.0, 5.0], "low": [3.0, 4.0], "high": [6.0, 5.5]}),
        "BBR": pd.DataFrame({"x": [1, 2], "mean": [1.0, 2.0], "low": [0.5, 1.0], "high": [1.5, 4.0]}),
    }
    with figures.single(3, 2) as (figure, ax):
        figures.bars(ax, stats, "x", ["few", "many"])
    found = rows(figure, "bar")
    assert list(found["series"]) == ["CUBIC", "CUBIC", "BBR", "BBR"]
    assert found[["y", "low", "high"]].to_numpy().tolist() == [[4, 3, 6], [5, 4, 5.5], [1, 0.5, 1.5], [2, 1, 4]]
    assert list(found["category"]) == ["few", "many", "few", "many"]
    assert rows(figure, "span").empty  # bars are no spans


def test_horizontal_bars_points_with_errors_and_scatter() -> None:
    figure = Figure()
    left, middle, right = figure.subplots(1, 3)
    left.barh([0, 1], [7.0, 8.0], xerr=[1.0, 2.0], label="share")
    middle.errorbar([1, 2], [3.0, 4.0], yerr=[0.5, 1.0], label="mean")
    right.scatter([1, 2], [5, 6], label="runs")
    assert rows(figure, "bar")[["x", "y", "low", "high"]].to_numpy().tolist() == [[7, 0, 6, 8], [8, 1, 6, 10]]
    points = rows(figure, "points")
    assert list(points["series"]) == ["mean", "mean", "runs", "runs"]
    assert points[["x", "y"]].to_numpy().tolist() == [[1, 3], [2, 4], [1, 5], [2, 6]]
    assert points[["low", "high"]].to_numpy()[:2].tolist() == [[2.5, 3.5], [3, 5]]
    assert list(points["panel"]) == ["2", "2", "3", "3"]


def test_references_spans_and_cells() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    figures.reference(left, 5.0, "limit")
    figures.reference(left, 2.0, "paper", along="x")
    figures.shade(left, [(1.0, 3.0)])
    figures.confusion(right, pd.DataFrame([[3, 1], [0, 4]], index=["cubic", "bbr"], columns=["cubic", "bbr"]))
    references = rows(figure, "reference")
    assert references["y"].iloc[0] == 5
    assert references["x"].iloc[1] == 2
    assert rows(figure, "span")[["low", "high"]].to_numpy().tolist() == [[1, 3]]
    cells = rows(figure, "cell")
    assert list(cells["low"]) == [0.75, 0.25, 0, 1]
    assert cells["category"].iloc[1] == "BBR, CUBIC"


def test_the_words_name_axes_panels_and_series() -> None:
    with figures.style():
        figure, axes = figures.panels(1, 2)
        for ax, title in zip(axes[0], ("50 ms", "10 ms"), strict=True):
            ax.plot([0, 1], [1, 2], label="CUBIC")
            ax.set_title(title)
        axes[0, 0].set(xlabel="time [s]", ylabel="rate [Gb/s]")
    table = drawn.table(figure)
    # the panels share the y axis, whose label only the first has
    assert set(table["y_axis"]) == {"rate [Gb/s]"}
    assert drawn.describe(table) == "rate [Gb/s] against time [s]; panels: 50 ms, 10 ms; series: CUBIC"
    assert drawn.describe(drawn.table(Figure())) == ""


@pytest.mark.parametrize("count", [8, 9])
def test_the_words_stay_short(count: int) -> None:
    figure = Figure()
    ax = figure.subplots()
    for number in range(count):
        ax.plot([0], [number], label=f"flow {number}")
    assert drawn.describe(drawn.table(figure)).endswith("flow 7" if count == 8 else "flow 7 and 1 more")
