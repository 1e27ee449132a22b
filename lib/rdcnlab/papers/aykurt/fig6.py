# SPDX-License-Identifier: Apache-2.0
"""Figures 6(a) and 6(b): a migrated flow of one variant against a main flow of another. Sec. V-C."""

from __future__ import annotations

from itertools import permutations
from typing import Annotated, Any, ClassVar

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import competition, figures, tables
from rdcnlab.fields.quantities import Listed
from rdcnlab.papers.aykurt.space import Period, Point, Variant, Volume, buffers
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

#: Variants of which every ordered pair is run.
_ALL: tuple[Variant, ...] = ("cubic", "bbr", "reno", "westwood")
_PAIR = "{} migrated, {} main"
#: What does not keep BBR at half the rate once it is alone, and the changes that bring it in.
_NOT_BBR: dict[str, dict[str, Any]] = {
    "a buffer of 500 kB": buffers("500 kB"),
    # as in Linux 4.15, on a card without memory of its own
    "256 KiB in the sender's own queue": {
        "transport.limit_output_bytes": "256 KiB",
        "network.hosts.s1.nic_buffer": 0,
        "network.hosts.s2.nic_buffer": 0,
    },
    "no timestamps": {"transport.timestamps": False},
}


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
        rates = both.pivot_table(index=["migrated", "main", "run"], columns="flow", values="gbps")
        rates = rates.rename(columns={"main": "of_main", "migrated": "of_migrated"})
        measured = {}
        if ("cubic", "bbr") in self._drawn:
            bbr = seen[(seen["migrated"] == "cubic") & (seen["main"] == "bbr") & (seen["flow"] == "main")]
            alone = bbr[bbr["both_run"] & bbr["late"] & (bbr["phase"] == "apart")]
            after = bbr[bbr["main_runs"] & ~bbr["migrated_runs"]]
            ratio = _by_pair(rates["of_migrated"] / rates["of_main"]).loc[[("cubic", "bbr")]]
            measured["cubic-over-bbr"] = Measured.one(float(ratio["low"].min()), tables.listed(ratio, "", _PAIR))
            measured["bbr-alone"] = Measured.one(float(alone["gbps"].mean()))
            measured["bbr-after"] = Measured.one(float(after["gbps"].mean()), "" if len(after) else "it ended first")
        if ("cubic", "reno") in self._drawn and len(self._drawn) > 1:
            fair = _by_pair(rates.apply(tables.jain, axis=1)).loc[self._drawn]
            margin = tables.margin(fair.loc[[("cubic", "reno")]], fair.drop(("cubic", "reno")))
            measured["reno-is-fairest"] = Measured.one(margin, tables.listed(fair, "", _PAIR))
        migrated, main = (rates[rates.index.get_level_values(flow) == "westwood"] for flow in ("migrated", "main"))
        if len(migrated) or len(main):
            over = _by_pair(
                pd.concat([migrated["of_migrated"] / migrated["of_main"], main["of_main"] / main["of_migrated"]])
            )
            measured["westwood-over-all"] = Measured(tables.cases(over["low"], _PAIR), tables.listed(over, "", _PAIR))
        return measured

    def causes(self) -> list[Cause]:
        """Return what does and does not hold BBR back, and what the timestamps cost Westwood."""
        return [
            Cause(
                "bbr-alone",
                "In the testbed's buffer BBR is back at the full rate as soon as it is alone. Where it loses more in "
                "CUBIC's queue it is not: in a buffer of 500 kB its peaks are, in Gb/s",
                Fig6a(mains=("bbr",), every_pair=False, size=self.size, seeds=self.few, changes=buffers("500 kB")),
            ),
            *(
                Cause(
                    "bbr-after",
                    "Not found. BBR asks for a quarter more every eight round trips, and gets it where nobody else "
                    f"sends. Not even {what} holds it back",
                    Fig6a(mains=("bbr",), every_pair=False, size=self.size, seeds=self.few, changes=changes),
                )
                for what, changes in _NOT_BBR.items()
            ),
            Cause(
                "westwood-over-all",
                "A migrated Westwood flow stands still for 200 ms now and then. After a move away from a queue, "
                "segments that waited there come after newer ones, and the receiver discards those that are older by "
                "more than a tick of the timestamps' clock, 1 ms (PAWS: RFC 7323, sec. 5.3), until a timeout sends "
                "them again. Without timestamps the ratios are",
                Fig6a(size=self.size, seeds=self.few, changes={"transport.timestamps": False}),
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
        times = (fct["migrated"] - fct["main"]).rename("behind_s").reset_index()
        of_both = tables.mean_ci(times, ["period_ms", "main"], "behind_s")
        at_10, at_50 = (
            of_both[of_both["period_ms"] == period].set_index("main").reindex(self.mains) for period in (10, 50)
        )
        larger, smaller = tables.sizes(at_10), tables.sizes(at_50)
        more: dict[str, float] = {main: tables.margin(larger.loc[[main]], smaller.loc[[main]]) for main in self.mains}
        listed = f"at 10 ms {tables.listed(at_10, 's')}; at 50 ms {tables.listed(at_50, 's')}"
        return {
            "same-order": Measured.one(tables.spearman(at_50["mean"], at_10["mean"]), listed),
            "larger-differences": Measured(more, listed),
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
    shared = competition.on_one_link(runs)
    age = (shared["since_ms"] < 10).map({True: "first 10 ms", False: "afterwards"})
    rates = shared.groupby([age, "flow"])["gbps"].mean().unstack()
    return Measured(tables.cases(100 * rates["migrated"] / rates.sum(axis=1)))


def _by_pair(of_runs: pd.Series[float]) -> pd.DataFrame:
    """Average over the runs of each ordered pair, ``migrated`` and ``main``."""
    stats = tables.mean_ci(of_runs.rename("value").reset_index(), ["migrated", "main"], "value")
    return stats.set_index(["migrated", "main"])
