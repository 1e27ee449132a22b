# SPDX-License-Identifier: Apache-2.0
"""Figure 9: two CUBIC flows with a downtime at each reconfiguration, 90 % duty cycle. Sec. V-E."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import DARK, Scenario
from rdcnlab_papers.analysis import competition, curves, rivals
from rdcnlab_papers.analysis.measured import Measured, margins, means, trend
from rdcnlab_papers.aykurt.space import Downtime, Variant, Volume, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cycle = Literal[100, 50, 20, 10]
#: Downtime of each period.
_DOWNTIME: dict[Cycle, Downtime] = {100: 10, 50: 5, 20: 2, 10: 1}


class Fig9(Item):
    """Main and migrated flow, with a circuit that is dark in the last tenth of every period.

    Parameters
    ----------
    cc : str
        Variant of both flows.
    periods_ms : tuple of {100, 50, 20, 10}
        Periods, downtime included; one panel for each.
    size : str
        Volume of each flow.
    """

    cc: Variant = "cubic"
    periods_ms: Annotated[tuple[Cycle, ...], Field(min_length=1), Listed] = (100, 50, 20, 10)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return one scenario for each period and seed, with downtime and without."""
        axes: dict[str, Any] = {"cc": self.cc, "size": self.size, "seed": range(self.count)}
        dark = [
            scenario for ms in self.periods_ms for scenario in grid(period_ms=ms, downtime_ms=_DOWNTIME[ms], **axes)
        ]
        return dark + grid(period_ms=self.periods_ms, **axes)

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return throughput and completion times, and for one seed the events, which show the drops in the dark."""
        if not _is_dark(scenario):
            return ("flows",)
        return ("flows", "throughput", "events") if scenario.seed == 0 else ("flows", "throughput")

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows over time with its interval, one panel for each period."""
        cases = {
            f"period {ms} ms, {_DOWNTIME[ms]} ms of it dark": (period_runs, ms)
            for ms, period_runs in self._by_period(runs, dark=True).items()
        }
        return curves.plot(cases, width=2.8)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure drops in the dark, which flow is slower, and the gain of the main flow."""
        dark = self._by_period(runs, dark=True)
        # only these runs record events; without them, as in the half of the seeds without seed 0, there is no number
        recorded = {ms: period_runs.select(lambda scenario: scenario.seed == 0) for ms, period_runs in dark.items()}
        events = {ms: period_runs.events["event"] for ms, period_runs in recorded.items() if len(period_runs)}
        times, bright = (rivals.times(cases, "of_ms") for cases in (dark, self._by_period(runs, dark=False)))
        gains = margins(means(bright, "of_ms", "main_s"), means(times, "of_ms", "main_s"), self.periods_ms, "{} ms")
        measured = {
            "drops": Measured({f"{ms} ms": float((kinds == "drop_dark").sum()) for ms, kinds in events.items()}),
            "prolongation": Measured.one(trend(times, "of_ms", "migrated_s")),
            "main-gains": Measured(gains),
        }
        if 100 in dark:
            measured["below-at-100"] = Measured.one(competition.cycles_below(dark[100], 200))
        if 10 in dark:
            samples = competition.phases(dark[10])
            measured["main-takes-over"] = Measured.one(competition.shares(samples, "main"))
            measured["slow-after-main"] = Measured.one(competition.alone(samples, "migrated"))
        return measured

    def causes(self) -> list[Cause]:
        """Return the first column for what fails with cards: it has neither them nor the older kernel."""
        first = type(self)(profile=self.profile)
        return [Cause("prolongation", first)] if self.column != first.column else []

    def _by_period(self, runs: Runs, *, dark: bool) -> dict[Cycle, Runs]:
        """Return the runs of each period, with downtime or without."""
        chosen = runs.select(lambda scenario: _is_dark(scenario) == dark)
        return {period: rivals.moved_every(chosen, period) for period in self.periods_ms}


def _is_dark(scenario: Scenario) -> bool:
    return any(slot.link == DARK for slot in scenario.flows[-1].slots)
