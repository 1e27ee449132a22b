# SPDX-License-Identifier: Apache-2.0
"""Compute tables for networks with a fast timetable: folds over weeks, sequence graphs, bounds, days.

A *week* is one cycle of a schedule, a *day* one of its slots. All functions are pure; see `rdcnlab.analysis.tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.scenario import DARK, Scenario, Schedule
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.queue import ETHERNET_HEADER


def schedule(scenario: Scenario, name: str | None = None) -> Schedule:
    """Return a schedule by its name, or the schedule of the first flow.

    Raises
    ------
    ValueError
        There is no such schedule.
    """
    selected = scenario.network.schedule(scenario.flows[0].path if name is None else name)
    if selected is None:
        raise ValueError(f"the scenario has no schedule {name or 'for its first flow'}")
    return selected


def fold(frame: pd.DataFrame, column: str, scenario: Scenario, *, kind: str = "sum") -> pd.DataFrame:
    """Return the mean value of each bin over all repetitions of a span, such as three weeks.

    Parameters
    ----------
    frame : DataFrame
        Columns ``run``, ``bin`` and `column`, from runs with `Probes.fold`. Several rows of a bin are added up. A bin
        without rows counts as zero.
    column : str
        Column to average.
    scenario : Scenario
        The scenario of one of the runs. It gives the width of the bins and the length of the span.
    kind : {'sum', 'mean'}
        ``sum`` if the table has sums over all repetitions (bytes), ``mean`` if it has means (lengths of queues).

    Returns
    -------
    DataFrame
        ``run``, ``t_us`` (begin of the bin, counted from the begin of the span), ``mean``.

    Raises
    ------
    ValueError
        The bins are not folded.
    """
    probes = scenario.probes
    if probes.fold is None:
        raise ValueError("the bins of these runs are not folded (probes.fold)")
    count = probes.fold // probes.bin
    times = np.arange(count) * (probes.bin / 1e3)
    runs, indices = np.unique(frame["run"].to_numpy(), return_inverse=True)
    if not len(runs):
        return pd.DataFrame({"run": [], "t_us": [], "mean": []})
    bins, values = frame["bin"].to_numpy(), frame[column].to_numpy(dtype=float)
    sums = np.bincount(indices * count + bins, values, len(runs) * count)
    mean = sums / (scenario.spans if kind == "sum" else 1)
    return pd.DataFrame({"run": np.repeat(runs, count), "t_us": np.tile(times, len(runs)), "mean": mean})


def sequence(folded: pd.DataFrame, *, share: float = 1.0) -> pd.DataFrame:
    """Add up folded bytes to a sequence graph.

    Parameters
    ----------
    folded : DataFrame
        Bytes, as `fold` returns them: the rows of a run are adjacent.
    share : float
        Factor on the bytes, such as one flow's share of the sum.

    Returns
    -------
    DataFrame
        ``run``, ``t_us``, ``bytes``, from 0 at the begin of the span to its end.
    """
    parts = []
    for run, of_run in folded.groupby("run", sort=True):
        times = np.append(of_run["t_us"].to_numpy(), of_run["t_us"].iloc[-1] + of_run["t_us"].iloc[1])
        total = np.concatenate(([0.0], np.cumsum(of_run["mean"].to_numpy()) * share))
        parts.append(pd.DataFrame({"run": run, "t_us": times, "bytes": total}))
    return pd.concat(parts, ignore_index=True)


def carried_bytes(
    scenario: Scenario, t_ns: npt.ArrayLike, *, name: str | None = None, only: str | None = None
) -> npt.NDArray[np.float64]:
    """Return the payload in bytes that links carry from the begin of the schedule on, if they are never idle.

    Parameters
    ----------
    scenario : Scenario
        Scenario with the schedule and the rates of the links.
    t_ns : array_like, shape (n,)
        Instants in ns, counted from the begin of the schedule.
    name : str, optional
        Name of the schedule; by default the schedule of the first flow.
    only : str, optional
        A link that is always available; it replaces the timetable.

    Returns
    -------
    ndarray, shape (n,)
        Payload of all flows together. In the dark nothing is carried.
    """
    rates = {link.name: float(link.rate) for link in scenario.network.links}
    slots = schedule(scenario, name).slots
    ends = np.cumsum([slot.duration for slot in slots]).astype(float)
    bits = np.cumsum([slot.duration * rates.get(only or slot.link, 0.0) for slot in slots])
    weeks, into = np.divmod(np.asarray(t_ns, dtype=float), ends[-1])
    knots, levels = np.concatenate(([0.0], ends)), np.concatenate(([0.0], bits))
    frame = scenario.network.mtu + scenario.network.overhead
    share = (scenario.network.mtu - TCP_HEADERS) / frame
    result: npt.NDArray[np.float64] = (weeks * bits[-1] + np.interp(into, knots, levels)) * share / 8e9
    return result


def bound_gbps(scenario: Scenario, *, name: str | None = None, only: str | None = None) -> float:
    """Return the mean payload rate in Gb/s of links that are never idle; see `carried_bytes`."""
    cycle = schedule(scenario, name).cycle
    return float(carried_bytes(scenario, [cycle], name=name, only=only)[0]) * 8 / cycle


def packets(scenario: Scenario, length_b: pd.Series[float]) -> pd.Series[float]:
    """Return lengths of queues in full packets."""
    return length_b / (scenario.network.mtu + ETHERNET_HEADER)


def days(scenario: Scenario, link: str, *, name: str | None = None) -> npt.NDArray[np.int64]:
    """Return begin and end in ns of each slot of a link that ends before the scenario's limit, shape (n, 2)."""
    timetable = schedule(scenario, name)
    phase = scenario.phase(timetable)
    ends = np.cumsum([slot.duration for slot in timetable.slots])
    weeks = np.arange(max((scenario.limit - phase) // timetable.cycle + 1, 0), dtype=np.int64) * timetable.cycle + phase
    spans = [
        np.stack([weeks + end - slot.duration, weeks + end], axis=1)
        for slot, end in zip(timetable.slots, ends, strict=True)
        if slot.link == link
    ]
    all_spans = np.concatenate(spans) if spans else np.empty((0, 2), dtype=np.int64)
    all_spans = all_spans[np.argsort(all_spans[:, 0])]
    return all_spans[all_spans[:, 1] <= scenario.limit]


def first_held(scenario: Scenario, link: str, *, back: str) -> int | None:
    """Return when the first ACK that waited for its network arrives after a day of the data, in ns; None if none waits.

    ACKs wait if their own schedule is dark when the day ends. They leave together when its next link opens, and have
    one way of light on it. What their bits take on the line, some ns, is left out.

    Parameters
    ----------
    scenario : Scenario
        Its first flow has a schedule.
    link : str
        The link of the day, which the flow's schedule has once.
    back : str
        The ACKs' schedule, which begins together with that of the data.
    """
    data, acks = schedule(scenario), schedule(scenario, back)
    (end,) = [until for slot, (_, until) in zip(data.slots, _of_slots(data), strict=True) if slot.link == link]
    spans = _of_slots(acks)
    (at,) = [place for place, (begin, until) in enumerate(spans) if begin <= end < until]
    if acks.slots[at].link != DARK:
        return None
    opens = next(one for one in scenario.network.links if one.name == acks.slots[(at + 1) % len(spans)].link)
    return spans[at][1] - end + opens.delay


def _of_slots(timetable: Schedule) -> list[tuple[int, int]]:
    """Return begin and end in ns of each slot within a cycle."""
    ends = np.cumsum([slot.duration for slot in timetable.slots]).tolist()
    return [(end - slot.duration, end) for slot, end in zip(timetable.slots, ends, strict=True)]


def per_day(
    events: pd.DataFrame, spans: npt.NDArray[np.int64], runs: Iterable[int], *, begin_ns: int = 0, after_ns: int = 0
) -> pd.DataFrame:
    """Count the events in each day; days without events are included.

    Parameters
    ----------
    events : DataFrame
        Columns ``run`` and ``t_ns`` of the events to count.
    spans : ndarray, shape (n, 2)
        Begin and end of each day, as `days` returns them.
    runs : iterable of int
        Runs to count for; runs without events are included.
    begin_ns : int
        Days that begin earlier are left out.
    after_ns : int
        Events up to this time after a day count, too.

    Returns
    -------
    DataFrame
        ``run``, ``begin_ns`` (of the day), ``count``.
    """
    chosen = spans[spans[:, 0] >= begin_ns]
    parts = []
    for run in runs:
        times = np.sort(events.loc[events["run"] == run, "t_ns"].to_numpy())
        counts = np.searchsorted(times, chosen[:, 1] + after_ns) - np.searchsorted(times, chosen[:, 0])
        parts.append(pd.DataFrame({"run": run, "begin_ns": chosen[:, 0], "count": counts}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({"run": [], "begin_ns": [], "count": []})


def spans_us(scenario: Scenario, link: str) -> list[tuple[float, float]]:
    """Return begin and end of the days of a link within the span of a fold, in us from the begin of the span."""
    fold_ns = scenario.probes.fold or scenario.limit
    first = scenario.probes.fold_from
    offsets = days(scenario, link) - first
    return [(begin / 1e3, end / 1e3) for begin, end in offsets.tolist() if begin >= 0 and end <= fold_ns]


def slope_gbps(line: pd.DataFrame, spans: Sequence[tuple[float, float]], after_us: float = 0.0) -> float:
    """Return the mean slope of sequence graphs in some spans, in Gb/s.

    Parameters
    ----------
    line : DataFrame
        ``run``, ``t_us``, ``bytes``, as `sequence` returns them.
    spans : sequence of (float, float)
        Begin and end in us.
    after_us : float
        Time that is left out at the begin of each span. Until the first ACKs of a span arrive, the graph still shows
        the time before it.
    """
    slopes = [
        np.diff(np.interp([begin + after_us, end], of_run["t_us"], of_run["bytes"]))[0]
        * 8e-3
        / (end - begin - after_us)
        for _, of_run in line.groupby("run")
        for begin, end in spans
    ]
    return float(np.mean(slopes)) if slopes else float("nan")
