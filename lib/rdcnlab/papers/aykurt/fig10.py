# SPDX-License-Identifier: Apache-2.0
"""Figure 10: two flows of one variant, and bursts of UDP on the main flow's link. Sec. V-G."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field
from scipy import stats

from rdcnlab.analysis import competition, figures, tables
from rdcnlab.fields.quantities import Listed
from rdcnlab.papers.aykurt.space import Period, Point, Variant, Volume
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario


class Fig10(Item):
    """Main and migrated flow of one variant while a third server sends 128 datagrams of 9000 B every 25 ms.

    Parameters
    ----------
    cc : tuple of str
        Variants; a panel each.
    period_ms : int
        A move every so many ms.
    size : str
        Volume of each flow.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "fig10"

    cc: Annotated[tuple[Variant, ...], Field(min_length=1), Listed] = ("cubic", "bbr", "reno", "westwood")
    period_ms: Period = 50
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return variants times seeds, with the bursts and without."""
        return [
            Point(protocol=protocol, cc=cc, period_ms=self.period_ms, size=self.size, seed=seed).scenario(
                # those of figure 4 without bursts have this probe for CUBIC only
                **({} if cc == "cubic" and protocol == "TCP" else {"probes.tcp": "none"})
            )
            for protocol, cc, seed in product(("UDP", "TCP"), self.cc, range(self.count))
        ]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return completion times, and with bursts the throughput."""
        return ("flows", "throughput") if _has_bursts(scenario) else ("flows",)

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows and the bursts over time with its interval, one panel a variant."""
        cases = {
            figures.look(cc).label: (self._of(runs, cc, bursts=True), competition.bin_ms(self.period_ms))
            for cc in self.cc
        }
        return competition.plot(cases, columns=2, width=3.6)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure who ends last, what bursts cost the main flow, and how regular its saw-tooth is."""
        times, alone = self._times(runs, bursts=True), self._times(runs, bursts=False)
        behind = tables.mean_ci(times.assign(s=times["main_s"] - times["migrated_s"]), ["cc"], "s").set_index("cc")
        # each with the run of the same seed, which has the same flows
        pairs = times.merge(alone, on=["cc", "seed"], suffixes=("", "_alone"))
        lost = pairs.assign(percent=100 * (pairs["main_s"] / pairs["main_s_alone"] - 1))
        lost = tables.mean_ci(lost, ["cc"], "percent").set_index("cc")
        regular = pd.concat([self._regularity(self._of(runs, cc, bursts=True)).assign(cc=cc) for cc in self.cc])
        regular = tables.mean_ci(regular, ["cc"], "correlation").set_index("cc")
        return {
            "main-later": Measured(tables.cases(behind["low"]), tables.listed(behind, "s")),
            "loss-based-lose-most": _above(lost, ["cubic", "reno"], "%"),
            "bbr-most-regular": _above(regular, ["bbr"]),
            "westwood-most-even": _above(tables.sizes(behind), ["cubic", "bbr", "reno"], "s"),
        }

    def causes(self) -> list[Cause]:
        """Return what timeouts have to do with who ends last, and how far apart the flows are without any bursts."""
        timeouts = (
            "Who ends last is who has more retransmission timeouts, and of Westwood's flows that is the migrated one. "
            "How much later the main flow ends where both have as many, and how much each timeout more adds"
        )
        return [
            Cause("main-later", timeouts, self, self._by_timeouts),
            Cause(
                "loss-based-lose-most",
                "What bursts cost Westwood's main flow is timeouts, too, which others hardly have. Timeouts of the "
                "main flow, more than without bursts",
                self,
                self._more_timeouts,
            ),
            Cause("westwood-most-even", timeouts, self, self._by_timeouts),
            Cause(
                "westwood-most-even",
                "Two flows of Westwood do not finish together here without bursts either, and it is the migrated one "
                "that ends last. Migrated over main without bursts, in s",
                self,
                self._apart_without_bursts,
            ),
        ]

    def _by_timeouts(self, runs: Runs) -> Measured:
        """Fit by how much, s, the main flow ends later, over how many timeouts more it has, by variant."""
        told = []
        for cc in self.cc:
            flows = self._of(runs, cc, bursts=True).flows
            flows = flows[flows["flow"].isin(competition.FLOWS)].set_index(["run", "flow"])
            behind, more = ((of["main"] - of["migrated"]) for of in (flows[c].unstack() for c in ("fct_s", "timeouts")))
            if more.min() < more.max():
                fit = stats.linregress(more.astype(float), behind)
                told.append(f"{cc}: {fit.intercept:.3g} s and {fit.slope:.3g} s a timeout (r = {fit.rvalue:.2f})")
            else:
                told.append(f"{cc}: {behind.mean():.3g} s, all alike in timeouts")
        return Measured(note=", ".join(told))

    def _more_timeouts(self, runs: Runs) -> Measured:
        """Measure the main flow's timeouts with bursts less those without, a run, by variant."""
        more: dict[str, float] = {}
        for cc in self.cc:
            mains = [self._of(runs, cc, bursts=bursts).flows.query("flow == 'main'") for bursts in (True, False)]
            more[cc] = float(mains[0]["timeouts"].mean() - mains[1]["timeouts"].mean())
        return Measured(more)

    def _apart_without_bursts(self, runs: Runs) -> Measured:
        times = self._times(runs, bursts=False)
        behind = times.assign(s=times["migrated_s"] - times["main_s"])
        return Measured(note=tables.listed(tables.mean_ci(behind, ["cc"], "s").set_index("cc"), "s"))

    def _of(self, runs: Runs, cc: str, *, bursts: bool) -> Runs:
        """Return the runs of one variant."""
        return runs.select(lambda scenario: scenario.flows[0].cc == cc and _has_bursts(scenario) == bursts)

    def _times(self, runs: Runs, *, bursts: bool) -> pd.DataFrame:
        """Return completion times, one row a run: ``cc``, ``seed``, ``main_s``, ``migrated_s``."""
        parts = []
        for cc in self.cc:
            of_variant = self._of(runs, cc, bursts=bursts)
            flows = of_variant.flows
            times = tables.completion(flows[flows["flow"].isin(competition.FLOWS)])
            parts.append(times.merge(of_variant.scenarios[["run", "seed"]], on="run").assign(cc=cc))
        return pd.concat(parts, ignore_index=True)

    def _regularity(self, runs: Runs) -> pd.DataFrame:
        """Return the ``correlation`` of the main flow's rate with itself a cycle later, while both run, by run."""
        seen = competition.phases(runs)
        main = seen[(seen["flow"] == "main") & seen["both_run"]]
        of_runs = [tables.autocorrelation(of["gbps"], 2 * self.period_ms) for _, of in tables.groups(main, ["run"])]
        return pd.DataFrame({"correlation": of_runs})


def _has_bursts(scenario: Scenario) -> bool:
    return any(flow.protocol == "udp" for flow in scenario.flows)


def _above(stats: pd.DataFrame, upper: list[str], unit: str = "") -> Measured:
    """Measure how far the intervals of some variants are above those of the others; the note lists all."""
    lower = [name for name in stats.index if name not in upper]
    if not lower or not set(upper) <= set(stats.index):
        return Measured(note="not all variants ran")
    return Measured.one(tables.margin(stats.loc[upper], stats.loc[lower]), tables.listed(stats, unit))
