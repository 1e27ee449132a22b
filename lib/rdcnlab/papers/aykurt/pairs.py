# SPDX-License-Identifier: Apache-2.0
"""What the figures of a main and a migrated flow share: mean curves, and rates by what the timetable says."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rdcnlab import figures, tables
from rdcnlab.runs import Runs

MS = 1_000_000


def mean_curves(runs: Runs, bin_ns: int) -> pd.DataFrame:
    """Average the rate over runs; `tables.mean_ci` by period, flow and time."""
    rates = tables.with_fields(tables.rates(runs.throughput, MS, bin_ns), runs.scenarios)
    return tables.mean_ci(rates, ["period_ms", "flow", "t_s"], "rate_bps")


def draw(ax: Axes, runs: Runs, bin_ms: int) -> None:
    """Draw the mean throughput of both flows over time, with its interval, and half the line rate."""
    stats = mean_curves(runs, bin_ms * MS)
    for flow in ("main", "migrated"):
        figures.band(ax, stats[stats["flow"] == flow], "t_s", flow, scale=1e-9)
    ax.axhline(5, color=figures.REFERENCE, linewidth=0.8, linestyle=":")
    ax.set(ylim=(0, 10.8))


def phases(runs: Runs) -> pd.DataFrame:
    """Return what each flow got in every ms of every run, and what the timetable said.

    Returns
    -------
    DataFrame
        ``run``, ``flow``, ``t_s``, ``gbps`` (on the wire), ``phase`` (``shared`` on one link, ``apart``, ``dark``),
        ``late`` (in the last fifth of the slot), ``main_runs`` and ``migrated_runs``. Without the first cycle, in which
        the flows start, and the ms in which one of them ends.
    """
    parts = []
    rates = tables.rates(runs.throughput, MS, MS)
    ends = runs.flows.pivot_table(index="run", columns="flow", values="end_s")
    for (run,), of_run in tables.groups(rates, ["run"]):
        scenario = runs[run].scenario
        migrated = next(flow for flow in scenario.flows if flow.name == "migrated")
        # a move every period; what is dark of it is its end
        period = max(sum(slot.duration for slot in migrated.slots) // 2, 1)
        day = migrated.slots[0].duration if migrated.slots else 0
        t_ns = np.rint(of_run["t_s"].to_numpy() * 1e9).astype(np.int64)
        shared = tables.together(scenario, "main", "migrated", t_ns)
        dark = tables.targets(scenario, "migrated", t_ns) == "dark"
        frame = of_run.assign(
            gbps=of_run["rate_bps"] / 1e9,
            phase=np.where(dark, "dark", np.where(shared, "shared", "apart")),
            late=~dark & (t_ns % period >= day * 4 // 5),
        )
        for flow in ("main", "migrated"):
            frame[f"{flow}_runs"] = frame["t_s"] + 1e-3 <= ends.loc[run, flow]
            frame = frame[~((frame["t_s"] <= ends.loc[run, flow]) & ~frame[f"{flow}_runs"])]
        parts.append(frame[frame["t_s"] >= 2 * period / 1e9])
    return pd.concat(parts, ignore_index=True).drop(columns="rate_bps")


def variants(runs: Runs) -> pd.DataFrame:
    """Return the variants of each run's flows: ``run``, ``migrated``, ``main``."""
    return pd.DataFrame(
        [
            {"run": place, **{flow.name: flow.cc for flow in run.scenario.flows if flow.name in ("main", "migrated")}}
            for place, run in enumerate(runs)
        ]
    )
