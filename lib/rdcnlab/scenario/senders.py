# SPDX-License-Identifier: Apache-2.0
"""Senders whose packets leave at a constant rate, and which of them send the same."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from rdcnlab.scenario import program_traffic

if TYPE_CHECKING:
    from rdcnlab.scenario.flow import Flow
    from rdcnlab.scenario.model import Scenario


def rhythm(flow: Flow) -> Hashable:
    """Return what says when a flow's packets leave; None unless they leave at a constant rate.

    Programs may send datagrams at a constant rate, too; only what they sent tells whether they do.
    """
    if program_traffic.is_of_programs(flow):
        return "datagrams of programs" if flow.protocol == "udp" else None
    if flow.rate is None and flow.burst is None:
        return None
    return flow.protocol, flow.rate, flow.burst, flow.interval, flow.packet, flow.on, flow.off


def equal(scenario: Scenario) -> list[tuple[str, ...]]:
    """Return the groups of flows, and of the traffic of programs, that may send at the same constant rate.

    Examples
    --------
    >>> from rdcnlab.scenario import Scenario
    >>> flows = {"name": "f[1-2]", "src": "s[1-2]", "dst": "r[1-2]", "protocol": "udp", "size": "1 MB"}
    >>> equal(Scenario.from_dict({"network": "dumbbell", "flows": [{**flows, "rate": "1 Mb/s"}]}))
    [('f1', 'f2')]
    """
    groups: dict[Hashable, list[str]] = {}
    for flow in scenario.traffic:
        kind = rhythm(flow)
        if kind is not None:
            groups.setdefault(kind, []).append(flow.name)
    return [tuple(names) for names in groups.values() if len(names) > 1]
