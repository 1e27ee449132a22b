# SPDX-License-Identifier: Apache-2.0
"""Reductions of windows, waiting phases and falls of an aggregate, on traces whose answer is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rdcnlab_papers.analysis import phases, recoveries
from rdcnlab_papers.analysis.rerouting import moves
from rdcnlab_papers.carpa import space


def trace(*parts: list[float]) -> tuple[np.ndarray, np.ndarray]:
    window = np.concatenate(parts)
    return np.arange(len(window)) * 0.01, window.astype(float)


def test_a_stepwise_reduction_is_one_and_its_recovery_is_timed() -> None:
    t_s, window = trace([100] * 10, [98, 98, 96, 90, 80, 70], list(range(71, 102)), [101] * 5)
    (row,) = recoveries.reductions(t_s, window, 0.05).to_dict("records")
    assert (row["before"], row["after"], row["step"]) == (100, 70, 10)
    assert row["t_s"] == pytest.approx(0.10)
    # the first fall is sample 10, and 98 segments are sample 43
    assert row["recovered_s"] == pytest.approx(0.33)
    assert not row["undone"]


def test_a_window_that_one_ack_restores_is_undone() -> None:
    t_s, window = trace([100] * 10, [90, 80, 70], [70] * 5, [100] * 5)
    (row,) = recoveries.reductions(t_s, window, 0.05).to_dict("records")
    assert row["undone"]
    # the same falls, and growth of one segment an ACK: nothing is undone
    t_s, window = trace([100] * 10, [90, 80, 70], list(range(70, 110)))
    assert not recoveries.reductions(t_s, window, 0.05)["undone"].any()


def test_a_restored_window_that_falls_again_is_two_reductions() -> None:
    t_s, window = trace([100] * 10, [70] * 5, [100] * 3, [70] * 50, [100] * 3)
    found = recoveries.reductions(t_s, window, 0.02)
    assert list(found["before"]) == [100, 100]
    assert list(found["undone"]) == [True, True]


def test_small_falls_and_traces_without_falls_are_none() -> None:
    assert recoveries.reductions(*trace([100] * 5, [97] * 5), 0.05).empty
    assert recoveries.reductions(*trace(list(range(10))), 0.05).empty


def test_waiting_is_the_share_of_long_gaps() -> None:
    """150 packets, one every 0.121 ms, then nothing until the next round trip of 50 ms: 32 of 50 ms are waiting."""
    times = np.concatenate([start + np.arange(150) * 0.121e-3 for start in np.arange(0, 1, 0.05)])
    assert phases.waiting_share(times, 0.0, 1.0, 1e-3) == pytest.approx(1 - 149 * 0.121 / 50, abs=1e-3)
    assert phases.waiting_share(np.arange(0, 1, 0.5e-3), 0.0, 1.0, 1e-3) == 0
    assert phases.waiting_share(np.empty(0), 0.0, 1.0, 1e-3) == 1


def test_the_second_is_the_one_with_the_nearest_mean_window() -> None:
    tcp = pd.DataFrame({"t_ns": np.arange(0, 5 * 10**9, 10**8), "cwnd": np.repeat([100, 149, 152, 200, 148], 10)})
    assert phases.nearest_second(tcp, 150, 0.0, 5.0) == (1.0, 149.0)
    assert phases.nearest_second(tcp, 150, 2.0, 5.0)[0] in (2.0, 4.0)
    assert phases.nearest_second(tcp, 150, 2.0, 3.0) == (2.0, 152.0)


def test_offsets_are_to_the_nearest_deep_reduction_after_the_start() -> None:
    t_s, window = trace([500] * 100, [350] * 100, [500] * 100, [340] * 50, [100] * 50, [70] * 10)
    tcp = pd.DataFrame({"run": 0, "flow": "f", "t_ns": (t_s * 1e9).astype(int), "cwnd": window, "srtt_us": 20_000})
    flows = pd.DataFrame({"run": [0], "flow": ["f"], "start_s": [0.5]})
    runs = SimpleNamespace(tcp=tcp, flows=flows, scenarios=pd.DataFrame({"run": [0], "seed": [7]}))
    found = recoveries.offsets(runs, [0.4, 3.4], 400)  # type: ignore[arg-type]
    # falls at 1.0, 3.0, 3.5 and 4.0 s, half a second later than the flow's start; those from 340 and 100 do not count
    assert found["offset_s"].tolist() == pytest.approx([0.1, -0.9])
    assert found["seed"].tolist() == [7, 7]


def test_groups_move_at_the_stated_times() -> None:
    asked = space.moving_groups(50, 1, seed=3, groups=2, settle_s=400, every_s=200)
    assert list(moves(asked)) == [(400.0, "long"), (600.0, "short"), (800.0, "long")]
    assert asked.limit == 1000 * 10**9


def test_offsets_may_be_to_reductions_that_were_undone() -> None:
    """The window falls at 1 s and stays low for 1 s; it falls again at 3 s, and one ACK restores it."""
    t_s, window = trace([500] * 100, [350] * 100, [500] * 100, [340] * 20, [500] * 80)
    window[150:200] = np.linspace(350, 500, 50)  # growth, not an undo
    tcp = pd.DataFrame({"run": 0, "flow": "f", "t_ns": (t_s * 1e9).astype(int), "cwnd": window, "srtt_us": 20_000})
    flows = pd.DataFrame({"run": [0], "start_s": [0.0], "end_s": [4.0]})
    runs: Any = SimpleNamespace(tcp=tcp, flows=flows, scenarios=pd.DataFrame({"run": [0], "seed": [7]}))
    assert recoveries.offsets(runs, [1.2], 0)["offset_s"].tolist() == pytest.approx([-0.2])
    assert recoveries.offsets(runs, [1.2], 0, undone=True)["offset_s"].tolist() == pytest.approx([1.8])


def test_a_trend_compares_the_halves_of_what_is_left() -> None:
    """From 2 s on: 100 segments for 1 s, then 150."""
    t_s = np.arange(0, 4, 0.01)
    window = np.where(t_s < 2, 900.0, np.where(t_s < 3, 100.0, 150.0))
    tcp = pd.DataFrame({"run": 0, "t_ns": (t_s * 1e9).round().astype(int), "cwnd": window})

    class Stub(SimpleNamespace):
        def __getitem__(self, index: int) -> Any:
            return SimpleNamespace(scenario=SimpleNamespace(seed=7 + index))

    flows = pd.DataFrame({"run": [0], "start_s": [0.0], "end_s": [4.0]})
    assert recoveries.trend_from(Stub(tcp=tcp, flows=flows), 2.0).to_dict() == {7: pytest.approx(1.5)}  # type: ignore[arg-type]
    assert recoveries.trend_from(Stub(tcp=tcp, flows=flows), 5.0).isna().all()  # type: ignore[arg-type]
