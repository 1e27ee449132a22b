# SPDX-License-Identifier: Apache-2.0
"""Multipath TCP: addresses and schedules of subflows."""

from __future__ import annotations

from rdcnlab.engines.network.addresses import of_subflow
from rdcnlab.scenario import Flow, Scenario, Schedule


def flows(scenario: Scenario) -> list[Flow]:
    """Return the flows with the protocol mptcp."""
    return [flow for flow in scenario.flows if flow.protocol == "mptcp"]


def address(scenario: Scenario, ip: str, subflow: int) -> str:
    """Return a host's address for a subflow, from its first address."""
    return of_subflow(ip, subflow, graph=bool(scenario.network.switches))


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
            for part in _parts(scenario, flow, whole, back=back):
                found.setdefault(part.name, part)
    return list(found.values())


def followed(scenario: Scenario, flow: Flow, schedule: Schedule, *, back: bool) -> tuple[Schedule, ...]:
    """Return the schedule that each subflow of a flow follows; one schedule if all subflows follow the same."""
    return _parts(scenario, flow, schedule, back=back) if _isolated(scenario, flow, back=back) else (schedule,)


def _parts(scenario: Scenario, flow: Flow, whole: Schedule, *, back: bool) -> tuple[Schedule, ...]:
    # ACKs wait in the host, which has memory for all of them
    return tuple(whole.only(subflow, queue=not back) for subflow in range(scenario.subflows(flow)))


def _isolated(scenario: Scenario, flow: Flow, *, back: bool) -> bool:
    if flow.protocol != "mptcp" or (back and scenario.schedule(flow, back=True) is None):
        return False
    return scenario.mptcp.isolation == "all" or (back and scenario.mptcp.isolation == "acks")
