# SPDX-License-Identifier: Apache-2.0
"""Hosts with several lines: what is refused, and the plan of switches and hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.analysis.show import rows
from rdcnlab.analysis.show.ways import Shown
from rdcnlab.engines import get_engine
from rdcnlab.engines.kernel import plan
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from tests.scenario.access import access_network

FLOW = {"name": "get", "src": "server", "dst": "phone", "protocol": "mptcp", "size": "1 MB"}


def access(*more: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a phone with two lines, and a server, as plain data; `more` are further entries of the network's hosts."""
    return {"network": access_network(*more), "flows": [FLOW], **fields}


def problem(data: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        Scenario.from_dict(data)
    return str(caught.value)


def test_text_gives_the_scenario_back(tmp_path: Path) -> None:
    endpoint = {"line": "phone_lte", "signal": True, "backup": True}
    manager = {"subflows": 1, "accepted": 0, "endpoints": [endpoint]}
    scenario = Scenario.from_dict(access(hosts=[{"name": "phone", "mptcp": manager}]))
    (tmp_path / "x.yaml").write_text(scenario.dump())
    assert Scenario.load(tmp_path / "x.yaml") == scenario


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            {"of": "phones"},
            "network.hosts.x.of: there is no host 'phones'. Did you mean 'phone'? Possible: phone, server",
        ),
        ({"of": "phone_lte"}, "network.hosts.x.of: there is no host 'phone_lte'. Did you mean 'phone'?"),
        ({"of": "x"}, "network.hosts.x.of: there is no host 'x'"),
        ({"of": "server", "at": "lt"}, "network.hosts.x.at: there is no switch 'lt'. Did you mean 'lte'?"),
    ],
)
def test_a_line_belongs_to_a_host(line: dict[str, Any], words: str) -> None:
    assert words in problem(access({"name": "x", "at": "lte", "rate": "1 Mb/s", **line}))


def test_a_host_has_at_most_eight_lines() -> None:
    words = problem(access({"name": "x[1-8]", "of": "server", "at": "lte", "rate": "1 Mb/s"}))
    assert "network.hosts.x1.of" in words
    assert "at most 8 lines of a host" in words


def test_lines_alone_make_no_network() -> None:
    data = access()
    data["network"]["hosts"] = [
        {"name": "phone", "at": "wifi", "rate": "1 Mb/s"},
        {"name": "more", "of": "phone", "at": "lte", "rate": "1 Mb/s"},
    ]
    assert "at least two hosts; an entry with of is a line of a host" in problem(data)


def test_one_switch_has_hosts_with_one_line() -> None:
    hosts = [
        {"name": "a", "rate": "1 Gb/s"},
        {"name": "b", "rate": "1 Gb/s"},
        {"name": "c", "of": "a", "rate": "1 Gb/s"},
    ]
    links = [{"name": "l", "rate": "1 Gb/s", "buffer": "1 MB"}]
    flow = {"name": "f", "src": "a", "dst": "b", "size": "1 MB", "path": "l"}
    words = problem({"network": {"name": "n", "hosts": hosts, "links": links}, "flows": [flow]})
    assert "network.hosts.c.of" in words
    assert "in a network without switches" in words


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"flows": [{**FLOW, "dst": "phone_lte"}]}, "flows.get.dst: phone_lte is a line of the host phone, not a host"),
        ({"programs": [{"host": "phone_lte", "run": "true"}]}, "host: phone_lte is a line of the host phone"),
        (
            {"flows": [], "workloads": [{"name": "w", "pattern": "incast", "to": "phone_lte", "sizes": "1 MB",
                                         "count": 3, "arrivals": "once"}]},
            "to: phone_lte is a line of the host phone",
        ),
        ({"hosts": [{"name": "phone_lte", "mptcp": {}}]}, "hosts.name: phone_lte"),
        (
            {"hosts": [{"name": "phone", "mptcp": {"endpoints": [{"line": "server", "signal": True}]}}]},
            "hosts.phone.mptcp.endpoints[0].line: there is no line of phone 'server'",
        ),
        (
            {"hosts": [{"name": "phone", "mptcp": {"endpoints": [
                {"line": "phone", "signal": True, "fullmesh": True}]}}]},
            "false, with signal",
        ),
        ({"hosts": [{"name": "phone", "mptcp": {"endpoints": [{"line": "phone"}]}}]}, "the address is not used"),
        (
            {"hosts": [{"name": "phone", "mptcp": {"endpoints": [{"line": "phone", "signal": True, "backup": 1}]}}]},
            "backup",
        ),
        (
            {"hosts": [{"name": "phone", "mptcp": {"endpoints": [{"line": "phone", "fullmesh": True}]}}]},
            "true, with fullmesh",
        ),
        ({"hosts": [{"name": "phone", "mptcp": {"subflows": 9}}]}, "hosts.phone.mptcp.subflows"),
    ],
)  # fmt: skip
def test_errors_name_the_field(fields: dict[str, Any], words: str) -> None:
    assert words in problem(access(**fields))


