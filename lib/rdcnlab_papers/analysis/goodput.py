# SPDX-License-Identifier: Apache-2.0
"""The throughput of groups of small flows: means, and the differences between periods with their intervals.

The group of a flow is the first part of its name, see `rdcnlab.analysis.tables.role`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
import pandas as pd

from rdcnlab.analysis import tables, timetables
from rdcnlab.analysis.resampling import Floats, Means, bootstraps_of_means
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured, means

#: The weights in a group's mean: ``flow`` weights all flows equally, ``time`` weights all seconds of flows equally
#: (all bytes divided by the sum of all flows' times).
Average = Literal["flow", "time"]
_AVERAGES: tuple[Average, ...] = get_args(Average)
_AVERAGED: dict[Average, str] = {"flow": "mean of rates", "time": "volume over summed time"}
#: Largest size in MiB of a short flow: a few round trips of slow start carry it.
_SHORT_MIB = 4


def of_groups(runs: Runs, average: Average = "flow") -> pd.DataFrame:
    """Average the throughput [Gb/s] of the flows of each group: ``run``, ``period_ms``, ``group``, ``gbps``."""
    grouped = tables.goodput(runs.flows).groupby(["run", "period_ms", "group"])
    if average == "flow":
        return grouped["gbps"].mean().reset_index()
    sums = grouped[["size_B", "fct_s"]].sum()
    return (8e-9 * sums["size_B"] / sums["fct_s"]).rename("gbps").reset_index()


def one_fits(runs: Runs, stated: Mapping[tuple[str, int], float]) -> Measured:
    """Measure how well the two kinds of average fit stated means of groups.

    Parameters
    ----------
    runs : Runs
        Runs of all periods.
    stated : dict of (str, int) to float
        Stated mean [Gb/s] by group and period in ms.

    Returns
    -------
    Measured
        Two numbers in %: the largest deviation from a stated mean with the average that fits best, and the largest one
        if each stated mean may take the average that fits it best. The note has all means.
    """
    rates = {average: tables.with_seeds(of_groups(runs, average), runs.scenarios) for average in _AVERAGES}
    throughputs = pd.concat([rows.assign(average=average) for average, rows in rates.items()])

    def deviations(gbps: pd.DataFrame) -> Floats:
        """Return an array by average, stated mean and draw."""
        rows = [[100 * abs(gbps[average, *key] / mean - 1) for key, mean in stated.items()] for average in _AVERAGES]
        return np.array(rows)

    keys = ["average", "group", "period_ms"]
    largest = deviations(throughputs.groupby(keys)[["gbps"]].mean().T).max(axis=(1, 2))
    best = int(largest.argmin())
    one, some = f"by one average ({_AVERAGED[_AVERAGES[best]]})", "each by some average"

    def largest_deviations(mean: Means) -> dict[str, Floats]:
        of_averages = deviations(mean["gbps"])
        return {one: of_averages[best].max(axis=0), some: of_averages.min(axis=0).max(axis=0)}

    cases = bootstraps_of_means(throughputs, keys, ["gbps"], largest_deviations)
    stats = {average: means(rows, ["group", "period_ms"], "gbps") for average, rows in rates.items()}
    listed = [
        f"{_AVERAGED[average]}: {tables.list_estimates(row, 'Gb/s', '{} at {:g} ms')}" for average, row in stats.items()
    ]
    return Measured.by_case(cases, note="; ".join(listed))


def changes(runs: Runs, group: str, average: Average = "flow") -> pd.DataFrame:
    """Return the changes [%] of a group's mean from each period to each shorter one, with intervals.

    Runs of equal seeds are compared, because a seed gives the same volumes at every period.

    Returns
    -------
    DataFrame
        The columns of `means`; the index names the two periods, such as ``50 to 25 ms``.
    """
    seeds = {index: run.scenario.seed for index, run in enumerate(runs)}
    rates = of_groups(runs, average).assign(seed=lambda frame: frame["run"].map(seeds))
    table = rates[rates["group"] == group].pivot_table(index="seed", columns="period_ms", values="gbps")
    pairs = itertools.combinations(sorted(table.columns, reverse=True), 2)
    parts = [
        pd.DataFrame({"step": f"{longer:g} to {shorter:g} ms", "percent": 100 * (table[shorter] / table[longer] - 1)})
        for longer, shorter in pairs
    ]
    return means(pd.concat(parts), "step", "percent")


def by_volume(runs: Runs) -> Measured:
    """Measure the mean throughput of the migrated flows in Gb/s: of long flows, and of short flows by their first link.

    The intervals are over flows, not over runs, because few runs have flows of every kind.
    """
    flows = tables.goodput(runs.flows)
    flows = flows[flows["group"] == "migrated"]
    short = f"up to {_SHORT_MIB} MiB, begun on"
    begun = [
        timetables.targets(runs[run].scenario, flow, [round(start_s * 1e9)])[0]
        for run, flow, start_s in flows[["run", "flow", "start_s"]].itertuples(index=False)
    ]
    kinds = pd.Series([f"{short} {link}" for link in begun], index=flows.index)
    flows = flows.assign(kind=kinds.mask(flows["size_B"] > _SHORT_MIB * 2**20, f"over {_SHORT_MIB} MiB"))
    return Measured(note=tables.list_estimates(means(flows, ["kind", "period_ms"], "gbps"), "", "{}, {:g} ms"))
