# SPDX-License-Identifier: Apache-2.0
"""Settings of a scenario: switch, transport, engine, probes, jitter.

Defaults of `Transport` are those of Linux 6.12, with two exceptions. Buffer triples, which the kernel derives from the
size of memory, have the values of a machine with plenty, because memory must not change a result. Metrics of earlier
connections are not kept, because a run has no earlier ones.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from rdcnlab.fields.quantities import (
    Bin,
    Bytes31,
    Bytes32,
    Duration,
    Frozen,
    HostName,
    Later,
    Listed,
    Misfit,
    Size,
    unique,
    whole,
)
from rdcnlab.scenario.kinds import EngineKind, SwitchKind
from rdcnlab.scenario.p4 import Entry, ProgramField


class Switch(Frozen):
    """The switch in the middle.

    Parameters
    ----------
    kind : {'ocs', 'bmv2', 'ovs', 'linux'}
        Our circuit switch in the kernel, the P4 software switch, Open vSwitch, or a Linux bridge with queues of ``tc``,
        which knows no links inside: all flows take the path ``bypass``.
    ecn_threshold : int or None
        Marking threshold in bytes; where given it replaces that of every link.
    dark : {'drop', 'hold'}
        What happens to packets that meet a dark slot.
    program : P4Program or None
        With ``bmv2``, a program in the place of ``p4/ocs.p4``. It decides where packets go: flows take the path
        ``bypass``, and need not say so.
    entries : tuple of str
        With ``bmv2``, commands of ``simple_switch_CLI`` that fill the program's tables, one line each, after those of
        ``p4/ocs.p4`` if it is that. ``{green}`` stands for the number of the port of a link or host, ``{mac:s1}`` for a
        host's address; ``p4/README.md`` lists all names.
    control : {'data-plane', 'control-plane'}
        With ``bmv2``, where the timetable is: in registers of the program, or in a local manager that rewrites entries.
    """

    kind: SwitchKind = "ocs"
    ecn_threshold: Size | None = None
    dark: Literal["drop", "hold"] = "drop"
    program: Annotated[ProgramField, Later] = None
    entries: Annotated[tuple[Entry, ...], Listed, Later] = ()
    control: Annotated[Literal["data-plane", "control-plane"], Later] = "data-plane"

    @model_validator(mode="after")
    def _only_with_p4(self) -> Switch:
        for field, unused in (("program", None), ("entries", ()), ("control", "data-plane")):
            if self.kind != "bmv2" and getattr(self, field) != unused:
                raise Misfit(field, getattr(self, field), "nothing, because only the switch bmv2 knows it")
        if self.program is not None and self.control != "data-plane":
            raise Misfit("control", self.control, "data-plane, because the local manager knows p4/ocs.p4 only")
        return self


def _auto(value: Any) -> Any:
    return None if value == "auto" else value


Triple = Annotated[tuple[Bytes31, Bytes31, Bytes31], Listed]


class Transport(Frozen):
    """Settings of TCP; every field is the sysctl ``net.ipv4.tcp_<name>`` of Linux 6.12.

    Parameters
    ----------
    ecn : bool or None
        Negotiate ECN on all flows, or on none; None (``auto``) on those whose congestion control needs it (dctcp), as
        the kernel does by itself. It matters where CUBIC meets DCTCP: with true, CUBIC too is marked, not dropped.
    rmem, wmem : tuple of int
        Smallest, first and largest socket buffer in bytes.
    sack, dsack, timestamps, window_scaling, moderate_rcvbuf, slow_start_after_idle, no_metrics_save : bool
        Switches of the same name.
    limit_output_bytes : int
        Bytes a flow may have in the queues of its own host (TCP small queues).
    notsent_lowat : int
        Unsent bytes below which a socket reports to be writable.
    recovery : int
        Bits of the loss detection (1 is RACK).
    reordering : int
        First guess of the reordering degree in packets.
    rto_min_us : int
        Smallest retransmission timeout in microseconds.
    pacing_ss_ratio, pacing_ca_ratio : int
        Pacing rate over cwnd / srtt in percent, in slow start and in congestion avoidance.
    tdtcp : bool
        Keep a congestion state for each time-division network that the switch tells of; needs `Scenario.notify`.
    tdtcp_pace : bool
        Send what is in the window of a network that comes back segment by segment, over a round trip.
    """

    ecn: Annotated[bool | None, BeforeValidator(_auto)] = None
    rmem: Triple = (4096, 131_072, 6_291_456)
    wmem: Triple = (4096, 16_384, 4_194_304)
    sack: bool = True
    dsack: bool = True
    timestamps: bool = True
    window_scaling: bool = True
    moderate_rcvbuf: bool = True
    slow_start_after_idle: bool = True
    no_metrics_save: bool = True
    limit_output_bytes: Bytes31 = 1_048_576
    notsent_lowat: Bytes32 = 2**32 - 1
    recovery: Annotated[int, whole(0, 7)] = 1
    reordering: Annotated[int, whole(3, 300)] = 3
    rto_min_us: Annotated[int, whole(1_000, 120_000_000)] = 200_000
    pacing_ss_ratio: Annotated[int, whole(0, 1000)] = 200
    pacing_ca_ratio: Annotated[int, whole(0, 1000)] = 120
    tdtcp: Annotated[bool, Later] = False
    tdtcp_pace: Annotated[bool, Later] = False

    @model_validator(mode="after")
    def _triples_rise(self) -> Transport:
        for field in ("rmem", "wmem"):
            sizes = getattr(self, field)
            if list(sizes) != sorted(sizes):
                raise Misfit(field, sizes, "smallest, first and largest size in rising order")
        return self


class EngineSettings(Frozen):
    """What runs the scenario.

    Parameters
    ----------
    kind : {'kernel', 'ns3'}
        The patched Linux kernel in virtual time, or ns-3.
    hz : {100, 250, 300, 1000}
        Timer frequency of the kernel; CUBIC, delayed ACKs and timeouts count in it.
    """

    kind: EngineKind = "kernel"
    hz: Literal[100, 250, 300, 1000] = 250


class Probes(Frozen):
    """What is recorded; recording costs no virtual time but disk and wall-clock time.

    Parameters
    ----------
    bin : int
        ns of a time bin for throughput, queues and, with ``tcp='bin'``, congestion state.
    tcp : {'none', 'bin', 'ack'}
        Congestion window and RTT: not at all, the last of each bin, or at every ACK.
    packets : bool
        Whether to keep one event for every packet.
    acks : bool
        Whether to keep what ACKs acknowledge: payload by bin at the place ``sender`` of the table ``throughput``, and
        runs of ACKs that acknowledge nothing new as events.
    fold : int or None
        ns; with it the bins of throughput and queues are counted modulo this span, over as many whole spans as there
        are from `fold_from` until the limit: what repeats every few hundred microseconds then keeps small tables.
    fold_from : int
        ns from the start of the scenario.
    """

    bin: Bin = 1_000_000
    tcp: Literal["none", "bin", "ack"] = "bin"
    packets: bool = False
    acks: Annotated[bool, Later] = False
    fold: Annotated[Bin | None, Later] = None
    fold_from: Annotated[Duration, Later] = 0

    @model_validator(mode="after")
    def _consistent(self) -> Probes:
        if self.acks and self.tcp == "none":
            raise Misfit("acks", self.acks, "false, with tcp 'none'")
        if self.fold is None and self.fold_from:
            raise Misfit("fold_from", self.fold_from, "0, without fold")
        for field in ("fold", "fold_from"):
            if (getattr(self, field) or 0) % self.bin:
                raise Misfit(field, getattr(self, field), f"a whole number of bins of {self.bin} ns")
        return self


class Jitter(Frozen):
    """Randomness between runs that differ in their seed only.

    Parameters
    ----------
    start : int
        Every flow starts up to this many ns later, uniformly.
    phase : int
        All timetables together start up to this many ns later, uniformly.
    """

    start: Duration = 0
    phase: Duration = 0


class HostDelay(Frozen):
    """The delay of `Notify` for one host, in ns."""

    name: HostName
    delay: Duration


class Notify(Frozen):
    """How hosts are told which time-division network (TDN) is active, by the numbers in the slots of schedules.

    A host that sends listens to the schedule of its flows' ``path``, one that receives to that of ``back``, or of
    ``path`` where ``back`` is none.

    Parameters
    ----------
    delay : int
        ns from the change of the network to the moment a host's kernel knows.
    hosts : tuple of HostDelay
        Those that have another delay.
    model : {'pull', 'push'}
        Connections look the number up when they send or receive; or the kernel goes through them one by one.
    each : int
        With ``push``, ns that each connection takes: the last one of n learns n times as much later.
    channel : {'own', 'data'}
        Notifications have a network of their own; or they wait in the queue to the host with its data.
    """

    delay: Duration = 0
    hosts: Annotated[tuple[HostDelay, ...], Listed] = ()
    model: Literal["pull", "push"] = "pull"
    each: Duration = 0
    channel: Literal["own", "data"] = "own"

    @model_validator(mode="after")
    def _consistent(self) -> Notify:
        unique("hosts", (host.name for host in self.hosts))
        if self.each and self.model == "pull":
            raise Misfit("each", self.each, "0, because with the model pull nobody goes through the connections")
        return self

    def delay_of(self, host: str) -> int:
        """Return the delay of a host in ns."""
        return next((each.delay for each in self.hosts if each.name == host), self.delay)
