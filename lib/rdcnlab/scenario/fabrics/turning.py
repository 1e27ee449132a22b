# SPDX-License-Identifier: Apache-2.0
"""Published optical networks whose circuits all change at once, by days and nights."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import model_validator

from rdcnlab.fields.quantities import Duration, FieldError, Rate, whole
from rdcnlab.scenario.fabrics.optical import Pair, Turning
from rdcnlab.scenario.fabrics.rotor import matchings
from rdcnlab.scenario.optics import CircuitDuration, Routing


class RotorNet(Turning):
    """RotorNet (SIGCOMM 2017): rotors turn through fixed pairings of racks, all at once, and know no demand.

    With n rotors, n pairings are up in a day, so a pair of racks has its circuit once in about 1/n of the pairings.
    """

    uplinks: Annotated[int, whole(1, 16)] = 2
    routing: Routing = "vlb"

    def days(self) -> list[list[Pair]]:
        """Return the circuits of each day; see `Turning`."""
        turns = list(matchings(self.racks))
        days: list[list[Pair]] = [[] for _ in range(-(-len(turns) // self.uplinks))]
        for turn, pairs in enumerate(turns):
            day, uplink = divmod(turn, self.uplinks)
            days[day] += [((first, uplink), (second, uplink)) for first, second in pairs]
        return days


class Sirius(Turning):
    """Sirius (SIGCOMM 2020): passive gratings and tunable lasers; slot s joins each rack with the s-th after it.

    Its cells are our packets: a slot of the paper takes less than 100 ns and carries one cell; here a slot carries at
    least one whole frame, because Linux sends frames.
    """

    rate: Rate = 50_000_000_000
    routing: Routing = "vlb"
    day: CircuitDuration = 2_000
    night: Duration = 500

    @property
    def directed(self) -> bool:
        """Light passes a grating in one direction."""
        return True

    def days(self) -> list[list[Pair]]:
        """Return the circuits of each day; see `Turning`."""
        days = []
        for first in range(1, self.racks, self.uplinks):
            steps = enumerate(range(first, min(first + self.uplinks, self.racks)))
            days.append(
                [((n, uplink), ((n + step) % self.racks, uplink)) for uplink, step in steps for n in range(self.racks)]
            )
        return days


class Shale(Turning):
    """Shale (SIGCOMM 2024): racks are points of a grid of `levels` dimensions; slots turn through one after the other.

    A circuit changes one coordinate of a rack. Racks are at most as many circuits apart as there are dimensions, and a
    cycle of slots is much shorter than one through all racks. With the routing ``vlb``, as in the paper, packets take
    any circuit of each dimension, then the direct one of each: at most ``2 * levels`` circuits. With ``earliest`` they
    may take more; `max_hops` bounds them.

    Parameters
    ----------
    levels : int
        Number of dimensions. The number of racks is a power with this exponent.
    """

    racks: Annotated[int, whole(4, 128)] = 9
    levels: Annotated[int, whole(1, 6)] = 2
    routing: Routing = "earliest"
    day: CircuitDuration = 10_000
    night: Duration = 2_000

    @model_validator(mode="after")
    def _is_a_grid(self) -> Self:
        if self.uplinks != 1:
            raise FieldError("uplinks", self.uplinks, "1, with the fabric shale")
        if self._side**self.levels != self.racks:
            raise FieldError("racks", self.racks, f"a whole number to the power of levels ({self.levels})")
        return self

    @property
    def _side(self) -> int:
        return round(float(self.racks ** (1 / self.levels)))

    @property
    def directed(self) -> bool:
        """A circuit leads from a rack to the one after it."""
        return True

    def days(self) -> list[list[Pair]]:
        """Return the circuits of each day; see `Turning`."""
        side, days = self._side, []
        for step in range(1, side):
            for unit in (side**level for level in range(self.levels)):
                digits = [rack // unit % side for rack in range(self.racks)]
                others = [rack + ((digit + step) % side - digit) * unit for rack, digit in enumerate(digits)]
                days.append([((rack, 0), (other, 0)) for rack, other in enumerate(others)])
        return days

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        network = super().data()
        if self.routing == "vlb":
            network["optics"]["levels"] = self.levels
        return network
