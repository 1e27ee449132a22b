# SPDX-License-Identifier: Apache-2.0
"""`Sends`: what flows and workloads have in common. It is what their application does, and the way back."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, model_validator

from rdcnlab.fields.quantities import Duration, FieldError, Frozen, Rate, SlotDuration, omit_default, whole
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario.application import FIELDS
from rdcnlab.scenario.timetable import BYPASS, Path

#: Most rounds of a flow.
MOST_ROUNDS = 1_000_000


class Sends(Frozen):
    """A flow, or each flow of a workload.

    Parameters
    ----------
    back : str or tuple of Slot
        As `path`, for packets from `dst` to `src`, such as ACKs.
    initiator : {'src', 'dst'}
        Which host opens the connection: the sender, or the receiver, which requests the data as an HTTP client does.
        The flow's completion time is counted from this moment.
    connect : {'start', 'ahead'}
        When the connection is opened. ``start``: at `start`; data follow a round trip later. ``ahead``: before the
        scenario starts, in the first slot of all timetables; the data, or the receiver's request, follow at `start`, or
        when the connection is established, which ``start_s`` says. With ``mptcp``: of the first subflow. Only with
        ``tcp`` and ``mptcp``. Each end is a thread during the whole run, which takes memory.
    rate : int or None
        Payload in bit/s that the sender's application produces. With ``udp`` one datagram after the other, evenly; with
        ``tcp`` whole segments, not more often than each 100 us. None: as fast as the socket takes data.
    on, off : int or None
        ns for which the application produces data, and for which it then produces none, in turn from the start on. What
        the socket's buffer has at the end of `on` is still sent.
    rounds : int
        With more than 1: the receiver asks so many times in one connection, and gets `size` bytes each time. The field
        `initiator` is then ``dst``.
    think : int
        ns from the end of an answer to the next request.
    after : str or None
        A flow, or a workload. This one starts when that one has ended, or all flows of that workload; its times count
        from there. A flow ends when its receiver has all data; datagrams end when all are sent.
    """

    # the schema is built after `__pydantic_init_subclass__` has put the fields into their order
    model_config = ConfigDict(defer_build=True)

    #: The names of all fields in the order in which canonical data and texts have them.
    in_order: ClassVar[str]

    back: Annotated[Path, omit_default] = BYPASS
    initiator: Annotated[Literal["src", "dst"], omit_default] = "src"
    connect: Annotated[Literal["start", "ahead"], omit_default] = "start"
    rate: Annotated[Rate | None, omit_default] = None
    on: Annotated[SlotDuration | None, omit_default] = None
    off: Annotated[SlotDuration | None, omit_default] = None
    rounds: Annotated[Annotated[int, whole(1, MOST_ROUNDS)], omit_default] = 1
    think: Annotated[Duration, omit_default] = 0
    after: Annotated[str | None, omit_default] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Put the fields into their order: pydantic begins with those of the base."""
        super().__pydantic_init_subclass__(**options)
        fields = cls.__pydantic_fields__
        ordered = {name: fields.pop(name) for name in cls.in_order.split()}
        cls.__pydantic_fields__ = ordered | fields

    @model_validator(mode="before")
    @classmethod
    def _receiver_asks_in_rounds(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("rounds", 1) != 1 and "initiator" not in data:
            return {**data, "initiator": "dst"}
        return data

    def check_application(self, protocol: str = "tcp") -> None:
        """Raise FieldError if fields of the application exclude each other, or a protocol has no such application."""
        for field in FIELDS:
            value = getattr(self, field)
            protocols = ("tcp",) if field in ("rounds", "think") else ("tcp", "udp")
            if protocol not in protocols and value != Sends.model_fields[field].default:
                why = f"with {protocol}: only {' and '.join(protocols)} have this field"
                raise FieldError.left_out(field, value, why)
        if self.rounds != 1:
            if self.initiator != "dst":
                allowed = "dst, with rounds, because the receiver asks in each round"
                raise FieldError("initiator", self.initiator, allowed)
            for field in ("rate", "on", "off"):
                if getattr(self, field) is not None:
                    raise FieldError.left_out(field, getattr(self, field), "with rounds: each answer is sent at once")
        elif self.think:
            raise FieldError.left_out("think", DURATION.format(self.think), "without rounds, between which it is")
        for field, other in (("on", "off"), ("off", "on")):
            if getattr(self, field) is None and getattr(self, other) is not None:
                raise FieldError(field, None, f"a duration such as 10 ms, together with {other}")
        if protocol == "udp" and self.on is not None and self.rate is None:
            allowed = "a rate such as 10 Mb/s, with on and off, because udp itself has no rate"
            raise FieldError("rate", None, allowed)
        if self.after is not None and self.connect != "start":
            allowed = "start, with after: the connection opens when the other flow ended"
            raise FieldError("connect", self.connect, allowed)
