# SPDX-License-Identifier: Apache-2.0
"""The throughput of groups of small flows: means, and the differences between periods with their intervals.

The group of a flow is the first part of its name, see `rdcnlab.analysis.tables.role`.
"""

from __future__ import annotations

from typing import Literal

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.measured import Measured, means
from rdcnlab.runs.frame import Runs

#: The weights in a group's mean: ``flow`` weights all flows equally, ``time`` weights all seconds of flows equally
#: (all bytes divided by the sum of all flows' times).
Average = Literal["flow", "time"]
#: Largest size in MB of a short flow: a few round trips of slow start carry it.
_SHORT_MB = 4


def of_groups(runs: Runs, average: Average = "flow") -> pd.DataFrame:
    """Average the throughput [Gb/s] of the flows of each group: ``run``, ``period_ms``, ``group``, ``gbps``."""
    grouped = tables.goodput(runs.flows).groupby(["run", "period_ms", "group"])
    if average == "flow":
        return grouped["gbps"].mean().reset_index()
    sums = grouped[["size_B", "fct_s"]].sum()
    return (8e-9 * sums["size_B"] / sums["fct_s"]).rename("gbps").reset_index()


def changes(runs: Runs, average: Average = "flow") -> Measured:
    """Measure the difference between each group's mean at every period and its mean at the longest period.

    Runs of equal seeds are compared, because a seed gives the same volumes at every period.
    """
    seeds = {place: run.scenario.seed for place, run in enumerate(runs)}
    rates = of_groups(runs, average).assign(seed=lambda frame: frame["run"].map(seeds))
    table = rates.pivot_table(index=["group", "seed"], columns="period_ms", values="gbps")
    longest = table.columns.max()
    more = table.drop(columns=longest).sub(table[longest], axis=0)
    more = more.melt(var_name="period_ms", value_name="gbps", ignore_index=False).reset_index()
    return Measured(note=tables.listed(means(more, ["group", "period_ms"], "gbps"), "", "{}, {:g} ms"))


def by_volume(runs: Runs) -> Measured:
    """Measure the mean throughput of the migrated flows in Gb/s: of long flows, and of short flows by their first link.

    The intervals are over flows, not over runs, because few runs have flows of every kind.
    """
    flows = tables.goodput(runs.flows)
    flows = flows[flows["group"] == "migrated"]
    short = f"up to {_SHORT_MB} MB, begun on"
    begun = [
        tables.targets(runs[run].scenario, flow, [round(start_s * 1e9)])[0]
        for run, flow, start_s in flows[["run", "flow", "start_s"]].itertuples(index=False)
    ]
    kinds = pd.Series([f"{short} {link}" for link in begun], index=flows.index)
    flows = flows.assign(kind=kinds.mask(flows["size_B"] > _SHORT_MB * 2**20, f"over {_SHORT_MB} MB"))
    return Measured(note=tables.listed(means(flows, ["kind", "period_ms"], "gbps"), "", "{}, {:g} ms"))
