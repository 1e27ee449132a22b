# SPDX-License-Identifier: Apache-2.0
"""Single events: slots, losses, retransmissions and, if requested, packets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rdcnlab.engines.observation.numbering import Numbering, Records
from rdcnlab.engines.observation.throughput import acked

#: Reasons of drops by number, as in the kernel's ``enum ocs_drop``.
DROPS = {
    0: "drop_tail", 1: "drop_pool", 2: "drop_red", 3: "drop_dark", 4: "drop_port", 5: "drop_mtu", 6: "drop_wire",
    7: "drop_down", 8: "drop_loss", 9: "drop_aqm", 10: "drop_forged", 11: "drop_hops",
}  # fmt: skip


def _repeats(numbering: Numbering, acked: NDArray[Any]) -> pd.DataFrame:
    """Return the runs of ACKs of each flow that acknowledge nothing new: the time of the first ACK, and the length."""
    parts = []
    for number, flow in enumerate(numbering.traffic.flows):
        of = acked[acked["flow"] == number]
        new = of["bytes"] > 0
        begins = np.flatnonzero(~new & np.concatenate(([True], new[:-1]))) if len(of) else np.empty(0, np.int64)
        # A run ends at the next ACK that acknowledges new data.
        ends = np.append(np.flatnonzero(new), len(of))
        lengths = ends[np.searchsorted(ends, begins)] - begins
        columns = {"t_ns": of["time"][begins], "event": "duplicates", "link": None, "flow": flow.name, "value": lengths}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _links(numbering: Numbering, packets: NDArray[Any]) -> pd.Series[Any]:
    """Return where packets are dropped or queued: the queue of a schedule, a line, or the dark."""
    links = pd.Series(packets["link"]).map(numbering.targets)
    queues = dict(numbering.queued)
    own = pd.Series(packets["class"]).map(queues) if queues else pd.Series(None, index=links.index, dtype=object)
    return links.where(own.isna() | links.isna(), own)


def table(numbering: Numbering, records: Records) -> pd.DataFrame:
    """Return the table ``events`` of `rdcnlab.engines.schema`."""
    slots, retransmissions = records.slots, records.retransmissions
    dropped = numbering.ours(records.dropped)
    parts = [
        pd.DataFrame(
            {
                "t_ns": slots["time"],
                "event": "slot",
                "link": pd.Series(slots["target"]).map(numbering.targets),
                "flow": pd.Series(slots["class"]).map(dict(numbering.classes)),
                "value": slots["slot"].astype(np.int64),
            }
        ),
        pd.DataFrame(
            {
                "t_ns": dropped["time"],
                "event": pd.Series(dropped["reason"]).map(DROPS),
                # what is not inside the network is a cable of a host
                "link": _links(numbering, dropped).combine_first(pd.Series(numbering.at_hosts(dropped))),
                "flow": numbering.names(dropped),
                "value": dropped["len"].astype(np.int64),
            }
        ),
        pd.DataFrame(
            {
                "t_ns": retransmissions["time"],
                "event": "retransmit",
                "link": None,
                "flow": numbering.names(retransmissions),
                "value": 1,
            }
        ),
        pd.DataFrame({"t_ns": records.discarded["time"], "event": "discard", "link": None, "flow": None, "value": 1}),
        pd.DataFrame(list(records.reports), columns=["t_ns", "event", "link", "flow", "value"]),
    ]
    if numbering.probes.acks:
        parts.append(_repeats(numbering, acked(numbering, records.acks)))
    if records.counters:
        parts.append(_counters(numbering, records.counters))
    if len(records.captured):
        parts.append(_captured(numbering, records.captured))
    if len(records.snapshots):
        parts.append(_snapshots(numbering, records.snapshots))
    if numbering.probes.packets:
        packets = {"enqueue": records.arrivals, "dequeue": records.departures, "mark": records.marked}
        parts += [_packets(numbering, event, seen) for event, seen in packets.items()]
    frame = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    frame = frame[frame["t_ns"] >= 0]
    return frame.sort_values(["t_ns", "event", "flow", "value"], kind="stable")


def _counters(numbering: Numbering, counters: Mapping[str, Mapping[str, int]]) -> pd.DataFrame:
    """Return one event for each counter of each host, at the limit of the scenario."""
    rows = [(host, name, value) for host, of in counters.items() for name, value in sorted(of.items())]
    return pd.DataFrame(
        {
            "t_ns": numbering.limit,
            "event": [f"counter {name}" for _, name, _ in rows],
            "link": [host for host, _, _ in rows],
            "flow": None,
            "value": [value for _, _, value in rows],
        }
    )


def _snapshots(numbering: Numbering, snapshots: NDArray[Any]) -> pd.DataFrame:
    """Return one event for each queue at each instant of `Probes.snapshots`."""
    return pd.DataFrame(
        {
            "t_ns": snapshots["time"].astype(np.int64),
            "event": "snapshot",
            "link": pd.Series(snapshots["link"]).map(dict(numbering.lines)),
            "flow": None,
            "value": snapshots["length"].astype(np.int64),
        }
    )


def _captured(numbering: Numbering, packets: NDArray[Any]) -> pd.DataFrame:
    """Return one event for each captured packet of a flow; the port of the flow is that of its receiver."""
    flows = [flow.name for flow in numbering.traffic.flows]
    numbers = np.column_stack([packets[port].astype(np.int64) - numbering.first_port for port in ("dport", "sport")])
    ours = (numbers >= 0) & (numbers < len(flows))
    flow = np.where(ours[:, 0], numbers[:, 0], numbers[:, 1])
    frame = pd.DataFrame(
        {
            "t_ns": packets["time"],
            "event": np.where(packets["leaves"], "capture_out", "capture_in"),
            "link": np.array(numbering.probes.capture, dtype=object)[packets["host"]],
            "flow": np.array(flows, dtype=object)[np.clip(flow, 0, len(flows) - 1)],
            "value": packets["len"].astype(np.int64),
        }
    )
    ours_only: pd.DataFrame = frame[pd.Series(ours.any(axis=1))]
    return ours_only


def _packets(numbering: Numbering, event: str, packets: NDArray[Any]) -> pd.DataFrame:
    """Return one event for each packet."""
    packets = numbering.ours(packets)
    # A packet that is not on a line inside the network is on the line to the receiver.
    links = _links(numbering, packets) if event == "enqueue" else pd.Series(packets["link"]).map(dict(numbering.lines))
    return pd.DataFrame(
        {
            "t_ns": packets["time"],
            "event": event,
            "link": links.fillna("receiver"),
            "flow": numbering.names(packets),
            "value": packets["len"].astype(np.int64),
        }
    )
