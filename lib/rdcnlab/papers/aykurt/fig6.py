# SPDX-License-Identifier: Apache-2.0
"""Figures 6(a) and 6(b): a migrated flow of one variant against a main flow of another. Sec. V-C."""

from __future__ import annotations

from itertools import permutations
from typing import Annotated, ClassVar

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab import competition, figures, tables
from rdcnlab.claims import Measured
from rdcnlab.items import Cause, Item
from rdcnlab.papers.aykurt.space import Period, Point, Variant, Volume
from rdcnlab.runs import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.fields import Listed

#: Variants of which every ordered pair is run.
_ALL: tuple[Variant, ...] = ("cubic", "bbr", "reno", "westwood")


class _Mixed(Item):
    """One variant migrated, others as main flows.

    Parameters
    ----------
    cc : str
        Variant of the migrated flow that is drawn.
    mains : tuple of str
        Variants of the main flows, a panel each.
    every_pair : bool
        Run every other ordered pair of CUBIC, BBR, Reno and Westwood too, for the claims that speak of all.
    size : str
        Volume of each flow.
    """

    paper: ClassVar[str] = "aykurt"
    period_ms: ClassVar[Period]

    cc: Variant = "cubic"
    mains: Annotated[tuple[Variant, ...], Field(min_length=1), Listed] = ("bbr", "reno", "westwood")
    every_pair: bool = True
    size: Volume = "2 GB"

    def _scenarios(self, period_ms: Period, asked: list[tuple[Variant, Variant]], count: int) -> list[Scenario]:
        return [
            Point(cc=migrated, main_cc=main, period_ms=period_ms, size=self.size, seed=seed).scenario(
                **{"probes.tcp": "none"}
            )
            for migrated, main in asked
            for seed in range(count)
        ]

    @property
    def _drawn(self) -> list[tuple[Variant, Variant]]:
        return [(self.cc, main) for main in self.mains]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return throughput and completion times."""
        return ("flows", "throughput")

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows over time with its interval, one panel a main variant."""
        cases = {}
        for migrated, main in self._drawn:
            names = [figures.look(cc).label for cc in (migrated, main)]
            of_pair = self._of(runs, migrated, main)
            cases[f"{names[0]} migrated, {names[1]} main"] = (of_pair, competition.bin_ms(self.period_ms))
        return competition.plot(cases)

    def _of(self, runs: Runs, migrated: str, main: str) -> Runs:
        """Return the runs of one ordered pair at this figure's period."""
        wanted = {"migrated": migrated, "main": main}
        of_period = competition.moved_every(runs, self.period_ms)
        return of_period.select(lambda scenario: {flow.name: flow.cc for flow in scenario.flows} == wanted)

    def _rest(self) -> list[tuple[Variant, Variant]]:
        """Return the ordered pairs that are not drawn."""
        return [pair for pair in permutations(_ALL, 2) if pair not in self._drawn] if self.every_pair else []


