# SPDX-License-Identifier: Apache-2.0
"""Queue lengths in bins, for the queues of links and of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
    if numbering.probes.count:
        return _frame(_of_counts(numbering, records))
    return _frame(_of_records(numbering, records))


def _of_records(numbering: Numbering, records: Records) -> list[Binned]:
    """Return the bins of each queue from the records of its packets."""
    width = numbering.probes.bin
    arrivals, departures, marked, every = records.arrivals, records.departures, records.marked, records.dropped
    dropped = _at_queues(every)
    parts = []
    left, lost, marks = (_by_line(each, numbering) for each in (departures, dropped, marked))
    for number, name in numbering.lines.items():
        if any(number in each for each in (left, lost, marks)):  # most lines of a large network carry nothing
            here = _standing(left.get(number, departures[:0]), width)
            parts.append(here.counted(name, lost.get(number, dropped[:0]), marks.get(number, marked[:0]), width))
    came, went, lost, marks = (_by_class(each, numbering) for each in (arrivals, departures, every, marked))
    for number, name in numbering.queued.items():
        if any(number in each for each in (came, went, lost, marks)):
            here = _exact(came.get(number, arrivals[:0]), went.get(number, departures[:0]), width)
            parts.append(here.counted(name, lost.get(number, every[:0]), marks.get(number, marked[:0]), width))
    left, lost, marks = (_by_port(each, numbering) for each in (departures, dropped, marked))
    for number, name in enumerate(numbering.listed):
        if any(number in each for each in (left, lost, marks)):
            here = _standing(left.get(number, departures[:0]), width)
            parts.append(here.counted(name, lost.get(number, dropped[:0]), marks.get(number, marked[:0]), width))
    for name, queue in records.own.items():
        here = _exact(queue.arrivals, queue.departures, width)
        parts.append(here.counted(name, queue.dropped, queue.dropped[:0], width))
    return parts


def _of_counts(numbering: Numbering, records: Records) -> list[Binned]:
    """Return the bins of the links of `Probes.count`, whose departures and marks were counted in bins."""
    width = numbering.probes.bin
    dropped = _at_queues(records.dropped)
    parts = []
    for number, name in numbering.lines.items():
        # both ends of a link between two switches are counted
        if name.partition("@")[0] not in numbering.probes.count:
            continue
        here = records.standing[records.standing["link"] == number]
        bins = here["bin"].astype(np.int64)
        order = np.argsort(bins, kind="stable")
        part = Binned("", bins[order], (here["area"] / width)[order], here["most"].astype(np.int64)[order])
        marks = records.counted_marks[records.counted_marks["link"] == number]
        counted = _Counts(marks["bin"].astype(np.int64), marks["packets"].astype(np.int64))
        parts.append(part.joined(name, _Counts.of(_of_line(dropped, number, numbering), width), counted))
    return parts


@dataclass(frozen=True)
class _Counts:
    """Numbers of packets by bin; a bin may occur several times."""

    bins: NDArray[np.int64]
    packets: NDArray[np.int64]

    @classmethod
    def of(cls, records: NDArray[Any], width: int) -> _Counts:
        """Return the packets of records."""
        bins = (records["time"] // width).astype(np.int64)
        return cls(bins, np.ones(len(bins), np.int64))


@dataclass(frozen=True)
class Binned:
    """A queue in bins, which are in order and differ; a bin in which all values are 0 may be missing."""

    link: str
    bins: NDArray[np.int64]
    mean: NDArray[np.float64]
    most: NDArray[np.int64]
    drops: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    marks: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def counted(self, link: str, dropped: NDArray[Any], marked: NDArray[Any], width: int) -> Binned:
        """Return the bins of a link with its dropped and its marked packets."""
        return self.joined(link, _Counts.of(dropped, width), _Counts.of(marked, width))

    def joined(self, link: str, drops: _Counts, marks: _Counts) -> Binned:
        """Return the bins of a link with numbers of packets; bins before the start, and those of zeros, are left out.

        Packets may come before the start and wait.
        """
        bins = np.unique(np.concatenate([self.bins, drops.bins, marks.bins]))
        place = np.searchsorted(bins, self.bins)
        mean, most = np.zeros(len(bins)), np.zeros(len(bins), np.int64)
        mean[place], most[place] = self.mean, self.most
        lost, marked = (np.zeros(len(bins), np.int64) for _ in range(2))
        np.add.at(lost, np.searchsorted(bins, drops.bins), drops.packets)
        np.add.at(marked, np.searchsorted(bins, marks.bins), marks.packets)
        kept = (bins >= 0) & ((mean != 0) | (most != 0) | (lost != 0) | (marked != 0))
        return Binned(link, bins[kept], mean[kept], most[kept], lost[kept], marked[kept])


def _frame(parts: Sequence[Binned]) -> pd.DataFrame:
    """Return the table of all queues."""
    if not parts:
        return pd.DataFrame({name: [] for name in SCHEMAS["queues"].names})
    links = np.repeat(np.array([part.link for part in parts], dtype=object), [len(part.bins) for part in parts])
    columns = {
        "bin": np.concatenate([part.bins for part in parts]),
        "link": links,
        "mean_B": np.concatenate([part.mean for part in parts]),
        "max_B": np.concatenate([part.most for part in parts]),
        "drops": np.concatenate([part.drops for part in parts]),
        "marks": np.concatenate([part.marks for part in parts]),
    }
    return pd.DataFrame(columns)


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


def _by_class(records: NDArray[Any], numbering: Numbering) -> dict[int, NDArray[Any]]:
    """Return the records of classes' own queues, which a line inside the network serves, or no line in the dark."""
    if not numbering.queued:
        return {}
    served = (records["link"] <= numbering.last_line) | (records["link"] == numbering.dark)
    here: NDArray[Any] = records[served]
    return _grouped(here, here["class"].astype(np.int64))


