# SPDX-License-Identifier: Apache-2.0
"""Racks behind optical switches whose circuits are data: a list, a file, or what an architecture computes."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from rdcnlab.fields import input_file
from rdcnlab.fields.files import unreadable
from rdcnlab.fields.quantities import Duration, FieldError, Listed, whole
from rdcnlab.scenario.fabrics.base import Uplinked, place_hosts
from rdcnlab.scenario.fabrics.rotor import matchings
from rdcnlab.scenario.optics import MOST_SLOTS, CircuitDuration, HopCost, MaxHops, Routing, Split
from rdcnlab.scenario.queue import Queue, QueueLimit
from rdcnlab.scenario.user_file import DIRECTORY

_COLUMNS = ("slot", "rack", "uplink", "rack", "uplink")
_ALLOWED = f"rows of five whole numbers from 1: {', '.join(_COLUMNS)}; or a CSV file of such rows"


#: Fields that are those of `Optics`.
_OPTICS = {"routing", "queue", "ecn_threshold", "ways", "hop_cost", "split", "max_hops"}

#: A circuit: two pairs of (rack, uplink), counted from 0.
Pair = tuple[tuple[int, int], tuple[int, int]]


class Slot(NamedTuple):
    """The circuits of one slot, and how long they are up, in ns."""

    duration: int
    circuits: list[Pair]


class Optical(Uplinked):
    """Racks whose uplinks have circuits, and a routing over them.

    Hosts are ``h1``, ``h2`` ... in the order of their racks ``rack1`` ...; the uplinks of rack 1 are ``up1-1`` ..., the
    optical switches ``optics1`` ...

    Parameters
    ----------
    routing, queue, ways, hop_cost, split, max_hops : str, Queue, int, int or None, str, int or None
        As in `Optics`.
    """

    routing: Routing = "direct"
    queue: QueueLimit = Queue(bytes=1_000_000)
    ways: Annotated[int, whole(1, 16)] = 4
    hop_cost: HopCost | None = None
    split: Split = "slot"
    max_hops: MaxHops | None = None

    def slots(self) -> Sequence[Slot]:
        """Return the slots, with their dark times as slots of their own."""
        raise NotImplementedError

    @property
    def directed(self) -> bool:
        """Whether a circuit passes light in one direction only."""
        return False

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        racks, optics, links = self.plane("optics")
        network = self.network([*({"name": rack} for rack in racks), *optics], place_hosts(racks, self.hosts), links)
        circuits = {
            "slots": [
                {
                    "duration": slot.duration,
                    "circuits": [[self.link(*first), self.link(*second)] for first, second in slot.circuits],
                }
                for slot in self.slots()
            ],
            **self.model_dump(mode="json", include=_OPTICS),
        }
        if self.directed:
            circuits["directed"] = True
        return {**network, "optics": circuits}


class Turning(Optical):
    """Racks whose circuits all change at once: a day with circuits, and a night in which all is dark.

    Parameters
    ----------
    day, night : int
        ns for which circuits are up, and ns in which they change.
    """

    day: CircuitDuration = 180_000
    night: Duration = 20_000

    @model_validator(mode="after")
    def _turns(self) -> Self:
        self.check_uplinks()
        self.check_night(self.night)
        return self

    def days(self) -> Sequence[list[Pair]]:
        """Return the circuits of each day."""
        raise NotImplementedError

    def slots(self) -> list[Slot]:
        """Return the slots, each with the night after it."""
        return with_nights([Slot(self.day, pairs) for pairs in self.days()], self.night)


def _read(value: Any, info: ValidationInfo) -> Any:
    """Return the rows of a CSV file, if a file is given."""
    if not isinstance(value, str):
        return value
    path = Path((info.context or {}).get(DIRECTORY) or ".").absolute() / value
    try:
        lines = input_file.read_lines(path, input_file.TABLE)
        rows = [row for row in csv.reader(lines) if row and not row[0].startswith("#")]
    except OSError as error:
        raise FieldError("", value, _ALLOWED, reason=unreadable(path, error)) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{_ALLOWED} ({path}: {error if isinstance(error, csv.Error) else 'no text'})") from None
    if rows and [name.strip() for name in rows[0]] == list(_COLUMNS):
        del rows[0]
    cells = []
    for number, row in enumerate(rows, 1):
        try:
            cells.append([int(cell) for cell in row])
        except ValueError:
            raise ValueError(f"{_ALLOWED} ({path}, row {number}: {','.join(row)[:40]!r})") from None
    return cells


Row = tuple[int, int, int, int, int]


class OwnCircuits(Optical):
    """Circuits of one's own, as rows.

    Parameters
    ----------
    circuits : list of (int, int, int, int, int) or str
        Rows of slot, rack, uplink, rack, uplink, all counted from 1, or a CSV file of such rows. A circuit joins the
        same uplink of two racks, which leads to the same optical switch. Default: the first uplinks of all racks turn
        through all pairings.
    slot : int
        ns for which the circuits of a slot are up.
    night : int
        ns after each slot in which all is dark. It may be 0 if there is one slot only, which then never ends.
    one_way : bool
        Whether a row is a circuit from its first rack to its second only.
    """

    circuits: Annotated[
        tuple[Annotated[Row, Listed], ...], Field(max_length=100_000), Listed, BeforeValidator(_read)
    ] = ()
    slot: CircuitDuration = 180_000
    night: Duration = 20_000
    one_way: bool = False

    @model_validator(mode="after")
    def _exist(self) -> OwnCircuits:
        most = MOST_SLOTS // (2 if self.night else 1)  # each night is a slot, too
        for place, row in enumerate(self.circuits):
            slot, rack, uplink, other, other_uplink = row
            field, value = f"circuits[{place}]", ", ".join(map(str, row))
            if not (1 <= rack <= self.racks and 1 <= other <= self.racks and rack != other):
                raise FieldError(field, value, f"two different racks of 1 to {self.racks}, in columns 2 and 4")
            if not 1 <= uplink <= self.uplinks:
                raise FieldError(field, value, f"an uplink of 1 to {self.uplinks}, in column 3")
            if other_uplink != uplink:
                raise FieldError(
                    field, value, "the same uplink in columns 3 and 5, which leads to the same optical switch"
                )
            if not 1 <= slot <= most:
                raise FieldError(field, value, f"a slot of 1 to {most}, in column 1")
        if self._count > 1 or self.night:
            self.check_night(self.night)
        return self

    @property
    def _count(self) -> int:
        return max(row[0] for row in self._rows)

    @property
    def _rows(self) -> tuple[Row, ...]:
        turns = enumerate(matchings(self.racks), 1)
        return self.circuits or tuple((slot, a + 1, 1, b + 1, 1) for slot, pairs in turns for a, b in pairs)

    @property
    def directed(self) -> bool:
        """Whether a circuit passes light in one direction only."""
        return self.one_way

    def slots(self) -> list[Slot]:
        """Return the slots, each with the night after it."""
        by_slot: dict[int, list[Pair]] = {}
        for slot, rack, uplink, other, other_uplink in self._rows:
            pair = ((rack - 1, uplink - 1), (other - 1, other_uplink - 1))
            by_slot.setdefault(slot, []).append(pair)
        days = [Slot(self.slot, by_slot.get(number, [])) for number in range(1, self._count + 1)]
        return with_nights(days, self.night)


def with_nights(days: Sequence[Slot], night: int) -> list[Slot]:
    """Return slots with a dark one after each; a night of 0 ns is left out."""
    return [slot for day in days for slot in (day, Slot(night, [])) if slot.duration]
