# SPDX-License-Identifier: Apache-2.0
"""How much of a line's rate is used while a flow is on it: bytes carried, divided by what the line could have carried.

A line that carries nothing for a while counts as idle, and a time in which it could carry nothing does not count: a
step of rate 0, a span in which it is down, a dark slot, and the slots in which the flow is on another line.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis.results.series import Series
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.runs.parts import LINKS, Part
from rdcnlab.scenario import Scenario, forwarding
from rdcnlab.scenario.elements import Link
from rdcnlab.scenario.flow import Flow

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
#: Bits that a line could have carried from the start of the scenario to instants in ns.
_Capacity = Callable[[Floats], Floats]

#: A line counts for a flow if the flow is on it in this share of its bins.
OFTEN = 0.2
#: Fewest whole bins between the first and the last bin of a flow from which its share of a line is computed.
_FEWEST = 3
#: An instant of `Link.opportunities` counts an IP packet with so many bytes more.
_TUNNEL_B = 4


@dataclass(frozen=True)
class Line:
    """A line that a flow uses: its name, the share of its rate that is used, and the flows that use it, too."""

    name: str
    busy: float
    often: int
    others: list[str]


def lines(series: Series) -> dict[str, list[Line]]:
    """Return for each flow the lines that it is on in many of its bins, the fullest first.

    Bytes count in the bin in which their frame's last bit leaves, so the share of a flow of n frames may be wrong by an
    n-th.
    """
    rows = _rows(series)
    if rows is None:
        return {}
    flows = {flow.name: flow for flow in series.scenario.traffic}
    times = series.run.table("flows").to_pandas().set_index("flow")[["start_s", "end_s"]]
    alike = _Alike(series.scenario)
    lines_by_flow: dict[str, list[Line]] = {}
    for where, of_line in rows.groupby("where", observed=True):
        capacity, counted = _capacity(series.scenario, str(where), of_line)
        if capacity is None:
            continue
        carried = _Carried(counted, capacity, series.scenario.probes.bin)
        names = [str(name) for name in of_line["flow"].unique()]
        for name, of_flow in counted.groupby("flow", observed=True):
            flow = flows.get(str(name))
            if flow is None or str(name) not in times.index:
                continue
            bins, own = of_flow["bin"].to_numpy(np.int64), float(of_flow["bytes"].sum())
            spans = _presence(series, flow, str(where), (bins[0], bins[-1] + 1))
            start_s, end_s = (float(value) for value in times.loc[str(name)])
            busy = carried.share(bins, own, spans, (start_s * 1e9, end_s * 1e9), functools.partial(alike, str(name)))
            others = [other for other in names if other != name]
            lines_by_flow.setdefault(str(name), []).append(Line(str(where), busy, len(bins), others))
    for name, used in lines_by_flow.items():
        most = max(line.often for line in used)
        lines_by_flow[name] = sorted((line for line in used if line.often > OFTEN * most), key=lambda line: -line.busy)
    return lines_by_flow


def _rows(series: Series) -> pd.DataFrame | None:
    """Return the bytes and packets of each flow on each line and in each bin; None if the run does not have them."""
    if series.fold_s is not None or (series.scenario.network.optics is not None and "events" in series.missing):
        return None
    for columns in (("bin", "where", "flow", "bytes", "packets"), ("bin", "where", "flow", "bytes")):
        part = Part(columns, LINKS)
        if series.run.holds({"throughput": part}):
            rows: pd.DataFrame = series.run.table("throughput", part).to_pandas()
            return rows.sort_values("bin", kind="stable")
    return None


class _Carried:
    """What a line carried, and what it could have carried."""

    def __init__(self, rows: pd.DataFrame, capacity: _Capacity, bin_ns: int) -> None:
        self.capacity, self.bin_ns = capacity, bin_ns
        sums = rows.groupby("flow", observed=True)["bytes"].sum()
        self.by_flow = {str(name): float(amount) for name, amount in sums.items()}
        self.bins = rows["bin"].to_numpy(np.int64)
        self.total = np.append(0.0, np.cumsum(rows["bytes"].to_numpy(np.float64)))

    def _bits(self, first: Integers, last: Integers) -> float:
        """Return the bits of the bins from `first` on and before `last`, of all spans together."""
        before = self.total[np.searchsorted(self.bins, last)] - self.total[np.searchsorted(self.bins, first)]
        return 8 * float(before.sum())

    def _possible(self, begin_ns: npt.ArrayLike, end_ns: npt.ArrayLike) -> float:
        begins, ends = np.asarray(begin_ns, np.float64), np.asarray(end_ns, np.float64)
        return float(np.sum(self.capacity(ends) - self.capacity(begins)))

    def share(
        self,
        bins: Integers,
        own: float,
        spans: tuple[Floats, Floats],
        time_ns: tuple[float, float],
        alike: Callable[[], frozenset[str]],
    ) -> float:
        """Return the share of the line that is used while a flow is on it.

        Parameters
        ----------
        bins : ndarray of int
            The bins in which the flow has bytes.
        own : float
            The flow's bytes.
        spans : (ndarray, ndarray)
            Begins and ends in ns of the spans in which the flow is on the line.
        time_ns : (float, float)
            Begin and end of the flow in ns; NaN if it did not end.
        alike : callable
            Returns the flows that are on the line in the same spans.
        """
        length = int(bins[-1] - bins[0]) + 1
        # From the end of the first bin: the frame that left in it began before. If the flow has bytes in most bins, its
        # last bin is one in which it ended. Otherwise its last frame belongs to the time since the one before.
        first, last = int(bins[0]) + 1, int(bins[-1]) + (2 * len(bins) <= length)
        if last - first < _FEWEST:
            return self._least(bins, own, spans, time_ns)
        begins, ends = (np.clip(side, first * self.bin_ns, last * self.bin_ns) for side in spans)
        lowest = np.ceil(begins / self.bin_ns).astype(np.int64)
        highest = np.maximum(np.floor(ends / self.bin_ns).astype(np.int64), lowest)
        whole = float(np.sum(highest - lowest)) * self.bin_ns
        if 2 * whole >= float(np.sum(ends - begins)):
            return _ratio(self._bits(lowest, highest), self._possible(lowest * self.bin_ns, highest * self.bin_ns))
        # slots are shorter than bins: only what is carried in these slots, over the time that they have
        group = alike()
        mine = 8 * sum(amount for name, amount in self.by_flow.items() if name in group)
        return _ratio(mine, self._possible(*spans))

    def _least(self, bins: Integers, own: float, spans: tuple[Floats, Floats], time_ns: tuple[float, float]) -> float:
        """Return what a flow of few bins used at least: all flows in these bins, or this one in its own time."""
        first, last = bins[:1], bins[-1:] + 1
        shares = [_ratio(self._bits(first, last), self._possible(first * self.bin_ns, last * self.bin_ns))]
        if time_ns[1] > time_ns[0]:
            shares.append(_ratio(8 * own, self._possible(*(np.clip(side, *time_ns) for side in spans))))
        return max(shares)


def _ratio(bits: float, possible: float) -> float:
    # a frame that began before the span may leave in it
    return min(1.0, bits / possible) if possible > 0 else 0.0


# What a line could have carried -------------------------------------------------------------------------------------


def _capacity(scenario: Scenario, where: str, rows: pd.DataFrame) -> tuple[_Capacity | None, pd.DataFrame]:
    """Return what a line could have carried, and its rows with the bytes that count; None for no known line."""
    host = next((host for host in scenario.network.hosts if f"{host.name}@{host.at}" == where), None)
    if host is not None:
        return _steps([(0, host.rate)], repeat=False), rows
    link = next((link for link in scenario.network.links if link.name == where.partition("@")[0]), None)
    if link is None:
        return None, rows
    if not link.opportunities:
        return _of_link(link), rows
    if "packets" not in rows:
        return None, rows
    fewer = rows["packets"] * (scenario.network.overhead - _TUNNEL_B)
    return _opportunities(link), rows.assign(bytes=rows["bytes"] - fewer)


def _of_link(link: Link) -> _Capacity:
    if link.steps:
        return _steps([(step.duration, step.rate) for step in link.steps], repeat=link.repeat)
    spans, end = [], 0
    for first, last in link.down:
        spans += [(first - end, link.rate), (last - first, 0)]
        end = last
    return _steps([*spans, (0, link.rate)], repeat=False)


def _steps(steps: list[tuple[int, int]], *, repeat: bool) -> _Capacity:
    """Return the capacity of a line with some steps (ns, bit/s); if they do not repeat, the last one stays."""
    durations, rates = (np.array(column, np.float64) for column in zip(*steps, strict=True))
    ends = np.append(0.0, np.cumsum(durations))
    bits = np.append(0.0, np.cumsum(durations * rates))

    def until(t_ns: Floats) -> Floats:
        cycles, rest = np.divmod(t_ns, ends[-1]) if repeat else (np.zeros_like(t_ns), t_ns)
        beyond = np.maximum(rest - ends[-1], 0.0) * rates[-1]
        carried: Floats = (cycles * bits[-1] + np.interp(rest, ends, bits) + beyond) / NS_PER_S
        return carried

    return until


def _opportunities(link: Link) -> _Capacity:
    instants = np.array(link.opportunities, np.float64) * 1e6

    def until(t_ns: Floats) -> Floats:
        cycles, rest = np.divmod(t_ns, instants[-1])
        count = cycles * len(instants) + np.searchsorted(instants, rest, side="right")
        return np.asarray(8.0 * link.opportunity * count, np.float64)

    return until


# When a flow is on a line -------------------------------------------------------------------------------------------


class _Alike:
    """The flows that are on a line in the same spans as a flow."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    @functools.cached_property
    def _groups(self) -> dict[str, frozenset[str]]:
        members: dict[object, list[str]] = {}
        for flow in self._scenario.traffic:
            members.setdefault(self._key(flow), []).append(flow.name)
        return {name: group for names in members.values() for group in [frozenset(names)] for name in names}

    def _key(self, flow: Flow) -> object:
        schedule, network = self._scenario.schedule(flow), self._scenario.network
        if schedule is not None:
            return schedule.name
        if network.optics is not None:
            return network.host(flow.src).at, network.host(flow.dst).at
        return flow.path, flow.phase

    def __call__(self, flow: str) -> frozenset[str]:
        return self._groups[flow]


