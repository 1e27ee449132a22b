# SPDX-License-Identifier: Apache-2.0
"""Table II: many small CUBIC flows that arrive in pairs. Sec. V-F."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import estimates
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario, draws
from rdcnlab_papers.analysis import goodput, rivals
from rdcnlab_papers.analysis.goodput import Average
from rdcnlab_papers.analysis.measured import Measured, means, trend
from rdcnlab_papers.aykurt.space import WIDE_BINS, Periods, Point, Variant
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Possible volumes of a flow, and the total volume of a group, in binary MB.
VOLUMES_MB = tuple(2**n for n in range(9))
GROUP_MB = 1024
#: Largest number of flows in a group, and time in ns between the arrivals of pairs.
MOST, EVERY = 20, 10 * NS_PER_MS
#: Groups and periods [ms] for which the paper states a mean.
_RATES = tuple(product(("migrated", "main"), (50, 25, 10)))


class Tab2(Item):
    """Two groups of small flows. Receivers request them, as HTTP clients do, one pair every 10 ms.

    Parameters
    ----------
    cc : str
        Variant of all flows.
    periods_ms : tuple of int
        Periods of the migrated group's moves.
    average : {'flow', 'time'}
        The weights in a group's mean: ``flow`` weights all flows equally, ``time`` weights all seconds of flows equally
        (all bytes divided by the sum of all flows' times).
    """

    cc: Variant = "cubic"
    periods_ms: Periods = (50, 25, 10)
    average: Average = "flow"

    def points(self) -> list[Scenario]:
        """Return one scenario for each period and seed. A seed has the same volumes for every period."""
        return [_scenario(self.cc, period, seed) for period, seed in product(self.periods_ms, range(self.count))]

    def plot(self, runs: Runs) -> Figure:
        """Draw by period the mean throughput per flow of each group, with its interval, and the paper's values."""
        stats = self._stats(runs).reset_index()
        with figures.single(4.6, 2.8, columns=2) as (figure, ax):
            for (group,), of_group in tables.groups(stats, ["group"]):
                look = figures.look(group)
                indices = of_group["period_ms"].map({period: index for index, period in enumerate(self.periods_ms)})
                x = indices + (-0.08 if group == "main" else 0.08)
                error = figures.error_lengths(of_group)
                ax.errorbar(
                    x, of_group["mean"], yerr=error, color=look.color, marker=look.marker, linestyle="none",
                    label=look.label + "s", capsize=2,
                )  # fmt: skip
                expected = [self.expected(f"{group}-at-{period:g}") for period in of_group["period_ms"]]
                stated = [
                    expectation.near if expectation and expectation.near else float("nan") for expectation in expected
                ]
                ax.scatter(x, stated, marker="_", s=160, color=look.color, alpha=0.5, label=f"paper: {look.label}s")
            ax.set_xticks(range(len(self.periods_ms)), [f"{period} ms" for period in self.periods_ms])
            ax.set(xlim=(-0.5, len(self.periods_ms) - 0.5), ylim=(0, None))
            ax.set(xlabel="reconfiguration period", ylabel="throughput a flow [Gb/s]")
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the groups' mean throughput at each period by both averages, and how it changes with the period."""
        rates = goodput.of_groups(runs, self.average)
        mean = rates.groupby(["period_ms", "group"])["gbps"].mean().unstack("group")
        numbers = estimates(self._stats(runs))
        stated = {key: self.stated(f"{key[0]}-at-{key[1]}") for key in _RATES if key[1] in self.periods_ms}
        measured = {f"{g}-at-{p}": Measured.one(numbers[p, g]) for g, p in stated}
        measured["means"] = goodput.one_fits(runs, stated)
        if len(mean) > 2:
            seeded = tables.with_seeds(rates[rates["group"] == "migrated"], runs.scenarios)
            measured["migrated-falls"] = Measured.one(trend(seeded, "period_ms", "gbps"))
        if len(mean) > 1:
            measured["main-is-steady"] = Measured.by_case(goodput.changes(runs, "main", self.average))
        measured["main-is-steady was"] = Measured.one(100 * float(mean["main"].max() / mean["main"].min() - 1))
        return measured

    def causes(self) -> list[Cause]:
        """Return the result with the other kind of average, and the flows that gain as the period falls."""
        by_time = self.model_copy(update={"average": "time"})
        rates = [f"{group}-at-{period}" for group, period in _RATES if period in self.periods_ms]
        return [
            *(Cause(claim, by_time) for claim in ("means", *rates)),
            Cause("migrated-falls", self, goodput.by_volume),
        ]

    def _stats(self, runs: Runs) -> pd.DataFrame:
        """Average the throughput [Gb/s] of each group over runs, by ``period_ms`` and ``group``."""
        return means(goodput.of_groups(runs, self.average), ["period_ms", "group"], "gbps")


def volumes(seed: int, group: str) -> list[int]:
    """Draw the random volumes [MB] of a group, with the sum `GROUP_MB`."""
    return draws.values_with_sum(seed, group, VOLUMES_MB, total=GROUP_MB, most=MOST)


def _scenario(cc: Variant, period: int, seed: int) -> Scenario:
    base = Point(cc=cc, period_ms=period, seed=seed).scenario(**WIDE_BINS)
    groups = {flow["name"]: {**flow, "initiator": "dst"} for flow in base.to_dict()["flows"]}
    flows = [
        {**groups[group], "name": f"{group}-{number + 1}", "size": volume * 2**20, "start": number * EVERY}
        for group in rivals.FLOWS
        for number, volume in enumerate(volumes(seed, group))
    ]
    return base.with_(flows=flows)
