# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from rdcnlab.analysis import figures


def test_no_two_variants_of_a_figure_look_alike() -> None:
    names = ("nuftcp", "tdtcp", "dctcp", "cubic", "bbr")
    found = figures.looks(names)
    assert list(found) == list(names)
    assert len({each.color for each in found.values()}) == len({each.marker for each in found.values()}) == 5
    # whoever comes first keeps its own look
    assert found["tdtcp"] == figures.look("tdtcp")
    assert found["bbr"].label == "BBR"
