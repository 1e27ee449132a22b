# SPDX-License-Identifier: Apache-2.0
"""Figure 3: one flow of 4 GB, migrated or not. Sec. V-A."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.papers.aykurt.space import Period, Point, Variant, Volume
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

_LINE_RATE = 10e9
#: Drops this long after a move count as caused by it: more than three smallest RTTs.
_AFTER_MOVE_NS = NS_PER_MS


class Fig3(Item):
    """Throughput of a single flow for every variant and period.

    Parameters
    ----------
    cc : tuple of str
        Variants.
    periods_ms : tuple of int or None
        Periods; None for no migration.
    size : str
        Volume of the flow.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "fig3"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 30}

    cc: Annotated[tuple[Variant, ...], Field(min_length=1), Listed] = ("cubic", "bbr", "reno", "westwood")
    periods_ms: Annotated[tuple[Period | None, ...], Field(min_length=1), Listed] = (None, 50, 10)
    size: Volume = "4 GB"

    def points(self) -> list[Scenario]:
        """Return variants times periods times seeds."""
        return [
            Point(cc=cc, period_ms=period, flows=1, size=self.size, seed=seed).scenario()
            for cc, period, seed in product(self.cc, self.periods_ms, range(self.count))
        ]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return all but the queues."""
        return ("flows", "throughput", "tcp", "events")

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput over time, one panel a period."""
        rates = tables.with_fields(tables.rates(runs.throughput, *_bins(5)), runs.scenarios)
        stats = tables.mean_ci(rates.fillna({"period_ms": 0}), ["period_ms", "cc", "t_s"], "rate_bps")
        with figures.style():
            figure, axes = figures.panels(1, len(self.periods_ms))
            for ax, period in zip(axes[0], self.periods_ms, strict=True):
                for place, cc in enumerate(self.cc):
                    of_cc = stats[(stats["period_ms"] == (period or 0)) & (stats["cc"] == cc)]
                    # all variants do the same here, so their curves lie on each other
                    figures.band(ax, of_cc, "t_s", cc, scale=1e-9, width=1.0 + 1.8 * (len(self.cc) - 1 - place))
                figures.reference(ax, self.stated("fct"), "paper: FCT", along="x")
                ax.set(title=f"{period} ms" if period else "no migration", xlabel="time [s]", ylim=(0, 10.8))
            axes[0, 0].set_ylabel("throughput [Gb/s]")
            figures.legend(figure, axes[0, 0])
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure completion time, ramp-up, drops and RTT."""
        fct = runs.flows.fillna({"period_ms": 0}).groupby(["cc", "period_ms"])["fct_s"].mean()
        spread = fct.groupby("cc").agg(lambda of_cc: 100 * (of_cc.max() / of_cc.min() - 1))
        ramp = ramp_up_ms(runs).groupby("cc")["ms"].mean()
        rtt_us = runs.tcp.groupby(["cc", "run"])["srtt_us"].mean().groupby("cc").mean()
        others = rtt_us.drop("bbr", errors="ignore") / 1000
        return {
            "fct": Measured(tables.cases(fct.rename(_period, level="period_ms"), "{}, {}")),
            "ramp-up": Measured(tables.cases(ramp)),
            "no-effect": Measured(tables.cases(spread)),
            "no-drops": Measured.one(sum(drops_by_moves(run.scenario, runs.frame(run, "events")) for run in runs)),
            "rtt-bbr": Measured(
                {} if "bbr" not in rtt_us else {"": rtt_us["bbr"] if rtt_us.idxmin() == "bbr" else np.nan},
                f"smallest: {rtt_us.idxmin()}",
            ),
            "rtt-others": Measured(tables.cases(others)),
        }


def ramp_up_ms(runs: Runs) -> pd.DataFrame:
    """Return for each run the ms from the flow's start to the end of the first bin at 95 % of the line rate."""
    rates = tables.rates(runs.throughput, *_bins(1))
    first = rates[rates["rate_bps"] >= 0.95 * _LINE_RATE].groupby("run")["t_s"].min()
    flows = runs.flows.set_index("run")
    return pd.DataFrame({"cc": flows["cc"], "ms": (first + 0.001 - flows["start_s"]) * 1000})


def drops_by_moves(scenario: Scenario, events: pd.DataFrame) -> int:
    """Count drops in the dark, and those within 1 ms after a timetable entered a slot."""
    drops = events[events["event"].str.startswith("drop")]
    moves = np.sort(events.loc[events["event"] == "slot", "t_ns"].to_numpy())
    if not any(flow.slots for flow in scenario.flows) or drops.empty:
        return 0
    last = np.searchsorted(moves, drops["t_ns"].to_numpy(), side="right") - 1
    since = np.where(last >= 0, drops["t_ns"].to_numpy() - moves[np.maximum(last, 0)], np.iinfo(np.int64).max)
    return int(np.sum((drops["event"] == "drop_dark").to_numpy() | (since < _AFTER_MOVE_NS)))


def _bins(width_ms: int) -> tuple[int, int]:
    return NS_PER_MS, width_ms * NS_PER_MS


def _period(period_ms: float) -> str:
    return f"{period_ms:g} ms" if period_ms else "static"
