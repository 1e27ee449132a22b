# SPDX-License-Identifier: Apache-2.0
"""Finding: the cost of a night that loses a whole window, by the mechanisms of TCP that detect the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import estimates
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import CARRIED, Part
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.dilation import dilate
from rdcnlab_papers.analysis import standstills
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.aykurt.space import NO_ACKS, Volume, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_USUAL = "Linux 6.12"
#: Changes of the transport, one mechanism at a time. A lost window is found in two steps: a probe draws a selective
#: acknowledgement, and RACK concludes from that one what was lost. At 250 Hz two jiffies and the 10 ms of Linux 4.9 are
#: the same timer.
MECHANISMS: dict[str, dict[str, Any]] = {
    _USUAL: {},
    "timers of 2 jiffies": {"transport.loss_timers": 1},
    "no probes": {"transport.early_retrans": 0},
    "RACK in recovery": {"transport.loss_detection": 2},
}
#: The same with a tick of 1 ms, as at 1000 Hz: the network is slowed down by four, so that 4 ms of its hosts are 1 ms.
#: Floors and timers that count ticks shrink; the smallest timeout stays 200 ms of the network.
_FASTER, _TICK = 4, ", ticks of 1 ms"
_FINER = {name + _TICK: MECHANISMS[name] for name in (_USUAL, "timers of 2 jiffies")}
#: The first is slower, the others lack one of the two steps.
_SLOWER, _BROKEN = "timers of 2 jiffies", ("no probes", "RACK in recovery")
#: The transports that run at the paper's own point: 9 ms of day, 1 ms of night.
_AT_PAPER_POINT: dict[str, dict[str, Any]] = {
    _USUAL: {},
    "as Linux 4.15": {"transport.like": "4.15"},
    "as Linux 4.9": {"transport.like": "4.9"},
    "no RACK": {"transport.recovery": 0},
}
_NIGHT_MS, _PAPERS_DAY_MS = 1, 9
#: A timer of two jiffies is armed for 12 ms at 250 Hz, with two round trips rounded up. These days [us] are shorter.
_SHORT = 12_000
#: Two ticks at 250 Hz [us]: the timer of Linux 6.12, whose 2 ms and two round trips are rounded up, takes as long.
_FINE = 8_000
#: A run in which every night costs a timeout takes long.
_PATIENT: dict[str, Any] = {**NO_ACKS, "limit": "240 s"}
_MIGRATED = "migrated"
#: Names a case by mechanism and day.
_CASE = "{}, day of {:g} ms"


class Nights(Item):
    """Two flows of one variant by the length of the day and by the mechanism that detects losses of a night of 1 ms.

    Parameters
    ----------
    cc : str
        Variant of both flows.
    days_us : tuple of int
        Lengths of the day. With whole milliseconds a period is a simple multiple of the kernel's tick of 4 ms, and all
        nights have the same effect.
    size : str
        Volume of each flow; at the paper's own point it is 2 GB.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "throughput")
    parts: ClassVar[dict[str, Part]] = {"throughput": CARRIED}
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 6}

    cc: Literal["cubic", "reno", "westwood"] = "reno"
    days_us: Annotated[tuple[Annotated[int, whole(2000, 1_000_000)], ...], Field(min_length=1), Listed] = (
        4100, 6100, 9100, 24_100,
    )  # fmt: skip
    size: Volume = "256 MB"

    def points(self) -> list[Scenario]:
        """Return mechanisms times days and seeds, and the paper's own point."""
        small = [
            scenario for name in (*MECHANISMS, *_FINER) for day in self.days_us for scenario in self._case(name, day)
        ]
        return [*small, *(scenario for name in _AT_PAPER_POINT for scenario in self._paper_point(name))]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return the tables; of the paper's own point only completion times."""
        return ("flows",) if scenario.limit == self._paper_point(_USUAL)[0].limit else self.reads

    def _case(self, name: str, day_us: int) -> list[Scenario]:
        slots = [
            [f"{day_us} us", "blue"],
            [f"{_NIGHT_MS} ms", "dark"],
            [f"{day_us} us", "green"],
            [f"{_NIGHT_MS} ms", "dark"],
        ]
        finer = name in _FINER
        changes = {**_PATIENT, **({**MECHANISMS, **_FINER}[name]), f"flows.{_MIGRATED}.path": slots}
        scenarios = grid(changes, cc=self.cc, period_ms=10, size=self.size, seed=range(self.count))
        return [dilate(scenario, _FASTER) for scenario in scenarios] if finer else scenarios

    def _paper_point(self, name: str) -> list[Scenario]:
        axes = {"cc": self.cc, "period_ms": _PAPERS_DAY_MS + _NIGHT_MS, "downtime_ms": _NIGHT_MS, "size": "2 GB"}
        return grid({**NO_ACKS, **_AT_PAPER_POINT[name]}, **axes, seed=range(min(self.count, self.count_for_causes)))

    def plot(self, runs: Runs) -> Figure:
        """Draw the completion time over the day, the switch's count against TCP's, and the paper's own point."""
        counts = self.count_standstills(runs)
        with figures.style():
            figure = figures.drawing(10.2, 3.6)
            over_day, books, point_axes = figure.subplots(1, 3, width_ratios=(1.3, 1, 1))
            for name, style in _LOOKS.items():
                rows = counts[counts["mechanism"] == name]
                stats = means(rows, "day_ms", "fct_s")
                over_day.plot(stats.index, stats["mean"], label=name, linewidth=1, markersize=5, **style)
                over_day.plot(
                    rows["day_ms"], rows["fct_s"], markersize=2.5, **{**style, "linestyle": "none"}, alpha=0.5
                )
                books.plot(rows["timeouts"], rows["still_s"], markersize=4, **{**style, "linestyle": "none"})
            bound = counts.groupby("day_ms")["bound_s"].first()
            over_day.plot(bound, color=figures.REFERENCE, linestyle=":", label="a timeout each night (computed)")
            over_day.set(xscale="log", yscale="log", xlabel="day [ms]", ylabel=f"migrated flow, {self.size} [s]")
            over_day.set_xticks(bound.index, [f"{day:g}" for day in bound.index])
            over_day.minorticks_off()
            figures.shade(over_day, [(bound.index.min() * 0.9, _FINE / 1e3)])
            over_day.set_ylim(bottom=0.2)
            words = {"xycoords": "axes fraction", "fontsize": "x-small", "color": "#555555"}
            over_day.annotate("shorter than 2 ticks", (0.06, 0.03), **words)
            ends = np.array([0, max(1.0, float(counts["timeouts"].max()))])
            books.plot(ends, 0.2 * ends, color=figures.REFERENCE, linestyle=":")
            books.set(xlabel="timeouts that TCP counts", ylabel="standstills that the switch sees [s]")
            self._draw_paper_point(point_axes, runs)
            figures.legend(figure, over_day, columns=4)
        return figure

    def _draw_paper_point(self, ax: Axes, runs: Runs) -> None:
        stats = self.paper_point(runs)
        error = [stats["mean"] - stats["low"], stats["high"] - stats["mean"]]
        ax.barh(range(len(stats)), stats["mean"], xerr=error, color=figures.look("reno").color, height=0.6)
        ax.set_yticks(range(len(stats)), stats.index)
        ax.invert_yaxis()
        ax.axvline(40, color=figures.REFERENCE, linestyle=":", linewidth=0.8)
        ax.annotate("paper", (40, 0), xytext=(-2, 0), textcoords="offset points", ha="right", fontsize="x-small")
        ax.set(xlabel="migrated flow, 2 GB, day of 9 ms [s]")
        ax.grid(axis="y", visible=False)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the factor by which each mechanism changes the completion time, and check it in two other ways."""
        counts = self.count_standstills(runs)
        times = estimates(self.paper_point(runs))
        return {
            "floor": self._slower(counts, _SLOWER),
            "cliff": self._shorter(counts),
            "ticks": self._finer(counts),
            "paper-point": Measured.one(times["as Linux 4.15"], f"as {_USUAL} {times[_USUAL]} s"),
            "probes-needed": self._slower(counts, _BROKEN[0]),
            "rack-needed": self._slower(counts, _BROKEN[1]),
            "books": self._books(counts),
            "predicted": self._over_computed(counts, *_BROKEN),
        }

    def causes(self) -> list[Cause]:
        """Return the measurements of standstills by day with either timer, and of timeouts per night."""
        looks = {
            "floor": lambda runs: self._shorter(self.count_standstills(runs)),
            "paper-point": self._other_kernels,
            "probes-needed": self._standstill_share,
            "rack-needed": self._standstill_share,
            "predicted": self._timeouts_a_day,
        }
        return [Cause(claim, self, look) for claim, look in looks.items()]

    def _standstill_share(self, runs: Runs) -> Measured:
        """Measure the share of the completion time in which a flow of Linux 6.12 stands still, in %."""
        usual = self.count_standstills(runs).query(f"mechanism == '{_USUAL}'")
        share = usual.assign(percent=100 * usual["still_s"] / usual["fct_s"])
        return Measured.by_case(means(share, "day_ms", "percent"), "day of {:g} ms", "in %")

    def _timeouts_a_day(self, runs: Runs) -> Measured:
        """Measure the number of timeouts over the computed number of days of sending."""
        counts = self.count_standstills(runs)
        chosen = counts[counts["mechanism"].isin(_BROKEN) & (1e3 * counts["day_ms"] > _FINE)]
        computed = {day / 1e3: standstills.days(self._case(_USUAL, day)[0], _MIGRATED) for day in self.days_us}
        ratio = chosen["timeouts"] / chosen["day_ms"].map(computed)
        return Measured.by_case(_by_case(chosen.assign(ratio=ratio), "ratio"), _CASE)

    def _shorter(self, counts: pd.DataFrame) -> Measured:
        """Measure the ratio of the completion time on days below two ticks and on the shortest day above them."""
        rows = counts[counts["mechanism"].isin([_USUAL, _SLOWER])]
        days = sorted(rows["day_ms"].unique())
        longer = [day for day in days if 1e3 * day > _FINE]
        mean = estimates(_by_case(rows, "fct_s"))
        pairs = [(name, day) for name, day in mean if 1e3 * day < _FINE] if longer else []
        return Measured.by_case({(name, day): mean[name, day] / mean[name, longer[0]] for name, day in pairs}, _CASE)

    def _other_kernels(self, runs: Runs) -> Measured:
        return Measured.by_case(self.paper_point(runs).drop(index="as Linux 4.15"), note="in s")

    def _slower(self, counts: pd.DataFrame, *names: str) -> Measured:
        """Measure the completion time in units of that of Linux 6.12, on short days."""
        mean = estimates(_by_case(counts[1e3 * counts["day_ms"] < _SHORT], "fct_s"))
        return Measured.by_case(
            {(name, day): mean[name, day] / mean[_USUAL, day] for name, day in mean if name in names}, _CASE
        )

    def _finer(self, counts: pd.DataFrame) -> Measured:
        """Measure the completion time with ticks of 1 ms over that with ticks of 4 ms, on days below two of these."""
        mean = estimates(_by_case(counts[1e3 * counts["day_ms"] < _FINE], "fct_s"))
        return Measured.by_case(
            {(name, day): mean[name + _TICK, day] / mean[name, day] for name, day in mean if name + _TICK in _FINER},
            _CASE,
        )

    def _books(self, counts: pd.DataFrame) -> Measured:
        """Measure the length of all standstills over the length that follows from TCP's timeouts.

        A standstill begins with the smallest timeout, and each further timeout in it waits twice as long or longer.
        """
        rows = counts[counts["timeouts"] >= 10]
        if not len(rows):
            return Measured.one(float("nan"), "no run has ten timeouts")
        timeout_s = 1e-6 * rows["rto_min_us"]
        expected_s = timeout_s * (rows["standstills"] + 2 * (rows["timeouts"] - rows["standstills"]))
        return Measured.by_case(_by_case(rows.assign(ratio=rows["still_s"] / expected_s), "ratio"), _CASE)

    def _over_computed(self, counts: pd.DataFrame, *names: str) -> Measured:
        """Measure the completion time over that which follows from the timetable if each night costs a timeout."""
        chosen = counts[counts["mechanism"].isin(names) & (1e3 * counts["day_ms"] > _FINE)]
        return Measured.by_case(_by_case(chosen.assign(ratio=chosen["fct_s"] / chosen["bound_s"]), "ratio"), _CASE)

    def count_standstills(self, runs: Runs) -> pd.DataFrame:
        """Return `standstills.count` of the grid's runs, with ``mechanism``, ``day_ms`` and the bound ``bound_s``."""
        parts = []
        for name in (*MECHANISMS, *_FINER):
            for day in self.days_us:
                rows = standstills.count(self.only(runs, self._case(name, day)), _MIGRATED)
                times = ["fct_s", "still_s", "rto_min_us"]
                rows[times] /= _FASTER if name in _FINER else 1
                bound = standstills.by_timeouts_s(self._case(_USUAL, day)[0], _MIGRATED)
                parts.append(rows.assign(mechanism=name, day_ms=day / 1e3, bound_s=bound))
        return pd.concat(parts, ignore_index=True)

    def paper_point(self, runs: Runs) -> pd.DataFrame:
        """Return by transport the migrated flow's completion time at the paper's own point."""
        runs_by_kernel = {name: self.only(runs, self._paper_point(name)) for name in _AT_PAPER_POINT}
        parts = [
            standstills.times(case_runs, _MIGRATED).assign(case=name) for name, case_runs in runs_by_kernel.items()
        ]
        return means(pd.concat(parts), "case", "fct_s").reindex(list(_AT_PAPER_POINT))


#: How mechanisms are drawn: complete ones in blue, those that lack a step in warm colours.
_LOOKS: dict[str, dict[str, Any]] = {
    _USUAL: {"color": "#0072B2", "marker": "o"},
    _SLOWER: {"color": "#56B4E9", "marker": "s"},
    _BROKEN[0]: {"color": "#D55E00", "marker": "^"},
    _BROKEN[1]: {"color": "#E69F00", "marker": "v"},
    _USUAL + _TICK: {"color": "#0072B2", "marker": "o", "linestyle": "--", "markerfacecolor": "none"},
    _SLOWER + _TICK: {"color": "#56B4E9", "marker": "s", "linestyle": "--", "markerfacecolor": "none"},
}


def _by_case(counts: pd.DataFrame, value: str) -> pd.DataFrame:
    return means(counts, ["mechanism", "day_ms"], value)
