# SPDX-License-Identifier: Apache-2.0
"""Positions of the switches and hosts of a network in a picture, in inches from the lower left corner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rdcnlab.analysis.show import paint
from rdcnlab.analysis.show.names import group_by
from rdcnlab.analysis.show.rows import alike_hosts
from rdcnlab.scenario import Host, Network
from rdcnlab.scenario.routes import Graph

#: Largest number of switches that one layer shows. If there are more, the first ones and the last one are drawn.
MOST_IN_LAYER = 10
#: Largest number of hosts at one switch that are drawn separately.
SINGLE = 4
#: Least size in points of the name of a host.
LEAST = 5.5
#: Inches: the columns of captions at the left, and the margin at the right.
CAPTIONS, MARGIN = 1.5, 0.2
_LAYER = 1.25


@dataclass(frozen=True)
class Place:
    """The position of a switch or symbol: its centre and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Symbol:
    """The symbol of one host, or of several hosts of the same kind.

    Parameters
    ----------
    hosts : tuple of Host
        At least one.
    at : str
        Switch of the hosts.
    place : Place
        Position of the symbol.
    """

    hosts: tuple[Host, ...]
    at: str
    place: Place


@dataclass(frozen=True)
class Layout:
    """A network in a plane.

    Parameters
    ----------
    shape : {'row', 'layers', 'ring'}
        ``row``: switches side by side. ``layers``: hosts below leaves below spines. ``ring``: switches on a circle.
    switches : dict of str to Place
        The switches that are drawn.
    symbols : tuple of Symbol
        The hosts.
    gaps : tuple of (float, float, int)
        Positions at which switches are left out, and their number.
    height : float
        Inches.
    levels : dict of str to int
        The layer of every switch, drawn or not.
    """

    shape: Literal["row", "layers", "ring"]
    switches: dict[str, Place]
    symbols: tuple[Symbol, ...]
    gaps: tuple[tuple[float, float, int], ...]
    height: float
    levels: dict[str, int]


def layout(network: Network, width: float) -> Layout:
    """Place the switches and hosts of a network of several switches.

    Parameters
    ----------
    network : Network
        A network with several switches.
    width : float
        Width of the picture in inches.
    """
    chain = _chain(network)
    if chain:
        return _row(network, chain, width)
    layers = _layers(network)
    level_of = {name: level for level, names in enumerate(layers) for name in names}
    if any(level_of[link.between[0]] == level_of[link.between[1]] for link in network.links if link.between):
        return _ring(network, width)
    return _stack(network, layers, width)


def _chain(network: Network) -> list[str]:
    """Return the switches from one end to the other, if they are two to four in a line, each with hosts.

    Otherwise return an empty list.
    """
    names = [node.name for node in network.switches]
    if not 2 <= len(names) <= 4 or any(not _hosts_at(network, name) for name in names):
        return []
    neighbours: dict[str, set[str]] = {name: set() for name in names}
    for link in network.links:
        first, second = link.between or ("", "")
        neighbours[first].add(second)
        neighbours[second].add(first)
    ends = [name for name in names if len(neighbours[name]) == 1]
    if len(ends) != 2 or any(len(linked) > 2 for linked in neighbours.values()):
        return []
    chain = [ends[0]]
    while len(chain) < len(names):
        chain.append(next(name for name in sorted(neighbours[chain[-1]]) if name not in chain))
    return chain


def _layers(network: Network) -> list[list[str]]:
    """Return the switches in layers, by the number of links to the nearest switch that has hosts."""
    homes = [node.name for node in network.switches if _hosts_at(network, node.name)]
    # a picture counts links, whatever they weigh
    links = Graph(network.graph.switches, network.graph.links)
    layers: dict[int, list[str]] = {}
    for node in network.switches:
        distances = [links.distance(node.name, home) for home in homes]
        reachable = [distance for distance in distances if distance is not None]
        layers.setdefault(min(reachable, default=0), []).append(node.name)
    return [layers[level] for level in sorted(layers)]


def _hosts_at(network: Network, switch: str) -> list[Host]:
    return [host for host in network.hosts if host.at == switch]


def _symbols(network: Network, switch: str, most: int = SINGLE) -> list[tuple[Host, ...]]:
    """Return the hosts of a switch: each separately if they are few, otherwise grouped by equal settings."""
    hosts = _hosts_at(network, switch)
    return [(host,) for host in hosts] if len(hosts) <= most else [tuple(alike) for alike in alike_hosts(hosts)]


def spacing_of(symbols: Sequence[Sequence[Host]]) -> float:
    """Return the distance in inches between the symbols of a column; a stack has the number of its hosts below it."""
    return 0.36 if len(symbols) == 1 or all(len(hosts) == 1 for hosts in symbols) else 0.5


