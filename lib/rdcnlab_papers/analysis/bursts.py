# SPDX-License-Identifier: Apache-2.0
"""Bursts of UDP on a link that flows of TCP use: which share of the link they take."""

from __future__ import annotations

import math

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.scenario.flow import UDP_HEADERS


@for_each_run
def shares(runs: Runs, lasts_ms: int, beside: str) -> pd.DataFrame:
    """Return by run the share ``percent`` of a link that passes of a burst.

    Parameters
    ----------
    runs : Runs
        Runs with one flow of bursts on one link, and the tables ``flows`` and
        ``throughput``.
    lasts_ms : int
        The time in ms for which a burst is taken to last. The share is that of the bytes which the link carries in
        this time, headers included.
    beside : str
        Only bursts before the end of this flow count.
    """
    ends = runs.flows[runs.flows["flow"] == beside].set_index("run")["end_s"]
    rows = []
    for (run,), carried in tables.groups(runs.throughput, ["run"]):
        scenario = runs[int(run)].scenario
        (flow,) = (flow for flow in scenario.flows if flow.protocol == "udp")
        if flow.interval is None or not isinstance(flow.path, str):
            raise ValueError(f"{flow.name} sends no bursts on one link")
        bursts = int(ends[run] * NS_PER_S - flow.start) // flow.interval
        is_before = carried["bin"].astype("int64") * scenario.probes.bin < flow.start + bursts * flow.interval
        chosen = carried[is_before & (carried["flow"] == flow.name) & (carried["where"] == flow.path)]
        capacity_b = scenario.network.link(flow.path).rate / 8 * lasts_ms / 1000
        rows.append({"run": run, "percent": 100 * float(chosen["bytes"].sum()) / bursts / capacity_b})
    return pd.DataFrame(rows, columns=["run", "percent"])


def arrived(runs: Runs) -> pd.DataFrame:
    """Return by run the share ``percent`` of the bursts' bytes that the receiver got, until the last flow of TCP ended.

    Runs have one flow of bursts each, and end with their last flow of TCP.
    """
    rows = []
    for (run,), flows in tables.groups(runs.flows, ["run"]):
        (flow,) = (flow for flow in runs[int(run)].scenario.flows if flow.protocol == "udp")
        if flow.interval is None or flow.burst is None:
            raise ValueError(f"{flow.name} sends no bursts")
        is_burst = flows["flow"] == flow.name
        begun = math.ceil((float(flows.loc[~is_burst, "end_s"].max()) * NS_PER_S - flow.start) / flow.interval)
        sent = begun * flow.burst * (runs[int(run)].scenario.network.mtu - UDP_HEADERS)
        rows.append({"run": run, "percent": 100 * float(flows.loc[is_burst, "received_B"].iloc[0]) / sent})
    return pd.DataFrame(rows, columns=["run", "percent"])
