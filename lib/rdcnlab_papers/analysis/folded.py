# SPDX-License-Identifier: Apache-2.0
"""Compute and draw cases whose bins are folded over weeks: sequence graphs, goodput, slopes, queues, days.

A `Case` is one of several things to compare, such as a variant. It has a name, its runs, and the scenario of its first
run in network time. `rdcnlab_papers.analysis.weeks` has the computations for a single case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import Estimate, over_seeds
from rdcnlab.fields.units import NS_PER_US
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.runs.parts import SENDER
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab_papers.analysis import weeks
from rdcnlab_papers.analysis.measured import means
from rdcnlab_papers.analysis.resent import need_packets_of_one_segment

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Case(NamedTuple):
    """One of the cases to compare, such as a variant."""

    name: str
    runs: Runs
    scenario: Scenario


def sequences(cases: Iterable[Case], flows: Iterable[str] | None = None) -> dict[str, pd.DataFrame]:
    """Return the sequence graph of each case: ``run``, ``t_us``, ``bytes``.

    The bytes are those of one flow: the mean over all flows, or over `flows` if given.
    """
    chosen = None if flows is None else tuple(flows)
    return {name: _sequence(runs, scenario, chosen) for name, runs, scenario in cases}


@for_each_run
def _sequence(runs: Runs, scenario: Scenario, flows: tuple[str, ...] | None) -> pd.DataFrame:
    acked = runs.throughput[runs.throughput["where"] == SENDER]
    chosen = {flow.name for flow in scenario.flows}
    if flows is not None:
        chosen = set(flows)
        acked = acked[acked["flow"].isin(chosen)]
    return weeks.sequence(weeks.fold(acked, "bytes", scenario), share=1 / len(chosen))


def rates(line: pd.DataFrame, flows: int = 1) -> pd.DataFrame:
    """Return by run the rate ``gbps`` of `flows` flows, computed from the end of the sequence graph of one flow."""
    end = line.groupby("run").last().reset_index()
    return end.assign(gbps=8e-3 * flows * end["bytes"] / end["t_us"])


def goodput(cases: Iterable[Case]) -> pd.DataFrame:
    """Return by case the total goodput of all flows in Gb/s: ``mean``, ``low``, ``high`` over runs."""
    return means(goodput_of_runs(cases), "case", "gbps")


def goodput_of_runs(cases: Iterable[Case]) -> pd.DataFrame:
    """Return by case and run the total goodput of all flows: ``case``, ``seed``, ``gbps``."""
    present = list(cases)
    flows = {case.name: len(case.scenario.flows) for case in present}
    seeds = {case.name: dict(enumerate(run.scenario.seed for run in case.runs)) for case in present}
    rates_by_case = {name: rates(line, flows[name]) for name, line in sequences(present).items()}
    parts = [rows.assign(case=name, seed=rows["run"].map(seeds[name])) for name, rows in rates_by_case.items()]
    return pd.concat([pd.DataFrame({"case": [], "seed": [], "gbps": []}), *parts])


def rtt_us(scenario: Scenario, link: str) -> float:
    """Return the RTT [us] of a full packet and its ACK in an empty network, if both use `link`."""
    flow, mtu = scenario.flows[0], scenario.network.mtu
    return scenario.network.rtt_ns(flow.src, flow.dst, mtu, TCP_HEADERS, link=link, link_back=link) / NS_PER_US


def slopes(lines: dict[str, pd.DataFrame], scenario: Scenario, link: str) -> dict[str, Estimate]:
    """Return the slope of each sequence graph during the days of a link, as a share of the link's payload rate."""
    rate = weeks.bound_gbps(scenario, only=link) / len(scenario.flows)
    rtt = rtt_us(scenario, link)
    # a shorter span is a night, not a day
    spans = [span for span in weeks.spans_us(scenario, link) if span[1] - span[0] > rtt * 1.5]
    return {
        name: over_seeds([weeks.slope_gbps(of_run, spans, rtt) / rate for _, of_run in line.groupby("run")])
        for name, line in lines.items()
    }


def queues(cases: Iterable[Case]) -> dict[str, pd.DataFrame]:
    """Return for each case the length of the schedule's queue in full packets: ``run``, ``t_us``, ``mean``."""
    return {name: _queue(runs, scenario) for name, runs, scenario in cases}


@for_each_run
def _queue(runs: Runs, scenario: Scenario) -> pd.DataFrame:
    queue = runs.queues[runs.queues["link"] == weeks.schedule(scenario).name]
    folded = weeks.fold(queue, "mean_B", scenario, kind="mean")
    return folded.assign(mean=weeks.packets(scenario, folded["mean"]))


def into_week(times_us: pd.Series[float], scenario: Scenario) -> pd.Series[float]:
    """Return the time from the begin of the week to each instant, in us."""
    return times_us % (weeks.schedule(scenario).cycle / NS_PER_US)


def waiting(
    lengths: dict[str, pd.DataFrame], scenario: Scenario, part_us: tuple[float, float] = (0.0, float("inf"))
) -> pd.DataFrame:
    """Return by case the mean queue length in each week, or in a part of it: ``mean``, ``low``, ``high`` over runs."""
    return means(waiting_of_runs(lengths, scenario, part_us), "case", "mean")


def waiting_of_runs(
    lengths: dict[str, pd.DataFrame], scenario: Scenario, part_us: tuple[float, float] = (0.0, float("inf"))
) -> pd.DataFrame:
    """Return by case and run the mean queue length in each week, or in a part of it: ``case``, ``run``, ``mean``."""
    parts = [rows.assign(case=name) for name, rows in lengths.items()]
    samples = pd.concat([pd.DataFrame({"case": [], "run": [], "t_us": [], "mean": []}), *parts])
    into = into_week(samples["t_us"], scenario)
    chosen = samples[(into >= part_us[0]) & (into < part_us[1])]
    return chosen.groupby(["case", "run"])["mean"].mean().reset_index()