def _row(network: Network, chain: Sequence[str], width: float) -> Layout:
    parallel = max(len(alike) for alike in group_by(network.links, lambda link: frozenset(link.between or ())))
    high = max(0.8, 0.42 * min(parallel, 6) + 0.3)
    sides = {chain[0]: _symbols(network, chain[0], 6), chain[-1]: _symbols(network, chain[-1], 6)}
    column = max(len(symbols) * spacing_of(symbols) for symbols in sides.values()) / 2
    stacked = any(len(hosts) > 1 for symbols in sides.values() for hosts in symbols)
    room_below = 0.95 if len(chain) > 2 else 0.0
    # the captions of hosts are below their columns
    lower = max(high / 2 + room_below, column + (0.45 if stacked else 0.3))
    height = max(high / 2, column) + lower + 0.15
    middle = lower + 0.05
    first, last = 1.95, width - 1.95
    switches = {
        name: Place(first + (last - first) * index / (len(chain) - 1), middle, 0.85, high)
        for index, name in enumerate(chain)
    }
    symbols = []
    for name, x in ((chain[0], 0.75), (chain[-1], width - 0.75)):
        groups = sides[name]
        for index, hosts in enumerate(groups):
            y = middle + ((len(groups) - 1) / 2 - index) * spacing_of(groups)
            symbols.append(Symbol(hosts, name, Place(x, y, 0.75, 0.24)))
    for name in chain[1:-1]:
        symbols += _symbols_below(network, name, switches[name], 1.3)
    return Layout("row", switches, tuple(symbols), (), height, dict.fromkeys(switches, 0))


def _groups_below(network: Network, name: str, space: float) -> list[tuple[Host, ...]]:
    """Return the hosts of each symbol below a switch: single hosts if their names can be read, otherwise stacks."""
    groups = _symbols(network, name)
    least = max((paint.width(host.name, LEAST) for hosts in groups for host in hosts[:1]), default=0.0)
    return groups if least + 0.11 <= (space - 0.08) / max(1, len(groups)) else _symbols(network, name, 1)


def _symbols_below(network: Network, name: str, place: Place, space: float) -> list[Symbol]:
    """Return symbols of the hosts below a switch."""
    groups = _groups_below(network, name, space)
    spacing = min(0.62, (space - 0.08) / max(1, len(groups)))
    y = place.y - place.height / 2 - 0.62
    return [
        Symbol(hosts, name, Place(place.x + (number - (len(groups) - 1) / 2) * spacing, y, spacing - 0.06, 0.24))
        for number, hosts in enumerate(groups)
    ]


def _stack(network: Network, layers: Sequence[Sequence[str]], width: float) -> Layout:
    switches: dict[str, Place] = {}
    gaps: list[tuple[float, float, int]] = []
    symbols: list[Symbol] = []
    left, right = CAPTIONS, width - MARGIN
    space = (right - left) / min(len(layers[0]), MOST_IN_LAYER)
    groups = [hosts for name in layers[0] for hosts in _groups_below(network, name, space)]
    # the number of hosts is below their stack
    base = 1.15 if any(len(hosts) > 1 for hosts in groups) else 1.0
    for level, names in enumerate(layers):
        y = base + level * _LAYER
        slots: list[str | None] = list(names)
        if len(names) > MOST_IN_LAYER:
            slots = [*names[: MOST_IN_LAYER - 2], None, names[-1]]
        space = (right - left) / len(slots)
        for index, name in enumerate(slots):
            x = left + (index + 0.5) * space
            if name is None:
                gaps.append((x, y, len(names) - MOST_IN_LAYER + 1))
                continue
            switches[name] = Place(x, y, min(1.0, space - 0.08), 0.42)
            if level == 0:
                symbols += _symbols_below(network, name, switches[name], space)
    height = base + (len(layers) - 1) * _LAYER + 0.3
    levels = {name: level for level, names in enumerate(layers) for name in names}
    return Layout("layers", switches, tuple(symbols), tuple(gaps), height, levels)


def _ring(network: Network, width: float) -> Layout:
    """Place switches on a circle, and hosts outside of it. Many hosts at one switch get one symbol for each kind."""
    names = [node.name for node in network.switches]
    radius = min(1.9, 0.7 + 0.12 * len(names))
    height = 2 * radius + 1.9
    across_most = min(1.35 * radius, width / 2 - 1.55)
    centre = (width / 2, height / 2)
    room = 2 * math.pi * radius / len(names)
    switches, symbols = {}, []
    for index, name in enumerate(names):
        angle = math.pi / 2 - 2 * math.pi * index / len(names)
        across, up = math.cos(angle), math.sin(angle)
        x, y = centre[0] + across_most * across, centre[1] + radius * up
        switches[name] = Place(x, y, min(0.72, max(0.4, room - 0.05)), 0.36)
        groups = _symbols(network, name, 1)
        for number, hosts in enumerate(groups):
            shift = number - (len(groups) - 1) / 2
            position = (x + 0.95 * across - 0.72 * shift * up, y + 0.68 * up + 0.48 * shift * across)
            symbols.append(Symbol(hosts, name, Place(*position, 0.6, 0.24)))
    return Layout("ring", switches, tuple(symbols), (), height, dict.fromkeys(switches, 0))
