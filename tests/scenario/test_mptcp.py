# SPDX-License-Identifier: Apache-2.0
"""Flows with several subflows: their requirements, and the configuration of the switch and the hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.kernel import plan
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from tests.hybrid import hybrid

HYBRID = {**hybrid(name="flow-1", protocol="mptcp"), "notify": {}}
FLOW = HYBRID["flows"][0]


@pytest.mark.parametrize("isolation", ["acks", "all", "none"])
def test_text_gives_the_scenario_back(tmp_path: Path, isolation: str) -> None:
    scenario = Scenario.from_dict({**HYBRID, "mptcp": {"isolation": isolation}})
    (tmp_path / "x.yaml").write_text(scenario.dump())
    assert Scenario.load(tmp_path / "x.yaml") == scenario


@pytest.mark.parametrize(
    ("changes", "field", "allowed"),
    [
        ({"flows": [{**FLOW, "path": "packet"}]}, "flows.flow-1.path", "a link with"),
        ({"flows": [{**FLOW, "path": "bypass"}]}, "flows.flow-1.path", "2 to 8 networks"),
        ({"flows": [{**FLOW, "back": "bypass"}]}, "flows.flow-1.back", "a schedule with the networks of the path"),
        ({"flows": [{**FLOW, "initiator": "dst"}]}, "flows.flow-1.initiator", "src"),
        ({"notify": None}, "notify", "given"),
        ({"mptcp": {"isolation": "some"}}, "mptcp.isolation", "'acks', 'all' or 'none'"),
        ({"network": {"schedules": "forward"}}, "network.schedules", ""),
    ],
)
def test_what_does_not_go(changes: dict[str, Any], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        Scenario.from_dict({**HYBRID, **changes})
    assert any(field in problem.field and allowed in problem.allowed for problem in caught.value.problems), caught.value


def test_without_isolation_acks_may_go_any_way() -> None:
    changed = {"flows": [{**FLOW, "back": "bypass"}], "mptcp": {"isolation": "none", "scheduler": "default"}}
    scenario = Scenario.from_dict({**HYBRID, **changed, "notify": None})
    assert scenario.subflows(scenario.flows[0]) == 2


def test_networks_must_be_numbered_from_0() -> None:
    slots = [["1 ms", "packet"], {"duration": "1 ms", "link": "circuit", "tdn": 2}]
    with pytest.raises(InputError, match="tdn 0, 1 and so on"):
        Scenario.from_dict(HYBRID).with_(**{"network.schedules.forward.slots": slots})


def _plan(isolation: str) -> dict[str, Any]:
    return plan.compile_plan(compile_network(Scenario.from_dict({**HYBRID, "mptcp": {"isolation": isolation}})))


@pytest.mark.parametrize(("isolation", "there", "back"), [("acks", 1, 2), ("all", 2, 2), ("none", 1, 1)])
def test_each_subflow_has_its_class(isolation: str, there: int, back: int) -> None:
    switch = _plan(isolation)["switches"][0]
    ways = {side: {rule["class_id"] for rule in switch["rules"] if side in rule} for side in ("dst", "src")}
    assert (len(ways["dst"]), len(ways["src"])) == (there, back)
    for side in ways:
        assert [rule[side] for rule in switch["rules"] if side in rule] == ["10.0.0.17", "10.1.0.17"]


def test_what_waits_is_dark_in_other_networks() -> None:
    switch = _plan("all")["switches"][0]
    classes = {entry["id"]: entry for entry in switch["classes"]}
    for side, limit in (("dst", 16), ("src", None)):
        for subflow, rule in enumerate(rule for rule in switch["rules"] if side in rule):
            entry = classes[rule["class_id"]]
            lit = {slot.get("tdn", 0) for slot in entry["slots"] if slot["target"] != 0xFFFF}
            assert lit == {subflow}
            assert entry["hold"]
            assert entry.get("voq", {}).get("limit_packets") == limit


def test_hosts_have_an_address_for_each_subflow_they_receive() -> None:
    compiled = _plan("acks")
    hosts = {host["name"]: host for host in compiled["hosts"]}
    assert hosts["b1"]["more"] == ["10.1.0.17"]
    assert (hosts["a1"]["more"], hosts["a1"]["subflows"], hosts["a2"]["subflows"]) == ([], 2, 1)
    assert compiled["sysctls"]["net.mptcp.scheduler"] == "tdm"


def test_others_do_not_know_of_it() -> None:
    plain = Scenario.from_dict(hybrid(name="flow-1"))
    assert "mptcp" not in plain.to_dict()
    assert "net.mptcp.scheduler" not in plan.compile_plan(compile_network(plain))["sysctls"]


@pytest.mark.parametrize(("isolation", "there", "back"), [("acks", 1, 2), ("all", 2, 2), ("none", 1, 1)])
def test_each_subflow_has_its_class_in_a_graph(isolation: str, there: int, back: int) -> None:
    """Data have rules at the sender's switch, ACKs at the receiver's; there hosts are told of the whole schedule."""
    flow = {"name": "flow-1", "size": "1 GiB", "protocol": "mptcp"}
    data = {"network": "tdtcp", "flows": [flow], "notify": {}, "mptcp": {"isolation": isolation}}
    switches = plan.compile_plan(compile_network(Scenario.from_dict(data)))["switches"]
    ways = [[rule for rule in switch["rules"] if rule["prio"] < 65_000] for switch in switches]
    assert [len({rule["class_id"] for rule in rules}) for rules in ways] == [there, back]
    assert [rule["dst"] for rule in ways[0]] == ["10.1.0.17", "10.1.1.17"]
    assert [(rule["src"], rule["dst"]) for rule in ways[1]] == [("10.1.0.17", "10.0.0.1"), ("10.1.1.17", "10.0.0.1")]
    for switch in switches:
        classes = {entry["id"]: entry for entry in switch["classes"]}
        told = {entry["class"] for entry in switch["notify"]}
        assert {slot.get("tdn", 0) for number in told for slot in classes[number]["slots"]} == {0, 1}
        for rule in switch["rules"]:
            entry = classes[rule["class_id"]]
            lit = {slot.get("tdn", 0) for slot in entry["slots"] if slot["target"] != 0xFFFF}
            parts = isolation == "all" or (isolation == "acks" and switch is switches[1])
            assert rule["prio"] >= 65_000 or (len(lit) == (1 if parts else 2) and entry["hold"])


def test_a_pair_of_switches_gives_its_schedule_to_mptcp_too() -> None:
    flow = {"name": "x", "size": "1 GiB", "protocol": "mptcp", "src": "a1", "dst": "b1"}
    scenario = Scenario.from_dict({"network": "tdtcp", "flows": [flow], "notify": {}})
    assert scenario.subflows(scenario.flows[0]) == 2
