# SPDX-License-Identifier: Apache-2.0
"""The optical part of a network: circuits between racks over slots, and the routing that racks follow."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from rdcnlab.fields.quantities import (
    DAY_NS,
    Duration,
    FieldError,
    Frozen,
    LinkName,
    Listed,
    PositiveSize,
    omit_default,
    quantity,
    whole,
)
from rdcnlab.fields.units import DURATION, SIZE
from rdcnlab.scenario.demand import OnDemand
from rdcnlab.scenario.queue import MaybeQueueLimit, Queue, QueueLimit

#: How racks choose the next circuit of a packet; `rdcnlab.engines.network.routing` has one function for each.
Routing = Literal["direct", "vlb", "rotorlb", "shortest", "earliest", "ksp", "ucmp", "table"]
ROUTINGS: tuple[str, ...] = get_args(Routing)
#: How packets to one rack are spread over circuits with the routing ``vlb``.
Split = Literal["slot", "packet", "flow"]

#: One slot of circuits. The kernel's least slot is shorter than that of a schedule of flows, as a slot may be a frame.
CircuitDuration = Annotated[int, *quantity(DURATION, 100, DAY_NS)]
#: Most slots of circuits, dark ones included.
MOST_SLOTS = 1024
HopCost = Annotated[int, *quantity(DURATION, 1, DAY_NS)]
MaxHops = Annotated[int, whole(1, 127)]
Circuit = Annotated[tuple[LinkName, LinkName], Listed]


class CircuitSlot(Frozen):
    """The circuits that are up for some time.

    Parameters
    ----------
    duration : int
        ns, at least 100.
    circuits : tuple of (str, str)
        Pairs of links that an optical switch joins. A link that no pair names is dark.
    """

    duration: CircuitDuration
    circuits: Annotated[tuple[Circuit, ...], Field(max_length=4096), Listed] = ()


class Hop(Frozen):
    """One row of a table of one's own.

    Parameters
    ----------
    rack : str
        The switch where packets are.
    slot : int
        Number of the slot, from 1.
    to : str
        The switch of the receiver.
    link : str
        The link that packets take.
    """

    rack: LinkName
    slot: Annotated[int, whole(1, MOST_SLOTS)]
    to: LinkName
    link: LinkName


class Optics(Frozen):
    """Circuits over slots, the routing of packets over them, and the queues in which packets wait for their circuit.

    Parameters
    ----------
    slots : tuple of CircuitSlot
        They repeat for ever. Before the first slot it is in force, too.
    routing : {'direct', 'vlb', 'rotorlb', 'shortest', 'earliest', 'ksp', 'ucmp', 'table'}
        Which circuit packets take, and where they wait; docs/architectures.md describes each. ``direct``: the one to
        the receiver's rack. ``vlb``: any, then the direct one; see `split` and `levels`. ``rotorlb``: the same by what
        direct packets leave. ``shortest``: the fewest that are up now; see `bulk`. ``earliest``: those by which they
        arrive first; see `max_hops`. ``ksp``, ``ucmp``: flows are spread over `ways`. ``table``: `table`.
    queue : Queue
        Limit of each queue; every rack has one for each other rack, ``RACK>RACK`` in tables, and with ``vlb`` a second
        one for packets of its own hosts, ``RACK>>RACK``.
    ecn_threshold : Queue or None
        Length of such a queue above which an arriving ECN-capable packet is marked.
    directed : bool
        Whether a pair passes light from its first link to its second only. Otherwise it passes both directions.
    phase : int
        ns by which the first slot begins later than the scenario.
    ways : int
        With the routings ``ksp`` and ``ucmp``: number of ways between two racks over which flows are spread. Flow n of
        the scenario, counted from 0, takes way n modulo `ways`.
    hop_cost : int or None
        With the routing ``ucmp``: what a circuit costs, in ns of waiting. None: the mean duration of a slot.
    split : {'slot', 'packet', 'flow'}
        With ``vlb``: what decides which rack packets pass. ``slot``: all packets to one rack take the same circuit in a
        slot. ``packet``: all circuits that are up in turn, a few frames each. ``flow``: one for each flow.
    levels : int
        With ``vlb``: dimensions of a grid of racks, in which a circuit changes one coordinate. Packets take any circuit
        of each (queues ``RACK>>dimension1`` ...), then direct ones. 1: no grid.
    max_hops : int or None
        With ``earliest``: circuits that a packet passes at most.
    bulk : int or None
        With ``shortest``: flows of so many bytes and more wait for the direct circuit (queues ``RACK>RACK.2``), and
        take what others leave of it. None: no flow does.
    demand : OnDemand or None
        A controller that changes the circuits of the only slot; the routing is ``direct`` then. Packets without a
        circuit take links that lead to no optical switch, if there are some; otherwise they wait.
    table : tuple of Hop
        With the routing ``table``: rows (rack, slot, receiver's rack, link). Packets without a row wait.
    """

    slots: Annotated[tuple[CircuitSlot, ...], Field(min_length=1, max_length=MOST_SLOTS), Listed]
    routing: Routing = "direct"
    queue: QueueLimit = Queue(packets=100)
    ecn_threshold: MaybeQueueLimit = None
    directed: Annotated[bool, omit_default] = False
    phase: Annotated[Duration, omit_default] = 0
    ways: Annotated[int, whole(1, 16), omit_default] = 4
    hop_cost: Annotated[HopCost | None, omit_default] = None
    split: Annotated[Split, omit_default] = "slot"
    levels: Annotated[int, whole(1, 6), omit_default] = 1
    max_hops: Annotated[MaxHops | None, omit_default] = None
    bulk: Annotated[PositiveSize | None, omit_default] = None
    demand: Annotated[OnDemand | None, omit_default] = None
    table: Annotated[tuple[Hop, ...], Field(max_length=1_000_000), Listed, omit_default] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Optics:
        if self.table and self.routing != "table":
            raise FieldError.left_out("table", "given", f"with routing {self.routing}; only routing table reads it")
        if self.routing == "table" and not self.table:
            raise FieldError("table", None, "at least one row, with routing table")
        if self.demand is not None:
            self._check_demand(self.demand)
        check_spread(self.routing, self.ways, self.hop_cost, self.split)
        if self.bulk is not None and self.routing != "shortest":
            reason = f"with routing {self.routing}; only shortest lets large flows wait for direct circuits"
            raise FieldError.left_out("bulk", SIZE.format(self.bulk), reason)
        check_hops(self.routing, self.levels, self.max_hops, self.split)
        for place, slot in enumerate(self.slots):
            seen: set[tuple[str, bool]] = set()
            for pair in slot.circuits:
                ends = [(pair[0], True), (pair[1], False)]
                if not self.directed:
                    ends += [(pair[1], True), (pair[0], False)]
                for end in ends:
                    if end in seen:
                        allowed = "links that are in one pair of a slot"
                        raise FieldError(f"slots[{place}].circuits", f"{pair[0]}, {pair[1]}", allowed)
                    seen.add(end)
        return self

    def _check_demand(self, demand: OnDemand) -> None:
        if self.routing != "direct":
            allowed = "direct, with demand: a way over several circuits would need to know which come next"
            raise FieldError("routing", self.routing, allowed)
        if len(self.slots) > 1:
            raise FieldError("slots", f"{len(self.slots)} slots", "one slot with demand, whose controller changes it")
        if demand.decide == "birkhoff" and not self.directed:
            allowed = "true with demand.decide birkhoff, whose permutations have circuits in one direction"
            raise FieldError("directed", False, allowed)

    @property
    def summary(self) -> str:
        """The routing in words, such as ``vlb by packet``."""
        if self.max_hops is not None:
            return f"{self.routing} of at most {self.max_hops} circuits"
        if self.levels > 1:
            return f"{self.routing} in {self.levels} dimensions"
        return f"{self.routing} by {self.split}" if self.routing == "vlb" else self.routing

    @property
    def in_turn(self) -> bool:
        """Whether packets to one rack take several circuits in turn within a slot."""
        return self.split == "packet" or self.routing == "rotorlb"

    @property
    def cycle(self) -> int:
        """Time in ns after which the circuits repeat."""
        return sum(slot.duration for slot in self.slots)

    def light(self, place: int) -> dict[str, str]:
        """Return, for a slot, the link by which the light of each link leaves the optical switch."""
        pairs = self.slots[place].circuits
        return dict(pairs) | ({} if self.directed else {second: first for first, second in pairs})


def check_spread(routing: str, ways: int, hop_cost: int | None, split: str) -> None:
    """Raise FieldError if settings of routings over several ways are given with another routing."""
    if split != Optics.model_fields["split"].default and routing != "vlb":
        raise FieldError.left_out("split", split, f"with routing {routing}; only vlb spreads packets over racks")
    if ways != Optics.model_fields["ways"].default and routing not in ("ksp", "ucmp"):
        raise FieldError.left_out("ways", ways, f"with routing {routing}; only ksp and ucmp spread flows over ways")
    if hop_cost is not None and routing != "ucmp":
        raise FieldError.left_out("hop_cost", DURATION.format(hop_cost), f"with routing {routing}; only ucmp has costs")


def check_hops(routing: str, levels: int, max_hops: int | None, split: str) -> None:
    """Raise FieldError if settings that bound the circuits of a way are given with another routing."""
    if levels > 1 and routing != "vlb":
        raise FieldError.left_out(
            "levels", levels, f"with routing {routing}; only vlb takes a circuit of each dimension"
        )
    if levels > 1 and split != "slot":
        raise FieldError("split", split, "slot, with levels: packets take the next circuit of each dimension")
    if max_hops is not None and routing != "earliest":
        raise FieldError.left_out("max_hops", max_hops, f"with routing {routing}; only earliest bounds its ways")
