# SPDX-License-Identifier: Apache-2.0
"""What the figures share: one run a variant and seed, sequence graphs and queues over three weeks."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import figures, tables, weeks
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import NS_PER_US
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Item
from rdcnlab.papers.tdtcp.space import Difference, Variant, scenario
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import ACKNOWLEDGED, SENDER, Part
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.dilation import dilated
from rdcnlab.scenario.flow import TCP_HEADERS

Variants = Annotated[tuple[Variant, ...], Field(min_length=1), Listed]
Duration = Literal["300 ms", "500 ms", "1 s", "2 s"]


class Weeks(Item):
    """Runs of the variants of a figure.

    Parameters
    ----------
    variants : tuple of str
        Variants.
    duration : str or None
        Of a run in network time; that of the paper, 2 s, or 300 ms in the quick profile.
    dilation : int
        How many times slower the hosts' clocks run than the network's: 20 in the paper (Sec. 5.1), 1 for hosts that
        are as fast as the network. Everything that is drawn and measured is in network time.
    """

    paper: ClassVar[str] = "tdtcp"
    difference: ClassVar[Difference] = "both"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 5}
    #: Duration of a run in network time.
    of_profile: ClassVar[dict[str, str]] = {"quick": "300 ms", "paper": "2 s"}

    variants: Variants = ("tdtcp", "cubic", "dctcp", "mptcp", "retcp", "retcpdyn")
    duration: Duration | None = None
    dilation: Literal[1, 20] = 20

    @property
    def lasts(self) -> str:
        """Duration of a run in network time."""
        return self.duration or self.of_profile[self.profile]

    @property
    def cases(self) -> tuple[str, ...]:
        """What is compared: the variants, if a figure has nothing else."""
        return self.variants

    def case(self, name: str, seed: int) -> Scenario:
        """Return the scenario of a case, in network time."""
        return scenario(name, self.difference, duration=self.lasts, seed=seed)

    def points(self) -> list[Scenario]:
        """Return cases times seeds, in network time."""
        return [self.case(name, seed) for name in self.cases for seed in range(self.count)]

    def scenarios(self) -> list[Scenario]:
        """Return the same as the hosts see them."""
        return [seen for _, seen in self.pairs]

    @functools.cached_property
    def pairs(self) -> list[tuple[Scenario, Scenario]]:
        """Each scenario in network time, with its changes, and as the hosts see it."""
        return [(each, dilated(each, self.dilation)) for each in super().scenarios()]

    def of(self, runs: Runs, case: str) -> tuple[Runs, Scenario]:
        """Return the runs of a case, and the first one's scenario in network time."""
        place = self.cases.index(case) * self.count
        mine = {seen.hash for _, seen in self.pairs[place : place + self.count]}
        return runs.select(lambda each: each.hash in mine), self.pairs[place][0]

    def present(self, runs: Runs) -> Iterator[tuple[str, Runs, Scenario]]:
        """Go through the cases that have runs, as `of` returns them."""
        for case in self.cases:
            found, asked = self.of(runs, case)
            if len(found):
                yield case, found, asked

    @property
    def first(self) -> Scenario:
        """A scenario in network time."""
        return self.pairs[0][0]

    def rtt_us(self, link: str) -> float:
        """Return the RTT of a full packet and its ACK through an empty network, by a link there and back."""
        first = self.first
        flow, mtu = first.flows[0], first.network.mtu
        return first.network.rtt_ns(flow.src, flow.dst, mtu, TCP_HEADERS, link=link, link_back=link) / NS_PER_US


def over(stats: pd.DataFrame, more: str, less: str) -> Measured:
    """Measure how much more one case has than another, in %, by their means; not run where one is missing.

    Parameters
    ----------
    stats : DataFrame
        ``mean``, ``low``, ``high`` by case.
    """
    means = stats["mean"].to_dict()
    if not {more, less} <= set(means):
        return Measured()
    return Measured.one(100 * (means[more] / means[less] - 1), tables.listed(stats))


def above(greater: pd.DataFrame, lesser: pd.DataFrame) -> Measured:
    """Measure how far some cases are above others, between intervals; not run where there is nothing to compare."""
    if not len(greater) or not len(lesser):
        return Measured()
    note = f"{tables.listed(greater)}; against {tables.listed(lesser)}"
    return Measured.one(tables.margin(greater, lesser), note)


def lowest(stats: pd.DataFrame, name: str) -> Measured:
    """Measure how far all others are above a case, between intervals."""
    return above(stats.drop(index=name, errors="ignore"), stats[stats.index == name])


