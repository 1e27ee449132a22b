# SPDX-License-Identifier: Apache-2.0
"""The benchmark of pools measures campaigns in new stores, on this machine and on a cluster of its own."""

from __future__ import annotations

import pytest

from rdcnlab.app import bench_cluster
from rdcnlab.scenario import Scenario

pytestmark = pytest.mark.usefixtures("fake_engine")


def test_a_campaign_is_timed(two_flows: Scenario) -> None:
    spent, runs = bench_cluster.seconds([two_flows, two_flows.with_(seed=1)], workers=1)
    assert spent > 0
    assert [run.scenario.seed for run in runs] == [0, 1]


def test_a_cluster_is_timed_on_what_is_left_of_its_runs(two_flows: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    timed = []
    seconds = bench_cluster.seconds

    def watched(asked: list[Scenario], **how: object) -> object:
        timed.append([scenario.seed for scenario in asked])
        return seconds(asked, **how)

    monkeypatch.setattr(bench_cluster, "seconds", watched)
    assert bench_cluster.work([two_flows.with_(seed=seed) for seed in range(3)], 1) > 0
    assert timed == [[0], [1, 2]]
