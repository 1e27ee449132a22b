# SPDX-License-Identifier: Apache-2.0
"""Timetables: the link of packets at each time, for one flow or, as a schedule of the network, for several flows."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainSerializer, Tag, model_validator
from pydantic_core.core_schema import SerializationInfo

from rdcnlab.fields.phrases import shown
from rdcnlab.fields.quantities import (
    TEXT,
    Duration,
    FieldError,
    Frozen,
    LinkName,
    Listed,
    SlotDuration,
    WayName,
    omit_default,
    whole,
)
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario.queue import MaybeQueueLimit, Queue

#: ns that a slot lasts at least, as in the kernel's ``OCS_SLOT_NS_MIN``: guard and jitter must leave that much.
LEAST_SLOT = 100
#: Targets of a slot that are not links. ``dark``: no packet passes. ``bypass``: straight to the receiver's port.
DARK = "dark"
BYPASS = "bypass"
RESERVED = (DARK, BYPASS)
#: Ways in a network of several switches. ``ecmp`` is the shortest way; a hash chooses between equally short ways.
#: ``bypass`` means the same there. ``same``, allowed for a way back only, is the way of the data in reverse.
ECMP = "ecmp"
SAME = "same"

#: Fields that only some slots have.
_EXTRAS = ("tdn", "queue", "ecn_threshold")


class Slot(Frozen):
    """One entry of a timetable; text form ``[50 ms, blue]``, or a mapping if it has more than these two fields.

    Parameters
    ----------
    duration : int
        ns, at least 1000.
    link : str
        A link of the network, ``dark`` or ``bypass``. In a network of several switches: the links or switches that the
        way must pass, joined by ``+``; the rest is the shortest way.
    tdn : int
        Number of the time-division network that hosts are notified of in this slot, 0 to 254.
    queue, ecn_threshold : Queue or None
        Limit and marking threshold of the schedule's queue from this slot on; None keeps the values. Only slots of
        schedules may have them.
    """

    duration: SlotDuration
    link: WayName
    tdn: Annotated[int, whole(0, 254), omit_default] = 0
    queue: Annotated[MaybeQueueLimit, omit_default] = None
    ecn_threshold: Annotated[MaybeQueueLimit, omit_default] = None

    @property
    def plain(self) -> bool:
        """Whether the slot sets duration and link only."""
        return self.tdn == 0 and self.queue is None and self.ecn_threshold is None

    @functools.cached_property
    def _every(self) -> dict[str, Any]:
        """Canonical data, because a slot never has extras at their default; see `_write_slot`."""
        return self._plain


def _read_slot(value: Any) -> Any:
    if isinstance(value, list | tuple):
        if len(value) != 2:
            raise ValueError("a pair such as [50 ms, blue]")
        if _is_duration(value[1]) and not _is_duration(value[0]):
            raise ValueError(f"a pair whose duration comes first: [{_bare(value[1])}, {_bare(value[0])}]")
        return {"duration": value[0], "link": value[1]}
    return value


def _write_slot(slot: Slot, info: SerializationInfo) -> list[str] | dict[str, Any]:
    if not (info.context or {}).get(TEXT):
        return slot._plain
    if slot.plain:
        return [DURATION.format(slot.duration), slot.link]
    # This function replaces the model's own serializer, which leaves out `omit_default` fields at their default.
    extras = {name for name in _EXTRAS if getattr(slot, name) != type(slot).model_fields[name].default}
    data = {"duration": DURATION.format(slot.duration), "link": slot.link}
    return data | slot.model_dump(mode="json", context={TEXT: True}, include=extras)


def _bare(word: str | int) -> str:
    return shown(word).strip("'")


def _is_duration(word: Any) -> bool:
    """Return whether a word is a duration with its unit; no link has such a name."""
    return isinstance(word, str) and word[:1].isdigit() and any(sign.isalpha() for sign in word)


def _read_slots(value: Any) -> Any:
    """Refuse slots that are not in lists of their own, which would be one problem for each word."""
    loose = isinstance(value, list | tuple) and any(isinstance(item, str | int) for item in value)
    if loose and all(isinstance(item, str | int | list | tuple) for item in value):
        words = [word for item in value for word in (item if isinstance(item, list | tuple) else [item])]
        links = [word for word in words if not isinstance(word, int) and not _is_duration(word)]
        durations = [word for word in words if isinstance(word, int) or _is_duration(word)]
        durations += [*durations[-1:], "50 ms"][:1] * (len(links) - len(durations))
        pairs = list(zip(durations, links, strict=False)) or [("50 ms", "blue")]
        written = ", ".join(f"[{_bare(duration)}, {_bare(link)}]" for duration, link in pairs[:2])
        more = ", ..." if len(pairs) > 2 else ""
        raise ValueError(f"a list of slots, each a list of its own: [{written}{more}]")
    return value


SlotField = Annotated[Slot, BeforeValidator(_read_slot), PlainSerializer(_write_slot)]
Slots = Annotated[tuple[SlotField, ...], Field(min_length=1, max_length=1024), Listed, BeforeValidator(_read_slots)]


def _no_mapping(value: Any) -> Any:
    if isinstance(value, dict):
        raise ValueError("a link, or a list of slots such as [[50 ms, blue], [50 ms, green]]")
    return value


def _kind_of_path(value: Any) -> str:
    return "timetable" if isinstance(value, list | tuple) else "link"


#: Names of the branches of `Path`. They appear in pydantic's locations; our error messages leave them out.
PATH_TAGS = ("link", "timetable")

Path = Annotated[
    Annotated[WayName, Tag("link")] | Annotated[Slots, Tag("timetable")],
    Discriminator(_kind_of_path),
    BeforeValidator(_no_mapping),
]


class Echo(Frozen):
    """When the switch sets the ECE flag of TCP headers; reTCP reads the flag as "a circuit is up".

    Parameters
    ----------
    of : str
        Name of another schedule. Usually it is the schedule of the data that the ACKs on this schedule acknowledge.
    tdn : int
        Number of the time-division network: its slots set the flag.
    in_advance : int
        ns before the start of such a slot at which the switch begins to set the flag.
    """

    of: LinkName
    tdn: Annotated[int, whole(0, 254)] = 1
    in_advance: Duration = 0


class Schedule(Frozen):
    """A timetable and a queue that several flows share, such as the flows of a pair of racks.

    Parameters
    ----------
    name : str
        Name that the ``path`` or ``back`` of flows uses. A schedule must not have the name of a link.
    slots : tuple of Slot
        They repeat for ever; a single slot never ends.
    queue : Queue or None
        Limit of a virtual output queue. All packets of this schedule wait in it, for any link. None: packets wait
        at the links; with `dark` = ``hold``, packets that arrive in a dark slot are held without a limit.
    ecn_threshold : Queue or None
        Length of this queue above which an arriving ECN-capable packet is marked. ``10 packets`` means MTU-sized
        packets.
    dark : {'hold', 'drop'}
        Whether packets that arrive in a dark slot wait or are lost.
    phase : int
        ns by which the timetable starts later than the scenario. The first slot is in force until then.
    echo : Echo or None
        Whether TCP packets on this schedule carry the ECE flag while another schedule has a circuit.
    pair : tuple of str or None
        In a network of several switches: all packets from hosts at the first switch to hosts at the second follow this
        schedule, unless a flow's path names another one.
    """

    name: LinkName
    slots: Slots
    queue: MaybeQueueLimit = None
    ecn_threshold: MaybeQueueLimit = None
    dark: Literal["hold", "drop"] = "hold"
    phase: Duration = 0
    echo: Annotated[Echo | None, omit_default] = None
    pair: Annotated[tuple[LinkName, LinkName] | None, Listed, omit_default] = None

    @model_validator(mode="after")
    def _consistent(self) -> Schedule:
        if self.name.lower() in RESERVED:
            raise FieldError("name", self.name, f"a name other than {' and '.join(RESERVED)}")
        targets = {slot.link for slot in self.slots}
        if targets == {DARK}:
            raise FieldError("slots", DARK, "at least one slot that is not dark")
        if self.queues and BYPASS in targets:
            raise FieldError("slots", BYPASS, "links and dark, because only links serve the queue of a schedule")
        if self.queue is None:
            for index, slot in enumerate(self.slots):
                for field in ("queue", "ecn_threshold"):
                    if getattr(slot, field) is not None:
                        raise FieldError.left_out(
                            f"slots[{index}].{field}", _text(getattr(slot, field)), "without a queue"
                        )
            if self.ecn_threshold is not None:
                raise FieldError.left_out("ecn_threshold", _text(self.ecn_threshold), "without a queue")
        return self

    @property
    def queues(self) -> bool:
        """Whether the schedule has a queue of its own."""
        return self.queue is not None or self.dark == "hold"

    @property
    def tdns(self) -> tuple[int, ...]:
        """Numbers of the time-division networks in the slots, in ascending order."""
        return tuple(sorted({slot.tdn for slot in self.slots}))

    def only(self, tdn: int, *, queue: bool) -> Schedule:
        """Return a copy in which only the slots of one time-division network carry traffic; packets wait for them.

        Parameters
        ----------
        tdn : int
            Number of the network.
        queue : bool
            Whether the copy keeps the limit of the queue. Otherwise its queue has no limit.
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
        """Time in ns after which the timetable repeats."""
        return sum(slot.duration for slot in self.slots)


def _text(queue: Queue) -> str:
    return f"{queue.packets} packets" if queue.bytes is None else f"{queue.bytes} B"