class Throughput(Weeks):
    """Sequence graphs of one flow's share, over three weeks, between optimal and packet only."""

    parts: ClassVar[dict[str, Part]] = {"throughput": ACKNOWLEDGED}

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return what was acknowledged."""
        return ("flows", "throughput")

    def lines(self, runs: Runs) -> dict[str, pd.DataFrame]:
        """Return the sequence graph of each variant: ``run``, ``t_us``, ``bytes`` of a flow, the mean of all flows."""
        found: dict[str, pd.DataFrame] = {}
        for case, of, asked in self.present(runs):
            acked = of.throughput[of.throughput["where"] == SENDER]
            found[case] = weeks.sequence(weeks.fold(acked, "bytes", asked), share=1 / len(asked.flows))
        return found

    def goodput(self, runs: Runs) -> pd.DataFrame:
        """Return the goodput of all flows together, in Gb/s: ``mean``, ``low``, ``high`` over runs, by case."""
        flows = len(self.first.flows)
        ends = [line.groupby("run").last().assign(case=name) for name, line in self.lines(runs).items()]
        every = pd.concat([pd.DataFrame({"case": [], "t_us": [], "bytes": []}), *ends])
        every["gbps"] = 8e-3 * flows * every["bytes"] / every["t_us"]
        return tables.mean_ci(every, ["case"], "gbps").set_index("case")

    def slopes(self, runs: Runs, link: str) -> dict[str, float]:
        """Return the slope of each variant's graph in the days of a link, as a share of the link's payload rate."""
        first = self.first
        rate = weeks.bound_gbps(first, only=link) / len(first.flows)
        spans = weeks.spans_us(first, link)
        # what is shorter is a night
        spans = [span for span in spans if span[1] - span[0] > self.rtt_us(link) * 1.5]
        return {
            name: weeks.slope_gbps(line, spans, self.rtt_us(link)) / rate for name, line in self.lines(runs).items()
        }

    def plot(self, runs: Runs) -> Figure:
        """Draw the graphs, and what could be."""
        first = self.first
        flows = len(first.flows)
        at = np.arange(0, (first.probes.fold or 0) + 1, first.probes.bin, dtype=float)
        with figures.style():
            figure = figures.Drawing(figsize=(6.4, 3.4), layout="constrained")
            ax = figure.subplots()
            bounds: Sequence[tuple[str | None, str, str]] = ((None, "optimal", "-"), ("packet", "packet only", ":"))
            for only, label, line in bounds:
                y = weeks.carried(first, at, only=only) / flows / 1e6
                ax.plot(at / 1e3, y, color=figures.REFERENCE, linestyle=line, label=label, linewidth=0.9)
            for name, graph in self.lines(runs).items():
                stats = tables.mean_ci(graph, ["t_us"], "bytes")
                figures.band(ax, stats, "t_us", name, scale=1e-6)
            figures.shade(ax, weeks.spans_us(first, "circuit"))
            ax.set(xlabel="time in three weeks [us]", ylabel="acknowledged by a flow [MB]")
            figures.legend(figure, ax, columns=4)
        return figure


class Occupancy(Weeks):
    """Mean length of the virtual output queue over three weeks."""

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return the queue."""
        return ("flows", "queues")

    def lengths(self, runs: Runs) -> dict[str, pd.DataFrame]:
        """Return the queue of each variant in full packets: ``run``, ``t_us``, ``mean``."""
        found: dict[str, pd.DataFrame] = {}
        for case, of, asked in self.present(runs):
            queue = of.queues[of.queues["link"] == weeks.schedule(asked).name]
            folded = weeks.fold(queue, "mean_B", asked, kind="mean")
            found[case] = folded.assign(mean=weeks.packets(asked, folded["mean"]))
        return found

    def means(self, runs: Runs, part_us: tuple[float, float] = (0.0, float("inf"))) -> pd.DataFrame:
        """Return the packets waiting in all or a part of each week: ``mean``, ``low``, ``high`` over runs, by case."""
        week = weeks.schedule(self.first).cycle / NS_PER_US
        parts = [of.assign(case=name) for name, of in self.lengths(runs).items()]
        every = pd.concat([pd.DataFrame({"case": [], "run": [], "t_us": [], "mean": []}), *parts])
        into = every["t_us"] % week
        of_run = every[(into >= part_us[0]) & (into < part_us[1])].groupby(["case", "run"])["mean"].mean().reset_index()
        return tables.mean_ci(of_run, ["case"], "mean").set_index("case")

    def plot(self, runs: Runs) -> Figure:
        """Draw the lengths and the limit."""
        first = self.first
        with figures.style():
            figure = figures.Drawing(figsize=(6.4, 3.0), layout="constrained")
            ax = figure.subplots()
            for name, of in self.lengths(runs).items():
                figures.band(ax, tables.mean_ci(of, ["t_us"], "mean"), "t_us", name)
            limit = weeks.schedule(first).queue
            if limit is not None and limit.packets:
                figures.reference(ax, limit.packets, "limit")
            figures.shade(ax, weeks.spans_us(first, "circuit"))
            ax.set(xlabel="time in three weeks [us]", ylabel="queue [packets]")
            figures.legend(figure, ax, columns=4)
        return figure
