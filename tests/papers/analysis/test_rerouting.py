# SPDX-License-Identifier: Apache-2.0
"""Falls of the aggregate throughput at moves, with rates that are given."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import rerouting
from rdcnlab_papers.carpa import space


class Given(Runs):
    """One run of two groups whose aggregate rate is given for each second."""

    def __init__(self, mbps: list[float]) -> None:
        self.mbps = mbps
        self.asked = space.moving_groups(50, 1, seed=0, groups=2, settle_s=60, every_s=30)

    def __getitem__(self, place: int) -> Given:  # type: ignore[override]
        return self

    def __iter__(self) -> Iterator[Given]:  # type: ignore[override]
        return iter([self])

    def __len__(self) -> int:
        return 1

    @property
    def scenario(self) -> object:
        return self.asked

    def rows(self, name: str) -> pd.DataFrame:
        rows = [
            {"run": 0, "bin": second * 10, "where": where, "flow": flow, "bytes": rate * 1e6 / 8 / 2}
            for second, rate in enumerate(self.mbps)
            for flow, where in (("g1-1", "short@left"), ("g2-1", "long@left"))
        ]
        return pd.DataFrame(rows).astype({"where": "category", "flow": "category"})


def test_a_fall_is_the_mean_after_a_move_below_the_mean_before() -> None:
    # moves at 60, 90 and 120 s; the limit is 150 s
    rates = [200.0] * 60 + [100.0] * 5 + [200.0] * 25 + [190.0] * 30 + [200.0] * 30
    found = rerouting.drops.__wrapped__(Given(rates), 10**9)
    assert list(found["to"]) == ["long", "short", "long"]
    assert list(found["percent"]) == pytest.approx([50, 5, 100 * (1 - 200 / 190)])
    # the mean of two seconds is 190 from the sixth on; 190 of 200 is just recovered; and it never fell
    assert list(found["recovered_s"]) == pytest.approx([5, 0, 0])
