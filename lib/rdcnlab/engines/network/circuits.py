# SPDX-License-Identifier: Apache-2.0
"""Circuits as racks see them: which rack each uplink leads to, slot by slot."""

from __future__ import annotations

import math
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

    def divided(self, part: int, most: int) -> Circuits:
        """Return the same circuits with slots cut into equal parts, where a rack has several circuits at one time.

        Parameters
        ----------
        part : int
            ns that a part lasts at least; a shorter slot is not cut.
        most : int
            Number of slots that the result has at most. Parts last a multiple of `part` where they would be too many.
        """
        several = [any(len(here) > 1 for here in slot.values()) for slot in self.neighbours]
        if len(self.durations) == 1 and several[0]:
            # circuits that never change have no slot to cut: one turn through all of them repeats
            turn = math.lcm(*(len(here) for here in self.neighbours[0].values() if here))
            return Circuits(self.racks, (part,) * turn, self.neighbours * turn)

        def parts(length: int) -> list[int]:
            return [
                max(duration // length, 1) if cut else 1 for duration, cut in zip(self.durations, several, strict=True)
            ]

        length = part
        while sum(parts(length)) > most >= len(self.durations):
            length += part
        counts = parts(length)
        durations = tuple(
            duration * (number + 1) // count - duration * number // count
            for duration, count in zip(self.durations, counts, strict=True)
            for number in range(count)
        )
        slots = zip(self.neighbours, counts, strict=True)
        return Circuits(self.racks, durations, tuple(slot for slot, count in slots for _ in range(count)))

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
    links_of: dict[str, list[str]] = {node.name: [] for node in network.switches if not node.optical}
    for link in network.links:
        if link.between is None:
            continue
        ends = [end for end in link.between if end not in optical]
        if len(ends) == 1:
            links_of[ends[0]].append(link.name)
    return {rack: links for rack, links in links_of.items() if links}
