# SPDX-License-Identifier: Apache-2.0
"""The tables of one run as series over time: what its pictures, its time-line and its chart in a terminal draw."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import binned, palettes, timetables
from rdcnlab.analysis.results.programs import Ran, programs
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.parts import ACKNOWLEDGED, CARRIED, RECEIVER, SENDER, WINDOWS, Part
from rdcnlab.runs.run import Run
from rdcnlab.scenario import DARK

Floats = npt.NDArray[np.float64]

#: Payload at receivers.
_RECEIVED = Part(("bin", "where", "flow", "bytes"), RECEIVER)
_QUEUES = Part(("bin", "link", "mean_B", "max_B", "drops", "marks"))
#: Number of the fullest queues that have colours although there are more links than colours.
_COLORED_QUEUES = 4


@dataclass(frozen=True)
class Queue:
    """A queue in each bin: bytes that wait in it, on average and at most, and packets that it lost and marked."""

    mean_B: Floats  # noqa: N815  (unit)
    max_B: Floats  # noqa: N815
    drops: Floats
    marks: Floats


@dataclass(frozen=True)
class Slot:
    """A span in which a flow or a schedule has one target: a link, or ``dark``."""

    of: str
    begin_s: float
    end_s: float
    target: str


class Series:
    """One run over time. Bins without observations have the value 0.

    Parameters
    ----------
    run : Run
        The run. Of a shipped run only some tables exist; `missing` names the others.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.scenario = run, run.scenario
        self.bin_s = run.scenario.probes.bin / 1e9
        #: Names of the flows, in the order of the scenario, and those of the traffic of programs.
        self.flows = [flow.name for flow in run.scenario.traffic]
        #: Span in s that bins are counted modulo; None if they are not folded.
        self.fold_s = None if run.scenario.probes.fold is None else run.scenario.probes.fold / 1e9

    def _held(self, name: str, part: Part) -> pd.DataFrame | None:
        """Return a part of a table, or None if the shipped run lacks it."""
        return self.run.table(name, part).to_pandas() if self.run.holds({name: part}) else None

    @functools.cached_property
    def missing(self) -> list[str]:
        """Names of what this run has no table for, because it is a shipped one."""
        parts = {"tcp": WINDOWS, "queues": _QUEUES, "events": Part()}
        return [name for name, part in parts.items() if not self.run.holds({name: part})]

    @functools.cached_property
    def _bytes(self) -> tuple[str, pd.DataFrame]:
        """Where bytes are counted, in words, and the rows of the table ``throughput``."""
        received = self._held("throughput", _RECEIVED)
        if received is not None and len(received):
            return "goodput", received
        carried = self._held("throughput", CARRIED)
        if carried is None:
            raise RunError(
                f"the shipped run {self.run.id[:12]} has no table throughput; "
                "with the environment's RDCNLAB_RESULTS=none its scenario is run here"
            )
        return "rate on links", carried

    @property
    def rate_name(self) -> str:
        """What `rates` are: ``goodput``, or ``rate on links`` if payload at receivers is not recorded."""
        return self._bytes[0]

    @functools.cached_property
    def rates(self) -> dict[str, Floats]:
        """Gb/s of each flow in each bin."""
        name, rows = self._bytes
        return self._dense(rows, receiver=name == "goodput")

    def check_traffic(self) -> None:
        """Raise RunError if there is nothing to draw: no program ran, and no packet of TCP or UDP was carried."""
        if not self.programs and not self.rates and not any(queue.max_B.any() for queue in self.queues.values()):
            raise RunError(f"run {self.run.id[:12]} carried no packets of TCP or UDP, so nothing can be drawn")

    @functools.cached_property
    def programs(self) -> list[Ran]:
        """The programs; none with folded bins, because a folded instant is in many spans."""
        return [] if self.fold_s is not None else programs(self.run)

    def _dense(self, rows: pd.DataFrame, *, receiver: bool) -> dict[str, Floats]:
        base = self.scenario.probes.bin
        bins = binned.dense(rows.assign(run=0), base, base, receiver=receiver)
        rates = dict(zip(map(str, bins.flow), bins.bytes * (8 / base), strict=True))
        spans = self._spans
        # a folded bin is a sum over all spans
        return {flow: rates[flow] / spans for flow in self.flows if flow in rates}

    @property
    def _spans(self) -> int:
        """Number of spans that were added up in each bin."""
        fold = self.scenario.probes.fold
        return 1 if fold is None else max(1, (self.scenario.limit - self.scenario.probes.fold_from) // fold)

    @functools.cached_property
    def delivered(self) -> tuple[str, dict[str, Floats]]:
        """Bytes of each flow up to the end of each bin, and in words what they are.

        They are those that ACKs acknowledge, if ``probes.acks`` records them; otherwise payload at the receiver.
        """
        acked = self._held("throughput", ACKNOWLEDGED)
        if acked is not None and len(acked):
            rows = acked.assign(where=acked["where"].astype(str).replace(SENDER, RECEIVER))
            rates, name = self._dense(rows, receiver=True), "acknowledged"
        else:
            rates, name = self.rates, "received, with retransmissions" if self.rate_name == "goodput" else "carried"
        return name, {flow: np.cumsum(values) * (self.bin_s * 1e9 / 8) for flow, values in rates.items()}

    @functools.cached_property
    def _tcp(self) -> dict[str, pd.DataFrame]:
        # shipped windows have a resolution of 1 us
        exact = self._held("tcp", replace(WINDOWS, tick=1))
        rows = self._held("tcp", WINDOWS) if exact is None else exact
        return {} if rows is None else {str(flow): part for flow, part in rows.groupby("flow", observed=True)}

    @functools.cached_property
    def windows(self) -> dict[str, tuple[Floats, Floats]]:
        """Congestion window of each flow: times in s, bytes."""
        return {flow: self._sampled(flow, "cwnd_B") for flow in self.flows if flow in self._tcp}

    @functools.cached_property
    def rtts(self) -> dict[str, tuple[Floats, Floats]]:
        """Smoothed round-trip time of each flow: times in s, us."""
        return {flow: self._sampled(flow, "srtt_us") for flow in self.flows if flow in self._tcp}

    def _sampled(self, flow: str, column: str) -> tuple[Floats, Floats]:
        rows = self._tcp[flow]
        return rows["t_ns"].to_numpy(np.float64) / 1e9, rows[column].to_numpy(np.float64, na_value=np.nan)

    @functools.cached_property
    def queues(self) -> dict[str, Queue]:
        """The queues that the run lists, in the order of their names."""
        rows = self._held("queues", _QUEUES)
        if rows is None or rows.empty:
            return {}
        count = max(int(rows["bin"].max()) + 1, len(next(iter(self.rates.values()), ())))
        queues = {}
        for link, part in rows.groupby("link", observed=True, sort=True):
            columns = []
            for name in ("mean_B", "max_B", "drops", "marks"):
                dense = np.zeros(count)
                dense[part["bin"].to_numpy()] = part[name].to_numpy(np.float64)
                columns.append(dense)
            queues[str(link)] = Queue(*columns)
        return queues

    @functools.cached_property
    def fullest(self) -> list[str]:
        """The names in `queues`, those that were longest first."""
        return sorted(self.queues, key=lambda link: -float(self.queues[link].max_B.max()))

    @functools.cached_property
    def limits_B(self) -> dict[str, int]:  # noqa: N802  (unit)
        """Limits of queues of links in bytes, by the names in `queues`; a shared or unlimited buffer has none."""
        network = self.scenario.network
        links = {link.name: link for link in network.links}
        limits = {}
        for name in self.queues:
            link = links.get(name.partition("@")[0])
            if link is not None and link.buffer is not None and link.pool is None:
                limits[name] = link.buffer.in_bytes(network.mtu)
        return limits

    @functools.cached_property
    def events(self) -> pd.DataFrame:
        """The table ``events``; without rows if the shipped run lacks it."""
        rows = self._held("events", Part())
        return pd.DataFrame(columns=["t_ns", "event", "link", "flow", "value"]) if rows is None else rows

    @functools.cached_property
    def losses(self) -> pd.DataFrame:
        """The rows of `events` that are losses."""
        return self.events[self.events["event"].astype(str).str.startswith("drop_")]

    @functools.cached_property
    def retransmissions(self) -> pd.DataFrame:
        """The rows of `events` that are retransmissions."""
        return self.events[self.events["event"] == "retransmit"]

    @functools.cached_property
    def end_s(self) -> float:
        """End of the last bin with traffic, ACK or program, whichever is last; not after the end of the run."""
        ends = [len(values) * self.bin_s for values in self.rates.values()]
        if self.fold_s is not None:
            return min(max(ends, default=self.bin_s), self.fold_s)
        ends += [float(t_s[-1]) for t_s, _ in self.windows.values() if len(t_s)]
        ends += [program.end_s for program in self.programs if program.end_s is not None]
        # what only programs do that went on until the run ended
        last = self.run.end_s if self.programs else self.bin_s
        return min(max(ends, default=last) or last, self.run.end_s)

    @functools.cached_property
    def turns(self) -> dict[str, tuple[Floats, npt.NDArray[np.str_]]]:
        """The slots that each flow, schedule or queue to a rack enters: instants in ns, and targets."""
        rows = self.events[self.events["event"] == "slot"]
        return {
            str(name): (part["t_ns"].to_numpy(np.float64), part["link"].to_numpy(dtype=np.str_))
            for name, part in rows.groupby("flow", observed=True, sort=False)
        }

    @functools.cached_property
    def slots(self) -> list[Slot]:
        """The spans of all timetables up to the end; of one with a single target there are none.

        They come from the events, or from the scenario if a shipped run has no events. With folded bins there are
        none, because a folded instant is in many slots.
        """
        if self.fold_s is not None:
            return []
        if not (self.events["event"] == "slot").any():
            return self._planned()
        # a flow without a timetable is on its link until a controller moves it
        links = {link.name for link in self.scenario.network.links}
        fixed = {flow.name: str(flow.path) for flow in self.scenario.flows if str(flow.path) in links}
        spans = []
        for name, (t_ns, targets) in self.turns.items():
            if name in fixed and t_ns[0] > 0:
                t_ns, targets = np.append(0, t_ns), np.append(fixed[name], targets)
            spans += _joined(name, t_ns / 1e9, targets, self.end_s)
        return spans

    def _planned(self) -> list[Slot]:
        spans = []
        for flow in self.scenario.flows:
            slots, _, phase = self.scenario.timetable(flow)
            if not slots:
                continue
            cycle = np.cumsum([slot.duration for slot in slots], dtype=np.int64)
            instants = phase + np.add.outer(np.arange(0, self.end_s * 1e9, cycle[-1]), np.append(0, cycle[:-1])).ravel()
            instants = np.append(0, instants[(instants > 0) & (instants < self.end_s * 1e9)])
            targets = timetables.targets(self.scenario, flow.name, instants)
            spans += _joined(flow.name, instants / 1e9, targets, self.end_s)
        return spans

    @functools.cached_property
    def timetables(self) -> dict[str, list[Slot]]:
        """The spans by the name of the flow or schedule that changes."""
        spans_by_name: dict[str, list[Slot]] = {}
        for slot in self.slots:
            spans_by_name.setdefault(slot.of, []).append(slot)
        return {name: spans for name, spans in spans_by_name.items() if len(spans) > 1 or spans[0].begin_s > self.bin_s}

    @functools.cached_property
    def decisions_s(self) -> Floats:
        """The instants in s at which a controller decided on moves."""
        times: Floats = np.unique(self.events.loc[self.events["event"] == "decision", "t_ns"]) / 1e9
        return times

    @functools.cached_property
    def nights(self) -> list[tuple[float, float]]:
        """The spans in which the first timetable that has nights is dark."""
        for spans in self.timetables.values():
            dark = [(span.begin_s, span.end_s) for span in spans if span.target == DARK]
            if dark:
                return dark
        return []

    @functools.cached_property
    def link_colors(self) -> dict[str, str]:
        """A colour for each link; of very many, for those of the first timetables and of the fullest queues."""
        targets = (slot.target.partition("@")[0] for slots in self.timetables.values() for slot in slots)
        links = list(dict.fromkeys(target for target in targets if target != DARK))
        queues = [queue.partition("@")[0] for queue in self.fullest]
        most = len(palettes.LINKS)
        first = dict.fromkeys([*links[: most - _COLORED_QUEUES], *queues[:_COLORED_QUEUES], *links, *queues])
        return palettes.of_links(list(first)[:most])

    @functools.cached_property
    def colors(self) -> dict[str, str]:
        """A colour for each flow."""
        return palettes.of_flows({flow.name: flow.cc for flow in self.scenario.traffic})


def queue_name(queue: str) -> str:
    """Return the name of a queue; `>>` is that of packets that leave by any circuit, which few readers know."""
    return f"{queue} (any circuit)" if ">>" in queue else queue


def total(values: Iterable[Floats]) -> Floats:
    """Return the sum of curves in bins; a shorter one is 0 after its end."""
    curves = list(values)
    longest = max(map(len, curves))
    summed: Floats = np.sum([np.pad(curve, (0, longest - len(curve))) for curve in curves], axis=0)
    return summed


def _joined(name: str, begins: Floats, targets: npt.NDArray[np.str_], end_s: float) -> list[Slot]:
    """Return the spans that begin at some instants; neighbours with the same target are one."""
    changes = np.append(True, targets[1:] != targets[:-1]) & (begins < end_s)
    first, targets = begins[changes], targets[changes]
    return [
        Slot(name, float(begin), float(end), str(target))
        for begin, end, target in zip(first, [*first[1:], end_s], targets, strict=True)
    ]
