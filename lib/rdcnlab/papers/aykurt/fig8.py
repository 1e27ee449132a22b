# SPDX-License-Identifier: Apache-2.0
"""Figures 8(a) and 8(b): DCTCP with itself, and with a migrated CUBIC flow. Sec. V-D."""

from __future__ import annotations

from typing import Annotated, ClassVar

from matplotlib.figure import Figure

from rdcnlab.analysis import competition, figures, tables
from rdcnlab.analysis.competition import moved_every
from rdcnlab.fields.quantities import whole
from rdcnlab.papers.aykurt.space import Periods, Point, Variant, Volume
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario


class _WithDctcp(Item):
    """A main DCTCP flow and a migrated one.

    Parameters
    ----------
    threshold_kB : int
        Marking threshold, kB of 1000 B.
    periods_ms : tuple of int
        Periods, a panel each.
    size : str
        Volume of each flow.
    """

    paper: ClassVar[str] = "aykurt"
    migrated: ClassVar[Variant]

    threshold_kB: Annotated[int, whole(1, 10_000)] = 5  # noqa: N815  (unit)
    periods_ms: Periods = (50, 10)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return periods times seeds."""
        return [
            Point(cc=self.migrated, main_cc="dctcp", period_ms=period, size=self.size, seed=seed).scenario(
                **{"switch.ecn_threshold": f"{self.threshold_kB} kB", "probes.tcp": "none"}
            )
            for period in self.periods_ms
            for seed in range(self.count)
        ]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return throughput and completion times."""
        return ("flows", "throughput")

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows over time with its interval, one panel a period."""
        name = figures.look(self.migrated).label
        return competition.plot(
            {
                f"{name} migrated, DCTCP main, {period} ms": (moved_every(runs, period), competition.bin_ms(period))
                for period in self.periods_ms
            },
            width=3.2,
        )


class Fig8a(_WithDctcp):
    """Two DCTCP flows."""

    id: ClassVar[str] = "fig8a"
    migrated: ClassVar[Variant] = "dctcp"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure fairness together, rates apart, and completion times."""
        fair: dict[str, float] = {}
        full: dict[str, float] = {}
        apart: dict[str, float] = {}
        for period in self.periods_ms:
            seen = competition.phases(moved_every(runs, period))
            both = seen[seen["both_run"]]
            case = f"{period} ms"
            fair[case] = tables.jain(both[both["phase"] == "shared"].groupby("flow")["gbps"].mean())
            alone = both[(both["phase"] == "apart") & both["late"]].groupby("flow")["gbps"].mean()
            full |= {f"{case}, {flow}": float(rate) for flow, rate in alone.items()}
            of_period = tables.completion(moved_every(runs, period).flows)[["main_s", "migrated_s"]].mean()
            apart[case] = 100 * abs(of_period["migrated_s"] / of_period["main_s"] - 1)
        return {"fair": Measured(fair), "full-rate": Measured(full), "equal": Measured(apart)}


class Fig8b(_WithDctcp):
    """A CUBIC flow that is moved onto a DCTCP flow's link."""

    id: ClassVar[str] = "fig8b"
    migrated: ClassVar[Variant] = "cubic"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure CUBIC's share while both are on one link."""
        shares = {}
        for period in self.periods_ms:
            rates = competition.on_one_link(moved_every(runs, period)).groupby("flow")["gbps"].mean()
            shares[f"{period} ms"] = 100 * float(rates["migrated"] / rates.sum())
        return {"cubic-takes-over": Measured(shares)}

    def causes(self) -> list[Cause]:
        """Return why CUBIC's mean share is lower: it has the link, but not at once."""
        return [
            Cause(
                "cubic-takes-over",
                "CUBIC does take the link, but it takes time: DCTCP gives way once a round trip, which the queue of "
                "both makes longer, and a short slot ends before. CUBIC has 90 % for the first time after so many ms "
                "(nan: never in a slot)",
                Fig8b(periods_ms=(100, 50, 25, 10), seeds=self.few),
                _takeover,
            )
        ]


def _takeover(runs: Runs) -> Measured:
    """Measure how many ms after a move the migrated flow's mean rate first is nine times the main one's."""
    times = {}
    for period in sorted({int(period) for period in runs.scenarios["period_ms"]}, reverse=True):
        chosen = competition.on_one_link(moved_every(runs, period))
        rates = chosen.pivot_table(index="since_ms", columns="flow", values="gbps")
        there = rates.index[rates["migrated"] >= 9 * rates["main"]]
        times[f"{period} ms"] = float(there[0]) if len(there) else float("nan")
    return Measured(times)