def _standing(departures: NDArray[Any], width: int) -> Binned:
    """Return the bins of a link's queue.

    The queue length is known whenever a packet leaves the queue. On a busy link this happens every few microseconds;
    the queue of an idle link is empty. The mean assumes that the length after a departure stays until the next
    departure.
    """
    level = departures["qlen"].astype(np.int64)
    return _bins(departures["time"], level, level + departures["len"], width)


def _exact(arrivals: NDArray[Any], departures: NDArray[Any], width: int) -> Binned:
    """Return the bins of a schedule's queue, from arrivals too, because it can wait long without service."""
    time = np.concatenate([arrivals["time"], departures["time"]])
    change = np.concatenate([arrivals["len"].astype(np.int64), -departures["len"].astype(np.int64)])
    # Arrivals come before departures of the same instant. Their order does not change how long a packet waits.
    order = np.argsort(time, kind="stable")
    time, level = time[order], np.cumsum(change[order])
    here = _bins(time, level, level, width)
    if not len(time):
        return here
    # The queue length at the start of a bin counts for the maximum of the bin.
    start = np.searchsorted(time, here.bins * width) - 1
    carried = np.where(start >= 0, level[start], 0)
    return replace(here, most=np.maximum(here.most, carried))


def _bins(time: NDArray[Any], level: NDArray[np.int64], peak: NDArray[np.int64], width: int) -> Binned:
    """Return the bins of a step function, and the largest peak in each; a bin without a step has the peak 0."""
    bins = (time // width).astype(np.int64)
    if not len(time):
        return Binned("", bins, np.empty(0), np.empty(0, np.int64))
    cuts = np.arange(bins[0], bins[-1] + 2) * width
    mean = np.diff(_area(time, level, cuts)) / width
    begins = np.flatnonzero(np.diff(bins, prepend=bins[0] - 1))
    most = np.zeros(len(mean), np.int64)
    most[bins[begins] - bins[0]] = np.maximum.reduceat(peak, begins)
    return Binned("", cuts[:-1] // width, mean, most)


def _area(time: NDArray[np.int64], level: NDArray[np.int64], cuts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the integral of a step function up to each cut."""
    widths = np.diff(time, append=time[-1])
    total = np.concatenate(([0], np.cumsum(widths * level)))
    index = np.searchsorted(time, cuts, side="right") - 1
    inside = np.clip(index, 0, len(time) - 1)
    beyond = np.where(index >= 0, np.minimum(cuts, time[-1]) - time[inside], 0) * level[inside]
    return np.asarray(total[inside] + beyond, dtype=np.float64)
