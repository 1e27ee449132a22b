# SPDX-License-Identifier: Apache-2.0
"""Names of hosts as people choose them: names of interfaces, which Linux limits to 15 characters, stay legal."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.kernel.switches.ovs import install as ovs_install
from rdcnlab.engines.network import compile_network
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

#: Two names of hosts that are short enough to be in names of interfaces, and two that are not.
HOSTS = ("Client_1", "Server_Frankf", "h", "A_bcdefghijklmn")
LONGEST_INTERFACE = 15


def one_switch(kind: str, prefix: str = "") -> Scenario:
    """Return a transfer through a switch; the switch ``linux`` has no links inside."""
    hosts = [{"name": prefix + name, "rate": "100 Mb/s", "delay": "1 ms"} for name in HOSTS]
    path = "bypass" if kind == "linux" else "Link_To_Frankf"
    return Scenario.from_dict(
        {
            "network": {
                "name": "named",
                "hosts": hosts,
                "links": [] if kind == "linux" else [{"name": path, "rate": "10 Mb/s", "buffer": "100 kB"}],
            },
            "flows": [
                {"name": "Up", "src": prefix + HOSTS[0], "dst": prefix + HOSTS[1], "size": "60 kB", "path": path},
                {"name": "Down", "src": prefix + HOSTS[3], "dst": prefix + HOSTS[2], "size": "60 kB", "path": path},
            ],
            "switch": {"kind": kind},
        }
    )


def two_switches(*kinds: str, **more: Any) -> Scenario:
    ends = ("Left_Switch", "Right-Switch")
    hosts = [{"name": name, "at": ends[index % 2], "rate": "100 Mb/s"} for index, name in enumerate(HOSTS)]
    line = {"between": list(ends), "rate": "10 Mb/s", "delay": "1 ms", "buffer": "100 kB"}
    return Scenario.from_dict(
        {
            "network": {
                "name": "named",
                "switches": [{"name": name, "kind": kind} for name, kind in zip(ends, kinds, strict=True)],
                "hosts": hosts,
                "links": [{"name": name, **line} for name in ("Upper", "lower")],
            },
            "flows": [
                {"name": "Up", "src": HOSTS[0], "dst": HOSTS[1], "size": "60 kB", "path": "Upper", "back": "same"},
                {"name": "Down", "src": HOSTS[3], "dst": HOSTS[2], "size": "60 kB", "back": "same"},
            ],
            **more,
        }
    )


@pytest.mark.parametrize("scenario", [one_switch("ocs"), one_switch("linux"), two_switches("ocs", "linux")])
def test_every_interface_has_a_name_that_linux_allows(scenario: Scenario) -> None:
    plan = compile_plan(compile_network(scenario), here=False)
    labels = {str(host.get("label", host["name"])) for host in plan["hosts"]}
    assert labels == {"Client_1", "2", "h", "4"}
    assert {port["host"] for switch in plan["switches"] for port in switch["ports"]} == labels
    derived = [form.format(label) for label in labels for form in ("{}-eth0", "sw-{}", "p-{}", "p-{}x", "x-{}", "c-{}")]
    named = [station.interface for station in compile_network(scenario).stations.values()]
    written = re.findall(r'"((?:sw|p)-\w+)"', json.dumps(plan))
    for name in [*derived, *named, *written]:
        assert len(name) <= LONGEST_INTERFACE, name


def test_captures_are_files_with_the_host_s_name() -> None:
    plan = compile_plan(
        compile_network(one_switch("ocs").with_(**{"probes.capture": [HOSTS[0], HOSTS[1]]})), here=False
    )
    assert [(each["host"], each["interface"]) for each in plan["captures"]] == [
        ("Client_1", "Client_1-eth0"),
        ("Server_Frankf", "2-eth0"),
    ]


def test_plans_of_short_names_have_no_labels() -> None:
    plan = json.dumps(compile_plan(compile_network(Scenario.from_dict({"network": "aykurt", "flows": [
        {"name": "main", "size": "1 MB", "path": "green"}]})), here=False))  # fmt: skip
    assert '"label"' not in plan
    assert '"host": "s1"' in plan


def test_ranges_name_hosts_with_capitals() -> None:
    hosts = [{"name": "Client_[1-10]", "rate": "1 Gb/s"}, {"name": "Server", "rate": "1 Gb/s"}]
    flows = [{"name": "f-[1-10]", "src": "Client_[1-10]", "dst": "Server", "size": "1 MB", "path": "bypass"}]
    scenario = Scenario.from_dict({"network": {"name": "n", "hosts": hosts}, "flows": flows})
    assert [host.name for host in scenario.network.hosts] == [*(f"Client_{n}" for n in range(1, 11)), "Server"]
    assert scenario.flows[9].src == "Client_10"
    assert scenario.with_(**{"network.hosts.Client_10.rate": "2 Gb/s"}).network.host("Client_10").rate == 2 * 10**9


WITH_BMV2 = [pytest.mark.bmv2, pytest.mark.skipif(bool(bmv2_install.missing()), reason="BMv2 is missing")]
WITH_OVS = [
    pytest.mark.ovs,
    pytest.mark.skipif(bool(ovs_install.missing()) or not ovs_install.has_controller(), reason=ovs_install.REMEDY),
]
NAMED = [
    pytest.param(one_switch("ocs"), id="ocs"),
    pytest.param(one_switch("linux"), id="linux"),
    pytest.param(one_switch("bmv2"), id="bmv2", marks=WITH_BMV2),
    pytest.param(two_switches("ocs", "ocs"), id="ocs-ocs"),
    pytest.param(two_switches("linux", "ocs"), id="linux-ocs"),
    pytest.param(two_switches("ovs", "linux"), id="ovs-linux", marks=WITH_OVS),
    pytest.param(two_switches("bmv2", "ocs"), id="bmv2-ocs", marks=WITH_BMV2),
]


@pytest.mark.guest
@pytest.mark.parametrize("scenario", NAMED)
def test_hosts_of_any_name_exchange_data(run_guest: RunGuest, scenario: Scenario) -> None:
    flows = run_guest(scenario).tables["flows"].set_index("flow")
    assert (flows["received_B"] == 60_000).all()
    assert flows["fct_s"].notna().all()


@pytest.mark.ns3
def test_ns3_knows_hosts_of_any_name() -> None:
    from rdcnlab.engines.ns3.plan import compile_plan as of_ns3

    plan = of_ns3(compile_network(two_switches("ocs", "ocs", engine={"kind": "ns3"})))
    names = {host["name"] for host in plan["hosts"]}
    assert names == {port["host"] for switch in plan["switches"] for port in switch["ports"]}
