# SPDX-License-Identifier: Apache-2.0
"""Flows: the data to send, the congestion control, and the timetable that the packets follow."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import model_validator

from rdcnlab.fields.quantities import (
    ALLOWED,
    Datagram,
    Described,
    Duration,
    FlowName,
    HostName,
    PositiveSize,
    SlotDuration,
    omit_default,
    text,
)
from rdcnlab.scenario import congestion, protocols
from rdcnlab.scenario.application import TCP_HEADERS, UDP_HEADERS
from rdcnlab.scenario.congestion import CC_NOUN, LINUX_VARIANTS, VARIANTS, CongestionControl
from rdcnlab.scenario.replay import ReplayFile
from rdcnlab.scenario.sends import Sends
from rdcnlab.scenario.timetable import Path, Slot
from rdcnlab.scenario.transport import Transport

__all__ = ["CC_ALLOWED", "ENDLESS", "NAME_ALLOWED", "NAME_PATTERN", "TCP_HEADERS", "UDP_HEADERS", "Flow"]

Protocol = Literal["tcp", "mptcp", "udp", "quic"]
#: Names that congestion controls may have, also a user's own; the kernel stores at most 15 characters.
NAME_PATTERN, NAME_ALLOWED = "[a-z][a-z0-9_-]{0,14}", "a lower-case letter followed by at most 14 of a-z, 0-9, _ or -"
#: A size that no flow can send before the run ends.
ENDLESS = "1000 GiB"
#: What `Flow.cc` allows, in words. `rdcnlab.scenario.consistency` checks whether the scenario has such a name.
CC_ALLOWED = "a congestion control, such as " + " or ".join(map(repr, VARIANTS[:2]))
_CC = {
    "anyOf": [
        {"enum": [*VARIANTS, *LINUX_VARIANTS]},
        {"type": "string", "pattern": f"^{NAME_PATTERN}$", ALLOWED: "the name of `engine.algorithm`"},
    ]
}


class Flow(Sends):
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
    phase : int
        ns by which the flow's own timetables start later than the scenario. The first slot is in force until then.
    src, dst : str
        Host names. A preset network sets them by the flow's name.
    start : int
        Start time in ns after the start of the scenario.
    burst : int or None
        Datagrams per burst. ``udp`` needs both this and `interval`, or `rate`.
    interval : int or None
        ns from the start of one burst to the start of the next.
    until : int or None
        When the sender stops, in ns as `start`. Only with `rate` or ``udp``. What was produced before is still sent.
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

    in_order: ClassVar[str] = (
        "name protocol size cc path phase src dst start initiator connect burst interval packet rate on off until "
        "rounds think after replay back tdtcp transport workload"
    )

    name: FlowName
    protocol: Protocol = "tcp"
    size: PositiveSize
    cc: Annotated[str, text(NAME_PATTERN, CC_ALLOWED, VARIANTS, CC_NOUN), Described(_CC)] | None = "cubic"
    path: Path
    phase: Duration = 0
    src: HostName
    dst: HostName
    start: Duration = 0
    burst: Annotated[int | None, omit_default] = None
    interval: Annotated[SlotDuration | None, omit_default] = None
    packet: Annotated[Datagram | None, omit_default] = None
    until: Annotated[SlotDuration | None, omit_default] = None
    replay: Annotated[ReplayFile | None, omit_default] = None
    tdtcp: Annotated[bool | None, omit_default] = None
    transport: Annotated[Transport | None, omit_default] = None
    workload: Annotated[str | None, omit_default] = None

    @model_validator(mode="before")
    @classmethod
    def _without_size_or_cc(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("protocol") == "udp":
            data = {"cc": None, **data}
        if data.get("until") is not None or data.get("replay") is not None:
            data = {"size": ENDLESS, **data}
        return data

    @model_validator(mode="after")
    def _as_its_protocol_needs(self) -> Flow:
        protocols.check(self)
        return self

    @property
    def control(self) -> CongestionControl:
        """The facts of its congestion control."""
        return congestion.control(self.cc)

    @property
    def where(self) -> str:
        """The path in the scenario of what a user wrote: the flow, or the workload that drew it."""
        return f"flows.{self.name}" if self.workload is None else f"workloads.{self.workload}"

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
