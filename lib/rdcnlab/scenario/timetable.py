# SPDX-License-Identifier: Apache-2.0
"""Timetables: where packets go when, for one flow or, as a schedule of the network, for many."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainSerializer, Tag, model_validator
from pydantic_core.core_schema import SerializationInfo

from rdcnlab.fields.quantities import (
    TEXT,
    Duration,
    Frozen,
    Later,
    LinkName,
    Listed,
    Misfit,
    SlotDuration,
    WayName,
    whole,
)
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario.queue import MaybeQueueLimit, Queue

#: Targets of a slot that are not links: nothing passes, or straight to the receiver's port.
DARK = "dark"
BYPASS = "bypass"
RESERVED = (DARK, BYPASS)
#: Ways where there are several switches: the shortest, chosen by a hash among equally short ones, which is also what
#: ``bypass`` means there; and, of a way back, the one that the data takes.
ECMP = "ecmp"
SAME = "same"

#: Fields of a slot that only some have.
_EXTRAS = ("tdn", "queue", "ecn_threshold")


class Slot(Frozen):
    """One entry of a timetable; text form ``[50 ms, blue]``, or a mapping where it has more than these two.

    Parameters
    ----------
    duration : int
        ns, at least 1000.
    link : str
        A link of the network, ``dark`` or ``bypass``. In a network of several switches a link or a switch wherever
        there is a choice, joined by ``+``; the rest is the shortest way.
    tdn : int
        Number of the time-division network that hosts are told of in this slot, 0 to 254.
    queue, ecn_threshold : Queue or None
        Limit and marking threshold of the schedule's queue from this slot on; None leaves them. In schedules only.
    """

    duration: SlotDuration
    link: WayName
    tdn: Annotated[int, whole(0, 254), Later] = 0
    queue: Annotated[MaybeQueueLimit, Later] = None
    ecn_threshold: Annotated[MaybeQueueLimit, Later] = None

    @property
    def plain(self) -> bool:
        """Whether it says no more than where and how long."""
        return self.tdn == 0 and self.queue is None and self.ecn_threshold is None


def _read_slot(value: Any) -> Any:
    if isinstance(value, list | tuple):
        if len(value) != 2:
            raise ValueError("a pair such as [50 ms, blue]")
        return {"duration": value[0], "link": value[1]}
    return value


def _write_slot(slot: Slot, info: SerializationInfo) -> list[str] | dict[str, Any]:
    text = bool((info.context or {}).get(TEXT))
    if text and slot.plain:
        return [DURATION.format(slot.duration), slot.link]
    # this function stands in the place of the model's own, which would leave out what is Later and at its default
    data = slot.model_dump(mode="json", context={TEXT: text}, include={"duration", "link"})
    data["duration"] = DURATION.format(slot.duration) if text else slot.duration
    given = {name for name in _EXTRAS if getattr(slot, name) != type(slot).model_fields[name].default}
    return data | slot.model_dump(mode="json", context={TEXT: text}, include=given) if given else data


SlotField = Annotated[Slot, BeforeValidator(_read_slot), PlainSerializer(_write_slot)]
Slots = Annotated[tuple[SlotField, ...], Field(min_length=1, max_length=1024), Listed]


def _kind_of_path(value: Any) -> str:
    return "timetable" if isinstance(value, list | tuple) else "link"


#: Names of the branches of `Path`; they appear in pydantic's locations and are dropped from ours.
PATH_TAGS = ("link", "timetable")

Path = Annotated[
    Annotated[WayName, Tag("link")] | Annotated[Slots, Tag("timetable")],
    Discriminator(_kind_of_path),
]


class Echo(Frozen):
    """What the switch sets the ECE flag of TCP headers for, which reTCP reads as "there is a circuit".

    Parameters
    ----------
    of : str
        Another schedule, as a rule that of the data whose ACKs take this one.
    tdn : int
        The time-division network whose slots count.
    in_advance : int
        ns by which it is set before such a slot begins.
    """

    of: LinkName
    tdn: Annotated[int, whole(0, 254)] = 1
    in_advance: Duration = 0


class Schedule(Frozen):
    """A timetable that several flows share, such as those of a pair of racks, with the queue they share.

    Parameters
    ----------
    name : str
        What the ``path`` or ``back`` of flows calls it; no link has the same.
    slots : tuple of Slot
        Repeat for ever; one that is alone never ends.
    queue : Queue or None
        Limit of a virtual output queue, in which all that takes this schedule waits, whatever the link. None: packets
        wait at the links, and what meets the dark is held, if it is, without a limit.
    ecn_threshold : Queue or None
        Length of that queue above which an arriving ECN-capable packet is marked; ``10 packets`` are full ones.
    dark : {'hold', 'drop'}
        Whether what arrives in a dark slot waits or is lost.
    phase : int
        ns by which it starts later than the scenario; the first slot is in force until then.
    echo : Echo or None
        Whether TCP packets that take it carry ECE while another schedule has a circuit.
    pair : tuple of str or None
        In a network of several switches: all that goes from hosts at the first to hosts at the second follows it,
        unless a flow's path says otherwise.
    """

    name: LinkName
    slots: Slots
    queue: MaybeQueueLimit = None
    ecn_threshold: MaybeQueueLimit = None
    dark: Literal["hold", "drop"] = "hold"
    phase: Duration = 0
    echo: Annotated[Echo | None, Later] = None
    pair: Annotated[tuple[LinkName, LinkName] | None, Listed, Later] = None

    @model_validator(mode="after")
    def _consistent(self) -> Schedule:
        if self.name in RESERVED:
            raise Misfit("name", self.name, f"a name other than {' and '.join(RESERVED)}")
        targets = {slot.link for slot in self.slots}
        if targets == {DARK}:
            raise Misfit("slots", DARK, "at least one slot that is not dark")
        if self.queues and BYPASS in targets:
            raise Misfit("slots", BYPASS, "links and dark, because a queue that nothing serves would not be one")
        if self.queue is None:
            for place, slot in enumerate(self.slots):
                for field in ("queue", "ecn_threshold"):
                    if getattr(slot, field) is not None:
                        raise Misfit(f"slots[{place}].{field}", _text(getattr(slot, field)), "nothing without a queue")
            if self.ecn_threshold is not None:
                raise Misfit("ecn_threshold", _text(self.ecn_threshold), "nothing without a queue")
        return self

    @property
    def queues(self) -> bool:
        """Whether it has a queue of its own."""
        return self.queue is not None or self.dark == "hold"

    @property
    def tdns(self) -> tuple[int, ...]:
        """Numbers of the time-division networks that hosts are told of, in rising order."""
        return tuple(sorted({slot.tdn for slot in self.slots}))

    def only(self, tdn: int, *, queue: bool) -> Schedule:
        """Return what is left of it for what must not travel in other networks than one: it waits for that.

        Parameters
        ----------
        tdn : int
            The network's number.
        queue : bool
            Whether the limit of the queue is the same; without it the queue is endless.
        """
        slots = tuple(
            slot if slot.tdn == tdn else slot.model_copy(update={"link": DARK, "queue": None, "ecn_threshold": None})
            for slot in self.slots
        )
        changes: dict[str, Any] = {"name": f"{self.name}.{tdn}", "slots": slots, "dark": "hold", "echo": None}
        if not queue:
            plain = tuple(slot.model_copy(update={"queue": None, "ecn_threshold": None}) for slot in slots)
            changes |= {"queue": None, "ecn_threshold": None, "slots": plain}
        return self.model_copy(update=changes)

    @property
    def cycle(self) -> int:
        """Time after which it repeats, in ns."""
        return sum(slot.duration for slot in self.slots)


def _text(queue: Queue) -> str:
    return f"{queue.packets} packets" if queue.bytes is None else f"{queue.bytes} B"
