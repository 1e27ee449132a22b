# SPDX-License-Identifier: Apache-2.0
"""Circuits on demand: what the controller in the guest must know, and what it decided."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import TARGET
from rdcnlab.scenario import DARK

#: File in the directory of a run that has the controller's decisions.
DECISIONS = "circuits.json"


def settings(network: Network) -> dict[str, Any]:
    """Return the part of the plan about circuits on demand; nothing if the scenario has none."""
    optics = network.optics
    if optics is None or optics.demand is None:
        return {}
    demand = optics.demand
    own = demand.controller
    flows = {} if own is None else {"flows": list(_flows(network))}
    return {
        "circuits": {
            **flows,
            **demand.model_dump(include={"every", "reaction", "night", "measure", "decide"}),
            "directed": optics.directed,
            "own": None if own is None else own.content("network.optics.demand.controller").decode(errors="replace"),
            "own_name": None if own is None else Path(own.path).name,
            "queues": [_queue(network, *pair) for pair in network.beside],
            "uplinks": list(_uplinks(network)),
            "up": [list(pair) for pair in optics.slots[0].circuits],
            "rate": min(network.links[link].rate for links in network.uplinks.values() for link in links),
        }
    }


def _flows(network: Network) -> Iterator[tuple[str, str, str, int, int]]:
    """Yield name, racks, bytes and start of the flows, for a controller of one's own."""
    rack = {name: network.switches[station.switch] for name, station in network.stations.items()}
    for flow, start in zip(network.traffic.flows, network.traffic.starts, strict=True):
        yield flow.name, rack[flow.src], rack[flow.dst], network.traffic.sizes[flow.name], start


def decisions(network: Network, directory: Path) -> Iterator[tuple[int, str, str | None, str | None, int]]:
    """Yield rows of the table ``events``: the circuits of each decision, with the demand of their racks in bytes."""
    optics = network.optics
    if optics is None or optics.demand is None:
        return
    for instant, circuits in json.loads((directory / DECISIONS).read_text()):
        for first, last, demand in circuits:
            yield instant, "decision", f"{first}>{last}", None, demand


def _queue(network: Network, first: str, last: str) -> dict[str, Any]:
    """Return a queue of a rack: its class, and the line of its packets while there is no circuit."""
    number = network.switches.index(first)
    beside = network.beside[first, last]
    return {
        "switch": number,
        "class": network.classes.shared[number, f"{first}>{last}"],
        "first": first,
        "last": last,
        "beside": TARGET[DARK] if beside is None else network.line(number, beside).number,
    }


def _uplinks(network: Network) -> Iterator[dict[str, Any]]:
    """Yield the uplinks: their line at the rack, and at the optical switch their line and the class of their light."""
    for rack, links in network.uplinks.items():
        for link in links:
            plane = network.switches.index(network.graph.other(link, rack))
            yield {
                "link": link,
                "rack": rack,
                "plane": plane,
                "line": network.line(network.switches.index(rack), link).number,
                "class": network.classes.light[plane, link],
                "out": network.line(plane, link).number,
            }