def test_mptcp_needs_a_schedule_or_a_host_with_lines() -> None:
    other = {"name": "pc", "at": "core", "rate": "1 Gb/s"}
    words = problem(access(other, flows=[{**FLOW, "dst": "pc"}]))
    assert "flows.get.path" in words
    assert "or server or pc with several lines (of, in network.hosts)" in words


def test_ns3_refuses_by_name() -> None:
    scenario = Scenario.from_dict(access(flows=[{**FLOW, "protocol": "tcp"}], engine={"kind": "ns3"}))
    with pytest.raises(InputError, match=r"network\.hosts\.phone_lte\.of"):
        get_engine(scenario).identity()


@pytest.mark.parametrize("kind", ["linux", "ovs", "bmv2"])
def test_other_kinds_of_switches_refuse_by_name(kind: str) -> None:
    data = access(flows=[{**FLOW, "protocol": "tcp"}])
    data["network"]["switches"][1]["kind"] = kind
    with pytest.raises(InputError, match=rf"network\.hosts\.phone_lte\.of.*lte, which is {kind}"):
        plan.check(compile_network(Scenario.from_dict(data)))


def test_each_line_has_an_address_and_a_class_at_its_switch() -> None:
    compiled = plan.compile_plan(compile_network(Scenario.from_dict(access())))
    hosts = {host["name"]: host for host in compiled["hosts"]}
    assert list(hosts) == ["phone", "server"]
    (line,) = hosts["phone"]["lines"]
    assert (hosts["phone"]["ip"], line["ip"]) == ("10.0.0.1", "10.1.0.2")
    assert line["mac"] != hosts["phone"]["mac"]
    wifi, lte, core = compiled["switches"]
    # the switch where a line ends gives what goes to it a class of its own, and so records tell lines apart
    for switch, address in ((wifi, "10.0.0.1"), (lte, "10.1.0.2")):
        (number,) = (rule["class_id"] for rule in switch["rules"] if rule.get("station") == address)
        (found,) = (one for one in switch["classes"] if one["id"] == number)
        assert [slot["target"] for slot in found["slots"]] == [0xFFFE]
    ways = {rule.get("station"): rule["class_id"] for rule in core["rules"]}
    assert ways["10.0.0.1"] != ways["10.1.0.2"]
    assert compiled["sysctls"]["net.mptcp.scheduler"] == "default"


@pytest.mark.parametrize(
    ("flows", "flags"),
    [
        ([FLOW], ["signal"]),
        ([{**FLOW, "src": "phone", "dst": "server"}], ["subflow"]),
        ([FLOW, {**FLOW, "name": "put", "src": "phone", "dst": "server"}], ["subflow", "signal"]),
        ([{**FLOW, "protocol": "tcp"}], ["subflow", "signal"]),
    ],
)
def test_path_managers_use_the_lines_as_flows_need(flows: list[dict[str, Any]], flags: list[str]) -> None:
    phone, server = plan.compile_plan(compile_network(Scenario.from_dict(access(flows=flows))))["hosts"]
    assert [endpoint["flags"] for endpoint in phone["path_manager"]["endpoints"]] == [flags]
    assert server["path_manager"] == {"subflows": 8, "accepted": 8, "endpoints": []}


def test_networks_without_such_hosts_know_nothing_of_them() -> None:
    data = access(flows=[{**FLOW, "protocol": "tcp"}])
    del data["network"]["hosts"][1]
    scenario = Scenario.from_dict(data)
    assert all("of" not in host for host in scenario.to_dict()["network"]["hosts"])
    for host in plan.compile_plan(compile_network(scenario))["hosts"]:
        assert not {"lines", "path_manager"} & set(host)


def test_a_picture_says_whose_line_it_is() -> None:
    found = rows.hosts(Shown.of(Scenario.from_dict(access())))
    assert [row["at"] for row in found] == ["wifi", "lte, a line of phone", "core"]
