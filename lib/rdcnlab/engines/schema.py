# SPDX-License-Identifier: Apache-2.0
"""The tables that every engine returns: tidy, one observation per row, with units in the column names.

Times count from the start of the scenario. Bin ``k`` covers ``[k, k + 1) * probes.bin``. Bins without observations have
no row in ``throughput``; see `rdcnlab.analysis.binned` for the dense form. With ``probes.fold`` bins are counted modulo
this span: bytes, packets, drops and marks are sums over all spans, ``mean_B`` is the mean over all spans.

``flows``, one row per flow
    ``fct_s`` is ``end_s - start_s``, from the initiator's call to connect to the last byte at the receiver. ``end_s``
    and ``fct_s`` are null for a flow that did not finish, and for bursts of datagrams. Datagrams with a rate, or
    without flows of another protocol, have the end of their sending as ``end_s``, or that of the run. ``start_s`` is
    null if the flow was to start after another one that did not end. ``received_B`` is payload. ``retransmits`` counts
    segments that TCP sent again, of one MSS at most, as Linux's ``RetransSegs`` does: on the line each is a frame. The
    event ``retransmit`` counts packets, which are the same without `Offload.tso`, and fewer with it. ``timeouts``
    counts expiries of the RTO. Both are null unless the flow is TCP. The programs of ``quic`` report no times and no
    bytes. There ``fct_s`` is the time from the start of the client to its end, and ``received_B`` is the flow's size or
    0.
``throughput``, one row for each bin, place and flow
    ``where`` is a link of the network or ``receiver``. A link counts bytes on the wire (overhead included) at the end
    of serialisation. ``receiver`` counts TCP payload, retransmissions included, when it leaves for the receiver. Each
    line to a receiver that has several (`Host.of`) is a place, too, such as ``phone_lte@lte``; it counts like a link.
``queues``, one row for each bin and link
    ``link`` is a link, or a schedule with a queue of its own, or the queue of one of its subflows, such as ``pair.1``,
    or the port to a host that receives data, such as ``h11@leaf2`` (`Host.port`, `Probes.ports`, `Host.of`).
    Bytes that wait in this queue (without overhead): time average and maximum. Drops and ECN marks are in packets.
``tcp``, one row per ACK, or the last ACK of each bin
    With ``mptcp`` the values are those of the subflow that received the ACK. ``cwnd`` and ``ssthresh`` are in segments,
    ``cwnd_B`` is ``cwnd`` times the MSS, ``srtt_us`` is the smoothed RTT.
``events``, one row per event
    ``slot``: a timetable enters a slot (``link`` is the target, ``flow`` the flow or schedule, ``value`` the index).
    ``decision``, ``barrier``, with ``ovs`` only: the controller decides that a flow takes another link, and the switch
    confirms that it has handled the message. Columns are those of ``slot``, which is then the instant at which a packet
    took the new link for the first time. With circuits on demand, ``decision`` is a circuit that the controller chose
    (``link`` is ``rack1>rack3``, ``value`` the demand of these racks in bytes); it is up when ``slot`` says so.
    ``drop_tail``, ``drop_pool``, ``drop_red``, ``drop_dark``, ``drop_port``, ``drop_mtu``, ``drop_wire``,
    ``drop_down``, ``drop_loss``, ``drop_aqm``, ``drop_forged``, ``drop_hops``: a packet is lost (``link`` is the link,
    the port to the host, the schedule if its queue did not accept the packet, or ``dark``; ``value`` is its bytes).
    ``retransmit``: TCP hands a packet to the network card again; ``value`` is 1. Without `Offload.tso` a packet is one
    segment, and a flow has as many of these events as ``retransmits``. With it a packet of at most so many bytes has up
    to as many segments as the card cuts from it, so there are fewer events than ``retransmits``: the kernel does not
    record how many segments each has. Drops count frames, as ``retransmits`` does.
    ``discard``, with ``probes.discards`` only: a receiver discards a segment with an old timestamp (PAWS); ``flow`` is
    null, because the kernel does not say whose it is, and ``value`` is 1.
    ``duplicates``, with ``probes.acks`` only: start of a run of ``value`` ACKs that acknowledge nothing new.
    ``counter NAME``, with ``probes.counters`` only: a counter of TCP of a host (``link``) that is not zero at the end.
    ``snapshot``, with ``probes.snapshots`` only: bytes that wait in the queue of a link (``value``).
    ``capture_out``, ``capture_in``, with ``probes.capture`` only: a packet of a flow leaves or reaches a host (``link``
    is the host, ``value`` the bytes of the frame).
    ``enqueue``, ``dequeue``, ``mark`` of each packet, with ``probes.packets`` only (``link`` is a link, or ``receiver``
    for the line to the receiver; ``value`` is the packet's bytes).

Packets of programs have a flow that is named after their hosts, such as ``h1>h2``, or ``h1>h2/udp``. They are in
``throughput``, ``queues`` and ``events``.

``programs``, one row per program, only of a scenario with programs
    ``end_s`` and ``status`` are null if the program did not end by itself. ``ended`` says what ended it: ``itself``,
    a signal such as ``SIGSEGV``, ``the end of the run`` or ``the limit``. ``files_B`` counts the files that programs of
    the host left in their directory. ``sha256`` is that of everything the program printed, and of these files.

``ledger``, one row for each place, part, fate and reason that has frames; runs of engine ``kernel`` have it
    ``place`` is a line as in ``throughput`` and ``queues``, a host or a switch; ``part`` says what of it: the ``line``
    itself, the ``queue`` of a host or a schedule, the ``switch`` as a whole, a ``host``'s IP, its ``sockets``, or the
    ``hand-over`` between two devices. ``fate`` is ``entered``, ``made`` (copies and notifications), ``delivered``,
    ``ended`` (frames for the place itself), ``dropped`` by a ``reason``, or ``waiting`` at the end of the run. At each
    place and part, ``entered`` and ``made`` together are all others together; a run where they are not is an error.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

SCHEMAS: Final[dict[str, pa.Schema]] = {
    "flows": pa.schema(
        [
            ("flow", pa.string()),
            ("src", pa.string()),
            ("dst", pa.string()),
            ("cc", pa.string()),
            ("size_B", pa.int64()),
            ("start_s", pa.float64()),
            ("end_s", pa.float64()),
            ("fct_s", pa.float64()),
            ("finished", pa.bool_()),
            ("received_B", pa.int64()),
            ("retransmits", pa.int64()),
            ("timeouts", pa.int64()),
        ]
    ),
    "throughput": pa.schema(
        [
            ("bin", pa.int32()),
            ("where", pa.string()),
            ("flow", pa.string()),
            ("bytes", pa.int64()),
            ("packets", pa.int32()),
        ]
    ),
    "queues": pa.schema(
        [
            ("bin", pa.int32()),
            ("link", pa.string()),
            ("mean_B", pa.float64()),
            ("max_B", pa.int64()),
            ("drops", pa.int32()),
            ("marks", pa.int32()),
        ]
    ),
    "tcp": pa.schema(
        [
            ("t_ns", pa.int64()),
            ("flow", pa.string()),
            ("cwnd", pa.int32()),
            ("cwnd_B", pa.int64()),
            ("ssthresh", pa.int64()),
            ("srtt_us", pa.int32()),
        ]
    ),
    "events": pa.schema(
        [
            ("t_ns", pa.int64()),
            ("event", pa.string()),
            ("link", pa.string()),
            ("flow", pa.string()),
            ("value", pa.int64()),
        ]
    ),
}

#: Tables that only some runs have, by name.
OPTIONAL: Final[dict[str, pa.Schema]] = {
    "programs": pa.schema(
        [
            ("program", pa.string()),
            ("host", pa.string()),
            ("command", pa.string()),
            ("start_s", pa.float64()),
            ("end_s", pa.float64()),
            ("ended", pa.string()),
            ("status", pa.int32()),
            ("stdout_B", pa.int64()),
            ("stderr_B", pa.int64()),
            ("files_B", pa.int64()),
            ("sha256", pa.string()),
        ]
    ),
    "ledger": pa.schema(
        [
            ("place", pa.string()),
            ("part", pa.string()),
            ("fate", pa.string()),
            ("reason", pa.string()),
            ("frames", pa.int64()),
        ]
    ),
}


def schema_of(name: str) -> pa.Schema:
    """Return the schema of a table."""
    return SCHEMAS[name] if name in SCHEMAS else OPTIONAL[name]
