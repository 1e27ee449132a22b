# SPDX-License-Identifier: Apache-2.0
"""Packets and instants of flows that are the same in all engines."""

from __future__ import annotations

from rdcnlab.engines.network.numbers import AHEAD_EACH_NS, AHEAD_NS, START_NS
from rdcnlab.scenario import Flow, Scenario
from rdcnlab.scenario.application import payload

__all__ = ["connect_ns", "is_timed", "payload"]


def is_timed(scenario: Scenario, flow: Flow) -> bool:
    """Return whether a flow of datagrams has an end time, that of its sending.

    Bursts beside flows of another protocol have none, because those end the run.
    """
    return flow.protocol == "udp" and (flow.rate is not None or flow.replay is not None or scenario.is_udp_alone)


def connect_ns(scenario: Scenario) -> dict[str, int]:
    """Return the instant at which each flow with `Flow.connect` ``ahead`` opens its connection, by the flow's name.

    They open one after the other, in the order of the flows. The last one opens `AHEAD_NS` before the start.
    """
    ahead = [flow.name for flow in scenario.flows if flow.connect == "ahead"]
    last = START_NS - AHEAD_NS
    return {name: last - AHEAD_EACH_NS * (len(ahead) - 1 - index) for index, name in enumerate(ahead)}
