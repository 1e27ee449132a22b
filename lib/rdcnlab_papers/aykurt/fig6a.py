# SPDX-License-Identifier: Apache-2.0
"""Figure 6(a): a migrated flow of one variant against a main flow of another, at 50 ms. Sec. V-C."""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import estimates, over_seeds
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import competition, curves, rivals
from rdcnlab_papers.analysis.measured import Measured, highest, means
from rdcnlab_papers.aykurt.space import COMPARED, NO_ACKS, Period, Variant, Variants, Volume, buffers, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PAIR = "{} migrated, {} main"
#: Ruled out as causes that keep BBR at half the rate when it is alone: the buffer; the sender's own queue, as in Linux
#: 4.15 with a network card without its own memory; and missing timestamps.
_NOT_BBR: tuple[dict[str, Any], ...] = (
    buffers("500 kB"),
    {
        "transport.limit_output_bytes": "256 KiB",
        "network.hosts.s1.nic_buffer": 0,
        "network.hosts.s2.nic_buffer": 0,
    },
    {"transport.timestamps": False},
)


class Fig6a(Item):
    """A migrated flow of one variant, and main flows of other variants.

    Parameters
    ----------
    cc : str
        Variant of the migrated flow that is drawn.
    mains : tuple of str
        Variants of the main flows; one panel for each.
    every_pair : bool
        Also run every other ordered pair of CUBIC, BBR, Reno and Westwood, for the claims about all pairs.
    size : str
        Volume of each flow.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "throughput")
    period_ms: ClassVar[Period] = 50

    cc: Variant = "cubic"
    mains: Variants = ("bbr", "reno", "westwood")
    every_pair: bool = True
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return the drawn pairs and every other ordered pair. In the quick profile the others have one seed."""
        return self.pairs(self.period_ms) + self.other_pairs(self.period_ms)

    def pairs(self, period_ms: Period) -> list[Scenario]:
        """Return the drawn pairs at a period."""
        axes = {"period_ms": period_ms, "size": self.size, "seed": range(self.count)}
        return grid(NO_ACKS, cc=self.cc, main_cc=self.mains, **axes)

    def other_pairs(self, period_ms: Period) -> list[Scenario]:
        """Return the ordered pairs that are not drawn, if `every_pair` is set."""
        pairs = [pair for pair in permutations(COMPARED, 2) if pair[0] != self.cc or pair[1] not in self.mains]
        axes = {"period_ms": period_ms, "size": self.size, "seed": range(self.count_undrawn)}
        return [
            scenario for cc, main in pairs if self.every_pair for scenario in grid(NO_ACKS, cc=cc, main_cc=main, **axes)
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows over time with its interval, one panel for each main variant."""
        cases, stated = {}, {}
        for main in self.mains:
            title = f"{figures.look(self.cc).label} migrated, {figures.look(main).label} main"
            of_pair = rivals.of_variants(runs, migrated=self.cc, main=main)
            cases[title] = (rivals.moved_every(of_pair, self.period_ms), self.period_ms)
            if (main, self.cc) == ("bbr", "cubic") and self.expected("bbr-alone") is not None:
                stated[title] = {"apart": (self.stated("bbr-alone"), "paper: BBR apart")}
        return curves.plot(cases, stated=stated)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the share of each flow, and the rate that BBR keeps."""
        samples = competition.phases(runs).merge(rivals.variants(runs), on="run")
        common = samples[samples["both_run"]]
        rates = common.pivot_table(index=["migrated", "main", "run"], columns="flow", values="gbps")
        rates = rates.rename(columns={"main": "of_main", "migrated": "of_migrated"})
        drawn = [(self.cc, main) for main in self.mains]
        measured = {}
        if ("cubic", "bbr") in drawn:
            bbr = samples[(samples["migrated"] == "cubic") & (samples["main"] == "bbr")]
            ratio = _by_pair(rates["of_migrated"] / rates["of_main"]).loc[[("cubic", "bbr")]]
            rate_after = competition.alone(bbr, "main")
            measured["cubic-over-bbr"] = Measured.one(estimates(ratio)["cubic", "bbr"])
            measured["bbr-alone"] = Measured.one(estimates(competition.peaks(bbr))["main"])
            ends = rivals.times({"": rivals.of_variants(runs, migrated="cubic", main="bbr")}, "pair")
            ratio_of_times = ends.assign(ratio=ends["main_s"] / ends["migrated_s"])
            measured["bbr-ends-much-later"] = Measured.one(over_seeds(ratio_of_times["ratio"]))
            measured["bbr-after"] = Measured.one(rate_after, "it ended first" if math.isnan(rate_after) else "")
        if ("cubic", "reno") in drawn and len(drawn) > 1:
            fair = _by_pair(rates.apply(tables.jain, axis=1)).loc[drawn]
            measured["reno-is-fairest"] = highest(fair, [("cubic", "reno")], _listed(fair))
        migrated, main = (rates[rates.index.get_level_values(flow) == "westwood"] for flow in ("migrated", "main"))
        if len(migrated) or len(main):
            ratios = [migrated["of_migrated"] / migrated["of_main"], main["of_main"] / main["of_migrated"]]
            by_pair = _by_pair(pd.concat(ratios))
            claimed = by_pair.loc[by_pair.index.isin([("cubic", "westwood")])]
            others = by_pair.drop(index=claimed.index)
            measured["westwood-over-all"] = Measured.by_case(claimed, _PAIR)
            measured["westwood-everywhere"] = Measured.by_case(others, _PAIR)
            measured["westwood-over-all was"] = Measured.by_case(by_pair["low"], _PAIR)
        return measured

    def causes(self) -> list[Cause]:
        """Return experiments on possible limits of BBR, and on the cost of timestamps for Westwood."""
        settings = {"mains": ("bbr",), "every_pair": False, "size": self.size}
        return [
            Cause("bbr-alone", self.with_parameters(**settings, changes=buffers("500 kB"))),
            *(Cause("bbr-after", self.with_parameters(**settings, changes=changes)) for changes in _NOT_BBR),
            Cause("westwood-everywhere", self.with_parameters(size=self.size, changes={"transport.timestamps": False})),
        ]


def _listed(stats: pd.DataFrame) -> str:
    return tables.list_estimates(stats, "", _PAIR)


def _by_pair(of_runs: pd.Series[float]) -> pd.DataFrame:
    """Average over the runs of each ordered pair, ``migrated`` and ``main``."""
    return means(of_runs.rename("value").reset_index(), ["migrated", "main"], "value")
