# SPDX-License-Identifier: Apache-2.0
"""Meetings: the slots in which a main and a migrated flow are on one link, from the move onto it until the move away.

The flows have the names of `rdcnlab_papers.analysis.competition`. Only whole meetings count: they end before a flow
ends.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from rdcnlab.analysis import tables, timetables
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import windows


def meetings(runs: Runs) -> pd.DataFrame:
    """Return all meetings: ``run``, ``link``, ``begin_ns``, ``end_ns``."""
    parts = []
    both_s = windows.ends(runs).min(axis=1).droplevel("period_ms")
    for run, until_s in zip(both_s.index.astype(int), both_s, strict=True):
        scenario, until_ns = runs[run].scenario, until_s * 1e9
        slots, _, phase = scenario.timetable(next(flow for flow in scenario.flows if flow.name == "migrated"))
        lengths = [slot.duration for slot in slots] * (int(until_ns // sum(slot.duration for slot in slots)) + 1)
        edges = phase + np.cumsum([0, *lengths], dtype=np.int64)
        begins, ends = edges[:-1], edges[1:]
        chosen = timetables.together(scenario, "main", "migrated", begins) & (ends <= until_ns)
        links = timetables.targets(scenario, "main", begins[chosen])
        parts.append(pd.DataFrame({"run": run, "link": links, "begin_ns": begins[chosen], "end_ns": ends[chosen]}))
    return pd.concat(parts, ignore_index=True)


def with_drops(runs: Runs) -> pd.DataFrame:
    """Return by run the share of meetings, in %, in which the shared link drops a packet: ``run``, ``percent``."""
    drops = runs.queues[runs.queues["drops"] > 0]
    widths = {number: run.scenario.probes.bin for number, run in enumerate(runs)}
    t_ns = drops["bin"].to_numpy() * drops["run"].map(widths).to_numpy()
    return _shares(meetings(runs), drops.assign(t_ns=t_ns), 0)


def with_falls(runs: Runs, falls: pd.DataFrame) -> pd.DataFrame:
    """Return by run the share of meetings, in %, in which the window of a flow falls: ``run``, ``percent``.

    A sender notices a loss a little later, so the first `windows.NOTICE_NS` after a meeting count, too. The argument
    `falls` comes from `windows.falls`.
    """
    return _shares(meetings(runs), falls, windows.NOTICE_NS)


def _shares(meetings: pd.DataFrame, observations: pd.DataFrame, after_ns: int) -> pd.DataFrame:
    """Return by run the share of meetings, in %, with an observation, on the meeting's link if it has a link."""
    keys = ["run", "link"] if "link" in observations else ["run"]
    times = {key: np.sort(rows["t_ns"].to_numpy()) for key, rows in tables.groups(observations, keys)}
    hit = pd.Series(0.0, index=meetings.index)
    for key, of_key in tables.groups(meetings, keys):
        begins, ends = of_key["begin_ns"].to_numpy(), of_key["end_ns"].to_numpy() + after_ns
        first, last = (np.searchsorted(times.get(key, np.empty(0)), edges) for edges in (begins, ends))
        hit[of_key.index] = (last > first).astype(float)
    return (100 * hit.groupby(meetings["run"]).mean()).rename("percent").reset_index()
