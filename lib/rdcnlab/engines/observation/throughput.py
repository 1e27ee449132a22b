# SPDX-License-Identifier: Apache-2.0
"""Bytes and packets by bin, place and flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rdcnlab.engines.observation.numbering import Numbering
from rdcnlab.scenario.flow import UDP_HEADERS
from rdcnlab.scenario.queue import ETHERNET_HEADER


def acked(numbering: Numbering, acks: NDArray[Any]) -> NDArray[Any]:
    """Return the bytes that each ACK newly acknowledges, if requested: ``time``, ``flow`` (number), ``bytes``.

    A record has the sequence number that was acknowledged before its ACK. The next record of the flow shows what the
    ACK added.
    """
    kind = np.dtype([("time", "<i8"), ("flow", "<i8"), ("bytes", "<i8")])
    parts = [np.empty(0, kind)]
    for number, of in numbering.connections(acks) if numbering.probes.acks else ():
        part = np.empty(max(len(of) - 1, 0), kind)
        before: NDArray[np.int64] = of["snd_una"].astype(np.int64)
        # sequence numbers have 32 bits
        part["bytes"] = np.diff(before) % 2**32
        part["time"], part["flow"] = of["time"][:-1], number
        parts.append(part)
    every = np.concatenate(parts)
    return every[np.argsort(every["time"], kind="stable")]


def counted(numbering: Numbering, counts: NDArray[Any]) -> pd.DataFrame:
    """Return the table ``throughput`` from counts of packets on lines inside the network; see `Records.counted`."""
    framing = numbering.overhead - ETHERNET_HEADER
    frame = pd.DataFrame(
        {
            "bin": counts["bin"].astype(np.int64),
            "where": pd.Series(counts["link"]).map(dict(numbering.lines)),
            "flow": numbering.names(counts),
            "bytes": counts["bytes"].astype(np.int64) + framing * counts["packets"].astype(np.int64),
            "packets": counts["packets"].astype(np.int64),
        }
    )
    # the order of `table`
    ends = {name: index for index, name in enumerate(numbering.lines.values())}
    flows = {flow.name: number for number, flow in enumerate(numbering.traffic.all)}
    order = np.lexsort((frame["flow"].map(flows), frame["where"].map(ends), frame["bin"]))
    return frame.iloc[order].reset_index(drop=True)


def table(numbering: Numbering, dequeued: NDArray[Any], acked: NDArray[Any]) -> pd.DataFrame:
    """Return the table ``throughput`` of `rdcnlab.engines.schema`, from records of data packets that leave lines."""
    # handshakes of connections that are opened ahead come before the start
    dequeued, acked = dequeued[dequeued["time"] >= 0], acked[acked["time"] >= 0]
    inside = dequeued["link"] < numbering.ports
    framed = dequeued["len"].astype(np.int64) + numbering.overhead - ETHERNET_HEADER
    flow = numbering.flow(dequeued)
    # Headers of Ethernet, IPv4 and TCP with time stamps. A packet that is not longer than a SYN has no payload.
    tcp = ETHERNET_HEADER + 20 + 20 + np.where(numbering.stamped, 12, 0)[flow]
    udp = np.array([not one.is_tcp for one in numbering.traffic.all], dtype=bool)[flow]
    payload = dequeued["len"].astype(np.int64) - np.where(udp, ETHERNET_HEADER + UDP_HEADERS, tcp)
    payload[~udp & (dequeued["len"] <= ETHERNET_HEADER + 20 + 60)] = 0
    ends = [*numbering.lines.values(), "receiver", "sender", *numbering.ends.values()]
    flows = [flow.name for flow in numbering.traffic.all]
    receiver = len(numbering.lines)
    index = np.where(inside, dequeued["link"], receiver).astype(np.int64)
    # One number encodes bin, place and flow, so that a single pass counts all.
    key = (dequeued["time"] // numbering.probes.bin * len(ends) + index) * len(flows) + flow
    key_acked = (acked["time"] // numbering.probes.bin * len(ends) + receiver + 1) * len(flows) + acked["flow"]
    keys, sizes = [key, key_acked], [np.where(inside, framed, payload), acked["bytes"]]
    # what passes one line of a host that has several is also counted there, as on a line inside the network
    for place, (_, at_end) in enumerate(numbering.at_ends(dequeued), receiver + 2):
        keys.append(key[at_end] + (place - receiver) * len(flows))
        sizes.append(framed[at_end])
    key, size = np.concatenate(keys), np.concatenate(sizes)
    seen, count, size = _sums(key, size)
    return pd.DataFrame(
        {
            "bin": seen // (len(ends) * len(flows)),
            "where": np.array(ends, dtype=object)[seen // len(flows) % len(ends)],
            "flow": np.array(flows, dtype=object)[seen % len(flows)],
            "bytes": size,
            "packets": count,
        }
    )


def _sums(key: NDArray[np.int64], values: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return the keys in rising order, how often each occurs, and the sum of its values.

    Most of the possible keys do not occur where there are many flows and lines, so they have no memory.
    """
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    sums = np.add.reduceat(values[order].astype(np.int64), begins) if len(begins) else np.empty(0, np.int64)
    return ordered[begins], np.diff(begins, append=len(key)), sums
