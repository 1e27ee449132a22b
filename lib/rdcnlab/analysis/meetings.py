# SPDX-License-Identifier: Apache-2.0
"""Meetings: the slots in which a main and a migrated flow are on one link, from the move onto it until the move away.

The flows have the names of `rdcnlab.analysis.competition`. Only whole meetings count: those that end before a flow ends.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from rdcnlab.analysis import tables, windows
from rdcnlab.runs.frame import Runs


def meetings(runs: Runs) -> pd.DataFrame:
    """Return all meetings: ``run``, ``link``, ``begin_ns``, ``end_ns``."""
    parts = []
    for run, until_s in windows.ends(runs).min(axis=1).droplevel("period_ms").items():
        scenario, until_ns = runs[int(run)].scenario, until_s * 1e9
        slots, _, phase = scenario.timetable(next(flow for flow in scenario.flows if flow.name == "migrated"))
        lengths = [slot.duration for slot in slots] * (int(until_ns // sum(slot.duration for slot in slots)) + 1)
        at = phase + np.cumsum([0, *lengths], dtype=np.int64)
        begins, ends = at[:-1], at[1:]
        chosen = tables.together(scenario, "main", "migrated", begins) & (ends <= until_ns)
        links = tables.targets(scenario, "main", begins[chosen])
        parts.append(pd.DataFrame({"run": run, "link": links, "begin_ns": begins[chosen], "end_ns": ends[chosen]}))
    return pd.concat(parts, ignore_index=True)


def with_drops(runs: Runs) -> pd.DataFrame:
    """Return by run the share of meetings, in %, in which the shared link drops a packet: ``run``, ``percent``."""
    met = meetings(runs)
    drops = runs.queues[runs.queues["drops"] > 0]
    widths = {run: each.scenario.probes.bin for run, each in enumerate(runs)}
    t_ns = drops["bin"].to_numpy() * drops["run"].map(widths).to_numpy()
    hit = []
    for run, link, begin, end in met.itertuples(index=False):
        here = ((drops["run"] == run) & (drops["link"] == link)).to_numpy()
        hit.append(bool((here & (t_ns >= begin) & (t_ns < end)).any()))
    return (100 * pd.Series(hit, dtype=float).groupby(met["run"]).mean()).rename("percent").reset_index()
