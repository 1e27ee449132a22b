# SPDX-License-Identifier: Apache-2.0
"""The throughput of small flows in groups: what a mean of them is, who gains, and what is chance.

The group of a flow is the first part of its name, see `rdcnlab.analysis.tables.role`.
"""

from __future__ import annotations

from typing import Literal

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.measured import Measured, means
from rdcnlab.runs.frame import Runs

#: What counts alike in a group's mean: each flow, or each second of a flow (all bytes over all flows' time).
Average = Literal["flow", "time"]
#: What is short: a flow that the initial windows of a few round trips carry, MB.
_SHORT_MB = 4


def of_groups(runs: Runs, average: Average = "flow") -> pd.DataFrame:
    """Average the throughput [Gb/s] of a group's flows: ``run``, ``period_ms``, ``group``, ``gbps``."""
    grouped = tables.goodput(runs.flows).groupby(["run", "period_ms", "group"])
    if average == "flow":
        return grouped["gbps"].mean().reset_index()
    sums = grouped[["size_B", "fct_s"]].sum()
    return (8e-9 * sums["size_B"] / sums["fct_s"]).rename("gbps").reset_index()


def changes(runs: Runs, average: Average = "flow") -> Measured:
    """Measure what each period adds to a group's mean at the longest; a seed has the same volumes at all."""
    seeds = {place: run.scenario.seed for place, run in enumerate(runs)}
    rates = of_groups(runs, average).assign(seed=lambda frame: frame["run"].map(seeds))
    table = rates.pivot_table(index=["group", "seed"], columns="period_ms", values="gbps")
    longest = table.columns.max()
    more = table.drop(columns=longest).sub(table[longest], axis=0)
    more = more.melt(var_name="period_ms", value_name="gbps", ignore_index=False).reset_index()
    return Measured(note=tables.listed(means(more, ["group", "period_ms"], "gbps"), "", "{}, {:g} ms"))


def by_volume(runs: Runs) -> Measured:
    """Measure the migrated flows' mean throughput, Gb/s, of long flows, and of short ones by where they begin.

    The intervals are of flows, not of runs: few runs have flows of every kind.
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
