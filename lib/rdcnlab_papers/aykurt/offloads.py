# SPDX-License-Identifier: Apache-2.0
"""Finding: with segmentation offload, a stack that probes for losses only with a full window waits for timeouts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import estimates
from rdcnlab.analysis.resampling import jackknife
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import standstills
from rdcnlab_papers.analysis.measured import Measured, means, trend
from rdcnlab_papers.aykurt.space import NO_ACKS, Downtime, Volume, grid
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NEW, _OLD, _TSO = "Linux 6.12", "as Linux 4.15", ", TSO"
_SEGMENTS = {"offload.tso": "65535 B"}
#: A card as testbeds had it also merges frames, and waits for more of them before it interrupts.
_CARD = {"offload": {"tso": "65535 B", "gro": True, "coalesce": "20 us"}}
_LIKE = {"transport.like": "4.15"}
_PROBES_ANYWAY, _PROBES_LIMITED = ", probes anyway", ", probes only if limited"
#: What the hosts are: their TCP, their cards, and whether TCP probes for losses only if its window is used up.
STACKS: dict[str, dict[str, Any]] = {
    _NEW: {},
    _OLD: _LIKE,
    _NEW + _TSO: _SEGMENTS,
    _OLD + _TSO: {**_LIKE, **_SEGMENTS},
    _OLD + _TSO + _PROBES_ANYWAY: {**_LIKE, **_SEGMENTS, "transport.tlp_limited": 0},
    _NEW + _TSO + _PROBES_LIMITED: {**_SEGMENTS, "transport.tlp_limited": 1},
    _OLD + _TSO + ", GRO": {**_LIKE, **_CARD},
}
#: The stacks that run at every day; the others run at the shortest one.
_AT_EVERY_DAY = (_NEW, _OLD, _OLD + _TSO)
#: A run in which every night costs a timeout takes long.
_PATIENT: dict[str, Any] = {"limit": "240 s"}
#: Periods of the paper's timetables with downtime, and these downtimes.
_NIGHTS_MS: dict[int, Downtime] = {10: 1, 20: 2, 50: 5, 100: 10}
_MIGRATED = "migrated"
Offloaded = Literal["cubic", "reno", "westwood"]


class Offloads(Item):
    """Two flows of one variant by what hosts' cards do for TCP, and by the lengths of day and night.

    Parameters
    ----------
    cc : tuple of str
        Variants; both flows have the same.
    periods_ms : tuple of int
        Periods; the last tenth of each is dark. All stacks run at the shortest one.
    size : str
        Volume of each flow.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 6}

    cc: Annotated[tuple[Offloaded, ...], Field(min_length=1), Listed] = ("cubic", "reno", "westwood")
    periods_ms: Annotated[tuple[Literal[10, 20, 50, 100], ...], Field(min_length=1), Listed] = (10, 20, 50, 100)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return stacks times variants, days and seeds."""
        return [
            scenario
            for name in STACKS
            for period in self._periods(name)
            for cc in self.cc
            for scenario in self._case(name, period, cc)
        ]

    def _periods(self, name: str) -> tuple[int, ...]:
        return tuple(sorted(self.periods_ms)) if name in _AT_EVERY_DAY else (min(self.periods_ms),)

    def _case(self, name: str, period_ms: int, cc: str) -> list[Scenario]:
        # figure 15 has pairs that are alike, and records ACKs for CUBIC: these are the same runs
        changes = {
            **({} if cc == "cubic" else NO_ACKS),
            **(_PATIENT if _TSO in name else {}),
            **STACKS[name],
        }
        # runs differ most at the shortest day, and figure 15 has those of Linux 6.12
        whole = name == _NEW or period_ms == min(self.periods_ms)
        count = self.count if whole else min(self.count, self.count_for_causes)
        axes = {"period_ms": period_ms, "downtime_ms": _NIGHTS_MS[period_ms], "size": self.size, "seed": range(count)}
        return grid(changes, cc=cc, main_cc=cc, **axes)

    def plot(self, runs: Runs) -> Figure:
        """Draw completion times and timeouts of each stack at the shortest day, and completion times over the day."""
        rows = self.times(runs)
        with figures.style():
            figure = figures.drawing(10.2, 3.8)
            times, timeouts, days = figure.subplots(1, 3, width_ratios=(1.5, 1, 1.2))
            shortest = rows[rows["day_ms"] == rows["day_ms"].min()]
            day = f"day {rows['day_ms'].min():g} ms"
            _draw_stacks(times, shortest, "fct_s", self.cc)
            times.set(xscale="log", xlabel=f"migrated flow, {self.size}, {day} [s]")
            ticks = [5, 10, 20, 50, 100, 200]
            times.set_xticks(ticks, [str(tick) for tick in ticks])
            times.minorticks_off()
            self._draw_stated(times, "x")
            _draw_stacks(timeouts, shortest, "timeouts", self.cc)
            timeouts.set_xscale("symlog", linthresh=10)
            timeouts.set_xticks([0, 10, 100, 1000], ["0", "10", "100", "1000"])
            timeouts.set(xlabel=f"its timeouts, {day}", yticklabels=[], xlim=(-3, 1500))
            timeouts.minorticks_off()
            self._draw_days(days, rows)
            figures.legend(figure, times, columns=len(self.cc))
        return figure

    def _draw_days(self, ax: Axes, rows: pd.DataFrame) -> None:
        for stack, line in ((_OLD + _TSO, "-"), (_OLD, ":")):
            for cc in self.cc:
                chosen = rows[(rows["stack"] == stack) & (rows["cc"] == cc)]
                look = figures.look(cc)
                mean = means(chosen, "day_ms", "fct_s")
                ax.plot(mean.index, mean["mean"], color=look.color, marker=look.marker, markersize=4, linestyle=line)
        ax.set(xscale="log", yscale="log", xlabel="day [ms]", ylabel=f"migrated flow, {self.size} [s]")
        shown = sorted(rows["day_ms"].unique())
        ax.set_xticks(shown, [f"{day:g}" for day in shown])
        ticks = [2, 5, 10, 20, 50, 100]
        ax.set_yticks(ticks, [str(tick) for tick in ticks])
        ax.set_ylim(2, 150)
        ax.minorticks_off()
        self._draw_stated(ax, "y")
        ax.plot([], [], color="#555555", label=_OLD + _TSO)
        ax.plot([], [], color="#555555", linestyle=":", label=_OLD)
        ax.legend(fontsize="x-small", loc="upper right")

    def _draw_stated(self, ax: Axes, along: Literal["x", "y"]) -> None:
        """Draw by how much the paper's migrated flows took longer than its main flows at most."""
        expected = next(claim.expect for claim in claims.paper("aykurt").item("fig15").claims if claim.id == "range")
        stated = expected.near
        if stated is None:
            return
        line = ax.axvline if along == "x" else ax.axhline
        line(stated, color=figures.REFERENCE, linestyle="--", linewidth=0.8)
        where: dict[str, Any] = {"xy": (stated, 1), "xycoords": ("data", "axes fraction"), "ha": "center"}
        if along == "y":
            where = {"xy": (1, stated), "xycoords": ("axes fraction", "data"), "ha": "right"}
        ax.annotate(f"paper: prolonged by {stated:g} s", va="bottom", fontsize="x-small", color="#555555", **where)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure what each setting changes in completion times, alone and with others, and what a timeout costs."""
        rows = self.times(runs)
        shortest = rows[rows["day_ms"] == rows["day_ms"].min()]
        return {
            "tso-costs": self._ratio(shortest, _OLD + _TSO, _OLD),
            "probes-repair": self._ratio(shortest, _OLD + _TSO + _PROBES_ANYWAY, _OLD),
            "tso-alone": self._ratio(shortest, _NEW + _TSO, _NEW),
            "both-needed": self._ratio(shortest, _NEW + _TSO + _PROBES_LIMITED, _NEW),
            "timeouts-cost": self._cost_of_timeouts(shortest),
            "gro-costs-more": self._ratio(shortest, _OLD + _TSO + ", GRO", _OLD + _TSO),
            "every-day": self._ratio(rows, _OLD + _TSO, _OLD, ["cc", "day_ms"], "{}, day {:g} ms"),
            "short-days": self._trend(rows[rows["stack"] == _OLD + _TSO]),
        }

    def _trend(self, rows: pd.DataFrame) -> Measured:
        """Measure by variant the rank correlation of completion time and day, over the seeds that every day has."""
        every = rows.groupby("seed")["day_ms"].transform("nunique") == rows["day_ms"].nunique()
        by_variant = rows[every].groupby("cc", sort=False)
        return Measured.by_case({cc: trend(chosen, "day_ms", "fct_s") for cc, chosen in by_variant})

    def _ratio(
        self, rows: pd.DataFrame, one: str, other: str, by: str | list[str] = "cc", template: str = "{}"
    ) -> Measured:
        """Measure the mean completion time of one stack over that of another, for each case."""
        above, below = (estimates(means(rows[rows["stack"] == stack], by, "fct_s")) for stack in (one, other))
        return Measured.by_case({case: above[case] / below[case] for case in above}, template)

    def _cost_of_timeouts(self, rows: pd.DataFrame) -> Measured:
        """Measure by how much TSO prolongs a flow, in s for each further timeout; runs against the mean without TSO."""
        columns = ["fct_s", "timeouts"]
        costs = {}
        for cc in self.cc:
            of_variant = rows[rows["cc"] == cc]
            offloaded, plain = (of_variant[of_variant["stack"] == stack] for stack in (_OLD + _TSO, _OLD))
            more = (offloaded[columns] - plain[columns].mean()).assign(seed=offloaded["seed"])
            costs[cc] = jackknife(more, _seconds_a_timeout)
        return Measured.by_case(costs)

    def times(self, runs: Runs) -> pd.DataFrame:
        """Return one row for each run.

        Returns
        -------
        DataFrame
            ``stack``, a key of `STACKS`; ``cc``; ``day_ms`` and ``night_ms``; ``seed``; the migrated flow's ``fct_s``
            (the run's limit if it did not finish) and ``timeouts``; ``prolongation_s``, by how much it takes longer
            than the main flow.
        """
        parts = []
        for name in STACKS:
            for period in self._periods(name):
                for cc in self.cc:
                    of_case = self.only(runs, self._case(name, period, cc))
                    rows = standstills.times(of_case, _MIGRATED).set_index("run")
                    rows["prolongation_s"] = (
                        rows["fct_s"] - standstills.times(of_case, "main").set_index("run")["fct_s"]
                    )
                    night = _NIGHTS_MS[period]
                    of_stack: dict[str, Any] = {
                        "stack": name,
                        "cc": cc,
                        "day_ms": float(period - night),
                        "night_ms": float(night),
                    }
                    parts.append(rows.assign(**of_stack, seed=[run.scenario.seed for run in of_case]))
        return pd.concat(parts, ignore_index=True)

    def table(self, runs: Runs) -> pd.DataFrame:
        """Return by stack, variant and day the mean, smallest and largest completion time in s, and mean timeouts."""
        grouped = self.times(runs).groupby(["day_ms", "stack", "cc"], sort=False)
        summed = grouped.agg(
            runs=("fct_s", "size"), mean_s=("fct_s", "mean"), least_s=("fct_s", "min"), most_s=("fct_s", "max"),
            timeouts=("timeouts", "mean"),
        )  # fmt: skip
        return summed.round(1)


def _seconds_a_timeout(more: pd.DataFrame) -> float:
    seconds, timeouts = (float(more[column].sum()) for column in ("fct_s", "timeouts"))
    return seconds / timeouts if timeouts else math.nan


def _draw_stacks(ax: Axes, rows: pd.DataFrame, value: str, variants: tuple[str, ...]) -> None:
    """Draw each run, and the mean of each stack and variant."""
    shifts = {cc: 0.22 * (index - (len(variants) - 1) / 2) for index, cc in enumerate(variants)}
    names = list(STACKS)
    for cc in variants:
        chosen, look = rows[rows["cc"] == cc], figures.look(cc)
        heights = chosen["stack"].map({name: index + shifts[cc] for index, name in enumerate(names)})
        ax.plot(chosen[value], heights, color=look.color, marker=".", markersize=4, linestyle="none", alpha=0.6)
        mean = means(chosen, "stack", value)["mean"]
        places = [names.index(name) + shifts[cc] for name in mean.index]
        ax.plot(mean, places, color=look.color, marker=look.marker, markersize=5, linestyle="none", label=look.label)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
