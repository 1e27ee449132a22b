# SPDX-License-Identifier: Apache-2.0
"""A run as a trace for Perfetto (ui.perfetto.dev) and Chrome: timetables, windows, queues, rates and losses over time.

The format is the JSON of Chrome's trace events: times in microseconds, ``X`` for a span, ``C`` for a number that
changes, ``i`` for an instant, ``M`` for names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from rdcnlab.runs.run import Run

#: The groups of tracks; Perfetto shows each as a process.
_TIMETABLES, _WINDOWS, _QUEUES, _RATES, _EVENTS = range(1, 6)
_GROUPS = {
    _TIMETABLES: "timetables",
    _WINDOWS: "congestion windows",
    _QUEUES: "queues",
    _RATES: "throughput",
    _EVENTS: "losses and retransmissions",
}
#: Of a window that was never reduced, ssthresh is a huge number, which would hide the window in the picture.
_NO_SSTHRESH = 2**30


def trace(run: Run) -> dict[str, Any]:
    """Return a run as a trace of Chrome's format.

    Parameters
    ----------
    run : Run
        A run with all its tables; shipped runs have some of them only.

    Returns
    -------
    dict
        Plain data for ``json.dump``.

    Raises
    ------
    RunError
        A table was not shipped.
    """
    events = run.table("events").to_pandas()
    tcp = run.table("tcp").to_pandas()
    bins = {name: run.table(name).to_pandas() for name in ("queues", "throughput")}
    bin_us = run.scenario.probes.bin / 1e3
    folded = " (folded)" if run.scenario.probes.fold is not None else ""
    end_us = _end_us(run, events, tcp, bins, bin_us)
    trace_events = [
        *({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}} for pid, name in _GROUPS.items()),
        *_slots(events[events["event"] == "slot"], end_us),
        *_windows(tcp),
        *_queues(bins["queues"], bin_us, folded),
        *_rates(bins["throughput"], bin_us, folded),
        *_instants(events[events["event"].str.startswith("drop_") | (events["event"] == "retransmit")]),
    ]
    return {
        "traceEvents": trace_events,
        "displayTimeUnit": "ns",
        "otherData": {"run": run.id, "scenario": run.scenario.hash, "seed": str(run.scenario.seed)},
    }


def _end_us(run: Run, events: pd.DataFrame, tcp: pd.DataFrame, bins: dict[str, pd.DataFrame], bin_us: float) -> float:
    """Return the time of the last observation in us: the end of a bin, but not after the end of the run."""
    flows = run.table("flows").to_pandas()
    ends = [events["t_ns"].max() / 1e3, tcp["t_ns"].max() / 1e3, flows["end_s"].max() * 1e6]
    ends += [(table["bin"].max() + 1) * bin_us for table in bins.values()]
    return min(float(pd.Series(ends, dtype=float).max()), run.end_s * 1e6)


def _slots(slots: pd.DataFrame, end_us: float) -> Iterator[dict[str, Any]]:
    """Iterate over the spans in which a flow or a schedule has one target, one track for each."""
    for thread, (flow, of_flow) in enumerate(slots.groupby("flow", sort=True), start=1):
        yield _thread(_TIMETABLES, thread, str(flow))
        begins = of_flow["t_ns"].to_numpy() / 1e3
        ends = [*begins[1:], max(end_us, begins[-1])]
        for begin, end, link, index in zip(begins, ends, of_flow["link"], of_flow["value"], strict=True):
            span = {"pid": _TIMETABLES, "tid": thread, "ts": float(begin), "dur": float(end - begin)}
            yield {"ph": "X", "name": str(link), "cat": "slot", **span, "args": {"slot": int(index)}}


def _windows(tcp: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for flow, t_ns, cwnd, ssthresh in tcp[["flow", "t_ns", "cwnd", "ssthresh"]].itertuples(index=False):
        numbers = {"cwnd [segments]": int(cwnd)}
        if pd.notna(ssthresh) and ssthresh < _NO_SSTHRESH:
            numbers["ssthresh [segments]"] = int(ssthresh)
        yield {"ph": "C", "name": f"window of {flow}", "pid": _WINDOWS, "ts": t_ns / 1e3, "args": numbers}


def _queues(queues: pd.DataFrame, bin_us: float, folded: str) -> Iterator[dict[str, Any]]:
    for link, index, mean, largest in _with_gaps(queues, "link", ["mean_B", "max_B"]):
        numbers = {"mean [B]": float(mean), "most [B]": int(largest)}
        yield {"ph": "C", "name": f"queue of {link}{folded}", "pid": _QUEUES, "ts": index * bin_us, "args": numbers}


def _rates(throughput: pd.DataFrame, bin_us: float, folded: str) -> Iterator[dict[str, Any]]:
    rows = throughput.assign(name=throughput["flow"].astype(str) + " at " + throughput["where"].astype(str))
    for name, index, count in _with_gaps(rows, "name", ["bytes"]):
        rate = {"Gb/s": float(count) * 8e-3 / bin_us}
        yield {"ph": "C", "name": f"{name}{folded}", "pid": _RATES, "ts": index * bin_us, "args": rate}


def _with_gaps(table: pd.DataFrame, name: str, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """Iterate over the bins of each name; after the last bin before a gap comes one with zeros.

    Tables have no row for a bin without observations, and a viewer keeps the last number until the next one.
    """
    for key, rows in table.groupby(name, sort=True):
        bins = rows["bin"].to_numpy()
        following = [*bins[1:], -1]
        for index, next_bin, *numbers in zip(bins, following, *(rows[column] for column in columns), strict=True):
            yield (key, float(index), *numbers)
            if next_bin != index + 1:
                yield (key, float(index + 1), *([0] * len(columns)))


def _instants(events: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for thread, (flow, of_flow) in enumerate(events.groupby("flow", sort=True), start=1):
        yield _thread(_EVENTS, thread, str(flow))
        for t_ns, event, link, value in of_flow[["t_ns", "event", "link", "value"]].itertuples(index=False):
            details = {"link": None if pd.isna(link) else str(link), "value": int(value)}
            track = {"pid": _EVENTS, "tid": thread, "ts": t_ns / 1e3}
            yield {"ph": "i", "name": str(event), "s": "t", **track, "args": details}


def _thread(group: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": group, "tid": thread, "args": {"name": name}}