def limit(scenario: Scenario) -> int | None:
    """Return the limit in packets of the queue of the first flow's schedule; None if there is no such limit."""
    queue = weeks.schedule(scenario).queue
    return None if queue is None else queue.packets


def events_by_day(
    case: Case,
    names: Sequence[str],
    link: str,
    *,
    dilation: int,
    by_flow: bool = False,
    skipped_us: int = 0,
    after_us: int = 0,
) -> pd.DataFrame:
    """Count events in every day of a link, of all flows together or of each flow.

    Parameters
    ----------
    case : Case
        The case whose events are counted.
    names : sequence of str
        Names of the events.
    link : str
        Link of the days.
    dilation : int
        Factor between the time of the hosts, in which events are recorded, and the time of the network. The clocks of
        the hosts run this many times slower.
    by_flow : bool
        Whether each flow's events are counted separately.
    skipped_us : int
        Time at the begin of each day whose events do not count.
    after_us : int
        Time after each day whose events count, too.

    Returns
    -------
    DataFrame
        ``run``, ``begin_ns``, ``count``; see `weeks.per_day`. Days before the fold begins are left out.
    """
    return _by_day(case.runs, case.scenario, tuple(names), link, dilation, by_flow, skipped_us, after_us)


@for_each_run
def _by_day(
    runs: Runs,
    scenario: Scenario,
    names: tuple[str, ...],
    link: str,
    dilation: int,
    by_flow: bool,
    skipped_us: int,
    after_us: int,
) -> pd.DataFrame:
    spans = weeks.days(scenario, link)
    spans[:, 0] += skipped_us * NS_PER_US
    events = runs.events[runs.events["event"].isin(list(names))]
    events = events.assign(t_ns=events["t_ns"] // dilation)
    parts = [events[events["flow"] == flow.name] for flow in scenario.flows] if by_flow else [events]
    options = {"begin_ns": scenario.probes.fold_from, "after_ns": after_us * NS_PER_US}
    return pd.concat(weeks.per_day(part, spans, range(len(runs)), **options) for part in parts)


def quiet_shares(counts: Mapping[str, pd.DataFrame]) -> dict[str, Estimate]:
    """Return by case the share in % of days without any event; `counts` has results of `events_by_day`."""
    shares = {
        name: days.assign(quiet=days["count"] == 0).groupby("run")["quiet"].mean() for name, days in counts.items()
    }
    return {name: (100 * over_seeds(share)).within(0, 100) for name, share in shares.items()}


def retransmissions_for_each_loss(cases: Iterable[Case]) -> dict[str, float]:
    """Return by case the number of retransmitted segments for each packet that a queue drops; NaN without a drop."""
    ratios = {}
    for name, runs, _ in cases:
        need_packets_of_one_segment(runs)
        events = runs.events["event"]
        lost = int(events.str.startswith("drop").sum())
        ratios[name] = int((events == "retransmit").sum()) / lost if lost else float("nan")
    return ratios


def plot_sequences(lines: dict[str, pd.DataFrame], scenario: Scenario, packet: str, circuit: str) -> Figure:
    """Draw sequence graphs, with the bounds of both networks together and of the packet network alone.

    The days of the circuit are shaded.
    """
    flows = len(scenario.flows)
    t_us = np.arange(0, (scenario.probes.fold or 0) + 1, scenario.probes.bin, dtype=float)
    with figures.single(6.4, 3.4, columns=4) as (figure, ax):
        bounds: Sequence[tuple[str | None, str, str]] = ((None, "optimal", "-"), (packet, f"{packet} only", ":"))
        for only, label, style in bounds:
            y = weeks.carried_bytes(scenario, t_us, only=only) / flows / 1e6
            ax.plot(t_us / 1e3, y, color=figures.REFERENCE, linestyle=style, label=label, linewidth=0.9)
        stats = {name: tables.mean_ci(graph, ["t_us"], "bytes") for name, graph in lines.items()}
        for number, (name, rows) in enumerate(stats.items()):
            hides = any(_alike(rows, other) for other in [*stats.values()][:number])
            figures.band(ax, rows, "t_us", name, scale=1e-6, dash=(0, (4, 4)) if hides else "-")
        figures.shade(ax, weeks.spans_us(scenario, circuit))
        ax.set(xlabel="time in three weeks [us]", ylabel="acknowledged by a flow [MB]")
    return figure


def _alike(line: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether one of two lines hides the other: at most times they are less than their width apart."""
    pair = line.set_index("t_us")["mean"], other.set_index("t_us")["mean"]
    return bool((pair[0] - pair[1]).abs().median() < 0.01 * max(values.max() for values in pair))


def plot_queues(lengths: dict[str, pd.DataFrame], scenario: Scenario, circuit: str) -> Figure:
    """Draw the lengths of queues and their limit. The days of the circuit are shaded."""
    with figures.single(6.4, 3.0, columns=4) as (figure, ax):
        for name, rows in lengths.items():
            figures.band(ax, tables.mean_ci(rows, ["t_us"], "mean"), "t_us", name)
        room = limit(scenario)
        if room:
            figures.reference(ax, room, "limit")
        figures.shade(ax, weeks.spans_us(scenario, circuit))
        ax.set(xlabel="time in three weeks [us]", ylabel="queue [packets]")
    return figure
