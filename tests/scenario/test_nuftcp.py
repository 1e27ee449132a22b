# SPDX-License-Identifier: Apache-2.0
"""NUFTCP in a scenario: its settings, their bounds, and what they become on both engines."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rdcnlab.engines.kernel import plan as kernel_plan
from rdcnlab.engines.kernel.plan import hosts
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.ns3 import check as ns3_check
from rdcnlab.engines.ns3 import plan as ns3_plan
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario

WAYS = ("spine1", "spine2")


def clos(
    cc: str = "nuftcp", *, engine: str = "kernel", path: Any = None, kind: str = "ocs", **transport: Any
) -> Scenario:
    """Two leaves, two spines; a flow that changes its spine every 5 ms."""
    line = {"rate": "10 Gb/s", "buffer": "1 MB"}
    return Scenario.from_dict(
        {
            "network": {
                "name": "clos",
                "switches": [{"name": name} for name in ("leaf1", "leaf2", *WAYS)],
                "hosts": [
                    {"name": name, "at": at, "rate": "10 Gb/s"} for name, at in (("s", "leaf1"), ("r", "leaf2"))
                ],
                "links": [
                    {"name": f"{leaf}-{spine}", "between": [leaf, spine], **line}
                    for leaf in ("leaf1", "leaf2")
                    for spine in WAYS
                ],
            },
            "flows": [
                {"name": "f", "src": "s", "dst": "r", "size": "1 MB", "cc": cc, "back": "same",
                 "path": path or [["5 ms", spine] for spine in WAYS]}
            ],
            "switch": {"kind": kind},
            "engine": {"kind": engine},
            "transport": transport,
        }
    )  # fmt: skip


def versions(scenario: Scenario) -> dict[str, list[int]]:
    """Return what each switch does with versions, for its classes that do something."""
    found = {}
    for switch in kernel_plan.compile_plan(compile_network(scenario), here=False)["switches"]:
        found[switch["name"]] = [each["versions"] for each in switch["classes"] if "versions" in each]
    return found


def test_defaults_are_the_papers() -> None:
    scenario = clos()
    values = hosts.sysctls(compile_network(scenario))
    assert values["net.ipv4.tcp_version_hold_us"] == "1000"
    assert values["net.ipv4.ip_default_ttl"] == "15"
    assert "net.ipv4.tcp_version_hold_sack" not in values
    assert hosts.parameters(compile_network(scenario)) == {}
    assert ns3_plan.compile_plan(compile_network(clos(engine="ns3")))["nuftcp"] == {
        "factor": 1500,
        "weight": 200,
        "quiet": 10,
        "readings": 0,
        "hold": 1_000_000,
        "marks": 1,
        "hold_sack": 0,
    }


def test_settings_reach_both_engines() -> None:
    given = {
        "nuftcp_factor": 200,
        "nuftcp_weight": 50,
        "nuftcp_quiet": 0,
        "nuftcp_readings": [2, 3],
        "version_hold_us": 0,
        "version_hold_sack": 1,
    }
    scenario = clos(**given)
    assert hosts.parameters(compile_network(scenario)) == {
        f"tcp_nuftcp/parameters/{name}": value
        for name, value in (("factor", "2000"), ("weight", "500"), ("quiet", "0"), ("readings", "12"))
    }
    values = hosts.sysctls(compile_network(scenario))
    assert (values["net.ipv4.tcp_version_hold_us"], values["net.ipv4.tcp_version_hold_sack"]) == ("0", "1")
    assert ns3_plan.compile_plan(compile_network(clos(engine="ns3", **given)))["nuftcp"] == {
        "factor": 2000,
        "weight": 500,
        "quiet": 0,
        "readings": 12,
        "hold": 0,
        "marks": 1,
        "hold_sack": 1,
    }
    assert Scenario.from_dict(scenario.to_dict()) == scenario


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("nuftcp_factor", 99), ("nuftcp_factor", 100_001), ("nuftcp_weight", 0), ("nuftcp_weight", 101),
        ("nuftcp_quiet", -1), ("nuftcp_quiet", 65_536), ("nuftcp_readings", [0]), ("nuftcp_readings", [7]),
        ("nuftcp_readings", [3, 3]), ("nuftcp_readings", [3, 2]), ("version_hold_us", -1),
        ("version_hold_us", 100_001), ("version_hold_sack", 2), ("ecn", False), ("tdtcp", True),
    ],
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=re.escape(f"transport.{field}")):
        clos(**{field: value})


@pytest.mark.parametrize("field", ["nuftcp_factor", "nuftcp_quiet", "version_hold_us"])
def test_without_nuftcp_its_settings_are_refused(field: str) -> None:
    with pytest.raises(InputError, match=f"transport.{field}.*without a flow with cc nuftcp"):
        clos("dctcp", **{field: 200})


def test_mptcp_cannot_use_it() -> None:
    flow = {"name": "f", "src": "s", "dst": "r", "size": "1 MB", "cc": "nuftcp", "protocol": "mptcp", "path": "spine1"}
    with pytest.raises(InputError, match=r"flows\.[a-z0-9-]+\.cc: 'nuftcp' .*with mptcp"):
        Scenario.from_dict({**clos().to_dict(), "flows": [flow]})


def test_versions_are_written_where_the_way_first_changes() -> None:
    write = 1
    assert versions(clos()) == {"leaf1": [write], "leaf2": [write], "spine1": [], "spine2": []}
    assert versions(clos("dctcp")) == {"leaf1": [], "leaf2": [], "spine1": [], "spine2": []}
    assert versions(clos(path="spine1")) == {"leaf1": [], "leaf2": [], "spine1": [], "spine2": []}


def test_switches_that_write_no_versions_are_refused() -> None:
    with pytest.raises(InputError, match=r"flows\.[a-z0-9-]+\.cc: 'nuftcp' .* a switch of kind ovs writes no versions"):
        kernel_plan.check(compile_network(clos(kind="ovs")))


def test_a_p4_switch_writes_them_where_ocs_does() -> None:
    plan = kernel_plan.compile_plan(compile_network(clos(kind="bmv2")), here=False)
    lines = {
        switch["name"]: [line for line in switch["commands"] if ".version." in line] for switch in plan["switches"]
    }
    assert [line.split()[1:] for line in lines["leaf1"]] == [["OcsIngress.version.on", "1", "1"]]
    assert [line.split()[1] for line in lines["leaf2"]] == ["OcsIngress.version.on"]
    assert lines["spine1"] == lines["spine2"] == []


@pytest.mark.parametrize(
    "path",
    [
        [["5 ms", "spine1"], ["10 ms", "spine2"]],
        [["5 ms", "spine1"], ["5 ms", "dark"]],
        [["5 ms", "spine1"], ["5 ms", "spine1"], ["5 ms", "spine2"]],
        [["5 ms", "spine1"], ["5 ms", "spine2"], ["5 ms", "spine1"]],
    ],
)
def test_a_timetable_whose_changes_a_p4_switch_cannot_count_is_refused(path: Any) -> None:
    with pytest.raises(InputError, match=r"flows\.f\.path.*slots of one length, none of them dark"):
        kernel_plan.check(compile_network(clos(kind="bmv2", path=path)))
    kernel_plan.check(compile_network(clos("dctcp", kind="bmv2", path=path)))
    kernel_plan.check(compile_network(clos(path=path)))


def test_ns3_takes_it() -> None:
    ns3_check.check(clos(engine="ns3", nuftcp_readings=[3], version_hold_sack=1))
