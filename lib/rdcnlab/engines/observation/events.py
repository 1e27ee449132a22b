# SPDX-License-Identifier: Apache-2.0
"""Single events: slots, losses, retransmissions and, if requested, packets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rdcnlab.engines.observation.throughput import acked
from rdcnlab.engines.observation.view import Records, View
from rdcnlab.scenario import Scenario

#: Reasons of drops by number, as in the kernel's ``enum ocs_drop``.
DROPS = {
    0: "drop_tail", 1: "drop_pool", 2: "drop_red", 3: "drop_dark", 4: "drop_port", 5: "drop_mtu", 6: "drop_wire",
}  # fmt: skip


def _repeats(scenario: Scenario, acked: NDArray[Any]) -> pd.DataFrame:
    """Return the runs of ACKs of each flow that acknowledge nothing new: the time of the first ACK, and the length."""
    parts = []
    for number, flow in enumerate(scenario.flows):
        of = acked[acked["flow"] == number]
        new = of["bytes"] > 0
        begins = np.flatnonzero(~new & np.concatenate(([True], new[:-1]))) if len(of) else np.empty(0, np.int64)
        # A run ends at the next ACK that acknowledges new data.
        ends = np.append(np.flatnonzero(new), len(of))
        lengths = ends[np.searchsorted(ends, begins)] - begins
        columns = {"t_ns": of["time"][begins], "event": "duplicates", "link": None, "flow": flow.name, "value": lengths}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _places(view: View, packets: NDArray[Any]) -> pd.Series[Any]:
    """Return where packets are dropped or queued: the queue of a schedule, a line, or the dark."""
    place = pd.Series(packets["link"]).map(view.targets)
    queues = dict(view.queued)
    own = pd.Series(packets["class"]).map(queues) if queues else pd.Series(None, index=place.index, dtype=object)
    return place.where(own.isna() | place.isna(), own)


def table(scenario: Scenario, view: View, records: Records) -> pd.DataFrame:
    """Return the table ``events`` of `rdcnlab.engines.schema`."""
    slots, again = records.slots, records.again
    dropped = view.ours(scenario, records.dropped)
    parts = [
        pd.DataFrame(
            {
                "t_ns": slots["time"],
                "event": "slot",
                "link": pd.Series(slots["target"]).map(view.targets),
                "flow": pd.Series(slots["class"]).map(dict(view.classes)),
                "value": slots["slot"].astype(np.int64),
            }
        ),
        pd.DataFrame(
            {
                "t_ns": dropped["time"],
                "event": pd.Series(dropped["reason"]).map(DROPS),
                "link": _places(view, dropped),
                "flow": view.names(scenario, dropped),
                "value": dropped["len"].astype(np.int64),
            }
        ),
        pd.DataFrame(
            {
                "t_ns": again["time"],
                "event": "retransmit",
                "link": None,
                "flow": view.names(scenario, again),
                "value": 1,
            }
        ),
        pd.DataFrame({"t_ns": records.discarded["time"], "event": "discard", "link": None, "flow": None, "value": 1}),
    ]
    if scenario.probes.acks:
        parts.append(_repeats(scenario, acked(scenario, view, records.acks)))
    if scenario.probes.packets:
        packets = {"enqueue": records.came, "dequeue": records.left, "mark": records.marked}
        parts += [_packets(view, scenario, event, found) for event, found in packets.items()]
    frame = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    frame = frame[frame["t_ns"] >= 0]
    return frame.sort_values(["t_ns", "event", "flow", "value"], kind="stable")


def _packets(view: View, scenario: Scenario, event: str, found: NDArray[Any]) -> pd.DataFrame:
    """Return one event for each packet."""
    found = view.ours(scenario, found)
    # A packet that is not on a line inside the network is on the line to the receiver.
    place = _places(view, found) if event == "enqueue" else pd.Series(found["link"]).map(dict(view.lines))
    return pd.DataFrame(
        {
            "t_ns": found["time"],
            "event": event,
            "link": place.fillna("receiver"),
            "flow": view.names(scenario, found),
            "value": found["len"].astype(np.int64),
        }
    )
