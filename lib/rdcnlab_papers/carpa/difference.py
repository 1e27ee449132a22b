# SPDX-License-Identifier: Apache-2.0
"""Determine the difference of the two paths in figures 8 to 11, from figure 8's two numbers alone. Sec. IV-D.

The paper calls this difference small compared to the RTT and does not state it, nor does it state the low RTT. Figure 8
restricts both. The statements of figures 9 and 11 are not used to find them, so they are a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import Estimate, estimates
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import calibration, rerouting
from rdcnlab_papers.analysis.calibration import Bounds
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.carpa.fig9 import Fig9
from rdcnlab_papers.carpa.space import EXTRA_MS, QUICK_VOLUME, VOLUME, Milliseconds, Rtts, single
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Extras = Annotated[tuple[Milliseconds, ...], Field(min_length=1), Listed]

#: Differences in ms by profile: those of Sec. IV-B, and some between them.
_EXTRAS = {"quick": (10, 30, 50), "paper": (10, 20, 30, 40, 50, 60, 70, 90)}
#: Those of Sec. IV-B, at which figures 9 and 11 are tested.
_TESTED = {"quick": (10, 50), "paper": (10, 30, 50, 70)}
#: Figure 8's periods in s, by the name of the claim that has its number.
_STATED = {"at-0.1": 0.1, "at-2": 2.0}
#: RTT in ms and periods in s of the statements of figures 9 and 11.
_BENEFIT_MS, _BENEFIT_S = 170, 0.6
_WORST_MS, _WORST_S, _BETTER_S = 480, 14.0, 15.0
#: The difference in ms of Sec. IV-C.
_FITTING_MS = 50


class Difference(Item):
    """Figure 8's two numbers over the difference of the paths, and statements of figures 9 and 11 at some differences.

    Parameters
    ----------
    rtts_ms : tuple of int
        RTTs of the shorter path that may be the paper's low RTT.
    extras_ms : tuple of int or None
        RTT of the longer path minus that of the shorter path; None: those of the profile.
    tested_ms : tuple of int or None
        Differences at which the statements of figures 9 and 11 are tested; None: those of the profile.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}

    rtts_ms: Rtts = (1, 10, 50)
    extras_ms: Extras | None = None
    tested_ms: Extras | None = None

    @property
    def differences(self) -> tuple[int, ...]:
        """Differences in ms."""
        return _EXTRAS[self.profile] if self.extras_ms is None else self.extras_ms

    @property
    def tested(self) -> tuple[int, ...]:
        """Differences in ms at which the statements of figures 9 and 11 are tested."""
        return _TESTED[self.profile] if self.tested_ms is None else self.tested_ms

    def points(self) -> list[Scenario]:
        """Return figure 8's two periods at every RTT and difference, the three of figures 9 and 11, and baselines."""
        size = VOLUME if self.profile == "paper" else QUICK_VOLUME
        cases = [
            *(
                (rtt, period, extra)
                for rtt in self.rtts_ms
                for period in _STATED.values()
                for extra in self.differences
            ),
            *(
                (rtt, period, extra)
                for rtt, period in ((_BENEFIT_MS, _BENEFIT_S), (_WORST_MS, _WORST_S), (_WORST_MS, _BETTER_S))
                for extra in self.tested
            ),
            # nothing passes the longer path without rerouting, so one difference is enough
            *((rtt, None, EXTRA_MS) for rtt in (*self.rtts_ms, _BENEFIT_MS)),
        ]
        return [
            single(rtt, period, seed=seed, extra_ms=extra, size=size)
            for rtt, period, extra in cases
            for seed in range(self.count)
        ]

    def throughput(self, runs: Runs, rtt_ms: int, period_s: float | None) -> pd.DataFrame:
        """Return the throughput (``mbps``) at an RTT and a period by difference (``extra_ms``) and ``seed``."""
        rerouting.rates_of_flows(runs)  # of all runs at once; those of a case are selected from them
        runs_by_extra = {
            extra: runs.select(_case(rtt_ms, period_s, extra)) for extra in {*self.differences, *self.tested, EXTRA_MS}
        }
        return rerouting.throughput(
            {extra: case_runs for extra, case_runs in sorted(runs_by_extra.items()) if len(case_runs)}, "extra_ms"
        )

    def ratios(self, runs: Runs, rtt_ms: int, period_s: float) -> Mapping[int, Estimate]:
        """Return the throughput over that without rerouting by difference in ms."""
        baseline = self.throughput(runs, rtt_ms, None)
        return rerouting.ratios(self.throughput(runs, rtt_ms, period_s), baseline, "extra_ms")  # type: ignore[return-value]

    def stats(self, runs: Runs, rtt_ms: int) -> pd.DataFrame:
        """Return figure 8's numbers at an RTT by statement and difference: ``mean``, ``low``, ``high``."""
        rows = {
            (name, extra): (float(ratio), ratio.low, ratio.high)
            for name, period in _STATED.items()
            for extra, ratio in self.ratios(runs, rtt_ms, period).items()
        }
        index = pd.MultiIndex.from_tuples(rows, names=["name", "extra_ms"])
        return pd.DataFrame([*rows.values()], index=index, columns=["mean", "low", "high"])

    @property
    def bounds(self) -> dict[str, Bounds]:
        """The bounds of figure 8's two statements, from its claims."""
        figure = {claim.id: claim.expect.bounds for claim in claims.paper(self.paper).item("fig8").claims}
        return {name: figure[name] for name in _STATED}

    def worst(self, runs: Runs) -> dict[int, Estimate]:
        """Return the throughput in Mb/s with moves every 15 s minus that every 14 s, by difference in ms."""
        longer, shorter = (
            estimates(means(self.throughput(runs, _WORST_MS, period), "extra_ms", "mbps"))
            for period in (_BETTER_S, _WORST_S)
        )
        return {extra: longer[extra] - shorter[extra] for extra in self.tested}

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Count the differences at which figure 8's statements hold, and measure the statements of figures 9 and 11."""
        states = {rtt: calibration.judge(self.stats(runs, rtt), self.bounds) for rtt in self.rtts_ms}
        verdicts = {rtt: calibration.count_satisfied(table, "ms") for rtt, table in states.items()}
        benefit = self.ratios(runs, _BENEFIT_MS, _BENEFIT_S)
        return {
            "satisfied": Measured(
                {f"RTT {rtt} ms": verdict.cases[""] for rtt, verdict in verdicts.items()},
                "; ".join(f"at {rtt} ms {verdict.note}" for rtt, verdict in verdicts.items()),
            ),
            "beats-at-0.6": Measured.by_case({extra: benefit[extra] for extra in self.tested}, "{} ms"),
            "worst-at-14": Measured.by_case(self.worst(runs), "{} ms"),
        }

    def causes(self) -> list[Cause]:
        """Return figure 9 as Linux 4.4, with the difference of Sec. IV-C."""
        # the runs of figure 9's own experiment, so nothing is run for this one
        older = Fig9(
            profile=self.profile,
            seeds=self.count_for_causes,
            column="4.4",
            rtts_ms=(_BENEFIT_MS,),
            periods_s=(_BENEFIT_S,),
            extra_ms=_FITTING_MS,
        )
        return [Cause("beats-at-0.6", older)]

    def plot(self, runs: Runs) -> Figure:
        """Draw figure 8's two numbers over the difference with their bounds, and the statements of figures 9 and 11."""
        with figures.style():
            figure, axes = figures.panels(2, 2, width=3.2, height=2.6, sharey=False)
            colors = figures.shades(len(self.rtts_ms))
            for ax, (name, period) in zip(axes[0], _STATED.items(), strict=True):
                for rtt, color in zip(self.rtts_ms, colors, strict=True):
                    rows = pd.DataFrame(self.stats(runs, rtt).loc[name]).sort_index()
                    error = figures.error_lengths(rows)
                    ax.errorbar(rows.index, rows["mean"], yerr=error, color=color, marker="o", markersize=3,
                                linewidth=0.9, capsize=2, label=f"RTT {rtt} ms")  # fmt: skip
                ax.axhspan(*self.bounds[name], color=figures.REFERENCE, alpha=0.15, linewidth=0, label="paper")
                ax.set(title=f"moves every {period:g} s", ylim=(0, 1.05))
            axes[0, 0].set(ylabel="throughput over that\nwithout rerouting")
            benefit = self.ratios(runs, _BENEFIT_MS, _BENEFIT_S)
            self._points(axes[1, 0], {extra: benefit[extra] for extra in self.tested}, 1.0, "as without rerouting")
            axes[1, 0].set(
                title="RTT 170 ms, every 0.6 s", ylabel="throughput over that\nwithout rerouting", ylim=(0, 1.05)
            )
            self._points(axes[1, 1], self.worst(runs), 0.0, "as every 15 s")
            axes[1, 1].set(title="RTT 480 ms, every 14 s", ylabel="loss against\nevery 15 s [Mb/s]")
            for ax in axes[1]:
                ax.set(xlabel="difference of the paths [ms]")
            figures.legend(figure, axes[0, 0])
        return figure

    @staticmethod
    def _points(ax: Axes, values: Mapping[int, Estimate], reference: float, label: str) -> None:
        error = [
            [float(estimate) - estimate.low for estimate in values.values()],
            [estimate.high - float(estimate) for estimate in values.values()],
        ]
        look = figures.look("cubic")
        ax.errorbar([*values], [*map(float, values.values())], yerr=error, color=look.color, marker=look.marker,
                    markersize=4, linewidth=0.9, capsize=2)  # fmt: skip
        figures.reference(ax, reference, label)


def _case(rtt_ms: int, period_s: float | None, extra_ms: int) -> Callable[[Scenario], bool]:
    """Return whether a scenario has an RTT, a period and a difference."""
    reference = single(rtt_ms, period_s, seed=0, extra_ms=extra_ms)
    slots = reference.flows[0].slots
    delays = [link.delay for link in reference.network.links]

    def matches(scenario: Scenario) -> bool:
        # delays first, because networks that differ are compared for long
        return (
            [link.delay for link in scenario.network.links] == delays
            and scenario.flows[0].slots == slots
            and scenario.network == reference.network
        )

    return matches
