# SPDX-License-Identifier: Apache-2.0
"""Figure 9: two CUBIC flows with a downtime at each reconfiguration, 90 % duty cycle. Sec. V-E."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import competition, tables
from rdcnlab.fields.quantities import Listed
from rdcnlab.papers.aykurt.space import Downtime, Point, Variant, Volume
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import DARK, Scenario

Cycle = Literal[100, 50, 20, 10]
#: Downtime of each period.
_DOWNTIME: dict[Cycle, Downtime] = {100: 10, 50: 5, 20: 2, 10: 1}


class Fig9(Item):
    """Main and migrated flow where the circuit is dark for the last tenth of every period.

    Parameters
    ----------
    cc : str
        Variant of both flows.
    periods_ms : tuple of {100, 50, 20, 10}
        Periods, downtime included; a panel each.
    size : str
        Volume of each flow.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "fig9"

    cc: Variant = "cubic"
    periods_ms: Annotated[tuple[Cycle, ...], Field(min_length=1), Listed] = (100, 50, 20, 10)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return periods times seeds, with the downtime and without."""
        asked: list[tuple[Cycle, Downtime | None]] = [(period, _DOWNTIME[period]) for period in self.periods_ms]
        asked += [(period, None) for period in self.periods_ms]
        return [
            Point(cc=self.cc, period_ms=period, downtime_ms=downtime, size=self.size, seed=seed).scenario()
            for period, downtime in asked
            for seed in range(self.count)
        ]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return throughput and completion times; of one seed the events, which show what meets the dark."""
        if not _is_dark(scenario):
            return ("flows",)
        return ("flows", "throughput", "events") if scenario.seed == 0 else ("flows", "throughput")

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows over time with its interval, one panel a period."""
        cases = {
            f"{period} ms, {_DOWNTIME[period]} ms of it dark": (self._of(runs, period), competition.bin_ms(period))
            for period in self.periods_ms
        }
        return competition.plot(cases, columns=2, width=3.6)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure drops in the dark, who falls behind, and what the main flow gains."""
        dark = {period: self._of(runs, period) for period in self.periods_ms}
        times = {period: tables.completion(of.flows) for period, of in dark.items()}
        bright = {period: tables.completion(self._of(runs, period, dark=False).flows) for period in self.periods_ms}
        drops = {period: of.select(lambda scenario: scenario.seed == 0).events for period, of in dark.items()}
        migrated = pd.Series({period: of["migrated_s"].mean() for period, of in times.items()})
        measured = {
            "drops": Measured(
                {f"{period} ms": float((events["event"] == "drop_dark").sum()) for period, events in drops.items()}
            ),
            "prolongation": Measured.one(tables.spearman(migrated.index, migrated)),
            "main-gains": Measured(
                {f"{period} ms": tables.margin(_main(bright[period]), _main(of)) for period, of in times.items()}
            ),
        }
        if 100 in dark:
            measured["below-at-100"] = Measured.one(_below(dark[100], 200))
        if 10 in dark:
            rates = competition.on_one_link(dark[10]).groupby("flow")["gbps"].mean()
            seen = competition.phases(dark[10])
            after = seen[(seen["flow"] == "migrated") & seen["migrated_runs"] & ~seen["main_runs"]]
            measured["main-takes-over"] = Measured.one(100 * float(rates["main"] / rates.sum()))
            measured["slow-after-main"] = Measured.one(float(after["gbps"].mean()))
        return measured

    def _of(self, runs: Runs, period: Cycle, *, dark: bool = True) -> Runs:
        """Return the runs of one period."""
        return competition.moved_every(runs, period).select(lambda scenario: _is_dark(scenario) == dark)


def _is_dark(scenario: Scenario) -> bool:
    return any(slot.link == DARK for slot in scenario.flows[-1].slots)


def _main(times: pd.DataFrame) -> pd.DataFrame:
    """Average the main flow's completion time."""
    return tables.mean_ci(times.assign(flow="main"), ["flow"], "main_s")


def _below(runs: Runs, cycle_ms: int) -> float:
    """Percentage of whole cycles in which the migrated flow's mean rate is below the main flow's, while both run."""
    seen = competition.phases(runs)
    both = seen[seen["both_run"]]
    cycles = (both["t_s"] * 1000 // cycle_ms).rename("cycle")
    rates = both.groupby([cycles, "flow"])["gbps"].mean().unstack("flow").iloc[:-1]
    return 100 * float((rates["migrated"] < rates["main"]).mean())
