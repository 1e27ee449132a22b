# SPDX-License-Identifier: Apache-2.0
"""Read the records of a run into the tables of `rdcnlab.engines.schema`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from rdcnlab.engines import observation
from rdcnlab.engines.network import Network, Traffic
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.engines.ns3.plan import segment
from rdcnlab.engines.observation import Records
from rdcnlab.engines.observation.flows import Carried, table
from rdcnlab.engines.observation.numbering import SNAPSHOTS, STANDING, counts
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Flow

#: Fields of each file of records, as in ``models/records.h``.
FIELDS = {
    "slots": ("time", "class", "slot", "target"),
    "came": ("time", "link", "class", "len", "dport"),
    "left": ("time", "link", "class", "len", "qlen", "dport"),
    "dropped": ("time", "link", "class", "len", "dport", "reason"),
    "marked": ("time", "link", "class", "len", "dport"),
    "acks": ("time", "dport", "snd_una", "snd_cwnd", "ssthresh", "srtt"),
    "again": ("time", "dport"),
}

#: Counters of a host by their names in Linux, and the results of a flow that they add up.
COUNTERS = {
    "TCPOFOQueue": "ahead",
    "TCPVersionChange": "updates",
    "TCPHeldAcks": "held",
    "TCPHeldAcksForgotten": "forgotten",
    "TCPHeldAcksSent": "released",
}


def tables(network: Network, directory: Path, results: Sequence[dict[str, int]]) -> dict[str, pa.Table]:
    """Return the tables of a run from its directory and the results of its flows.

    Raises
    ------
    RunError
        A file has unexpected content.
    """
    seen = {name: read(directory / f"{name}.records", fields) for name, fields in FIELDS.items()}
    slots = seen["slots"]
    records = Records(
        slots=slots[~np.isin(slots["class"], network.turning)],
        arrivals=seen["came"],
        departures=seen["left"],
        dropped=seen["dropped"],
        marked=seen["marked"],
        acks=seen["acks"],
        retransmissions=seen["again"],
        discarded=np.empty(0, np.dtype([("time", "<i8")])),
        counted=counts(directory, "left"),
        counted_marks=counts(directory, "marked"),
        standing=counts(directory, "left", STANDING, ".standing"),
        snapshots=counts(directory, "left", SNAPSHOTS, ".seen"),
        counters=counters(network, results),
    )
    return observation.tables(network, records, flows(network, results))


def counters(network: Network, results: Sequence[dict[str, int]]) -> dict[str, dict[str, int]]:
    """Return the counters of the receivers of flows, by host, with the names of our kernel; zeros are left out."""
    counted: dict[str, dict[str, int]] = {}
    if not network.probes.counters:
        return counted
    for flow, row in zip(network.traffic.flows, results, strict=True):
        here = counted.setdefault(flow.dst, {})
        for name, field in COUNTERS.items():
            if row[field]:
                here[name] = here.get(name, 0) + row[field]
    return counted


def read(path: Path, fields: Sequence[str]) -> NDArray[Any]:
    """Return the records of a file, as a structured array of integers."""
    kind = np.dtype([(field, "<i8") for field in fields])
    raw = path.read_bytes()
    if len(raw) % kind.itemsize:
        raise RunError(f"the records '{path.stem}' have {len(raw)} bytes, not records of {kind.itemsize}")
    return np.frombuffer(raw, kind)


def flows(network: Network, results: Sequence[dict[str, int]]) -> pd.DataFrame:
    """Return the table ``flows``, with the payload of a segment as ``mss_B``."""
    traffic = network.traffic
    awaited = [row["end_ns"] for flow, row in zip(traffic.flows, results, strict=True) if flow.is_tcp]
    end_of_run = max(awaited) - START_NS if awaited and min(awaited) >= 0 else network.limit
    carried = []
    for flow, row in zip(traffic.flows, results, strict=True):
        done = row["end_ns"] >= 0
        start = row["start_ns"] - START_NS if row["start_ns"] >= 0 else None
        carried.append(
            Carried(
                start=start,
                end=row["end_ns"] - START_NS if done else sent(traffic, flow, start, end_of_run),
                complete=done,
                finished=done if flow.is_tcp else row["received_B"] == traffic.sizes[flow.name],
                received_B=row["received_B"],
                retransmits=row["retransmits"],
                timeouts=row["timeouts"],
                mss_B=segment(network),
            )
        )
    return table(traffic, carried)


def sent(traffic: Traffic, flow: Flow, start: int | None, end: int) -> int | None:
    """Return when a flow of datagrams was sent, or the end of the run if that comes first, in ns; None for others."""
    if start is None or start >= end or not traffic.is_timed(flow):
        return None
    return min(start + traffic.sending[flow.name], end)
