# SPDX-License-Identifier: Apache-2.0
"""What waited where: bins of the queues of links and of schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rdcnlab.engines.observation.view import Records, View
from rdcnlab.engines.schema import SCHEMAS
from rdcnlab.scenario import Scenario


def table(scenario: Scenario, view: View, records: Records) -> pd.DataFrame:
    """Return the table ``queues`` of `rdcnlab.engines.schema`."""
    width = scenario.probes.bin
    parts = []
    for number, name in view.lines.items():
        here = _standing(_of_line(records.left, number, view), width)
        counts = {
            "drops": _of_line(records.dropped, number, view),
            "marks": _of_line(records.marked, number, view),
        }
        parts.append(_counted(here, counts, width).assign(link=name))
    for number, name in view.queued.items():
        here = _exact(_of_class(records.came, number, view), _of_class(records.left, number, view), width)
        counts = {
            "drops": _of_class(records.dropped, number, view),
            "marks": _of_class(records.marked, number, view),
        }
        parts.append(_counted(here, counts, width).assign(link=name))
    if not parts:
        return pd.DataFrame({name: [] for name in SCHEMAS["queues"].names})
    frame = pd.concat(parts, ignore_index=True)
    return frame.astype({"max_B": "int64", "drops": "int64", "marks": "int64", "bin": "int64"})


def _of_line(records: NDArray[Any], line: int, view: View) -> NDArray[Any]:
    chosen = records["link"] == line
    if view.queued:
        chosen &= ~np.isin(records["class"], list(view.queued))
    here: NDArray[Any] = records[chosen]
    return here


def _of_class(records: NDArray[Any], number: int, view: View) -> NDArray[Any]:
    """Return records of a class's own queue: it is served by a line inside the network, or in the dark by none."""
    served = (records["link"] <= view.last_line) | (records["link"] == view.dark)
    here: NDArray[Any] = records[(records["class"] == number) & served]
    return here


def _standing(left: NDArray[Any], width: int) -> pd.DataFrame:
    """Bins of a link's queue: ``mean_B``, ``max_B``.

    The queue is looked at whenever a packet leaves it: a busy link does so every few microseconds, and the queue of an
    idle one is empty. The mean takes what a departure leaves behind as standing until the next one.
    """
    level = left["qlen"].astype(np.int64)
    return _bins(left["time"], level, left["time"] // width, level + left["len"], width)


def _exact(came: NDArray[Any], left: NDArray[Any], width: int) -> pd.DataFrame:
    """Bins of a schedule's queue, of which arrivals are known too: it may stand for long without being served."""
    time = np.concatenate([came["time"], left["time"]])
    change = np.concatenate([came["len"].astype(np.int64), -left["len"].astype(np.int64)])
    # of what happens at one instant, arrivals come first: for how long something stands, the order is nothing
    order = np.argsort(time, kind="stable")
    time, level = time[order], np.cumsum(change[order])
    # what stands when a bin begins is part of its maximum
    return _bins(time, level, time // width, level, width, carried=True)


def _bins(
    time: NDArray[Any],
    level: NDArray[Any],
    bins: NDArray[Any],
    peak: NDArray[Any],
    width: int,
    *,
    carried: bool = False,
) -> pd.DataFrame:
    if not len(time):
        return pd.DataFrame({"mean_B": [], "max_B": []}, dtype=float)
    cuts = np.arange(bins[0], bins[-1] + 2) * width
    mean = np.diff(_area(time, level, cuts)) / width
    highest = pd.Series(peak).groupby(bins).max().reindex(cuts[:-1] // width)
    if carried:
        last = pd.Series(level).groupby(bins).last().reindex(cuts[:-1] // width).ffill().shift(fill_value=0)
        highest = highest.fillna(0).clip(lower=last)
    return pd.DataFrame({"mean_B": mean, "max_B": highest}, index=cuts[:-1] // width)


def _counted(part: pd.DataFrame, counts: dict[str, NDArray[Any]], width: int) -> pd.DataFrame:
    """Add how many packets fell or were marked; a bin without anything has no row."""
    for column, events in counts.items():
        seen = pd.Series(events["time"] // width).value_counts()
        part = part.join(seen.rename(column), how="outer")
    part = part.fillna(0)
    part = part[(part != 0).any(axis=1)].sort_index()
    return part.assign(bin=part.index)


def _area(time: NDArray[np.int64], level: NDArray[np.int64], cuts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Integral of a step function up to each cut."""
    widths = np.diff(time, append=time[-1])
    total = np.concatenate(([0], np.cumsum(widths * level)))
    index = np.searchsorted(time, cuts, side="right") - 1
    inside = np.clip(index, 0, len(time) - 1)
    beyond = np.where(index >= 0, np.minimum(cuts, time[-1]) - time[inside], 0) * level[inside]
    return np.asarray(total[inside] + beyond, dtype=np.float64)
