# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import weeks

HYBRID = Scenario.from_dict(
    {
        "network": "tdtcp",
        "flows": [{"name": "flow-[1-16]", "size": "100 GiB"}],
        "limit": "10 ms",
        "probes": {"bin": "20 us", "fold": "4.2 ms", "fold_from": "140 us"},
    }
)
#: Share of payload in the bytes of a full frame on the wire.
SHARE = 8948 / 9038


def test_bounds_are_those_of_the_timetable() -> None:
    # in 1400 us: 1200 us at 10 Gb/s, 180 us at 100 Gb/s, and 20 us dark
    assert weeks.bound_gbps(HYBRID) == pytest.approx((1200 * 10 + 180 * 100) / 1400 * SHARE)
    assert weeks.bound_gbps(HYBRID, only="packet") == pytest.approx(10 * SHARE)
    at = weeks.carried_bytes(HYBRID, [0, 1_180_000, 1_200_000, 1_380_000, 1_400_000, 2_800_000])
    steps = [0, 11.8e6, 11.8e6, 29.8e6, 30e6, 60e6]  # bits
    assert at == pytest.approx(np.array(steps) * SHARE / 8)


def test_days_are_where_the_circuit_is() -> None:
    found = weeks.days(HYBRID, "circuit")
    assert found[:2].tolist() == [[1_200_000, 1_380_000], [2_600_000, 2_780_000]]
    assert len(found) == 7  # of 10 ms
    aligned = HYBRID.with_(**{"probes.fold_from": "1.4 ms"})
    assert weeks.spans_us(aligned, "circuit") == [(1200, 1380), (2600, 2780), (4000, 4180)]
    later = HYBRID.with_(**{"network.schedules.forward.phase": "600 us"})
    assert weeks.days(later, "circuit")[0].tolist() == [1_800_000, 1_980_000]


def test_a_fold_is_a_mean_over_spans_and_its_sum_a_sequence_graph() -> None:
    frame = pd.DataFrame({"run": [0, 0, 0, 1], "bin": [0, 0, 209, 5], "bytes": [10, 30, 8, 2]})
    folded = weeks.fold(frame, "bytes", HYBRID)  # two whole spans
    assert len(folded) == 2 * 210
    first = folded[folded["run"] == 0]
    assert first["mean"].iloc[[0, 1, 209]].tolist() == [20, 0, 4]
    assert first["t_us"].iloc[-1] == 4180
    line = weeks.sequence(folded, share=0.5)
    of = line[line["run"] == 0]
    assert (of["t_us"].iloc[0], of["bytes"].iloc[0]) == (0, 0)
    assert (of["t_us"].iloc[-1], of["bytes"].iloc[-1]) == (4200, 12)
    assert weeks.slope_gbps(of, [(0, 20)]) == pytest.approx(10 * 8e-3 / 20)
    with pytest.raises(ValueError, match="not folded"):
        weeks.fold(frame, "bytes", HYBRID.with_(probes={"bin": "20 us"}))


def test_days_without_events_count_as_zero() -> None:
    spans = weeks.days(HYBRID, "circuit")
    events = pd.DataFrame({"run": [0, 0, 0], "t_ns": [1_200_000, 1_390_000, 2_600_000]})
    counted = weeks.per_day(events, spans, range(2))
    assert counted.groupby("run")["count"].apply(list).tolist() == [[1, 1, 0, 0, 0, 0, 0], [0] * 7]
    assert len(weeks.per_day(events, spans, range(1), begin_ns=2_000_000)) == 6


def test_events_until_some_time_after_a_day_may_count_as_well() -> None:
    spans = weeks.days(HYBRID, "circuit")
    late = pd.DataFrame({"run": 0, "t_ns": [spans[0, 1] + 10_000, spans[1, 1] + 30_000]})
    counts = [weeks.per_day(late, spans, range(1), after_ns=after)["count"].sum() for after in (0, 20_000, 40_000)]
    assert counts == [0, 1, 2]
