# SPDX-License-Identifier: Apache-2.0
"""Figure 10: two flows of one variant, and bursts of UDP on the main flow's link. Sec. V-G."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
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
        times = pd.DataFrame({cc: self._times(runs, cc, bursts=True) for cc in self.cc}).T
        alone = pd.DataFrame({cc: self._times(runs, cc, bursts=False) for cc in self.cc}).T
        behind = times["main_s"] - times["migrated_s"]
        lost = 100 * (times["main_s"] / alone["main_s"] - 1)
        regular = pd.Series({cc: self._regularity(self._of(runs, cc, bursts=True)) for cc in self.cc})
        return {
            "main-later": Measured(tables.cases(behind)),
            "loss-based-lose-most": _apart(lost, ["cubic", "reno"], lambda mine, rest: mine.min() - rest.max(), "%"),
            "bbr-most-regular": _apart(regular, ["bbr"], lambda mine, rest: mine.max() - rest.max(), ""),
            "westwood-most-even": _apart(behind.abs(), ["westwood"], lambda mine, rest: mine.max() - rest.min(), "s"),
        }

    def causes(self) -> list[Cause]:
        """Return how far apart the flows are without any bursts."""
        return [
            Cause(
                "westwood-most-even",
                "Two flows of Westwood do not finish together here without bursts either, and it is the migrated one "
                "that ends last. Migrated over main without bursts, in s",
                self,
                self._apart_without_bursts,
            )
        ]

    def _apart_without_bursts(self, runs: Runs) -> Measured:
        times = pd.DataFrame({cc: self._times(runs, cc, bursts=False) for cc in self.cc}).T
        return Measured(tables.cases(times["migrated_s"] - times["main_s"]))

    def _of(self, runs: Runs, cc: str, *, bursts: bool) -> Runs:
        """Return the runs of one variant."""
        return runs.select(lambda scenario: scenario.flows[0].cc == cc and _has_bursts(scenario) == bursts)

    def _times(self, runs: Runs, cc: str, *, bursts: bool) -> pd.Series[float]:
        """Return the mean completion times, ``main_s`` and ``migrated_s``."""
        flows = self._of(runs, cc, bursts=bursts).flows
        return tables.completion(flows[flows["flow"].isin(competition.FLOWS)])[["main_s", "migrated_s"]].mean()

    def _regularity(self, runs: Runs) -> float:
        """Return the mean autocorrelation of the main flow's rate after one cycle of the timetable, while both run."""
        seen = competition.phases(runs)
        main = seen[(seen["flow"] == "main") & seen["both_run"]]
        of_runs = [tables.autocorrelation(of["gbps"], 2 * self.period_ms) for _, of in tables.groups(main, ["run"])]
        return float(pd.Series(of_runs).mean())


def _has_bursts(scenario: Scenario) -> bool:
    return any(flow.protocol == "udp" for flow in scenario.flows)


def _apart(
    values: pd.Series[float],
    mine: list[str],
    margin: Callable[[pd.Series[float], pd.Series[float]], float],
    unit: str,
) -> Measured:
    """Compare some variants with the others; the note lists all."""
    names = [name for name in mine if name in values.index]
    rest = values.drop(names)
    if len(names) < len(mine) or rest.empty:
        return Measured(note="not all variants ran")
    listed = ", ".join(f"{name}: {value:.3g}{f' {unit}' if unit else ''}" for name, value in values.items())
    return Measured.one(float(margin(values[names], rest)), listed)
