# SPDX-License-Identifier: Apache-2.0
"""Multipath TCP: addresses, the schedules of subflows, and settings of Linux' path manager."""

from __future__ import annotations

from rdcnlab.engines.kernel.wiring.addresses import address
from rdcnlab.scenario import BYPASS, Flow, Scenario, Schedule


def flows(scenario: Scenario) -> list[Flow]:
    """Return the flows with the protocol mptcp."""
    return [flow for flow in scenario.flows if flow.protocol == "mptcp"]


def subflows(scenario: Scenario, host: str) -> int:
    """Return the largest number of subflows of a connection of a host."""
    return max((scenario.subflows(flow) for flow in scenario.flows if host in (flow.src, flow.dst)), default=1)


def addresses(scenario: Scenario, host: str) -> list[str]:
    """Return the additional addresses of a host, which it announces to its peers."""
    number = [each.name for each in scenario.network.hosts].index(host)
    most = max((scenario.subflows(flow) for flow in scenario.flows if flow.dst == host), default=1)
    return [address(number, subflow) for subflow in range(1, most)]


def sysctls(scenario: Scenario) -> dict[str, str]:
    """Return the sysctls of every host."""
    return {"net.mptcp.scheduler": scenario.mptcp.scheduler} if flows(scenario) else {}


def way(scenario: Scenario, flow: Flow, subflow: int, *, back: bool = False) -> str:
    """Return the name of the schedule that a subflow follows; an isolated subflow follows a part of the flow's."""
    path = flow.back if back else flow.path
    name = path if isinstance(path, str) else ""
    return f"{name}.{subflow}" if _isolated(scenario, flow, back=back) else name


def parts(scenario: Scenario) -> list[Schedule]:
    """Return the parts of schedules that isolated subflows follow."""
    found: dict[str, Schedule] = {}
    for flow in flows(scenario):
        for back in (False, True):
            whole = scenario.network.schedule(flow.back if back else flow.path)
            if whole is None or not _isolated(scenario, flow, back=back):
                continue
            for subflow in range(scenario.subflows(flow)):
                # ACKs wait in the host, which has memory for all of them
                found.setdefault(way(scenario, flow, subflow, back=back), whole.only(subflow, queue=not back))
    return list(found.values())


def _isolated(scenario: Scenario, flow: Flow, *, back: bool) -> bool:
    if flow.protocol != "mptcp" or (back and flow.back == BYPASS):
        return False
    return scenario.mptcp.isolation == "all" or (back and scenario.mptcp.isolation == "acks")
