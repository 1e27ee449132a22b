# SPDX-License-Identifier: Apache-2.0
"""Electrical packet switches: one bottleneck, or leaves and spines."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from rdcnlab.fields.quantities import FieldError, whole
from rdcnlab.scenario.fabrics.base import MOST_LINKS, Queued, check_hosts, place_hosts


class Dumbbell(Queued):
    """Senders ``s1``, ``s2`` ... at the switch ``left``, receivers ``r1`` ... at ``right``, one link between them.

    Parameters
    ----------
    pairs : int
        Number of senders, and of receivers.
    """

    pairs: Annotated[int, whole(1, 500)] = 2

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        hosts = [(f"s{n}", "left") for n in range(1, self.pairs + 1)]
        hosts += [(f"r{n}", "right") for n in range(1, self.pairs + 1)]
        link = self.link("bottleneck", "left", "right")
        return self.network([{"name": "left"}, {"name": "right"}], hosts, [link])


class LeafSpine(Queued):
    """Hosts ``h1``, ``h2`` ... in the order of their leaves; each leaf has a link to each spine, ``leaf1-spine1``.

    Parameters
    ----------
    leaves, spines : int
        Number of switches of each kind.
    hosts : int
        Number of hosts at each leaf.
    """

    leaves: Annotated[int, whole(2, 128)] = 2
    spines: Annotated[int, whole(1, 64)] = 2
    hosts: Annotated[int, whole(1, 125)] = 2

    @model_validator(mode="after")
    def _has_numbers(self) -> LeafSpine:
        check_hosts(self.hosts, self.leaves)
        if self.leaves * self.spines > MOST_LINKS:
            most = MOST_LINKS // self.leaves
            allowed = f"at most {most}, so that {self.leaves} leaves have no more than {MOST_LINKS} links"
            raise FieldError("spines", self.spines, allowed)
        return self

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        leaves = [f"leaf{n}" for n in range(1, self.leaves + 1)]
        spines = [f"spine{n}" for n in range(1, self.spines + 1)]
        links = [self.link(f"{leaf}-{spine}", leaf, spine) for leaf in leaves for spine in spines]
        switches = [{"name": name} for name in [*leaves, *spines]]
        return self.network(switches, place_hosts(leaves, self.hosts), links)
