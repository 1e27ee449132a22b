# SPDX-License-Identifier: Apache-2.0
"""What a run records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import model_validator

from rdcnlab.fields.quantities import (
    Bin,
    Duration,
    FieldError,
    Frozen,
    HostName,
    LinkName,
    Listed,
    omit_default,
    unique,
)


class Probes(Frozen):
    """What a run records. Recording takes disk space and wall-clock time, but no virtual time.

    Parameters
    ----------
    bin : int
        ns of a time bin for throughput, queues and, with ``tcp='bin'``, congestion state.
    tcp : {'none', 'bin', 'ack'}
        When to record congestion window and RTT: never, the last value of each bin, or at every ACK.
    packets : bool
        Whether to record one event for every packet.
    acks : bool
        Whether to record what ACKs acknowledge: the payload by bin, at the place ``sender`` of the table
        ``throughput``, and runs of ACKs that acknowledge nothing new, as events.
    discards : bool
        Whether to record segments that a receiver discards because they carry an old timestamp (PAWS, RFC 7323,
        Sec. 5.3), as events.
    capture : tuple of str
        Names of hosts. The first 96 bytes of every IPv4 packet that a host sends or receives are stored in the run's
        file ``<host>.pcapng``, which Wireshark opens; the events ``capture_out`` and ``capture_in`` have the same
        packets.
    count : tuple of str
        Names of links. Packets are counted there while the run goes on, instead of being recorded one by one: the
        tables ``throughput`` and ``queues`` have these links only. This is for long runs, whose records would not fit
        into memory. The limit of such a run is a million losses, and a million retransmissions.
    snapshots : int or None
        With `count`: the mean time in ns between instants at which the queues of these links are looked at, as events
        ``snapshot``. The instants are a Poisson process, drawn from the scenario's seed.
    counters : bool
        Whether to record the kernel's counters of TCP at each host at the end (TcpExt in ``/proc/net/netstat``), as
        events such as ``counter TCPDSACKUndo``. They count, for example, the reordering that the kernel detected and
        the window reductions that it undid.
    ports : bool
        Whether the table ``queues`` lists both ends of the cables of all hosts that send or receive: the ports of
        switches to them, and with the engine ``kernel`` their own queues (`Host.queue`), as ``s1@s1``. Otherwise it
        lists the ports about which `Host.port` states anything.
    fold : int or None
        Span in ns. If given, the bins of throughput and queues are counted modulo this span. The count covers all whole
        spans from `fold_from` to the limit. This keeps tables small for behaviour that repeats every few hundred
        microseconds.
    fold_from : int
        Start of the first span, in ns from the start of the scenario.
    """

    bin: Bin = 1_000_000
    tcp: Literal["none", "bin", "ack"] = "bin"
    packets: bool = False
    acks: Annotated[bool, omit_default] = False
    discards: Annotated[bool, omit_default] = False
    counters: Annotated[bool, omit_default] = False
    capture: Annotated[tuple[HostName, ...], Listed, omit_default] = ()
    count: Annotated[tuple[LinkName, ...], Listed, omit_default] = ()
    snapshots: Annotated[Bin | None, omit_default] = None
    ports: Annotated[bool, omit_default] = False
    fold: Annotated[Bin | None, omit_default] = None
    fold_from: Annotated[Duration, omit_default] = 0

    @model_validator(mode="after")
    def _consistent(self) -> Probes:
        if self.acks and self.tcp == "none":
            raise FieldError("acks", self.acks, "false, with tcp 'none'")
        unique("count", self.count)
        unique("capture", self.capture)
        if self.count and self.packets:
            raise FieldError.left_out("count", self.count, "with packets: true, which records every packet")
        if self.snapshots is not None and not self.count:
            raise FieldError.left_out("snapshots", self.snapshots, "without probes.count, whose links are looked at")
        if self.fold is None and self.fold_from:
            raise FieldError("fold_from", self.fold_from, "0, without fold")
        for field in ("fold", "fold_from"):
            if (getattr(self, field) or 0) % self.bin:
                raise FieldError(field, getattr(self, field), f"a whole number of bins of {self.bin} ns")
        return self
