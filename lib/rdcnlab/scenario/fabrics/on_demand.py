# SPDX-License-Identifier: Apache-2.0
"""Circuits on demand beside a packet network: Helios and c-Through (SIGCOMM 2010)."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from rdcnlab.fields.quantities import Duration, FieldError, Rate, SlotDuration, whole
from rdcnlab.scenario.demand import CircuitController, Decide, Measure, OnDemand
from rdcnlab.scenario.fabrics.base import PACKET
from rdcnlab.scenario.fabrics.optical import Optical, Slot
from rdcnlab.scenario.queue import Buffer, Queue
from rdcnlab.scenario.user_file import from_path


class Helios(Optical):
    """Racks with a packet switch, and circuits that a controller gives to the pairs of racks with the most demand.

    Parameters
    ----------
    packet_rate : int or None
        Rate in bit/s of a link from each rack to a packet switch, ``packet``. Packets take it while their racks have no
        circuit. None: there is no packet switch, and packets wait for a circuit.
    packet_delay : int
        Propagation delay of these links in ns.
    packet_buffer : Queue
        What may wait at the packet switch for one rack.
    every, reaction, night, measure, controller
        As in `OnDemand`.
    decide : {'matching', 'greedy', 'birkhoff'}
        As in `OnDemand`, where the default is another one. ``greedy`` is what runs before December 2026 have. A
        controller decides instead.
    one_way : bool
        Whether a circuit leads from its first rack to its second only, so that a rack sends to one rack and receives
        from another one by the same uplink. ``birkhoff`` always has such circuits.
    """

    uplinks: Annotated[int, whole(1, 16)] = 1
    packet_rate: Rate | None = 1_000_000_000
    packet_delay: Duration = 1_000
    packet_buffer: Buffer = Queue(bytes=1_000_000)
    every: SlotDuration = 1_000_000
    reaction: Duration = 100_000
    night: SlotDuration = 20_000
    measure: Measure = "queues"
    decide: Decide = "matching"
    controller: Annotated[CircuitController | None, from_path(".py", "a file of Python, *.py")] = Field(default=None)
    one_way: bool = False

    @model_validator(mode="after")
    def _joined(self) -> Self:
        self.check_uplinks()
        if self.decide == "birkhoff" and self.uplinks > 1:
            raise FieldError("uplinks", self.uplinks, "1, with decide birkhoff, whose permutations follow each other")
        return self

    @property
    def directed(self) -> bool:
        """Whether a circuit passes light in one direction only; permutations have such circuits."""
        return self.one_way or self.decide == "birkhoff"

    def slots(self) -> list[Slot]:
        """Return the slot before the first decision, which has no circuits."""
        return [Slot(10**9, [])]

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        network = super().data()
        if self.packet_rate is not None:
            racks = [f"rack{number}" for number in range(1, self.racks + 1)]
            network["links"] += self.packet_plane(racks, self.packet_rate, self.packet_delay, self.packet_buffer)
            network["switches"].append({"name": PACKET})
        fields = {"every", "reaction", "night", "measure", "decide", "controller"}
        demand = network["optics"]["demand"] = self.model_dump(mode="json", include=fields)
        if self.controller is not None and "decide" not in self.model_fields_set:
            demand["decide"] = OnDemand.model_fields["decide"].default
        return network
