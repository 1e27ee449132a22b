# SPDX-License-Identifier: Apache-2.0
"""Competition of a main flow and a migrated flow: the rate of each, while they share a link and while they do not.

`rdcnlab_papers.analysis.rivals` chooses the runs of such flows and has their completion times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rdcnlab.analysis import binned, sampled, tables, timetables
from rdcnlab.analysis.intervals import Estimate, half_width, over_seeds
from rdcnlab.analysis.resampling import bootstraps_of_means, jackknife
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.scenario import DARK
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.analysis.rivals import FLOWS, moved_every

#: States of the two flows according to the timetable, in alphabetical order.
_PHASES = ("apart", "dark", "shared")
_APART, _DARK, _SHARED = range(3)
#: Number of runs whose tables are processed together.
_AT_ONCE = 40


def counted_bin(runs: Runs) -> int:
    """Return the width in ns of the bins in which the runs counted, which must be the same."""
    widths = {run.scenario.probes.bin for run in runs}
    if len(widths) > 1:
        raise ValueError(f"runs counted in bins of different widths: {sorted(widths)} ns")
    return widths.pop() if widths else NS_PER_MS


def mean_curves(runs: Runs, bin_ns: int, column: str = "flow") -> pd.DataFrame:
    """Average the rate over runs, with `tables.mean_ci`, by period, flow (or another column, `column`) and time."""
    rates = tables.with_fields(binned.rates(runs.throughput, counted_bin(runs), bin_ns), runs.scenarios)
    return tables.mean_ci(rates.fillna({"period_ms": 0}), ["period_ms", column, "t_s"], "rate_bps")


def rates_together(runs: Runs, bin_ns: int) -> pd.DataFrame:
    """Return the rates in those bins in which both flows run in every run of the period.

    Returns
    -------
    DataFrame
        ``seed``, ``period_ms``, ``flow``, ``t_s``, ``rate_bps``.
    """
    rates = _rates(runs, bin_ns)
    until = rates["period_ms"].map(tables.completion(runs.flows).groupby("period_ms")["both_s"].min())
    return rates.loc[rates["t_s"] + bin_ns / 1e9 <= until, ["seed", "period_ms", "flow", "t_s", "rate_bps"]]


# in the bins that `rates_together` takes, the rows of a run depend on this run alone
@for_each_run
def _rates(runs: Runs, bin_ns: int) -> pd.DataFrame:
    """Return the rate of each flow of each run in each bin."""
    rates = tables.with_fields(binned.rates(runs.throughput, counted_bin(runs), bin_ns), runs.scenarios)
    return rates[["run", "seed", "period_ms", "flow", "t_s", "rate_bps"]]


def bins_apart(rates: pd.DataFrame, period_ms: int) -> Estimate:
    """Return the percentage of bins in which the intervals of the two flows do not overlap.

    The argument `rates` comes from `rates_together`.
    """
    rows = rates[rates["period_ms"] == period_ms]
    rows = rows.assign(again=rows.groupby(["flow", "t_s", "seed"], observed=True).cumcount())
    # a row for each instant, a column for each run
    main, migrated = (
        rows[rows["flow"] == flow].pivot(index="t_s", columns=["seed", "again"], values="rate_bps") for flow in FLOWS
    )
    seeds = main.columns.get_level_values("seed").to_frame(index=False)

    def share(chosen: pd.DataFrame) -> float:
        ends = []
        for flow in (main.to_numpy(), migrated.to_numpy()):
            of_chosen = flow[:, chosen.index]
            mean, count = of_chosen.mean(axis=1), len(chosen)
            half = half_width(of_chosen.std(axis=1, ddof=1), count) if count > 1 else 0.0
            ends.append((mean - half, mean + half))
        (low, high), (other_low, other_high) = ends
        return 100 * float(1 - ((low <= other_high) & (other_low <= high)).mean()) if len(low) else float("nan")

    return jackknife(seeds, share).within(0, 100)


def bins_below(rates: pd.DataFrame, period_ms: int) -> Estimate:
    """Return the percentage of bins in which the migrated flow's mean is below the main flow's.

    The argument `rates` comes from `rates_together`.
    """
    rows = rates[rates["period_ms"] == period_ms]
    estimates = bootstraps_of_means(rows, ["flow", "t_s"], ["rate_bps"], lambda mean: _percent_below(mean["rate_bps"]))
    return estimates[""].within(0, 100)


def cycles_below(runs: Runs, cycle_ms: int) -> Estimate:
    """Return the percentage of whole cycles in which the migrated flow's mean rate is lower, while both flows run."""
    samples = phases(runs)
    common = samples[samples["both_run"]]
    cycles = (common["t_s"] * 1000 // cycle_ms).rename("cycle")
    sums = common.groupby([cycles, "flow", "run"], observed=True)["gbps"].agg(["sum", "size"]).reset_index()
    complete_cycles = sums[sums["cycle"] < sums["cycle"].max()]
    estimates = bootstraps_of_means(
        complete_cycles, ["flow", "cycle"], ["sum", "size"],
        lambda mean: _percent_below(mean["sum"] / mean["size"]), by="run",
    )  # fmt: skip
    return estimates[""].within(0, 100)


def _percent_below(means: pd.DataFrame) -> dict[str, pd.Series[float]]:
    """Return the percentage of instants at which the migrated flow's mean is below the main flow's.

    The columns of `means` are pairs of a flow and an instant; an instant without a mean is left out.
    """
    main, migrated = (pd.DataFrame(means[flow]) for flow in FLOWS)
    main, migrated = main.align(migrated, axis=1)
    instants = (main.notna() | migrated.notna()).sum(axis=1)
    return {"": 100 * (migrated < main).sum(axis=1) / instants.where(instants > 0)}


@for_each_run
def phases(runs: Runs) -> pd.DataFrame:
    """Return the rate of each flow in every ms of every run, and the state of the timetable.

    Returns
    -------
    DataFrame
        ``run``, ``flow``, ``t_s``, ``gbps`` (on the wire), ``phase``, ``since_ms``, ``late``, ``main_runs``,
        ``migrated_runs`` and ``both_run``. The ``phase`` is ``shared`` (both flows on one link),
        ``apart`` or ``dark``. ``since_ms`` is the time since the last move. ``late`` is true in the last fifth of a
        slot. While both flows are on one link, only this link counts: directly after a move the queue of the old link
        still carries packets of the migrated flow, which compete with none. Three parts of a run are left out: the
        first cycle, in which the flows start; the ms in which a flow ends; and the time after both flows have ended.
    """
    names = sorted({flow.name for run in runs for flow in run.scenario.flows})
    base_ns = counted_bin(runs)
    parts: dict[str, list[Any]] = {}
    # a limited number of runs together: every bin has a row for each flow, also an empty bin
    for first in range(0, len(runs), _AT_ONCE):
        for name, values in _phases(runs.part(first, first + _AT_ONCE), base_ns, names).items():
            parts.setdefault(name, []).append(values + first if name == "run" else values)
    columns = {name: np.concatenate(values) for name, values in parts.items()}
    flow, phase = (
        pd.Categorical.from_codes(columns[name], pd.Index(categories, dtype="str"))
        for name, categories in (("flow", names), ("phase", _PHASES))
    )
    both_run = np.logical_and.reduce([columns[f"{flow}_runs"] for flow in FLOWS])
    return pd.DataFrame({**columns, "flow": flow, "phase": phase, "both_run": both_run}, copy=False)


def _phases(runs: Runs, base_ns: int, names: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of `phases`, with numbers instead of the names of flows and phases."""
    bins = binned.dense(_competing(runs, base_ns), base_ns, NS_PER_MS)
    # a flow that did not finish runs until the limit
    limits = runs.flows["run"].map(lambda run: runs[run].scenario.limit / 1e9)
    ended = runs.flows.assign(end_s=runs.flows["end_s"].fillna(limits))
    ends = ended.pivot_table(index="run", columns="flow", values="end_s")
    times = bins.t_s
    t_ns = np.rint(times * 1e9).astype(np.int64)
    shape = (len(bins.run), len(times))
    phase, mask, late = np.zeros(shape, np.int8), np.zeros(shape, bool), np.zeros(shape, bool)
    since_ms, running = np.zeros(shape, np.int32), {flow: np.zeros(shape, bool) for flow in FLOWS}
    for run in np.unique(bins.run):
        rows = bins.run == run
        scenario = runs[run].scenario
        slots = next(flow.slots for flow in scenario.flows if flow.name == "migrated")
        # there is one move in each period; the dark part is the end of the period
        period = max(sum(slot.duration for slot in slots) // 2, 1)
        day = slots[0].duration if slots else 0
        dark = timetables.targets(scenario, "migrated", t_ns) == DARK
        shared = timetables.together(scenario, *FLOWS, t_ns)
        phase[rows] = np.where(dark, _DARK, np.where(shared, _SHARED, _APART))
        since_ms[rows] = t_ns % period // NS_PER_MS
        late[rows] = ~dark & (t_ns % period >= day * 4 // 5)
        clear = times >= 2 * period / 1e9
        for flow in FLOWS:
            end = ends.loc[run, flow]
            running[flow][rows] = times + 1e-3 <= end
            clear &= (times + 1e-3 <= end) | (times > end)
        mask[rows] = clear
    mask &= running["main"] | running["migrated"]
    row, column = np.nonzero(mask)
    return {
        "run": bins.run[row],
        "flow": pd.Index(names).get_indexer(pd.Index(bins.flow.astype(str)))[row].astype(np.int16),
        "t_s": times[column],
        "gbps": bins.bytes[mask] * (8e9 / NS_PER_MS) / 1e9,
        "phase": phase[mask],
        "since_ms": since_ms[mask],
        "late": late[mask],
        **{f"{flow}_runs": is_running[mask] for flow, is_running in running.items()},
    }


def _competing(runs: Runs, base_ns: int) -> pd.DataFrame:
    """Return the throughput without the packets that leave another link while both flows are on one link."""
    counted = runs.throughput
    where = counted["where"].astype("category")
    codes, names = where.cat.codes.to_numpy(), where.cat.categories
    indices, bins = counted["run"].to_numpy(), counted["bin"].to_numpy()
    length = int(bins.max()) + 1 if len(bins) else 0
    # a bin belongs to the slot in which its ms begins, as in `phases`
    begin_ns = np.arange(length, dtype=np.int64) * base_ns // NS_PER_MS * NS_PER_MS
    keep = np.ones(len(counted), bool)
    for run in np.unique(indices):
        rows = np.flatnonzero(indices == run)
        scenario = runs[run].scenario
        is_shared = timetables.together(scenario, *FLOWS, begin_ns)[bins[rows]]
        shared_link = names.get_indexer(pd.Index(timetables.targets(scenario, "main", begin_ns)))[bins[rows]]
        keep[rows] = ~is_shared | (codes[rows] == shared_link)
    return counted[keep]


def on_one_link(runs: Runs) -> pd.DataFrame:
    """Return the rows of `phases` while both flows run and are on one link."""
    return _on_one_link(phases(runs), late=False)


def shared_rates(samples: pd.DataFrame, *, late: bool = False) -> pd.DataFrame:
    """Return the rate of each flow [Gb/s] while both run and are on one link: mean and interval over runs.

    Parameters
    ----------
    samples : DataFrame
        Rates, as `phases` returns them.
    late : bool
        Count only the last fifth of each slot.
    """
    return _of_runs(_on_one_link(samples, late=late))


def peaks(samples: pd.DataFrame) -> pd.DataFrame:
    """Return the rate of each flow [Gb/s] at the end of slots on different links, while both flows run.

    It has mean and interval over runs. The argument `samples` comes from `phases`.
    """
    return _of_runs(samples[samples["both_run"] & (samples["phase"] == "apart") & samples["late"]])


def alone(samples: pd.DataFrame, flow: str) -> Estimate:
    """Return the rate of a flow [Gb/s] after the other flow has ended, as a mean over runs.

    It is NaN if the flow is never alone. The argument `samples` comes from `phases`.
    """
    (other,) = (name for name in FLOWS if name != flow)
    rows = (samples["flow"] == flow) & samples[f"{flow}_runs"] & ~samples[f"{other}_runs"]
    return over_seeds(samples[rows].groupby("run")["gbps"].mean())


def _on_one_link(samples: pd.DataFrame, *, late: bool) -> pd.DataFrame:
    chosen = samples["both_run"] & (samples["phase"] == "shared")
    return samples[chosen & samples["late"] if late else chosen]


def _of_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Average rates by flow: first in each run, then over runs."""
    of_runs = rows.groupby(["run", "flow"], observed=True)["gbps"].mean().reset_index()
    return means(of_runs.astype({"flow": str}), "flow", "gbps")


def rates_on_one_link(
    cases: Mapping[str, Runs], name: str, flow: str = "migrated", *, late: bool = False
) -> pd.DataFrame:
    """Return a flow's mean rate while both run and are on one link: `name` (the case), ``run``, ``gbps``.

    With `late` only the last fifth of each slot counts.
    """
    parts = []
    for case, runs in cases.items():
        samples = _on_one_link(phases(runs), late=late)
        rates = samples[samples["flow"] == flow].groupby("run")["gbps"].mean()
        parts.append(rates.reset_index().assign(**{name: case}))
    return pd.concat(parts, ignore_index=True)


def shares(samples: pd.DataFrame, flow: str, *, late: bool = False) -> Estimate:
    """Return a flow's share of the link [%] while both run and are on one link, as a mean over runs.

    Parameters
    ----------
    samples : DataFrame
        Rates, as `phases` returns them.
    flow : str
        Name of the flow.
    late : bool
        Count only the last fifth of each slot, when the rates have settled.
    """
    rates = _on_one_link(samples, late=late).groupby(["run", "flow"], observed=True)["gbps"].mean().unstack("flow")
    return over_seeds(100 * rates[flow] / rates.sum(axis=1))


def fairness(samples: pd.DataFrame) -> Estimate:
    """Return Jain's index of the flows' rates in a slot on one link: the mean over a run's slots, then over runs.

    The argument `samples` comes from `phases`. Slots in which a flow ends do not count.
    """
    rows = _on_one_link(samples, late=False)
    begin = (rows["t_s"] * 1000).round().astype(np.int64) - rows["since_ms"]
    slots = rows.assign(begin=begin).groupby(["run", "begin", "flow"], observed=True)["gbps"].agg(["mean", "size"])
    rates, lengths = slots["mean"].unstack("flow"), slots["size"].unstack("flow").min(axis=1)
    complete_slots = rates[lengths == lengths.max()].dropna()
    return over_seeds(complete_slots.apply(tables.jain, axis=1).groupby("run").mean())


def regularity(runs: Runs, cycle_ms: int) -> pd.DataFrame:
    """Return for each run the ``correlation`` of the main flow's rate with its rate one cycle later.

    Only the time in which both flows run counts.
    """
    samples = phases(runs)
    main = samples[(samples["flow"] == "main") & samples["both_run"]]
    of_runs = [sampled.autocorrelation(part["gbps"], cycle_ms) for _, part in tables.groups(main, ["run"])]
    return pd.DataFrame({"correlation": of_runs})


def takeover(runs: Runs) -> Measured:
    """Measure, by period, the time in ms from a move until the migrated flow's mean rate is nine times the main flow's.

    Only slots in which both flows share a link count.
    """
    times = {}
    for period in sorted({int(period) for period in runs.scenarios["period_ms"]}, reverse=True):
        chosen = on_one_link(moved_every(runs, period))
        rates = chosen.pivot_table(index="since_ms", columns="flow", values="gbps")
        instants = rates.index[rates["migrated"] >= 9 * rates["main"]]
        times[f"{period} ms"] = float(instants[0]) if len(instants) else float("nan")
    return Measured(times)
