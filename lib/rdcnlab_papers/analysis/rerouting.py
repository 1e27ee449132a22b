# SPDX-License-Identifier: Apache-2.0
"""Effects of rerouting: the aggregate throughput before and after moves, and the throughput of single flows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import binned, tables
from rdcnlab.analysis.intervals import Estimate, estimates
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.runs.parts import RECEIVER, SENDER
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.measured import means

#: Span in s before a move, whose mean rate is the reference; and the span after it, whose mean rate is compared.
BEFORE_S, AFTER_S = 20.0, 5.0
#: The aggregate has recovered if it has this share of the rate before, in the mean over a span of this length in s.
RECOVERED, SMOOTH_S = 0.95, 2.0


def aggregate(runs: Runs, bin_ns: int) -> pd.DataFrame:
    """Add up the rates of all flows on all counted links: ``run``, ``t_s`` (start of the bin), ``mbps``."""
    base_ns = runs[0].scenario.probes.bin
    rates = binned.rates(runs.throughput, base_ns, bin_ns)
    total = rates.groupby(["run", "t_s"])["rate_bps"].sum() / 1e6
    return total.rename("mbps").reset_index()


def moves(scenario: Scenario) -> Iterator[tuple[float, str]]:
    """Yield the time in s, and the link, of each move of the first flow with a timetable before the limit."""
    flow = next(flow for flow in scenario.flows if flow.slots)
    links = [slot.link for slot in flow.slots]
    t_ns, number = scenario.phase(flow), 0
    while True:
        t_ns += flow.slots[number % len(links)].duration
        number += 1
        if t_ns >= scenario.limit:
            return
        yield t_ns / NS_PER_S, links[number % len(links)]


@for_each_run
def drops(runs: Runs, bin_ns: int = NS_PER_S // 10) -> pd.DataFrame:
    """Measure the fall of the aggregate throughput at each move.

    Returns
    -------
    DataFrame
        ``run``, ``seed``, ``t_s`` and ``to`` (the link) of the move; ``percent``, by which the mean rate of the
        `AFTER_S` after the move is below that of the `BEFORE_S` before it; ``recovered_s``, the time after the move
        until the mean of the next `SMOOTH_S` has `RECOVERED` of the rate before. If the next move comes first, it is
        the time until that move: the flows need at least as long.
    """
    rows = []
    for run, mbps in enumerate(_totals(runs, bin_ns)):
        scenario, t_s = runs[run].scenario, np.arange(len(mbps)) * (bin_ns / NS_PER_S)
        moments = [*moves(scenario)]
        ends = [*(time for time, _ in moments[1:]), scenario.limit / NS_PER_S]
        for (time, link), end in zip(moments, ends, strict=True):
            before = mbps[(t_s >= time - BEFORE_S - 1e-9) & (t_s < time - 1e-9)].mean()
            inside = (t_s >= time - 1e-9) & (t_s < end - 1e-9)
            after = mbps[inside & (t_s < time + AFTER_S - 1e-9)].mean()
            row = {"run": run, "seed": scenario.seed, "t_s": time, "to": link}
            recovered = _recovery(mbps[inside], bin_ns / NS_PER_S, RECOVERED * before)
            seconds = end - time if np.isnan(recovered) else recovered
            rows.append({**row, "percent": 100 * (1 - after / before), "recovered_s": seconds})
    return pd.DataFrame(rows)


def _totals(runs: Runs, bin_ns: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yield for each run the rate in Mb/s of all flows on all counted links, in every bin until the limit."""
    table = runs.rows("throughput")
    links = ~table["where"].cat.categories.isin([RECEIVER, SENDER])
    is_counted = np.append(links, False)[table["where"].cat.codes]
    bins, sizes = table["bin"].to_numpy(), table["bytes"].to_numpy(dtype=float)
    begins = np.searchsorted(table["run"].to_numpy(), np.arange(len(runs) + 1))
    for run, (begin, end) in zip(runs, pairwise(begins), strict=True):
        chosen = is_counted[begin:end]
        numbers = bins[begin:end][chosen] // (bin_ns // run.scenario.probes.bin)
        total = np.bincount(numbers, sizes[begin:end][chosen], minlength=run.scenario.limit // bin_ns)
        yield (total * (8e9 / bin_ns) / 1e6).astype(np.float64, copy=False)


def _recovery(mbps: np.ndarray[Any, np.dtype[np.float64]], bin_s: float, level: float) -> float:
    """Return the first time in s at which the mean of the next `SMOOTH_S` reaches a level."""
    width = max(round(SMOOTH_S / bin_s), 1)
    if len(mbps) < width:
        return float("nan")
    smooth = np.convolve(mbps, np.ones(width) / width, mode="valid")
    reached = np.flatnonzero(smooth >= level)
    return float(reached[0] * bin_s) if reached.size else float("nan")


def drops_of_cases(cases: Mapping[Any, Runs], column: str) -> pd.DataFrame:
    """Return the drops of several cases, with the case in the column `column`; see `drops`.

    A seed is one observation of a case and a link: moves of one run to the same link are averaged.
    """
    parts = [drops(runs).assign(**{column: case}) for case, runs in cases.items() if len(runs)]
    columns = [column, "to", "seed"]
    return pd.concat(parts).groupby(columns)[["percent", "recovered_s"]].mean().reset_index()


def by_link(rows: pd.DataFrame, column: str, link: str, value: str = "percent") -> pd.DataFrame:
    """Average a column over the moves to one link, with intervals, by case; `rows` comes from `drops_of_cases`."""
    return means(rows[rows["to"] == link], column, value)


def throughput(cases: Mapping[Any, Runs], column: str) -> pd.DataFrame:
    """Return the mean throughput of each flow, the size divided by the completion time: `column`, ``seed``, ``mbps``.

    A flow that did not finish counts with the bytes that it delivered until the limit.
    """
    parts = [rates_of_flows(runs).drop(columns="run").assign(**{column: case}) for case, runs in cases.items()]
    return pd.concat(parts, ignore_index=True)


@for_each_run
def rates_of_flows(runs: Runs) -> pd.DataFrame:
    """Return the mean throughput of each flow of each run, as `throughput` does: ``run``, ``seed``, ``mbps``."""
    flows = runs.rows("flows")
    limits_s, seeds = (
        np.array(values)[flows["run"]]
        for values in (
            [run.scenario.limit / NS_PER_S for run in runs],
            [run.scenario.seed for run in runs],
        )
    )
    rates = tables.mean_rates(flows, limits_s, unit=1e-6)
    return pd.DataFrame({"run": flows["run"], "seed": seeds, "mbps": rates})


def ratios(throughputs: pd.DataFrame, baseline: pd.DataFrame, column: str) -> dict[Hashable, Estimate]:
    """Return the mean throughput of each case over that without rerouting, with intervals; see `throughput`."""
    (reference,) = estimates(means(baseline, column, "mbps")).values()
    return {case: mean / reference for case, mean in estimates(means(throughputs, column, "mbps")).items()}
