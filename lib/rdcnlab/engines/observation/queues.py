# SPDX-License-Identifier: Apache-2.0
"""Queue lengths in bins, for the queues of links and of schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rdcnlab.engines.observation.numbering import Numbering, Records
from rdcnlab.engines.schema import SCHEMAS

#: Reasons of drops that are no queue's, as in the kernel's ``enum ocs_drop``: the line went down, or errs.
ON_THE_LINE = (7, 8)


def table(numbering: Numbering, records: Records) -> pd.DataFrame:
    """Return the table ``queues`` of `rdcnlab.engines.schema`."""
    width = numbering.probes.bin
    if numbering.probes.count:
        return _of_counts(numbering, records)
    dropped = _at_queues(records.dropped)
    parts = []
    left, lost, marked = (_by_line(each, numbering) for each in (records.departures, dropped, records.marked))
    for number, name in numbering.lines.items():
        if any(number in each for each in (left, lost, marked)):  # most lines of a large network carry nothing
            counts = {"drops": lost.get(number, dropped[:0]), "marks": marked.get(number, records.marked[:0])}
            here = _standing(left.get(number, records.departures[:0]), width)
            parts.append(_counted(here, counts, width).assign(link=name))
    for number, name in numbering.queued.items():
        here = _exact(
            _of_class(records.arrivals, number, numbering), _of_class(records.departures, number, numbering), width
        )
        counts = {
            "drops": _of_class(records.dropped, number, numbering),
            "marks": _of_class(records.marked, number, numbering),
        }
        parts.append(_counted(here, counts, width).assign(link=name))
    left, lost, marked = (_by_port(each, numbering) for each in (records.departures, dropped, records.marked))
    for number, name in enumerate(numbering.listed):
        if any(number in each for each in (left, lost, marked)):
            counts = {"drops": lost.get(number, dropped[:0]), "marks": marked.get(number, records.marked[:0])}
            here = _standing(left.get(number, records.departures[:0]), width)
            parts.append(_counted(here, counts, width).assign(link=name))
    for name, queue in records.own.items():
        here = _exact(queue.arrivals, queue.departures, width)
        counts = {"drops": queue.dropped, "marks": queue.dropped[:0]}
        parts.append(_counted(here, counts, width).assign(link=name))
    if not parts:
        return pd.DataFrame({name: [] for name in SCHEMAS["queues"].names})
    frame = pd.concat(parts, ignore_index=True)
    frame = frame[frame["bin"] >= 0]  # packets may come before the start and wait
    return frame.astype({"max_B": "int64", "drops": "int64", "marks": "int64", "bin": "int64"})


def _of_counts(numbering: Numbering, records: Records) -> pd.DataFrame:
    """Return the table of the links of `Probes.count`, whose departures and marks were counted in bins."""
    width = numbering.probes.bin
    dropped = _at_queues(records.dropped)
    parts = []
    for number, name in numbering.lines.items():
        # both ends of a link between two switches are counted
        if name.partition("@")[0] not in numbering.probes.count:
            continue
        here = records.standing[records.standing["link"] == number]
        part = pd.DataFrame({"mean_B": here["area"] / width, "max_B": here["most"]}, index=here["bin"].astype(np.int64))
        lost = _of_line(dropped, number, numbering)["time"] // width
        marks = records.counted_marks[records.counted_marks["link"] == number]
        counts = {
            "drops": pd.Series(lost).value_counts(),
            "marks": pd.Series(marks["packets"].astype(np.int64)).groupby(marks["bin"].astype(np.int64)).sum(),
        }
        parts.append(_joined(part, counts).assign(link=name))
    frame = pd.concat(parts, ignore_index=True)
    frame = frame[frame["bin"] >= 0]
    return frame.astype({"max_B": "int64", "drops": "int64", "marks": "int64", "bin": "int64"})


def _at_queues(dropped: NDArray[Any]) -> NDArray[Any]:
    """Return the packets that were lost at queues, without those that were lost on the line behind."""
    here: NDArray[Any] = dropped[~np.isin(dropped["reason"], ON_THE_LINE)]
    return here


def _grouped(records: NDArray[Any], numbers: NDArray[Any]) -> dict[int, NDArray[Any]]:
    """Return the records of each number, in the order of time; sorted once, because there may be a thousand numbers."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1)) if len(ordered) else np.empty(0, np.int64)
    parts = np.split(records[order], begins[1:])
    return {int(ordered[begin]): part for begin, part in zip(begins, parts, strict=len(ordered) > 0)}


