# SPDX-License-Identifier: Apache-2.0
"""The benchmark of pools measures campaigns in new stores, on this machine and on a cluster of its own."""

from __future__ import annotations

import time

import pytest

from rdcnlab.app import bench_cluster
from rdcnlab.scenario import Scenario
from tests.fake_engine import TAKES, TAKES_S

pytestmark = pytest.mark.usefixtures("fake_engine")


def test_a_campaign_is_timed(two_flows: Scenario) -> None:
    """The time has that of the runs, and not more than that of the call."""
    slow = [two_flows.with_(seed=TAKES + number) for number in range(2)]
    begun = time.monotonic()
    spent, runs = bench_cluster.seconds(slow, workers=1)
    assert 2 * TAKES_S <= spent <= time.monotonic() - begun
    assert [run.scenario.seed for run in runs] == [TAKES, TAKES + 1]


def test_a_cluster_is_timed_on_what_is_left_of_its_runs(two_flows: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    timed = []
    seconds = bench_cluster.seconds

    def watched(asked: list[Scenario], **how: object) -> object:
        timed.append([scenario.seed for scenario in asked])
        return seconds(asked, **how)

    monkeypatch.setattr(bench_cluster, "seconds", watched)
    start_s, work_s = bench_cluster.work([two_flows.with_(seed=seed) for seed in range(3)], 1)
    assert start_s > 0
    assert work_s > 0
    assert timed == [[0], [1, 2]]
