# SPDX-License-Identifier: Apache-2.0
"""The fabric of one queue that near and far senders share, and the paper's preset of it."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.engines.ns3 import check
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.presets import preset
from rdcnlab.scenario.queueing import Red

MS = 1_000_000


def test_rtts_are_those_of_the_groups() -> None:
    network = preset("vargas").network
    receiver, near, far = (network.host(name).delay for name in ("r", "n1", "f10"))
    assert 2 * (near + receiver) == 50_000
    assert 2 * (far + receiver) == 50 * MS
    assert len(network.hosts) == 21
    assert network.host("r").rate > network.link("shared").rate


def test_routes_give_flows_their_senders() -> None:
    flows = [{"name": "d10-3", "size": "1 MB", "cc": "dctcp"}, {"name": "c1-10", "size": "1 MB"}]
    scenario = Scenario.from_dict({"network": "vargas", "flows": flows})
    assert [(flow.src, flow.dst, flow.path) for flow in scenario.flows] == [
        ("n10", "r", "shared"),
        ("f1", "r", "shared"),
    ]


@pytest.mark.parametrize(
    ("changes", "field", "allowed"),
    [
        ({"far_rtt": "10 us"}, "far_rtt", "at least near_rtt"),
        ({"receiver_rate": "5 Gb/s"}, "receiver_rate", "above rate"),
        ({"near": 0}, "near", "1 to 100"),
    ],
)
def test_wrong_parameters_are_refused(changes: dict[str, Any], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        Scenario.from_dict({"network": {"fabric": "shared-queue", **changes}, "flows": []})
    assert any(field in problem.field and allowed in problem.allowed for problem in caught.value.problems), caught.value


def test_settings_become_the_paper_s_queue() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.vargas import space

    setting = space.Setting(ecn_kB=40, min_kB=300, max_kB=900, probability=2.0, rate_gbps=25.0, rtt_ms=100)
    scenario = space.scenario(setting, seed=7)
    link = scenario.network.link("shared")
    assert (link.rate, link.buffer_bytes(1500), link.ecn_threshold) == (25 * 10**9, 1_800_000, 40_000)
    assert link.red is not None
    assert (link.red.min, link.red.max, link.red.probability) == (300_000, 900_000, 20_000)
    assert {flow.cc for flow in scenario.flows if flow.src.startswith("n")} == {"dctcp"}
    assert len(scenario.flows) == 200
    assert scenario.seed == 7
    check.check(scenario.with_(**{"engine.kind": "ns3"}))


def test_windows_fit_into_the_buffers_of_tcp() -> None:
    """25 Gb/s and 100 ms are 3.1 MB for each of 100 flows; a flow may have ten times that for a while.

    A segment of 1448 B takes 2304 B of a buffer.
    """
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.vargas import space

    scenario = space.scenario(space.Setting(100, 1800, 1800, 5.0, 25.0, 100))
    share = 25e9 * 0.1 / 8 / 100
    assert min(scenario.transport.rmem[2], scenario.transport.wmem[2]) * 1448 / 2304 > 10 * share


def test_drawn_settings_are_different_and_a_data_set_can_grow() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.vargas import space

    many = space.first_settings(600)
    assert len(set(many)) == 600
    assert space.first_settings(100) == many[:100]
    conditions = {(each.rate_gbps, each.rtt_ms) for each in many}
    assert conditions == {(rate, rtt) for rate in space.RATES_GBPS for rtt in space.RTTS_MS}
    assert all(0 <= each.ecn_kB <= 400 and 0 <= each.min_kB <= each.max_kB <= 1800 and each.max_kB for each in many)
    tail = [each for each in many if each.min_kB == each.max_kB]
    assert 0.15 < len(tail) / 600 < 0.25
    assert {each.probability for each in many if each not in tail} == set(space.PROBABILITIES)
    assert {(setting.rate_gbps, setting.rtt_ms) for setting in space.first_settings(20, (5.0, 25))} == {(5.0, 25)}


def test_snapshots_need_links() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.vargas import space

    scenario = space.scenario(space.Setting(100, 800, 800))
    with pytest.raises(InputError, match=r"probes\.snapshots: .* must be left out without probes\.count"):
        scenario.with_(**{"probes.count": []})


def test_other_thresholds_are_what_any_change_makes() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.vargas import space

    base = space.scenario(space.Setting(100, 800, 800))
    red = {"min": "200 kB", "max": "600 kB", "probability": "2 %"}
    slow = base.with_(**{"network.links.shared.ecn_threshold": "40 kB", "network.links.shared.red": red})
    quick = base.with_thresholds("shared", 40_000, Red(min=200_000, max=600_000, probability=20_000))
    assert quick == slow
    assert quick.to_dict() == slow.to_dict() == quick.canonical
    assert quick.with_(seed=3) == slow.with_(seed=3)
    assert base.with_thresholds("shared", None, None).network.link("shared").red is None
