# SPDX-License-Identifier: Apache-2.0
"""The tables every engine gives: tidy, one observation a row, units in the column's name.

Times count from the start of the scenario. A bin ``k`` covers ``[k, k + 1) * probes.bin``. Bins in which nothing was
seen have no row in ``throughput``; see `rdcnlab.analysis.tables` for the dense form. With ``probes.fold`` bins are
counted modulo that span: bytes, packets, drops and marks are sums over all spans, ``mean_B`` is the mean of them.

``flows``, one row a flow
    ``fct_s`` is ``end_s - start_s``: from the initiator's call to connect to the last byte at the receiver; null for a
    flow that did not finish and for bursts of datagrams, like ``end_s``. ``received_B`` is payload; ``retransmits``
    counts segments, ``timeouts`` expiries of the RTO; null where it is not TCP. Of ``quic``, whose programs tell
    nothing, ``fct_s`` is from the client's begin to its end, and ``received_B`` the size or 0.
``throughput``, one row for each bin, place and flow
    ``where`` is a link of the network, at the end of serialisation, counted in bytes on the wire (overhead
    included), or ``receiver``, where TCP payload is counted as it leaves for the receiver, retransmissions included.
``queues``, one row for each bin and link
    ``link`` is a link, or a schedule with a queue of its own, or the part of it that a subflow has, such as ``pair.1``.
    Bytes waiting in the link's queue (without overhead): time average and maximum; drops and ECN marks in packets.
``tcp``, one row an ACK, or the last ACK of each bin
    With ``mptcp`` of the subflow to which it came. ``cwnd`` and ``ssthresh`` are segments, ``cwnd_B`` is ``cwnd`` times
    the MSS, ``srtt_us`` the smoothed RTT.
``events``, one row an event
    ``slot``: a timetable enters a slot (``link`` is the target, ``flow`` the flow or schedule, ``value`` the index).
    ``drop_tail``, ``drop_pool``, ``drop_red``, ``drop_dark``, ``drop_port``, ``drop_mtu``, ``drop_wire``: a packet is
    lost (``link`` the link, the schedule whose queue it was to join, or ``dark``; ``value`` its bytes).
    ``retransmit`` of a flow, ``value`` is 1.
    With ``probes.acks`` also ``duplicates``: a run of ACKs begins that acknowledge nothing new, ``value`` of them.
    With ``probes.packets`` also ``enqueue``, ``dequeue``, ``mark`` of each packet (``link`` a link or ``receiver``, the
    line to it; ``value`` its bytes).
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