class Fig6a(_Mixed):
    """A move every 50 ms."""

    id: ClassVar[str] = "fig6a"
    period_ms: ClassVar[Period] = 50

    def points(self) -> list[Scenario]:
        """Return the pairs drawn, and every other ordered pair; of those one seed in the quick profile."""
        return self._scenarios(50, self._drawn, self.count) + self._scenarios(50, self._rest(), self.undrawn)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure who gets how much, and where BBR's rate stays."""
        seen = competition.phases(runs).merge(competition.variants(runs), on="run")
        both = seen[seen["both_run"]]
        means = both.pivot_table(index=["migrated", "main"], columns="flow", values="gbps")
        means = means.rename(columns={"main": "of_main", "migrated": "of_migrated"})
        ratio = means["of_migrated"] / means["of_main"]
        drawn = ratio.loc[[pair for pair in self._drawn if pair in ratio.index]]
        measured = {}
        if ("cubic", "bbr") in ratio.index:
            bbr = seen[(seen["migrated"] == "cubic") & (seen["main"] == "bbr") & (seen["flow"] == "main")]
            alone = bbr[bbr["both_run"] & bbr["late"] & (bbr["phase"] == "apart")]
            after = bbr[bbr["main_runs"] & ~bbr["migrated_runs"]]
            measured["cubic-over-bbr"] = Measured.one(float(ratio.loc[("cubic", "bbr")]))
            measured["bbr-alone"] = Measured.one(float(alone["gbps"].mean()))
            measured["bbr-after"] = Measured.one(float(after["gbps"].mean()), "" if len(after) else "it ended first")
        if ("cubic", "reno") in drawn.index and len(drawn) > 1:
            fair = means.loc[drawn.index].apply(tables.jain, axis=1)
            margin = fair.loc[("cubic", "reno")] - fair.drop(("cubic", "reno")).max()
            measured["reno-is-fairest"] = Measured.one(float(margin), _listed(fair))
        over = pd.concat(
            [
                ratio[ratio.index.get_level_values("migrated") == "westwood"],
                1 / ratio[ratio.index.get_level_values("main") == "westwood"],
            ]
        )
        if len(over):
            measured["westwood-over-all"] = Measured(tables.cases(over, "{} migrated, {} main"))
        return measured

    def causes(self) -> list[Cause]:
        """Return what buffer BBR would have to lose in, and what the card's memory does for Westwood's partners."""
        smaller = {f"network.links.{link}.buffer": "500 kB" for link in ("green", "blue")}
        no_memory = {f"network.hosts.{host}.nic_buffer": 0 for host in ("s1", "s2", "r1", "r2")}
        return [
            Cause(
                "bbr-alone",
                "In the buffer of 2.8 MB BBR loses next to nothing, and is back at the full rate as soon as it is "
                "alone. Where it does lose packets in CUBIC's queue it is not: in a buffer of 500 kB its peaks are, in "
                "Gb/s",
                Fig6a(mains=("bbr",), every_pair=False, size=self.size, seeds=self.few, changes=smaller),
            ),
            Cause(
                "westwood-over-all",
                "What of a window the path does not hold waits in the memory of the sender's own card, which the "
                "testbed is given for other claims. Without such memory the ratios are",
                Fig6a(size=self.size, seeds=self.few, changes=no_memory),
            ),
        ]


class Fig6b(_Mixed):
    """A move every 10 ms, compared with one every 50 ms."""

    id: ClassVar[str] = "fig6b"
    period_ms: ClassVar[Period] = 10

    every_pair: bool = False

    def points(self) -> list[Scenario]:
        """Return the pairs drawn, at both periods, and every other ordered pair at 10 ms if asked."""
        at_both = [self._scenarios(period, self._drawn, self.count) for period in (10, 50)]
        return [*at_both[0], *at_both[1], *self._scenarios(10, self._rest(), self.undrawn)]

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the differences of completion times between the periods."""
        fct = runs.flows.merge(competition.variants(runs), on="run")
        fct = fct[fct["migrated"] == self.cc]
        fct = fct.pivot_table(index=["period_ms", "main", "run"], columns="flow", values="fct_s")
        behind = (fct["migrated"] - fct["main"]).groupby(["period_ms", "main"]).mean().unstack("period_ms")
        behind = behind.loc[[main for main in self.mains if main in behind.index]]
        return {
            "same-order": Measured.one(tables.spearman(behind[50], behind[10])),
            "larger-differences": Measured(tables.cases(behind[10].abs() / behind[50].abs())),
        }

    def causes(self) -> list[Cause]:
        """Return why CUBIC is less ahead of BBR at 10 ms."""
        return [
            Cause(
                "larger-differences",
                "CUBIC, which ends first beside BBR, pushes it aside slowly: of a slot of 50 ms it gets least in the "
                "first 10 ms. Its share of the link, in %",
                Fig6a(mains=("bbr",), every_pair=False, size=self.size, seeds=self.few),
                _as_slots_age,
            )
        ]


def _as_slots_age(runs: Runs) -> Measured:
    """Measure the migrated flow's share of the link, in %, in the first 10 ms of shared slots and afterwards."""
    seen = competition.phases(runs)
    shared = seen[seen["both_run"] & (seen["phase"] == "shared")]
    early = (shared["t_s"] * 1000).round() % 50 < 10
    rates = shared.groupby([early.map({True: "first 10 ms", False: "afterwards"}), "flow"])["gbps"].mean().unstack()
    return Measured(tables.cases(100 * rates["migrated"] / rates.sum(axis=1)))


def _listed(fair: pd.Series[float]) -> str:
    return ", ".join(f"{names}: {value:.3f}" for names, value in tables.cases(fair, "{} with {}").items())
