# SPDX-License-Identifier: Apache-2.0
"""A spanning tree of the switches, for frames whose destination no switch knows: broadcast, multicast, unknown."""

from __future__ import annotations

from collections.abc import Sequence

from rdcnlab.engines.network.parts import Line


def spanning_tree(lines: Sequence[Line]) -> frozenset[int]:
    """Return the numbers of the lines of a spanning tree, two for each link of it; without optical switches.

    The links of the tree have the least sum of weights (Kruskal's algorithm). Of links of equal weight, the first in
    the network's list is taken. Where the switches are not all joined, each part has a tree of its own.
    """
    ends: dict[str, list[Line]] = {}
    for line in lines:
        if line.trunk is not None:
            ends.setdefault(line.link.name, []).append(line)
    # an optical switch cannot copy a frame
    joining = [pair for pair in ends.values() if not any(line.optical for line in pair)]
    part: dict[int, int] = {}
    chosen: set[int] = set()
    for pair in sorted(joining, key=lambda pair: pair[0].link.weight):
        one, other = (part.setdefault(line.switch, line.switch) for line in pair)
        if one != other:
            part = {switch: one if belongs == other else belongs for switch, belongs in part.items()}
            chosen |= {line.number for line in pair}
    return frozenset(chosen)
