# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from rdcnlab.analysis import figures


def test_no_two_variants_of_a_figure_look_alike() -> None:
    names = ("nuftcp", "tdtcp", "dctcp", "cubic", "bbr")
    found = figures.looks(names)
    assert list(found) == list(names)
    assert len({each.color for each in found.values()}) == len({each.marker for each in found.values()}) == 5
    # whoever comes first keeps its own look
    assert found["tdtcp"] == figures.look("tdtcp")
    assert found["bbr"].label == "BBR"


@pytest.mark.parametrize(("label", "least", "most"), [("x", 6, 6), ("a label of some length", 2, 4), ("x" * 200, 1, 1)])
def test_a_legend_that_does_not_fit_has_fewer_columns(label: str, least: int, most: int) -> None:
    with figures.single(6.4, 3.2) as (figure, ax):
        for number in range(6):
            ax.plot([0, 1], [0, number], label=label)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    texts = [text.get_window_extent() for text in legend.get_texts()]
    assert least <= len({round(text.x0) for text in texts}) <= most
    assert len(texts) == 6
    if most > 1:
        assert all(0 <= text.x0 < text.x1 <= figure.bbox.width for text in texts)
