# SPDX-License-Identifier: Apache-2.0
"""Published optical networks whose circuits do not all turn at once, and the fabrics of all architectures by name."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rdcnlab.fields.quantities import Duration, FieldError, Listed, PositiveSize, whole
from rdcnlab.scenario.fabrics import factorisations
from rdcnlab.scenario.fabrics.optical import Optical, Pair, Slot, with_nights
from rdcnlab.scenario.fabrics.rotor import matchings
from rdcnlab.scenario.fabrics.turning import RotorNet, Shale, Sirius
from rdcnlab.scenario.optics import CircuitDuration, Routing

#: Tries to find matchings by which all racks reach each other at every instant.
_TRIES = 2000

#: ``random``: the best of random factorisations. ``circle``: those of the circle method, in an order that is drawn.
Pairings = Literal["random", "circle"]

_Matrix = Annotated[tuple[Annotated[tuple[int, ...], Listed], ...], Listed]


class Opera(Optical):
    """Opera (NSDI 2020): rotors turn one after the other, so that the others join all racks at every instant.

    Each rotor has pairings of its own; in each slice one rotor changes, at the slice's end. All racks reach each other
    over the rotors that do not turn. What is drawn is the same on every machine.

    Parameters
    ----------
    pairings : {'random', 'circle'}
        ``random``: a random factorisation of the complete graph, the best of several draws: that whose longest way, at
        any instant, has the fewest circuits, as Opera's authors choose it. ``circle``: pairings of the circle method,
        drawn until all racks reach each other; their ways are longer, and runs before December 2026 have them.
    slice : int
        ns from one change to the next, with the dark time.
    night : int
        ns that a rotor needs to turn, at the end of a slice.
    bulk : int or None
        As in `Optics`; the paper's value is 15 MB.
    """

    uplinks: Annotated[int, whole(2, 16)] = 4
    routing: Routing = "shortest"
    pairings: Pairings = "random"
    bulk: PositiveSize | None = None
    slice: CircuitDuration = 100_000
    night: Duration = 10_000

    @model_validator(mode="after")
    def _turns(self) -> Opera:
        self.check_uplinks()
        if self.racks % 2:
            raise FieldError("racks", self.racks, "an even number, because each rotor pairs all racks")
        self.check_night(self.night)
        if self.slice <= self.night:
            raise FieldError("slice", self.slice, f"more than the night ({self.night} ns)")
        if not self._rotors():
            allowed = "more uplinks: no pairings of these many racks join all of them while one rotor turns"
            raise FieldError("uplinks", self.uplinks, allowed)
        return self

    def _rotors(self) -> Sequence[Sequence[Sequence[tuple[int, int]]]]:
        """Return the pairings of each rotor in their order; empty if none were found."""
        if self.pairings == "random":
            return factorisations.rotors(self.racks, self.uplinks)
        turns = list(matchings(self.racks))
        share = -(-len(turns) // self.uplinks)
        drawn = random.Random(self.racks * 100 + self.uplinks)
        for _ in range(_TRIES):
            # shuffle by sorting with draws: the result of random() is the same in every version of Python
            order = sorted(turns, key=lambda _: drawn.random())
            # rotors that would have fewer pairings show their first ones again
            rotors = [
                [order[(number + turn * self.uplinks) % len(order)] for turn in range(share)]
                for number in range(self.uplinks)
            ]
            if all(
                _connected(self.racks, [rotors[n][turn % share] for n, turn in enumerate(at) if n != dark])
                for at, dark in factorisations.instants(self.uplinks, share)
            ):
                return rotors
        return []

    def slots(self) -> list[Slot]:
        """Return the slots; see `Optical.slots`."""
        rotors = self._rotors()
        share = len(rotors[0])
        slots = []
        for at, dark in factorisations.instants(self.uplinks, share):
            pairs = {
                number: [((a, number), (b, number)) for a, b in rotors[number][turn % share]]
                for number, turn in enumerate(at)
            }
            slots.append(Slot(self.slice - self.night, [pair for some in pairs.values() for pair in some]))
            lit = [pair for number, some in pairs.items() if number != dark for pair in some]
            slots.append(Slot(self.night, lit))
        return slots

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        network = super().data()
        network["optics"]["bulk"] = self.bulk
        return network


class Expander(Optical):
    """A static expander: as many pairings of racks as there are uplinks, which never change; a yardstick.

    All racks reach each other. What is drawn is the same on every machine.

    Parameters
    ----------
    pairings : {'random', 'circle'}
        ``random``: the best of several random draws, that whose longest way has the fewest circuits. ``circle``:
        pairings of the circle method, drawn until all racks reach each other; their ways are longer.
    """

    uplinks: Annotated[int, whole(2, 16)] = 4
    routing: Routing = "shortest"
    pairings: Pairings = "random"

    @model_validator(mode="after")
    def _joined(self) -> Expander:
        self.check_uplinks()
        if self.racks % 2:
            raise FieldError("racks", self.racks, "an even number, because each uplink pairs all racks")
        return self

    def slots(self) -> list[Slot]:
        """Return the slots; see `Optical.slots`."""
        pairs = [((a, n), (b, n)) for n, turn in enumerate(self._chosen()) for a, b in turn]
        return [Slot(10**9, pairs)]

    def _chosen(self) -> Sequence[Sequence[tuple[int, int]]]:
        """Return one pairing for each uplink."""
        if self.pairings == "random":
            return factorisations.pairings(self.racks, self.uplinks)
        drawn = random.Random(self.racks * 100 + self.uplinks)
        turns = list(matchings(self.racks))
        while True:
            chosen = sorted(turns, key=lambda _: drawn.random())[: self.uplinks]
            if _connected(self.racks, chosen):
                return chosen


class Jupiter(Optical):
    """Circuits by demand that change slowly, as in Jupiter (SIGCOMM 2022): one topology for each matrix of demands.

    Circuits are given one by one to the pair of racks with the most demand for each circuit that it has; before, a ring
    joins all racks.

    Parameters
    ----------
    demands : list of list of list of int
        One or more matrices of demand between racks, in any unit; each holds for one day. Default: the same between all
        pairs.
    day, night : int
        ns for which circuits are up, and ns in which they change. With one matrix they never change.
    """

    uplinks: Annotated[int, whole(2, 16)] = 4
    routing: Routing = "shortest"
    demands: Annotated[tuple[_Matrix, ...], Field(max_length=64), Listed] = ()
    day: CircuitDuration = 100_000_000
    night: Duration = 10_000_000

    @model_validator(mode="after")
    def _joined(self) -> Jupiter:
        self.check_uplinks()
        for place, matrix in enumerate(self.demands):
            if len(matrix) != self.racks or any(len(row) != self.racks for row in matrix):
                raise FieldError(
                    f"demands[{place}]", f"{len(matrix)} rows", f"{self.racks} rows of {self.racks} numbers"
                )
            if any(value < 0 for row in matrix for value in row):
                raise FieldError(f"demands[{place}]", "a negative number", "numbers from 0")
        if len(self.demands) > 1:
            self.check_night(self.night)
        return self

    def slots(self) -> list[Slot]:
        """Return the slots; see `Optical.slots`."""
        same = tuple(tuple(int(a != b) for b in range(self.racks)) for a in range(self.racks))
        days = [Slot(self.day, self._circuits(matrix)) for matrix in self.demands or (same,)]
        return days if len(days) == 1 else with_nights(days, self.night)

    def _circuits(self, matrix: Sequence[Sequence[int]]) -> list[Pair]:
        # a circuit joins the same uplink of both racks, so a pair needs an uplink that is free at both
        free = [set(range(self.uplinks)) for _ in range(self.racks)]
        count: dict[tuple[int, int], int] = {}
        pairings: list[Pair] = []

        def give(a: int, b: int) -> bool:
            common = free[a] & free[b]
            if not common:
                return False
            uplink = min(common)
            free[a].remove(uplink)
            free[b].remove(uplink)
            count[a, b] = count.get((a, b), 0) + 1
            pairings.append(((a, uplink), (b, uplink)))
            return True

        for rack in range(self.racks if self.racks > 2 else 1):
            give(*sorted((rack, (rack + 1) % self.racks)))
        pairs = [(a, b) for a in range(self.racks) for b in range(a + 1, self.racks) if matrix[a][b] + matrix[b][a]]
        while pairs:
            pairs.sort(
                key=lambda pair: -(matrix[pair[0]][pair[1]] + matrix[pair[1]][pair[0]]) / (1 + count.get(pair, 0))
            )
            for pair in pairs:
                if give(*pair):
                    break
                pairs = [other for other in pairs if other != pair]
            else:
                break
        return pairings


def _connected(racks: int, turns: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Return whether pairings join all racks."""
    joined: dict[int, list[int]] = {rack: [] for rack in range(racks)}
    for first, second in (pair for pairs in turns for pair in pairs):
        joined[first].append(second)
        joined[second].append(first)
    reached, border = {0}, [0]
    while border:
        border = [peer for rack in border for peer in joined[rack] if peer not in reached]
        reached.update(border)
    return len(reached) == racks


#: Fabrics by name.
ARCHITECTURES: dict[str, type[Optical]] = {
    "rotornet": RotorNet, "opera": Opera, "sirius": Sirius, "shale": Shale, "expander": Expander, "jupiter": Jupiter,
}  # fmt: skip
