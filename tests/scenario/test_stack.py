# SPDX-License-Identifier: Apache-2.0
"""Offloads, and hosts whose stack differs from the others'."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from rdcnlab.engines.kernel import plan
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.ns3.check import check as check_ns3
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario, Transport

FLOW: dict[str, Any] = {"name": "flow", "size": "1 MB", "path": "link", "src": "h1", "dst": "h3"}


def scenario(**fields: Any) -> Scenario:
    """A network of three hosts with fields of its own."""
    return Scenario.from_dict(
        {
            "network": {
                "name": "three",
                "hosts": [{"name": name, "rate": "10 Gb/s"} for name in ("h1", "h2", "h3")],
                "links": [{"name": "link", "rate": "10 Gb/s", "buffer": "1 MB"}],
            },
            "flows": [FLOW],
            **fields,
        },
        text=True,
    )


def test_what_is_not_stated_has_no_trace() -> None:
    plain = scenario()
    assert not {"offload", "hosts"} & plain.to_dict().keys()
    assert plain.hash == scenario(offload={}, hosts=[]).hash
    for host in compile_plan(compile_network(plain))["hosts"]:
        assert not {"offload", "transport"} & host.keys()


def test_offloads_of_all_and_of_one() -> None:
    given = scenario(
        offload={"tso": "64000 B", "gro": True, "coalesce": "20 us"},
        hosts=[{"name": "h[2-3]", "offload": {"tso": "18000 B"}}],
    )
    assert Scenario.from_dict(given.to_dict()) == given
    cards = {host["name"]: host["offload"] for host in compile_plan(compile_network(given))["hosts"]}
    assert cards["h1"] == {"tso": 64_000, "gro": True, "coalesce": 20_000}
    assert cards["h2"] == cards["h3"] == {"tso": 18_000, "gro": False, "coalesce": 0}


def test_a_count_of_frames_is_written_only_where_it_is_given() -> None:
    card = {"gro": True, "coalesce": "20 us"}
    timed, counted = scenario(offload=card), scenario(offload={**card, "coalesce_frames": 4})
    assert timed.hash == scenario(offload={**card, "coalesce_frames": 0}).hash != counted.hash
    assert Scenario.from_dict(counted.to_dict()) == counted
    assert "coalesce_frames" not in compile_plan(compile_network(timed))["hosts"][0]["offload"]
    assert compile_plan(compile_network(counted))["hosts"][0]["offload"]["coalesce_frames"] == 4


def test_a_stock_host_meets_a_patched_one() -> None:
    given = scenario(
        transport={"like": "4.15", "sack": False},
        hosts=[{"name": "h2", "transport": {"like": None}}, {"name": "h3", "transport": {"sack": True}}],
    )
    assert given.transport.loss_timers == 1
    assert given.transport_of("h2").loss_timers is None
    assert given.transport_of("h3").loss_timers == 1
    hosts = {host["name"]: host.get("transport", {}) for host in compile_plan(compile_network(given))["hosts"]}
    assert hosts["h1"] == {}
    assert "net.ipv4.tcp_loss_timers" not in hosts["h2"]
    assert hosts["h2"]["net.ipv4.tcp_sack"] == "0"
    assert hosts["h3"]["net.ipv4.tcp_sack"] == "1"


OLDER: tuple[dict[str, Any], ...] = (
    {"transport": {"like": "4.15", "tlp_limited": 0}},
    {"transport": {"like": "4.15", "rmem": ["4096 B", "100 kB", "1 MB"], "sack": False}},
    {},
)
OWN: tuple[dict[str, Any], ...] = (
    {"like": None},
    {"like": "4.9"},
    {"sack": True},
    {"like": "4.15", "loss_timers": None},
    {},
)


@pytest.mark.parametrize("fields", OLDER)
@pytest.mark.parametrize("own", OWN)
def test_settings_of_a_host_or_a_flow_survive_every_form(fields: dict[str, Any], own: dict[str, Any]) -> None:
    by_host = scenario(**fields, hosts=[{"name": "h1", "transport": own}])
    by_flow = scenario(**fields, flows=[{**FLOW, "transport": own}])
    assert by_host.transport_of("h1") == by_flow.transport_of("h1") == by_flow.transport_of("h3")
    for given in (by_host, by_flow):
        settings = given.transport_of("h1")
        text = Scenario.from_dict(yaml.safe_load(given.dump()), text=True)
        for same in (Scenario.from_dict(given.to_dict()), text, given.with_(limit="60 s")):
            assert same == given
            assert same.transport_of("h1") == settings
    later = scenario(**fields).with_(hosts=[{"name": "h1", "transport": own}])
    assert later == by_host


def test_fields_that_are_not_given_have_the_scenarios_values() -> None:
    limited = scenario(
        transport={"like": "4.15", "tlp_limited": 0}, hosts=[{"name": "h1", "transport": {"sack": False}}]
    )
    assert limited.transport_of("h1") == limited.transport.model_copy(update={"sack": False})
    stock = scenario(transport={"like": "4.15", "reordering": 30}, hosts=[{"name": "h1", "transport": {"like": None}}])
    assert stock.transport_of("h1") == Transport(reordering=30)
    old = scenario(transport={"reordering": 30}, hosts=[{"name": "h1", "transport": {"like": "4.15"}}])
    assert old.transport_of("h1") == scenario(transport={"like": "4.15", "reordering": 30}).transport


def test_a_flows_settings_are_those_of_its_hosts() -> None:
    flows = [
        {"name": name, "size": "1 MB", "path": "link", "src": src, "dst": dst, "transport": own}
        for name, src, dst, own in (("old", "h1", "h2", {"like": "4.15"}), ("new", "h3", "h4", {"sack": False}))
    ]
    network = {
        "name": "four",
        "hosts": [{"name": "h[1-4]", "rate": "10 Gb/s"}],
        "links": [{"name": "link", "rate": "10 Gb/s", "buffer": "1 MB"}],
    }
    given = scenario(network=network, flows=flows, hosts=[{"name": "h1", "transport": {"like": "4.9"}}])
    assert [given.transport_of(f"h{number}").like for number in (1, 2, 3, 4)] == ["4.15", "4.15", None, None]
    settings = {host["name"]: host["transport"] for host in compile_plan(compile_network(given))["hosts"]}
    assert settings["h1"] == settings["h2"]
    assert settings["h1"]["net.ipv4.tcp_loss_timers"] == "1"
    assert settings["h3"]["net.ipv4.tcp_sack"] == "0"
    shared = [flows[0], {**flows[1], "dst": "h2"}]
    with pytest.raises(InputError, match=r"flows\.new\.transport.*flow 'old'.*host of its own.*both flows use h2"):
        scenario(network=network, flows=shared)
    # with the same settings they may share it
    scenario(network=network, flows=[flows[0], {**flows[1], "dst": "h2", "transport": {"like": "4.15"}}])


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"offload": {"tso": "70000 B"}}, "offload.tso"),
        ({"offload": {"coalesce": "20 us"}}, "offload.gro"),
        ({"offload": {"gro": True, "coalesce": "1 s"}}, "offload.coalesce"),
        ({"offload": {"gro": True, "coalesce_frames": 4}}, "offload.coalesce: "),
        ({"offload": {"coalesce": "20 us", "coalesce_frames": 4}}, "offload.gro"),
        ({"offload": {"gro": True, "coalesce": "20 us", "coalesce_frames": 129}}, "offload.coalesce_frames"),
        ({"offload": {"gro": True, "coalesce": "20 us", "coalesce_frames": -1}}, "offload.coalesce_frames"),
        ({"hosts": [{"name": "h9", "offload": {"tso": "9000 B"}}]}, "hosts.name"),
        ({"hosts": [{"name": "h1"}, {"name": "h1"}]}, "hosts"),
        ({"hosts": [{"name": "h1", "transport": {"cubic_beta": 819}}]}, "hosts.h1.transport.cubic_beta"),
        ({"hosts": [{"name": "h1", "transport": {"tdtcp": True}}]}, "hosts.h1.transport.tdtcp"),
        ({"flows": [{**FLOW, "transport": {"cubic_beta": 819}}]}, "flows.flow.transport.cubic_beta"),
        ({"flows": [{**FLOW, "transport": {"like": "4.4"}, "cc": "bbr"}]}, "flows.flow.cc"),
        ({"flows": [{**FLOW, "transport": {"ecn": False}, "cc": "dctcp"}]}, "flows.flow.transport.ecn"),
        ({"flows": [{**FLOW, "transport": {"like": "3.0"}}]}, "flows.flow.transport.like"),
        ({"flows": [{**FLOW, "transport": {"sack": "h"}}]}, "flows.flow.transport.sack"),
        ({"flows": [{**FLOW, "protocol": "quic", "transport": {}}]}, "flows.flow.transport"),
    ],
)
def test_refusals_name_the_field(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=re.escape(named)):
        scenario(**fields)


def test_other_engines_and_switches_refuse() -> None:
    card = {"tso": "9000 B"}
    with pytest.raises(InputError, match="offload"):
        plan.check(compile_network(scenario(offload=card, switch={"kind": "linux"}, flows=[
            {"name": "flow", "size": "1 MB", "path": "bypass", "src": "h1", "dst": "h3"}
        ])))  # fmt: skip
    for fields in ({"offload": card}, {"hosts": [{"name": "h1"}]}, {"flows": [{**FLOW, "transport": {}}]}):
        with pytest.raises(InputError, match=next(iter(fields))):
            check_ns3(scenario(**fields, engine={"kind": "ns3"}))
