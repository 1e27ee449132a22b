# SPDX-License-Identifier: Apache-2.0
"""Multipath TCP: the schedules that subflows follow."""

from __future__ import annotations

from rdcnlab.scenario import Flow, Scenario, Schedule


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
