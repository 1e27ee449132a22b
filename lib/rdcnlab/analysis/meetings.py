# SPDX-License-Identifier: Apache-2.0
"""Meetings: the slots in which a main and a migrated flow are on one link, from the move onto it until the move away.

The flows have the names of `rdcnlab.analysis.competition`. Only whole meetings count: they end before a flow ends.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from rdcnlab.analysis import timetables, windows
from rdcnlab.runs.frame import Runs


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
    of_runs = dict(list(observations.groupby("run")))
    hit = []
    for run, link, begin, end in meetings.itertuples(index=False):
        of_run = of_runs.get(run, observations[:0])
        on_link = of_run["link"].to_numpy() == link if "link" in of_run else True
        t_ns = of_run["t_ns"].to_numpy()
        hit.append(bool(np.any(on_link & (t_ns >= begin) & (t_ns < end + after_ns))))
    return (100 * pd.Series(hit, dtype=float).groupby(meetings["run"]).mean()).rename("percent").reset_index()
