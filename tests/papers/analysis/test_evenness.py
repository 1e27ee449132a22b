# SPDX-License-Identifier: Apache-2.0
"""How even throughput is, on runs whose bytes are given."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rdcnlab.engines import SCHEMAS
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import RECEIVER
from rdcnlab_papers.analysis import evenness
from rdcnlab_papers.dogar import clos

#: Bytes of payload in a millisecond at 8 Gb/s.
FULL = 10**6


class Made:
    """A run with a table of throughput."""

    def __init__(self, bytes_of: dict[str, list[int]], where: str = RECEIVER) -> None:
        length = len(next(iter(bytes_of.values())))
        self.scenario = clos.updates("dctcp", seed=0, count=1).with_(limit=length * 10**6)
        self.id, self.shipped, self.provenance, self.source = "made", False, {}, None
        rows = [
            {"bin": number, "where": where, "flow": flow, "bytes": of, "packets": 1}
            for flow, values in bytes_of.items()
            for number, of in enumerate(values)
            if of
        ]
        self._table = pa.Table.from_pylist(rows, SCHEMAS["throughput"])

    def table(self, name: str, part: object) -> pa.Table:
        assert name == "throughput"
        return self._table


def described(fn: list[int], fm: list[int], from_ms: int = 0) -> dict[str, float]:
    runs = Runs([Made({"fn-1": fn, "fm-1": fm})])  # type: ignore[list-item]
    return dict(evenness.evenness(runs, from_ms * 10**6).iloc[0])


def test_equal_constant_rates_are_even() -> None:
    found = described([FULL] * 5, [FULL] * 5)
    assert (found["variation"], found["zero"], found["near_zero_ms"], found["uneven_ms"]) == (0, 0, 0, 0)
    assert found["gbps"] == pytest.approx(16)


def test_bins_without_packets_count_as_zero_also_at_the_end() -> None:
    found = described([FULL, 0, 0, FULL, 0], [FULL] * 5)
    assert found["zero"] == pytest.approx(60)
    assert found["near_zero_ms"] == pytest.approx(1)  # 2 ms of one flow and none of the other
    assert found["uneven_ms"] == 3
    rate = np.array([1, 0, 0, 1, 0])
    assert found["variation"] == pytest.approx(rate.std() / rate.mean() / 2)


def test_bins_before_the_first_update_do_not_count() -> None:
    found = described([0, 0, FULL, FULL], [0, FULL, FULL, FULL], from_ms=2)
    assert (found["zero"], found["uneven_ms"]) == (0, 0)


def test_a_flow_that_carries_nothing_has_no_variation() -> None:
    found = described([0] * 4, [FULL] * 4)
    assert np.isnan(found["variation"])
    assert found["near_zero_ms"] == pytest.approx(2)


def test_almost_nothing_is_less_than_a_tenth_of_the_line() -> None:
    line = 10 * 1448 / 1538
    tenth = round(line * 1e9 / 8 / 1000 / 10)
    assert described([tenth + 100] * 3, [FULL] * 3)["near_zero_ms"] == 0
    assert described([tenth - 100] * 3, [FULL] * 3)["near_zero_ms"] == pytest.approx(1.5)


def test_the_lowest_rate_of_each_flow_is_a_share_of_its_line() -> None:
    runs = Runs([Made({"fn-1": [FULL, FULL // 4, FULL, 0], "fm-1": [FULL] * 4})])  # type: ignore[list-item]
    found = evenness.lowest(runs, 0, 3 * 10**6).set_index("flow")["share"]
    assert found["fn-1"] == pytest.approx(25 * 8 / 10 * 1538 / 1448)
    assert found["fm-1"] == pytest.approx(100 * 8 / 10 * 1538 / 1448)


def test_bytes_of_links_are_counted_without_headers() -> None:
    end = clos.MEETINGS[1]
    runs = Runs([Made({"fn-1": [FULL] * 3, "fm-1": [FULL] * 3}, where=end)])  # type: ignore[list-item]
    assert evenness.evenness(runs, 0, clos.MEETINGS).iloc[0]["gbps"] == pytest.approx(16 * 1448 / 1538)
    assert evenness.evenness(runs, 0).iloc[0]["gbps"] == 0


@pytest.mark.parametrize(
    ("chosen", "length"), [([], 0), ([0, 0], 0), ([1, 1, 0, 1], 2), ([0, 1, 1, 1], 3), ([1], 1)], ids=str
)
def test_the_longest_run_of_true_values(chosen: list[int], length: int) -> None:
    assert evenness.longest(np.array(chosen, dtype=bool)) == length
