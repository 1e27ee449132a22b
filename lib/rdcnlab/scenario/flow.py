# SPDX-License-Identifier: Apache-2.0
"""Flows: the data to send, the congestion control, and the timetable that the packets follow."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import model_validator

from rdcnlab.fields.quantities import (
    ALLOWED,
    Datagram,
    Described,
    Duration,
    FieldError,
    FlowName,
    Frozen,
    HostName,
    PositiveSize,
    Rate,
    SlotDuration,
    omit_default,
    text,
    whole,
)
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario import application
from rdcnlab.scenario.application import TCP_HEADERS, UDP_HEADERS
from rdcnlab.scenario.replay import ReplayFile
from rdcnlab.scenario.timetable import BYPASS, Path, Slot
from rdcnlab.scenario.transport import Transport

__all__ = [
    "CC_ALLOWED", "CC_NOUN", "ENDLESS", "LINUX_VARIANTS", "NAME_ALLOWED", "NAME_PATTERN", "NEED_ECN", "QUIC_VARIANTS",
    "TCP_HEADERS", "UDP_HEADERS", "VARIANTS", "CongestionControl", "Flow",
]  # fmt: skip

Protocol = Literal["tcp", "mptcp", "udp", "quic"]
#: Congestion controls of our kernel.
CongestionControl = Literal["cubic", "reno", "westwood", "bbr", "dctcp", "retcp", "nuftcp"]
#: Names of all congestion controls, in the order of tables and legends.
VARIANTS: tuple[str, ...] = get_args(CongestionControl)
#: Congestion controls that Linux has besides. They are built when a scenario first uses one.
LINUX_VARIANTS = (
    "bic", "cdg", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable", "vegas", "veno", "yeah"
)  # fmt: skip
#: Names that congestion controls may have, also a user's own; the kernel stores at most 15 characters.
NAME_PATTERN, NAME_ALLOWED = "[a-z][a-z0-9_-]{0,14}", "a lower-case letter followed by at most 14 of a-z, 0-9, _ or -"
_KERNEL_ONLY = ("westwood", "dctcp", "retcp", "nuftcp")
#: Congestion controls that reduce their window by the share of marks, so that they need ECN.
NEED_ECN = ("dctcp", "nuftcp")
#: A size that no flow can send before the run ends.
ENDLESS = "1000 GiB"
#: Most rounds of a flow.
MOST_ROUNDS = 1_000_000
#: What `Flow.cc` allows, in words. `rdcnlab.scenario.consistency` checks whether the scenario has such a name.
CC_ALLOWED = f"{', '.join(map(repr, VARIANTS[:-1]))} or {VARIANTS[-1]!r}"
CC_NOUN = "congestion control"
_CC = {
    "anyOf": [
        {"enum": [*VARIANTS, *LINUX_VARIANTS]},
        {"type": "string", "pattern": f"^{NAME_PATTERN}$", ALLOWED: "the name of `engine.algorithm`"},
    ]
}
#: Congestion controls that implementations of QUIC have.
QUIC_VARIANTS = tuple(name for name in VARIANTS if name not in _KERNEL_ONLY)


class Flow(Frozen):
    """One transfer, or bursts of datagrams.

    Parameters
    ----------
    name : str
        Unique in the scenario.
    protocol : {'tcp', 'mptcp', 'udp', 'quic'}
        Transport protocol. With ``mptcp`` the flow has one subflow for each network of its schedule; see `Mptcp`. With
        ``udp`` it sends datagrams at a rate, or in bursts as fast as the host's line takes them; a run with flows of
        another protocol does not wait until they end. With ``quic`` the receiver requests the data; the programs
        of `Scenario.quic` carry the flow.
    size : int
        Payload in bytes; with `rounds`, that of each answer. With `until` it may be left out.
    cc : str or None
        Congestion control of the sender: one of `VARIANTS` or `LINUX_VARIANTS`, or the name of a file of
        `EngineSettings.algorithm` or `EngineSettings.algorithms`, or with ``quic`` one of `QUIC_VARIANTS`. It must be
        None with ``udp``, and only then.
    path : str or tuple of Slot
        One link that the flow always takes, a timetable that repeats, or the name of a schedule that flows share.
    back : str or tuple of Slot
        The same for packets from `dst` to `src`, such as ACKs.
    phase : int
        ns by which the flow's own timetables start later than the scenario. The first slot is in force until then.
    src, dst : str
        Host names. A preset network sets them by the flow's name.
    start : int
        Start time in ns after the start of the scenario.
    initiator : {'src', 'dst'}
        Which host opens the connection: the sender, or the receiver, which requests the data as an HTTP client does.
        The flow's completion time is counted from this moment.
    connect : {'start', 'ahead'}
        When the connection is opened. ``start``: at `start`; data follow a round trip later. ``ahead``: before the
        scenario starts, while no flow sends; the data, or the receiver's request, follow at `start`. All timetables
        are then in their first slot. A flow whose connection is not established at `start` starts when it is, and
        its ``start_s`` says so. With ``mptcp`` this is the connection of the first subflow. Only with ``tcp`` and
        ``mptcp``.
    burst : int or None
        Datagrams per burst. ``udp`` needs both this and `interval`, or `rate`.
    interval : int or None
        ns from the start of one burst to the start of the next.
    rate : int or None
        Payload in bit/s that the sender's application produces. With ``udp`` one datagram after the other, evenly; with
        ``tcp`` whole segments, not more often than each 100 us. None: as fast as the socket takes data.
    on, off : int or None
        ns for which the application produces data, and for which it then produces none, in turn from the start on. What
        the socket's buffer has at the end of `on` is still sent.
    until : int or None
        When the sender stops, in ns as `start`. Only with `rate` or ``udp``. What was produced before is still sent.
    rounds : int
        With more than 1: the receiver asks so many times in one connection, and gets `size` bytes each time. The field
        `initiator` is then ``dst``.
    think : int
        ns from the end of an answer to the next request.
    after : str or None
        A flow, or a workload. This flow starts when that one has ended, or all flows of that workload; `start` and
        `until` count from there. A flow ends when its receiver has all data; datagrams end when all are sent.
    replay : Replay or None
        A capture; text form: its path. With ``udp``: the flow sends the IP packets of the capture again, each at its
        instant after the first and as long as it was. Packets that the file marks as received are left out.
    tdtcp : bool or None
        Whether the sender offers time-division TCP; None: the value of `Transport.tdtcp`. All flows of a sending host
        must have the same value.
    packet : int or None
        Bytes of a datagram including its IP and UDP headers (28 B); None: the network's MTU.
    transport : Transport or None
        Settings of TCP of both hosts of the flow, instead of those in `Scenario.hosts`. In plain data, fields that are
        not given have the scenario's values. They hold for the whole hosts, so flows with other settings must use other
        hosts. None: the hosts' settings.
    workload : str or None
        The workload that drew the flow. Files do not give it.
    """

    name: FlowName
    protocol: Protocol = "tcp"
    size: PositiveSize
    cc: Annotated[str, text(NAME_PATTERN, CC_ALLOWED, VARIANTS, CC_NOUN), Described(_CC)] | None = "cubic"
    path: Path
    phase: Duration = 0
    src: HostName
    dst: HostName
    start: Duration = 0
    initiator: Annotated[Literal["src", "dst"], omit_default] = "src"
    connect: Annotated[Literal["start", "ahead"], omit_default] = "start"
    burst: Annotated[int | None, omit_default] = None
    interval: Annotated[SlotDuration | None, omit_default] = None
    packet: Annotated[Datagram | None, omit_default] = None
    rate: Annotated[Rate | None, omit_default] = None
    on: Annotated[SlotDuration | None, omit_default] = None
    off: Annotated[SlotDuration | None, omit_default] = None
    until: Annotated[SlotDuration | None, omit_default] = None
    rounds: Annotated[Annotated[int, whole(1, MOST_ROUNDS)], omit_default] = 1
    think: Annotated[Duration, omit_default] = 0
    after: Annotated[str | None, omit_default] = None
    replay: Annotated[ReplayFile | None, omit_default] = None
    back: Annotated[Path, omit_default] = BYPASS
    tdtcp: Annotated[bool | None, omit_default] = None
    transport: Annotated[Transport | None, omit_default] = None
    workload: Annotated[str | None, omit_default] = None

    @model_validator(mode="before")
    @classmethod
    def _what_others_imply(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("protocol") == "udp":
            data = {"cc": None, **data}
        if data.get("until") is not None or data.get("replay") is not None:
            data = {"size": ENDLESS, **data}
        return application.completed(data)

    @model_validator(mode="after")
    def _as_its_protocol_needs(self) -> Flow:
        application.check(self, self.protocol)
        if self.replay is not None and self.protocol != "udp":
            raise FieldError("protocol", self.protocol, "udp, with replay")
        if self.until is not None and self.until <= self.start:
            raise FieldError("until", DURATION.format(self.until), f"later than start ({DURATION.format(self.start)})")
        if self.until is not None and self.protocol != "udp" and self.rate is None:
            raise FieldError.left_out("until", DURATION.format(self.until), "without a rate: size says when it ends")
        if self.tdtcp is not None and self.protocol != "tcp":
            raise FieldError.left_out("tdtcp", self.tdtcp, "with another protocol than tcp")
        if self.transport is not None and not self.is_tcp:
            raise FieldError.left_out("transport", "given", f"with {self.protocol}: these are settings of TCP")
        if self.connect != "start" and not self.is_tcp:
            reason = "udp has no connection" if self.protocol == "udp" else "programs of quic connect when they start"
            raise FieldError("connect", self.connect, f"start, because {reason}")
        if self.protocol != "udp":
            for field in ("burst", "interval", "packet"):
                if getattr(self, field) is not None:
                    raise FieldError.left_out(field, getattr(self, field), "because only udp is sent in bursts")
            if self.cc is None:
                raise FieldError(
                    "cc", None, f"one of {', '.join(VARIANTS)}", reason=f"a flow needs one of {', '.join(VARIANTS)}"
                )
            if self.protocol == "quic" and self.cc not in QUIC_VARIANTS:
                reason = f"quic has no {self.cc}; choose one of {', '.join(QUIC_VARIANTS)} with quic"
                raise FieldError("cc", self.cc, f"one of {', '.join(QUIC_VARIANTS)} with quic", reason=reason)
            if self.protocol == "quic" and self.initiator != "src":
                allowed = "src, the default, because with quic the receiver always requests the data"
                raise FieldError("initiator", self.initiator, allowed)
            if self.protocol == "mptcp" and self.cc == "nuftcp":
                names = ", ".join(name for name in VARIANTS if name != "nuftcp")
                raise FieldError("cc", self.cc, f"one of {names} with mptcp, because a subflow never changes its way")
            if self.protocol == "mptcp" and self.initiator != "src":
                raise FieldError(
                    "initiator", self.initiator, "src, because with mptcp the receiver announces its addresses"
                )
            return self
        if self.cc is not None:
            raise FieldError.left_out("cc", self.cc, "because udp has no congestion control")
        if self.initiator != "src":
            raise FieldError("initiator", self.initiator, "src, because udp has no connection")
        if self.replay is not None:
            for field in ("burst", "interval", "rate", "on", "until", "packet"):
                if getattr(self, field) is not None:
                    raise FieldError.left_out(field, getattr(self, field), "with replay, which has instants and sizes")
            return self
        if self.rate is not None:
            for field in ("burst", "interval"):
                if getattr(self, field) is not None:
                    raise FieldError.left_out(field, getattr(self, field), "with rate, at which datagrams leave evenly")
            return self
        if self.burst is None and self.interval is None:
            reason = "nothing says when datagrams leave; write rate, such as 10 Mb/s, or burst and interval, or replay"
            raise FieldError("rate", None, "a rate such as 10 Mb/s, or burst and interval", reason=reason)
        if self.burst is None or not 1 <= self.burst <= 65_535:
            raise FieldError("burst", self.burst, "a whole number of datagrams from 1 to 65535")
        if self.interval is None:
            raise FieldError("interval", None, "a duration from burst to burst, such as '25 ms'")
        return self

    @property
    def is_tcp(self) -> bool:
        """Whether the flow is TCP on the wire, in one connection or in several subflows."""
        return self.protocol in ("tcp", "mptcp")

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The flow's own timetable; empty if it stays on one link or follows a schedule."""
        return () if isinstance(self.path, str) else self.path

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of the flow's own timetable in order, or its one link or schedule."""
        return (self.path,) if isinstance(self.path, str) else tuple(slot.link for slot in self.path)

    @property
    def period(self) -> int | None:
        """The common duration of all slots in ns; None if the path is static or its slots differ in length."""
        durations = {slot.duration for slot in self.slots}
        return durations.pop() if len(durations) == 1 else None