def _changes(scenario: Scenario, flow: Flow) -> bool:
    paths = (flow.path, flow.back)
    return any(not isinstance(path, str) for path in paths) or any(
        scenario.schedule(flow, back=back) is not None for back in (False, True)
    )


def _presence(series: Series, flow: Flow, where: str, bins: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the begins and the ends, in ns, of the spans of some bins in which a flow is on a line."""
    scenario = series.scenario
    window = bins[0] * scenario.probes.bin, bins[1] * scenario.probes.bin
    always = np.array(window[:1], np.float64), np.array(window[1:], np.float64)
    if scenario.network.optics is not None:
        return _lit(series, flow, where, window) or always
    if not _changes(scenario, flow):
        return always
    for back in (False, True):
        is_on, durations, phase = _slots(scenario, flow, where, back=back)
        if is_on.all():
            return always
        if not is_on.any():
            continue
        ends = np.cumsum(durations, dtype=np.int64)
        # the first slot is in force before the first cycle, too
        cycles = np.arange(max(0, (window[0] - phase) // ends[-1]), max(0, (window[1] - phase) // ends[-1]) + 1)
        begins = phase + np.add.outer(cycles * ends[-1], np.append(0, ends[:-1])).ravel()
        stops = np.append(begins[1:], begins[-1] + durations[-1])
        begins[0] = min(begins[0], window[0]) if cycles[0] == 0 else begins[0]
        return _cut(begins, stops, np.tile(is_on, len(cycles)), window)
    return always


def _cut(
    begins: npt.NDArray[Any], ends: npt.NDArray[Any], chosen: npt.NDArray[np.bool_], window: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Return the chosen spans, as far as they are within a window."""
    first, last = (np.clip(side[chosen], *window).astype(np.float64) for side in (begins, ends))
    return first[last > first], last[last > first]


def _slots(
    scenario: Scenario, flow: Flow, where: str, *, back: bool
) -> tuple[npt.NDArray[np.bool_], tuple[int, ...], int]:
    """Return whether a flow is on a line in each slot, the slots' durations and their phase."""
    link, _, switch = where.partition("@")
    if scenario.network.switches:
        route = forwarding.route_of(scenario, flow, back=back)
        is_on = [any((hop.link, hop.switch) == (link, switch) for hop in way or ()) for way in route.ways]
        return np.array(is_on), route.durations, route.phase + scenario.network.node(switch).late
    slots, first, phase = scenario.timetable(flow, back=back)
    names = [slot.link for slot in slots] or [first]
    return np.array([name == link for name in names]), tuple(slot.duration for slot in slots), phase


def _lit(series: Series, flow: Flow, where: str, window: tuple[int, int]) -> tuple[Floats, Floats] | None:
    """Return the spans in which a line to an optical switch leads packets of a flow on; None if it always does."""
    network, (_, _, rack) = series.scenario.network, where.partition("@")
    optics = network.optics
    if optics is not None and (optics.levels > 1 or optics.routing == "rotorlb"):
        return None  # its packets take circuits that lead elsewhere, too
    waits = optics is not None and optics.bulk is not None and flow.size >= optics.bulk
    ends = network.host(flow.src).at, network.host(flow.dst).at
    for last in ends[::-1]:
        for queue in (*[f"{rack}>{last}.2"] * waits, f"{rack}>{last}", f"{rack}>>{last}"):
            begins, targets = series.turns.get(queue, (np.empty(0), np.empty(0, str)))
            chosen = targets == where
            # a queue that several circuits serve at once has no turns
            if chosen.any() and len(np.unique(begins)) == len(begins):
                return _cut(begins, np.append(begins[1:], np.inf), chosen, window)
    return None
