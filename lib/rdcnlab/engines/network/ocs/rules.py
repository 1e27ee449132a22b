# SPDX-License-Identifier: Apache-2.0
"""Rules of an ``ocs`` switch, which assign packets to classes: those of flows, and those for packets of no flow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rdcnlab.engines.network import Network, forwarding
from rdcnlab.engines.network.forwarding import Match

#: Priority of the rules for packets of no flow; the rules of flows come before.
REST = 65_000


def rules(network: Network, switch: int) -> list[dict[str, Any]]:
    """Return the rules of a switch: for each flow in both directions, and for packets of no flow."""
    entries = forwarding.entries(network, switch)
    found = [_rule(entry.number, match) for entry in entries for match in entry.matches]
    return [*found, *_rest(network, switch)]


def _rule(number: int, match: Match) -> dict[str, Any]:
    """Return the rule for the packets of a flow in one direction."""
    rule: dict[str, Any] = {
        "class_id": number,
        "prio": match.flow,
        "proto": match.protocol,
    }
    if match.field:
        rule[match.field] = match.port
    if match.sender is not None:
        rule["src"] = match.sender
    if match.to is not None:
        rule["dst"] = match.to
    if match.source is not None:
        rule["in_if"] = match.source.interface
    if match.subflow is not None:
        # only the flow's receiver has an address for each subflow; ACKs come from it
        rule["dst" if match.field == "dport" else "src"] = match.subflow
    return rule


def _rest(network: Network, switch: int) -> Iterator[dict[str, Any]]:
    """Yield the rules for packets of no flow: they take the shortest way; an optical switch loses them."""
    static, lost = network.classes.static, network.classes.lost
    if switch in lost:
        yield {"class_id": lost[switch], "prio": REST}
        return
    for station, line in network.reached(switch):
        if line is not None:
            yield {"class_id": static[line.number], "prio": REST, "dst": station.ip}
