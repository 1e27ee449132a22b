# SPDX-License-Identifier: Apache-2.0
"""Large networks and many flows: numbers that need more than a byte, rules that are needed, and errors that say why."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from rdcnlab.engines.kernel import plan
from rdcnlab.engines.network import compile_network, numbers
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.ideal import ideal_ns
from tests.engines.conftest import RunGuest, SharedRun

#: Modules that know how many ports and rules there are. Packages have functions of the same names.
COMPILER, RULES, *OTHERS = (
    importlib.import_module(f"rdcnlab.engines.{name}")
    for name in (
        "network.compiler", "network.ocs.rules", "kernel.plan.probes", "kernel.plan.hosts", "kernel.trace.turns",
        "kernel.observe.observed",
    )
)  # fmt: skip


def limited(monkeypatch: pytest.MonkeyPatch, *, ports: int, most_rules: int) -> None:
    """Let there be fewer ports for flows, and fewer rules of a switch."""
    for place in (COMPILER, *OTHERS):
        monkeypatch.setattr(place, "PORTS", ports)
    monkeypatch.setattr(COMPILER, "FEW_RULES", most_rules)
    monkeypatch.setattr(RULES, "MOST_RULES", most_rules)


def fabric(leaves: int, hosts: int, flows: list[tuple[str, str]], spines: int = 2, **fields: Any) -> Scenario:
    network = {"fabric": "leaf-spine", "leaves": leaves, "spines": spines, "hosts": hosts}
    stated = [
        {"name": f"f{n}", "src": src, "dst": dst, "size": "14 kB", "start": f"{n} ms"}
        for n, (src, dst) in enumerate(flows)
    ]
    return Scenario.from_dict({"network": network, "flows": stated, "limit": "1 s", **fields})


def test_hosts_whose_numbers_need_two_bytes_reach_each_other(run_guest: RunGuest) -> None:
    pairs = [("h1", "h320"), ("h320", "h2"), ("h256", "h255"), ("h257", "h256"), ("h300", "h44")]
    scenario = fabric(80, 4, pairs)
    seen = run_guest(scenario)
    for flow, fct_s in zip(scenario.flows, seen.tables["flows"]["fct_s"], strict=True):
        assert fct_s * 1e9 == pytest.approx(ideal_ns(scenario, flow), abs=400), flow.name
    assert not len(seen.tables["events"].query("event.str.startswith('drop')"))


def test_a_flow_needs_no_rule_where_it_takes_the_usual_way() -> None:
    scenario = fabric(2, 2, [("h1", "h3")] * 20)
    devices = {device["name"]: device for device in plan.compile_plan(compile_network(scenario))["switches"]}
    ports = {name: {rule.get("dport") for rule in devices[name]["rules"]} - {None} for name in devices}
    # a spine has one way to each leaf, and half of the flows take the first spine
    assert not ports["spine1"] | ports["spine2"]
    assert 0 < len(ports["leaf1"]) < 20


def test_too_many_rules_are_an_error_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RULES, "MOST_RULES", 4096)
    workload = {"name": "w", "sizes": "1 kB", "arrivals": {"interval": "1 us"}, "count": 12_000}
    network = {"fabric": "leaf-spine", "leaves": 2, "spines": 8, "hosts": 4}
    # with a program, addresses tell its packets apart, and cannot tell ways
    program = {"host": "h1", "run": "true"}
    data = {"network": network, "workloads": [workload], "programs": [program], "limit": "1 s"}
    scenario = Scenario.from_dict(data)
    with pytest.raises(InputError, match=r"the switch leaf1 would need .* rules, and it can have 4096") as caught:
        plan.compile_plan(compile_network(scenario))
    assert len(str(caught.value)) < 400


def test_long_lists_are_named_by_their_number() -> None:
    flows = [{"name": f"f{n}", "src": "h1", "dst": "h2", "size": 1} for n in range(100_001)]
    with pytest.raises(InputError, match="100001 items") as caught:
        Scenario.from_dict({"network": {"fabric": "leaf-spine"}, "flows": flows})
    assert len(str(caught.value)) < 200
    with pytest.raises(InputError, match="there is no host 'h1001'") as caught:
        fabric(100, 10, [("h1", "h1001")])
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("ports", [numbers.PORTS, 300])
def test_addresses_of_ways_and_shared_ports_change_no_table(
    run_guest: RunGuest, shared_run: SharedRun, monkeypatch: pytest.MonkeyPatch, ports: int
) -> None:
    """What many flows need is as good as a rule and a port for each: the same bytes."""
    workloads = [
        {"name": "web", "sizes": "cache", "at_most": "50 kB", "arrivals": {"poisson": "20 us"}, "count": 400},
        {"name": "ask", "sizes": "10 kB", "rounds": 3, "arrivals": {"poisson": "50 us"}, "count": 100},
    ]
    network = {"fabric": "leaf-spine", "leaves": 3, "spines": 4, "hosts": 3}
    scenario = Scenario.from_dict({"network": network, "workloads": workloads, "limit": "1 s", "seed": 2})
    usual = shared_run(scenario)
    limited(monkeypatch, ports=ports, most_rules=50)
    asked = plan.compile_plan(compile_network(scenario))
    assert max(len(switch["rules"]) for switch in asked["switches"]) <= 50
    assert {flow["line"].split()[6] for flow in asked["flows"]} == {str(5001 + n) for n in range(min(ports, 500))}
    assert run_guest(scenario).digest == usual.digest


def test_flows_that_have_a_port_in_turn_must_not_overlap(run_guest: RunGuest, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, ports=4, most_rules=8)
    workload = {"name": "w", "sizes": "1 MB", "arrivals": {"interval": "10 us"}, "count": 8}
    scenario = Scenario.from_dict({"network": {"fabric": "leaf-spine"}, "workloads": [workload], "limit": "1 s"})
    with pytest.raises(RunError, match=r"flow w\.5 begins while flow w\.1 goes on, whose port it has"):
        run_guest(scenario)
    later = scenario.with_(**{"workloads.w.arrivals": {"interval": "10 ms"}})
    assert run_guest(later).tables["flows"]["finished"].all()
    waiting = scenario.with_(workloads=[workload, {**workload, "name": "v", "after": "w"}])
    with pytest.raises(InputError, match=r"at most 4, because flow v.1 waits for others"):
        plan.compile_plan(compile_network(waiting))
