# SPDX-License-Identifier: Apache-2.0
"""Circuits as racks see them: which rack each uplink leads to, slot by slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rdcnlab.scenario.network import Network


@dataclass(frozen=True)
class Circuits:
    """Circuits between racks.

    Parameters
    ----------
    racks : tuple of str
        Names of the racks, in the order of the network's switches.
    durations : tuple of int
        ns of each slot.
    neighbours : tuple of mapping
        For each slot and rack, the rack that each uplink leads to: ``neighbours[slot][rack][link]``. Dark uplinks are
        left out.
    """

    racks: tuple[str, ...]
    durations: tuple[int, ...]
    neighbours: tuple[Mapping[str, Mapping[str, str]], ...]

    @classmethod
    def of(cls, network: Network) -> Circuits:
        """Return the circuits of a network that has some."""
        optics = network.optics
        assert optics is not None
        rack_of = {link: rack for rack, links in uplinks(network).items() for link in links}
        racks = tuple(uplinks(network))
        slots = []
        for place in range(len(optics.slots)):
            joined: dict[str, dict[str, str]] = {rack: {} for rack in racks}
            for link, out in optics.light(place).items():
                if rack_of[link] != rack_of[out]:  # a circuit back to the same rack carries nothing
                    joined[rack_of[link]][link] = rack_of[out]
            slots.append(joined)
        return cls(racks, tuple(slot.duration for slot in optics.slots), tuple(slots))

    def lit(self) -> float:
        """Return the part of the time in which an uplink has a circuit, as the mean over all uplinks that have any."""
        links = {link for slot in self.neighbours for here in slot.values() for link in here}
        shone = sum(
            duration * sum(map(len, slot.values()))
            for duration, slot in zip(self.durations, self.neighbours, strict=True)
        )
        return shone / (sum(self.durations) * len(links)) if links else 0.0


def uplinks(network: Network) -> dict[str, list[str]]:
    """Return the links from each rack to an optical switch; racks are the other switches with such links."""
    optical = {node.name for node in network.switches if node.optical}
    found: dict[str, list[str]] = {node.name: [] for node in network.switches if not node.optical}
    for link in network.links:
        if link.between is None:
            continue
        ends = [end for end in link.between if end not in optical]
        if len(ends) == 1:
            found[ends[0]].append(link.name)
    return {rack: links for rack, links in found.items() if links}
