# SPDX-License-Identifier: Apache-2.0
"""Figure 10: reordering events and packets to be retransmitted, by optical day. Sec. 5.3."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rdcnlab.analysis import figures, tables, weeks
from rdcnlab.fields.units import DURATION, NS_PER_US
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Variants, Weeks
from rdcnlab.papers.tdtcp.space import FOLD_FROM, PACED
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario


class _PerDay(Weeks):
    """Counts of an event in every day of the circuit, all flows together, until a round trip after it."""

    parts: ClassVar[dict[str, Part]] = {"events": Part(("t_ns", "event", "flow", "value"))}
    event: ClassVar[str]
    label: ClassVar[str]

    variants: Variants = ("cubic", "mptcp", "tdtcp")

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return events."""
        return ("flows", "events")

    def counts(self, runs: Runs, *names: str, by_flow: bool = False) -> dict[str, pd.DataFrame]:
        """Return ``run``, ``begin_ns`` and ``count`` of some events of each variant, or of each of its flows."""
        found: dict[str, pd.DataFrame] = {}
        for variant in self.variants:
            of, asked = self.of(runs, variant)
            if len(of):
                spans = weeks.days(asked, "circuit")
                after = int(self.rtt_us("packet")) * NS_PER_US
                events = of.events[of.events["event"].isin(names)]
                events = events.assign(t_ns=events["t_ns"] // self.dilation)
                parts = [events[events["flow"] == flow.name] for flow in asked.flows] if by_flow else [events]
                found[variant] = pd.concat(
                    weeks.per_day(part, spans, range(len(of)), after_ns=after, begin_ns=DURATION.parse(FOLD_FROM))
                    for part in parts
                )
        return found

    def plot(self, runs: Runs) -> Figure:
        """Draw the distribution over days."""
        with figures.style():
            figure = figures.Drawing(figsize=(4.2, 2.8), layout="constrained")
            ax = figure.subplots()
            for name, counted in self.counts(runs, self.event).items():
                line = tables.cdf(counted["count"])
                drawn = figures.look(name)
                ax.step(line["value"], line["share"], where="post", color=drawn.color, label=drawn.label)
            self.mark(ax)
            ax.set(xlabel=self.label, ylabel="share of days")
            figures.legend(figure, ax, columns=2)
        return figure

    def mark(self, ax: Axes) -> None:
        """Mark what the paper states, if it does."""


class Fig10a(_PerDay):
    """Reordering: runs of ACKs that acknowledge nothing new, because later data came before earlier."""

    id: ClassVar[str] = "fig10a"
    event: ClassVar[str] = "duplicates"
    label: ClassVar[str] = "reordering events in a day"

    def mark(self, ax: Axes) -> None:
        """Mark the paper's share of days without any, which also have no retransmission."""
        stated = next(claim.expect.at_least for claim in self.claims.claims if claim.id == "quiet-days")
        if stated is not None and "tdtcp" in self.variants:
            drawn = figures.look("tdtcp")
            look: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "linestyle": "", "color": drawn.color}
            ax.plot(0, stated / 100, label=f"{drawn.label}, paper", **look)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the share of days without reordering and without retransmission with TDTCP."""
        quiet = self._quiet(runs)
        note = ", ".join(f"{name}: {share:.3g} %" for name, share in quiet.items())
        return {"quiet-days": Measured.one(quiet["tdtcp"], note) if "tdtcp" in quiet else Measured()}

    def causes(self) -> list[Cause]:
        """Return whose days are counted, and what the burst of a window that was kept costs."""
        paced = Fig10a(variants=("tdtcp",), seeds=self.few, changes=PACED)
        return [
            Cause(
                "quiet-days",
                "A day is quiet here if none of sixteen flows has anything; the paper does not say whose days it "
                "counts. Share of days of a single flow, in %",
                self,
                self._quiet_flows,
            ),
            Cause(
                "quiet-days",
                "Nor is it the initial burst of Sec. 5.2. Paced, the share of days of a single flow is, in %",
                paced,
                paced._quiet_flows,
            ),
        ]

    def _quiet_flows(self, runs: Runs) -> Measured:
        return Measured(self._quiet(runs, by_flow=True))

    def _quiet(self, runs: Runs, *, by_flow: bool = False) -> dict[str, float]:
        """Return the share of days, in %, without reordering and without retransmission."""
        counted = self.counts(runs, "duplicates", "retransmit", by_flow=by_flow)
        return {name: 100 * float((of["count"] == 0).mean()) for name, of in counted.items()}


class Fig10b(_PerDay):
    """Packets that are sent again."""

    id: ClassVar[str] = "fig10b"
    event: ClassVar[str] = "retransmit"
    label: ClassVar[str] = "retransmissions in a day"

    def mark(self, ax: Axes) -> None:
        """Mark the paper's 90th percentiles and maxima, which the claims allow a factor of either way."""
        bounds = {claim.id: claim.expect.between for claim in self.claims.claims}
        for name in self.variants:
            points = [(bounds.get(f"{claim}-{name}"), share) for claim, share in (("p90", 0.9), ("most", 1.0))]
            known = [(math.sqrt(bound[0] * bound[1]), share) for bound, share in points if bound is not None]
            drawn = figures.look(name)
            for number, point in enumerate(known):
                label = None if number else f"{drawn.label}, paper"
                ax.plot(*point, marker="o", markerfacecolor="none", linestyle="", color=drawn.color, label=label)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the 90th percentile and the maximum."""
        counted = self.counts(runs, self.event)
        measured = {}
        for name in ("cubic", "tdtcp"):
            if name in counted:
                measured[f"p90-{name}"] = Measured.one(float(counted[name]["count"].quantile(0.9)))
                measured[f"most-{name}"] = Measured.one(float(counted[name]["count"].max()))
        return measured

    def causes(self) -> list[Cause]:
        """Return what the burst of a window that was kept costs."""
        return [
            Cause(
                "p90-tdtcp",
                "The window of a network that comes back leaves at once and overflows the queue of 16 packets: the "
                "initial burst of Sec. 5.2. Paced, less is sent again",
                Fig10b(variants=("tdtcp",), seeds=self.few, changes=PACED),
            ),
            Cause(
                "most-cubic",
                "The paper's CUBIC sends again what was only late. Linux 6.12 hardly does: for each packet that was "
                "lost so many are sent again",
                self,
                self._for_each_lost,
            ),
        ]

    def _for_each_lost(self, runs: Runs) -> Measured:
        found: dict[str, float] = {}
        for variant in self.variants:
            events = self.of(runs, variant)[0].events["event"]
            lost = int(events.str.startswith("drop").sum())
            found[variant] = int((events == "retransmit").sum()) / lost if lost else float("nan")
        return Measured(found)
