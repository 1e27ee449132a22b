# SPDX-License-Identifier: Apache-2.0
"""The fabric of a wide-area network, the paper's preset of it, and the probes that it needs."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.engines.kernel import plan
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.presets import preset

MS = 1_000_000


def made(**fabric: Any) -> Scenario:
    network = {"fabric": "wide-area", "rtts": ["0 ns", "120 ms"], "extra": "50 ms", **fabric}
    return Scenario.from_dict({"network": network, "flows": [{"name": "f", "src": "s2", "dst": "r2", "size": "1 MB"}]})


def test_groups_have_their_rtt_and_a_tenth_of_the_product_as_queue() -> None:
    network = made().network
    assert [link.delay for link in network.links] == [0, 60 * MS, 1_000, 25 * MS + 1_000]
    # 0.1 * 100 Mb/s * 120 ms are 150 kB; at 0 ms ten frames are the least
    assert [link.buffer_bytes(1500) for link in network.links[:2]] == [10 * 1514, 150_000]
    assert {host.at for host in network.hosts} == {"agg1", "agg2", "right"}
    assert made(one_way=True).network.link("long").delay == 50 * MS + 1_000


def test_the_preset_is_the_fabric_with_the_papers_values() -> None:
    known = preset("carpa")
    assert known.network.mtu == 1500
    assert known.network.link("access1").rate == 100_000_000
    assert known.network.link("long").delay == 5 * MS
    assert known.fabric["fabric"] == "wide-area"
    flow = {"name": "g1", "size": "1 MB"}
    asked = Scenario.from_dict({"network": "carpa", "flows": [flow]})
    assert (asked.flows[0].src, asked.flows[0].path, asked.flows[0].back) == ("s1", "short", "same")
    assert Scenario.from_dict({"network": known.network.model_dump(), "flows": [flow]}).network == known.network


def test_rtts_are_drawn_from_the_seed() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.carpa import space

    one, other = (space.rtts(20, seed) for seed in (1, 2))
    assert one == space.rtts(20, 1)
    assert one != other
    assert all(0 < rtt <= 120 * MS for rtt in one)
    # the same groups, whatever else the scenario has
    assert space.rtts(5, 1) == one[:5]
    many = space.rtts(50, 3)
    assert 50 * MS < sum(many) / 50 < 70 * MS


@pytest.mark.parametrize(
    ("changes", "field", "allowed"),
    [
        ({"probes.count": ["nowhere"]}, "probes.count", "access1"),
        ({"probes.count": ["short", "short"]}, "count", "occurs twice"),
        ({"probes.count": ["short"], "probes.packets": True}, "count", "must be left out"),
        ({"probes.capture": ["nobody"]}, "probes.capture", "s1"),
        ({"transport.cubic_beta": 100}, "cubic_beta", "512"),
    ],
)
def test_what_probes_name_must_exist(changes: dict[str, Any], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        made().with_(**changes)
    assert field in str(caught.value)
    assert allowed in str(caught.value)


def test_probes_that_are_not_asked_for_do_not_change_the_hash() -> None:
    plain = made()
    assert plain.with_(**{"probes.count": [], "probes.capture": [], "probes.counters": False}).hash == plain.hash
    assert plain.with_(**{"probes.count": ["short"]}).hash != plain.hash


def test_packets_that_are_counted_are_reduced_while_the_run_goes_on() -> None:
    """1000 s of 180 flows: 162 million packets, whose records would take more than 50 GB."""
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.carpa import space

    asked = space.moving_groups(50, 9, seed=1, settle_s=400, every_s=200)
    probes = {probe["name"]: probe for probe in plan.compile_plan(compile_network(asked))["probes"]}
    times = {"start_ns": 60 * 10**9, "bin_ns": 100 * MS, "every_ns": 250 * MS}
    assert probes["ocs_dequeue"]["tally"] == {**times, "instants": []}
    # windows in bins: the ACKs of an interval of 250 ms are kept, not those of the run; with `acks` all are needed
    for bins, kept in (({"probes.tcp": "bin"}, True), ({"probes.tcp": "bin", "probes.acks": True}, False)):
        probes = {probe["name"]: probe for probe in plan.compile_plan(compile_network(asked.with_(**bins)))["probes"]}
        assert (probes["tcp_probe"].get("latest") == times) == kept


def test_parameters_of_cubic_are_files_of_the_module_and_no_sysctls() -> None:
    made_plan = plan.compile_plan(
        compile_network(made().with_(**{"transport.cubic_beta": 819, "transport.cubic_hystart": 0}))
    )
    assert made_plan["parameters"] == {"tcp_cubic/parameters/beta": "819", "tcp_cubic/parameters/hystart": "0"}
    assert not any("cubic" in name for name in made_plan["sysctls"])
    assert plan.compile_plan(compile_network(made()))["parameters"] == {}
