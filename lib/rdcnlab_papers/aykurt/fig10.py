# SPDX-License-Identifier: Apache-2.0
"""Figure 10: two flows of one variant, and bursts of UDP on the main flow's link. Sec. V-G."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import bursts, competition, curves, rivals, timeouts
from rdcnlab_papers.analysis.measured import Measured, highest, means
from rdcnlab_papers.aykurt import streams
from rdcnlab_papers.aykurt.space import COMPARED, NO_ACKS, Period, Variants, Volume, buffers, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Time in ms for which a burst is taken to last; the paper draws rates, and does not say over which times.
_BURST_MS = 10


class Fig10(Item):
    """Main and migrated flow of one variant while a third server sends 128 datagrams of 9000 B every 25 ms.

    Parameters
    ----------
    cc : tuple of str
        Variants; one panel for each.
    period_ms : int
        Time between moves in ms.
    size : str
        Volume of each flow.
    stays : bool
        Whether the migrated flow stays on the main flow's link, for the experiment of a cause. Then there is no
        constant stream.
    """

    cc: Variants = COMPARED
    period_ms: Period = 50
    size: Volume = "2 GB"
    stays: bool = False

    def points(self) -> list[Scenario]:
        """Return one scenario for each variant and seed, with bursts and without, and those with a constant stream."""
        axes = {"period_ms": self.period_ms, "size": self.size, "seed": range(self.count)}
        path = {"flows.migrated.path": "green"} if self.stays else {}
        with_bursts = grid({**NO_ACKS, **path}, protocol="UDP", cc=self.cc, **axes)
        # CUBIC without bursts records ACKs, so these are the same runs as those of figure 4
        alone = grid(lambda point: path if point.cc == "cubic" else {**NO_ACKS, **path}, cc=self.cc, **axes)
        if self.stays:
            return with_bursts + alone
        seeds = range(min(self.count, self.count_for_causes))
        return with_bursts + alone + [streams.scenario(*one) for one in product(self.cc, streams.RATES, seeds)]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return completion times, and with bursts the throughput."""
        if streams.is_stream(scenario):
            return ("throughput",)
        return ("flows", "throughput") if _has_bursts(scenario) else ("flows",)

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows and the bursts over time with interval, one panel for each variant."""
        cases = {
            f"{figures.look(cc).label}, period {self.period_ms} ms": (cc_runs, self.period_ms)
            for cc, cc_runs in self.runs_by_variant(runs, bursts=True).items()
        }
        return curves.plot(cases, width=2.5)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure which flow ends last, the time that bursts cost the main flow, and the regularity of its sawtooth."""
        with_bursts = self.runs_by_variant(runs, bursts=True)
        times = rivals.times(with_bursts, "cc")
        without_bursts = rivals.times(self.runs_by_variant(runs, bursts=False), "cc")
        delays = means(times.assign(s=times["main_s"] - times["migrated_s"]), "cc", "s")
        # compare each run with the run of the same seed without bursts, which has the same flows
        pairs = times.merge(without_bursts, on=["cc", "seed"], suffixes=("", "_alone"))
        lost = means(pairs.assign(percent=100 * (pairs["main_s"] / pairs["main_s_alone"] - 1)), "cc", "percent")
        cycle = 2 * self.period_ms
        regular = pd.concat(
            [competition.regularity(cc_runs, cycle).assign(cc=cc) for cc, cc_runs in with_bursts.items()]
        )
        regular = means(regular, "cc", "correlation")
        shares = pd.concat([bursts.shares(rows, _BURST_MS, "main").assign(cc=cc) for cc, rows in with_bursts.items()])
        measured = {"bbr-loses-nothing": self._more_retransmissions(runs)} if "bbr" in self.cc else {}
        if not self.stays:
            measured |= streams.measure(runs.select(streams.is_stream))
        return measured | {
            "udp-takes-tenth": Measured.by_case(means(shares, "cc", "percent")),
            "main-later": Measured.by_case(delays),
            "main-later was": Measured.by_case(delays["low"]),
            "loss-based-lose-most": highest(lost, ["cubic", "reno"], tables.list_estimates(lost, "%")),
            "bbr-most-regular": highest(regular, ["bbr"], tables.list_estimates(regular)),
            "westwood-most-even": highest(
                tables.sizes(delays), ["cubic", "bbr", "reno"], tables.list_estimates(tables.sizes(delays), "s")
            ),
        }

    def causes(self) -> list[Cause]:
        """Return experiments on timeouts, moves, and the buffer, and the differences of flows without bursts."""
        roomy = self.with_parameters(cc=("westwood",), size=self.size, profile=self.profile, changes=buffers("10 MB"))
        stays = self.with_parameters(cc=("bbr",), size=self.size, profile=self.profile, stays=True)
        return [
            Cause("bbr-loses-nothing", stays),
            Cause("bbr-loses-nothing", self, self._both_ways),
            Cause("udp-keeps-rate", roomy),
            Cause("udp-takes-tenth", self, self._arriving),
            Cause("main-later", self, self._by_timeouts),
            Cause("loss-based-lose-most", self, self._more_timeouts),
            Cause("westwood-most-even", self, self._by_timeouts),
            Cause("westwood-most-even", self, self._apart_without_bursts),
        ]

    def runs_by_variant(self, runs: Runs, *, bursts: bool) -> dict[str, Runs]:
        """Return the runs of each variant, with the bursts or without."""
        chosen = runs.select(lambda one: _has_bursts(one) == bursts and not streams.is_stream(one))
        return {cc: rivals.of_variants(chosen, main=cc) for cc in self.cc}

    def _more_retransmissions(self, runs: Runs) -> Measured:
        """Measure by how much bursts raise the retransmissions of each flow of BBR, seed by seed."""
        pairs = self._retransmissions(runs)
        listed = ", ".join(
            f"{flow}: {rows['retransmits'].mean():.4g} with, {rows['retransmits_alone'].mean():.4g} without"
            for flow, rows in pairs.groupby("flow")
        )
        return Measured.by_case(means(pairs, "flow", "more"), note=listed)

    def _both_ways(self, runs: Runs) -> Measured:
        """Measure in how many seeds bursts raise and lower the retransmissions of BBR's migrated flow."""
        pairs = self._retransmissions(runs)
        more = pairs[pairs["flow"] == "migrated"]["more"]
        counts = {
            "seeds with more": (more > 0).sum(),
            "with fewer": (more < 0).sum(),
            "with as many": (more == 0).sum(),
        }
        return Measured(counts, f"from {more.min():+.0f} to {more.max():+.0f}, standard deviation {more.std():.3g}")

    def _retransmissions(self, runs: Runs) -> pd.DataFrame:
        """Return by flow and seed the retransmissions of BBR with bursts and alone, and ``more``, their difference."""
        disturbed, alone = (
            tables.with_seeds(
                self.runs_by_variant(runs, bursts=chosen)["bbr"].flows,
                self.runs_by_variant(runs, bursts=chosen)["bbr"].scenarios,
            )
            for chosen in (True, False)
        )
        pairs = disturbed.merge(alone, on=["flow", "seed"], suffixes=("", "_alone"))
        pairs = pairs[pairs["flow"].isin(rivals.FLOWS)].astype({"flow": str})
        return pairs.assign(more=pairs["retransmits"] - pairs["retransmits_alone"])

    def _arriving(self, runs: Runs) -> Measured:
        """Measure the share of the bursts' datagrams that the receiver got, in %."""
        with_bursts = self.runs_by_variant(runs, bursts=True)
        arrived = pd.concat([bursts.arrived(cc_runs).assign(cc=cc) for cc, cc_runs in with_bursts.items()])
        return Measured.by_case(means(arrived, "cc", "percent"), unit="%")

    def _by_timeouts(self, runs: Runs) -> Measured:
        return timeouts.later_by_timeouts(self.runs_by_variant(runs, bursts=True))

    def _more_timeouts(self, runs: Runs) -> Measured:
        return timeouts.more_timeouts(self.runs_by_variant(runs, bursts=True), self.runs_by_variant(runs, bursts=False))

    def _apart_without_bursts(self, runs: Runs) -> Measured:
        times = rivals.times(self.runs_by_variant(runs, bursts=False), "cc")
        return Measured(note=tables.list_estimates(means(times, "cc", "prolongation_s"), "s"))


def _has_bursts(scenario: Scenario) -> bool:
    return any(flow.burst is not None for flow in scenario.flows)