def _of_lines(records: NDArray[Any], numbering: Numbering) -> NDArray[Any]:
    """Return the records that are not of the queue of a class."""
    if not numbering.queued:
        return records
    here: NDArray[Any] = records[~np.isin(records["class"], list(numbering.queued))]
    return here


def _by_line(records: NDArray[Any], numbering: Numbering) -> dict[int, NDArray[Any]]:
    here = _of_lines(records, numbering)
    return _grouped(here, here["link"].astype(np.int64))


def _of_line(records: NDArray[Any], line: int, numbering: Numbering) -> NDArray[Any]:
    here = _of_lines(records, numbering)
    of_line: NDArray[Any] = here[here["link"] == line]
    return of_line


def _by_port(records: NDArray[Any], numbering: Numbering) -> dict[int, NDArray[Any]]:
    """Return the records of data packets at ports to receivers, by the number of the port in `Numbering.listed`."""
    if not numbering.listed:
        return {}
    numbers = {name: number for number, name in enumerate(numbering.listed)}
    of_flow = np.array([*(numbers.get(name, -1) for name in numbering.receivers), -1])
    port = of_flow[np.where(numbering.is_at_port(records), numbering.flow(records), -1)]
    for name, at_end in numbering.at_ends(records):
        port[at_end] = numbers.get(name, -1)
    return _grouped(records[port >= 0], port[port >= 0])


def _of_class(records: NDArray[Any], number: int, numbering: Numbering) -> NDArray[Any]:
    """Return the records of a class's own queue, which a line inside the network serves, or no line in the dark."""
    served = (records["link"] <= numbering.last_line) | (records["link"] == numbering.dark)
    here: NDArray[Any] = records[(records["class"] == number) & served]
    return here


def _standing(departures: NDArray[Any], width: int) -> pd.DataFrame:
    """Return bins of a link's queue: ``mean_B``, ``max_B``.

    The queue length is known whenever a packet leaves the queue. On a busy link this happens every few microseconds;
    the queue of an idle link is empty. The mean assumes that the length after a departure stays until the next
    departure.
    """
    level = departures["qlen"].astype(np.int64)
    return _bins(departures["time"], level, departures["time"] // width, level + departures["len"], width)


def _exact(arrivals: NDArray[Any], departures: NDArray[Any], width: int) -> pd.DataFrame:
    """Return bins of a schedule's queue; it uses arrivals too, because such a queue can wait long without service."""
    time = np.concatenate([arrivals["time"], departures["time"]])
    change = np.concatenate([arrivals["len"].astype(np.int64), -departures["len"].astype(np.int64)])
    # Arrivals come before departures of the same instant. Their order does not change how long a packet waits.
    order = np.argsort(time, kind="stable")
    time, level = time[order], np.cumsum(change[order])
    # The queue length at the start of a bin counts for the maximum of the bin.
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
    """Add the numbers of dropped and of marked packets; a bin in which all values are 0 has no row."""
    return _joined(part, {name: pd.Series(of["time"] // width).value_counts() for name, of in counts.items()})


def _joined(part: pd.DataFrame, counts: dict[str, pd.Series[Any]]) -> pd.DataFrame:
    """Add columns with numbers by bin; a bin in which all values are 0 has no row."""
    for column, numbers in counts.items():
        part = part.join(numbers.rename(column), how="outer") if len(numbers) else part.assign(**{column: 0.0})
    part = part.fillna(0)
    part = part[(part != 0).any(axis=1)].sort_index()
    return part.assign(bin=part.index)


def _area(time: NDArray[np.int64], level: NDArray[np.int64], cuts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the integral of a step function up to each cut."""
    widths = np.diff(time, append=time[-1])
    total = np.concatenate(([0], np.cumsum(widths * level)))
    index = np.searchsorted(time, cuts, side="right") - 1
    inside = np.clip(index, 0, len(time) - 1)
    beyond = np.where(index >= 0, np.minimum(cuts, time[-1]) - time[inside], 0) * level[inside]
    return np.asarray(total[inside] + beyond, dtype=np.float64)
