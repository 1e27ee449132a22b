# SPDX-License-Identifier: Apache-2.0
"""Instants before the start of a scenario: listeners are ready, the RNG is seeded."""

from __future__ import annotations

from collections.abc import Iterable

from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.network.flows import connect_ns
from rdcnlab.engines.network.numbers import READY_NS, START_NS
from rdcnlab.scenario import Scenario


def ready_ns(scenario: Scenario) -> int:
    """Return the instant at which all listeners must be ready and the RNG is seeded; nothing opens before it."""
    first = min(connect_ns(scenario).values(), default=START_NS)
    return min(quic.ready_ns(scenario), first - (START_NS - READY_NS))


def late(scenario: Scenario, starts_s: Iterable[float]) -> list[str]:
    """Return the flows whose connection was not established at their start, from the start times in their table."""
    asked = zip(scenario.flows, scenario.start_times(), starts_s, strict=True)
    return [flow.name for flow, start, seen in asked if flow.connect == "ahead" and seen > start / 1e9]
