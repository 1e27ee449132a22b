# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: the cost of rerouting, and a rule for the shortest time between moves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.resampling import jackknife
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.draws import draw
from rdcnlab_papers.analysis import cost, rerouting
from rdcnlab_papers.analysis.measured import Measured, trend
from rdcnlab_papers.carpa.space import Milliseconds, Periods, Rtts, Variant, sharing_flows
from rdcnlab_papers.carpa.tab1 import RATE
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Length of a run by profile, and the time from which throughput counts, in s.
_SECONDS, _FROM_S = {"quick": 60, "paper": 100}, 30
#: The share of the throughput that the rule allows to lose.
_LOSS = 0.1
#: Ranges of random points: RTT and extra delay in ms, period in s, number of flows.
_RANGES = {"rtt_ms": (5, 200), "extra_ms": (5, 100), "period_s": (0.2, 40), "flows": (1, 6)}


class Place(NamedTuple):
    """A point of the map: RTT and extra delay in ms, period in s (None: not moved), number of flows, and variant."""

    rtt_ms: float
    extra_ms: float
    period_s: float | None
    flows: int
    variant: Variant


class Cost(Item):
    """Throughput of flows that are rerouted periodically over that of flows that are not.

    Parameters
    ----------
    variants : tuple of str
        Congestion controls.
    rtts_ms, extras_ms : tuple of int
        RTTs of the shorter path, and RTTs of the longer path minus those of the shorter path.
    periods_s : tuple of float
        Times between moves.
    counts : tuple of int
        Numbers of flows on the line.
    points_drawn : int
        Number of points that are drawn at random, for each seed.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    reads: ClassVar[tuple[str, ...]] = ("throughput",)

    variants: Annotated[tuple[Variant, ...], Field(min_length=1), Listed] = ("cubic", "bbr", "reno")
    rtts_ms: Rtts = (20, 80)
    extras_ms: Annotated[tuple[Milliseconds, ...], Field(min_length=1), Listed] = (10, 50)
    periods_s: Periods = (0.5, 2.0, 8.0, 30.0)
    counts: Annotated[tuple[Annotated[int, whole(1, 50)], ...], Field(min_length=1), Listed] = (1, 4)
    points_drawn: Annotated[int, whole(0, 1000)] | None = None

    @property
    def grid(self) -> list[Place]:
        """The points of the map."""
        return [
            Place(rtt, extra, period, flows, variant)
            for variant in self.variants
            for rtt in self.rtts_ms
            for extra in self.extras_ms
            for flows in self.counts
            for period in self.periods_s
        ]

    def draw(self, seed: int) -> list[Place]:
        """Return the random points of a seed, rounded to whole ms; periods are uniform on a logarithmic scale."""
        usual = 20 if self.profile == "paper" else 4
        count = usual if self.points_drawn is None else self.points_drawn
        return [self._drawn(seed, number) for number in range(count)]

    def _drawn(self, seed: int, number: int) -> Place:
        def part(name: str) -> float:
            return draw(seed, f"cost {number} {name}", 10**6) / 10**6

        low, high = (math.log(end) for end in _RANGES["period_s"])
        whole_of = {
            name: round(_RANGES[name][0] + (_RANGES[name][1] - _RANGES[name][0]) * part(name))
            for name in ("rtt_ms", "extra_ms", "flows")
        }
        period = round(math.exp(low + (high - low) * part("period_s")), 2)
        variant = self.variants[draw(seed, f"cost {number} variant", len(self.variants) - 1)]
        return Place(whole_of["rtt_ms"], whole_of["extra_ms"], period, whole_of["flows"], variant)

    def places(self, seed: int) -> list[Place]:
        """Return all points of a seed."""
        return [*self.grid, *self.draw(seed)]

    def scenario(self, place: Place, seed: int) -> Scenario:
        """Return the scenario of a point. Flows that are not moved do not depend on the longer path."""
        extra = place.extra_ms if place.period_s is not None else 0
        return sharing_flows(
            place.rtt_ms, extra, place.period_s, place.flows, place.variant, seed=seed, seconds=_SECONDS[self.profile]
        )

    def points(self) -> list[Scenario]:
        """Return every point and the flows without rerouting that belong to it; points may share them."""
        scenarios = (
            self.scenario(point, seed)
            for seed in range(self.count)
            for place in self.places(seed)
            for point in (place, place._replace(period_s=None))
        )
        return list(dict.fromkeys(scenarios))

    def ratios(self, runs: Runs) -> pd.DataFrame:
        """Return ``ratio`` of each point, with ``seed``, the fields of `Place`, and whether it was ``drawn``."""
        total = rerouting.aggregate(runs, runs[0].scenario.probes.bin)
        mbps = total[total["t_s"] >= _FROM_S].groupby("run")["mbps"].mean()
        mean_mbps = mbps.reindex(range(len(runs)))
        rows = []
        for seed in sorted({run.scenario.seed for run in runs}):
            for number, place in enumerate(self.places(seed)):
                moved, static = (
                    mean_mbps[self.index_of(runs, self.scenario(point, seed))]
                    for point in (place, place._replace(period_s=None))
                )
                row = {"rtt_s": place.rtt_ms / 1e3, "extra_s": place.extra_ms / 1e3, "drawn": number >= len(self.grid)}
                rows.append({"seed": seed, **place._asdict(), **row, "ratio": moved / static})
        return pd.DataFrame(rows)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Check the rule on the random points, and how the loss depends on the period."""
        ratios = self.ratios(runs)
        random = ratios[ratios["drawn"]].assign(
            factor=lambda rows: cost.least_periods(rows, RATE, _LOSS) / rows["period_s"]
        )
        allowed, forbidden = random[random["factor"] <= 1], random[random["factor"] >= 4]
        grid = ratios[~ratios["drawn"]].assign(loss=lambda rows: 1 - rows["ratio"])
        trends = {variant: trend(grid[grid["variant"] == variant], "period_s", "loss") for variant in self.variants}
        return {
            "rule-holds": _share(allowed, 1 - _LOSS, above=True),
            "rule-needed": _share(forbidden, 1 - _LOSS / 2, above=False),
            "falls-with-period": Measured.by_case(trends),
        }

    def causes(self) -> list[Cause]:
        """Return the experiment with the low RTT alone."""
        return [Cause("falls-with-period", self.with_parameters(rtts_ms=self.rtts_ms[:1], profile=self.profile))]

    def plot(self, runs: Runs) -> Figure:
        """Draw the ratio over the period in units of the rule, for all points; random ones are filled."""
        ratios = self.ratios(runs)
        ratios["units"] = ratios["period_s"] / cost.least_periods(ratios, RATE, _LOSS)
        with figures.single(5.6, 3.6, columns=4) as (figure, ax):
            for variant in self.variants:
                look, rows = figures.look(variant), ratios[ratios["variant"] == variant]
                for drawn, fill in ((False, "none"), (True, look.color)):
                    part = rows[rows["drawn"] == drawn]
                    label = f"{look.label}, {'random point' if drawn else 'grid'}"
                    ax.plot(
                        part["units"],
                        part["ratio"],
                        look.marker,
                        color=look.color,
                        markerfacecolor=fill,
                        markersize=4,
                        label=label,
                    )
            figures.reference(ax, 1 - _LOSS, f"allowed loss, {100 * _LOSS:g} %", style="--")
            figures.reference(ax, 1, "as often as the rule allows", along="x")
            ax.set(xlabel="time between moves / least time by the rule", xscale="log")
            ax.set(ylabel="throughput over\nthat without moves", ylim=(0, 1.2))
        return figure


def _share(points: pd.DataFrame, bound: float, *, above: bool) -> Measured:
    """Measure the share of points whose ratio is at least a bound, or below it."""
    if not len(points):
        return Measured()
    judged = points.assign(right=(points["ratio"] >= bound) == above)
    return Measured.one(
        jackknife(judged, lambda rows: float(rows["right"].mean())).within(0, 1), f"{len(points)} points"
    )
