# SPDX-License-Identifier: Apache-2.0
"""Figure 7: marks and retransmissions of two DCTCP flows over the marking threshold. Sec. V-D."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.papers.aykurt.space import Periods, Point, Volume
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import LINKS, Part
from rdcnlab.scenario import Scenario

_LINKS = ("green", "blue")
#: How long after a move the queue that it made still stands.
_SOON_MS = 15
_POINT = "{:g} B, {:g} ms"


class Fig7(Item):
    """Two DCTCP flows at every threshold and period.

    Parameters
    ----------
    thresholds_kB : tuple of int
        Marking thresholds, kB of 1000 B.
    periods_ms : tuple of int
        Periods.
    size : str
        Volume of each flow.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "fig7"
    parts: ClassVar[dict[str, Part]] = {"throughput": Part(("where", "packets"), LINKS)}
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 30}

    thresholds_kB: Annotated[  # noqa: N815  (unit)
        tuple[Annotated[int, whole(1, 10_000)], ...], Field(min_length=1), Listed
    ] = (5, 10, 15, 20, 25)
    periods_ms: Periods = (50, 25, 10, 5, 1)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return thresholds times periods times seeds."""
        return [
            Point(cc="dctcp", period_ms=period, size=self.size, seed=seed).scenario(
                # nothing is drawn over time: wide bins keep the tables small
                **{"switch.ecn_threshold": f"{threshold} kB", "probes.tcp": "none", "probes.bin": "100 ms"}
            )
            for threshold, period, seed in product(self.thresholds_kB, self.periods_ms, range(self.count))
        ]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return what counts packets, marks and retransmissions."""
        return ("flows", "throughput", "queues")

    def plot(self, runs: Runs) -> Figure:
        """Draw bars over the threshold, one colour a period: marked packets, and retransmissions."""
        counted = _counted(runs)
        with figures.style():
            figure = figures.Drawing(figsize=(8.4, 2.8), layout="constrained")
            axes = figure.subplots(1, 2)
            width = 0.8 / len(self.periods_ms)
            shades = figures.shades(len(self.periods_ms))
            for ax, (column, label) in zip(
                axes, (("marked", "marked packets [%]"), ("retransmits", "retransmissions")), strict=True
            ):
                stats = tables.mean_ci(counted, ["period_ms", "threshold_kB"], column)
                for place, period in enumerate(self.periods_ms):
                    chosen = stats[stats["period_ms"] == period].sort_values("threshold_kB")
                    at = np.arange(len(chosen)) + (place + 0.5) * width - 0.4
                    error = [chosen["mean"] - chosen["low"].clip(lower=0), chosen["high"] - chosen["mean"]]
                    ax.bar(
                        at, chosen["mean"], width, color=shades[place], yerr=error, label=f"{period} ms",
                        error_kw={"linewidth": 0.8},
                    )  # fmt: skip
                ax.set_xticks(range(len(self.thresholds_kB)), [str(value) for value in self.thresholds_kB])
                ax.set(xlabel="marking threshold [kB]", ylabel=label)
                ax.grid(axis="x", visible=False)
            figures.reference(axes[0], self.stated("marked-at-5"), "paper: at 5 kB")
            figures.legend(figure, axes[0])
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure shares of marked packets, retransmissions, and how they go together."""
        means = _counted(runs).groupby(["period_ms", "threshold_kB"])[["marked", "retransmits"]].mean()
        marked, again = means["marked"].unstack(), means["retransmits"].unstack()
        measured = {
            "marks-fall": Measured(tables.cases(_trends(marked), "{:g} ms")),
            "marks-rise": Measured(tables.cases(_trends(marked.T), "{:g} kB")),
            "marks-against-retransmissions": Measured(
                {f"{period:g} ms": tables.spearman(marked.loc[period], again.loc[period]) for period in marked.index}
            ),
        }
        if 5 in marked.columns:
            measured["marked-at-5"] = Measured(tables.cases(marked[5], "{:g} ms"))
            if len(again.columns) > 1:
                more = again[5] - again.drop(columns=5).min(axis=1)
                measured["fewest-at-5"] = Measured(tables.cases(more, "{:g} ms"))
        return measured

    def causes(self) -> list[Cause]:
        """Return where the marks and the drops come from, and what the threshold does where flows do not move."""
        moved = Fig7(thresholds_kB=(5, 25), periods_ms=(50, 25), seeds=self.few, changes={"probes.bin": "1 ms"})
        never_moved = Fig7(
            thresholds_kB=(5, 10, 15, 20, 25, 50, 100, 200),
            periods_ms=(50,),
            seeds=self.few,
            changes={"flows.migrated.path": "green"},
        )
        return [
            Cause(
                "marked-at-5",
                "A share that comes out at one period cannot at a much shorter one: with half the period flows meet "
                "twice as often, and each meeting marks more than half as much. Thousands of marks in its first 15 ms",
                moved,
                _marks_a_meeting,
            ),
            Cause(
                "marks-fall",
                "Most marks are those of the queue that stands when the flows meet, whatever the threshold. Share of "
                "all marks that fall into the first 15 ms after a move, in %, and the longest queue",
                moved,
                _soon_after_moves,
            ),
            Cause(
                "marks-fall",
                "Thresholds of 5 to 25 kB are none to two waiting packets of 9000 bytes. Two flows that stay on one "
                "link do not fill it then (see when the last one ends), and the less they fill it the less is marked. "
                "Marked packets, in %",
                never_moved,
                _marked_by_threshold,
            ),
            Cause(
                "marks-against-retransmissions",
                "The threshold has no hand in losses: what is in flight when flows meet overflows the buffer, and "
                "then nothing more is lost. Share of all drops in the first 15 ms after a move, in %",
                moved,
                _dropped_soon,
            ),
            Cause(
                "fewest-at-5",
                "So no threshold of these loses least: between them stands chance, and where flows do not move nothing "
                "is lost at any. Retransmissions",
                never_moved,
                _again_by_threshold,
            ),
        ]


def _counted(runs: Runs) -> pd.DataFrame:
    """Return one row a run: ``period_ms``, ``threshold_kB``, ``marked`` (% of packets), ``retransmits``."""
    throughput = runs.throughput
    packets = throughput[throughput["where"].isin(_LINKS)].groupby("run")["packets"].sum()
    counted = pd.DataFrame(
        {
            "marked": 100 * runs.queues.groupby("run")["marks"].sum() / packets,
            "retransmits": runs.flows.groupby("run")["retransmits"].sum(),
            "threshold_kB": [(run.scenario.switch.ecn_threshold or 0) // 1000 for run in runs],
            # none where the flows stay where they are
            "period_ms": runs.scenarios.set_index("run")["period_ms"].fillna(0),
        }
    )
    return counted.reset_index(names="run")


def _trends(table: pd.DataFrame) -> pd.Series[float]:
    """Spearman's coefficient of each row over the columns."""
    return table.apply(lambda row: tables.spearman(row.index, row), axis=1)


def _since_moves(runs: Runs, column: str) -> pd.DataFrame:
    """Sum a column of the queues by threshold and period: in the first 15 ms after moves, ``soon``, and in ``all``."""
    queues = runs.queues
    counts = queues[column]
    parts = queues.assign(soon=counts.where(queues["bin"] % queues["period_ms"] < _SOON_MS, 0), all=counts)
    return parts.groupby(["switch.ecn_threshold", "period_ms"])[["soon", "all"]].sum()


def _soon_after_moves(runs: Runs) -> Measured:
    """Measure the share of marks, in %, in the first 15 ms after a move; the note has the longest queue."""
    sums = _since_moves(runs, "marks")
    longest = runs.queues["max_B"].max() / 1000
    shares = tables.cases(100 * sums["soon"] / sums["all"], _POINT)
    return Measured(shares, f"the longest queue was {longest:.0f} kB")


def _dropped_soon(runs: Runs) -> Measured:
    """Measure the share of drops, in %, in the first 15 ms after a move; the note has how many there are in all."""
    sums = _since_moves(runs, "drops")
    drops = tables.cases(sums["all"], _POINT)
    listed = ", ".join(f"{name}: {number:g}" for name, number in drops.items())
    return Measured(tables.cases(100 * sums["soon"] / sums["all"], _POINT), f"drops {listed}")


def _marks_a_meeting(runs: Runs) -> Measured:
    """Measure thousands of marks in the first 15 ms after a move onto the shared link, by threshold and period."""
    soon = _since_moves(runs, "marks")["soon"]
    # they meet once in two periods, as long as both run; the first slot is apart
    meetings = tables.completion(runs.flows)
    meetings["times"] = (1000 * meetings["both_s"] / (2 * meetings["period_ms"])).round()
    seen = runs.scenarios[["run", "switch.ecn_threshold", "period_ms"]].merge(meetings[["run", "times"]], on="run")
    return Measured(tables.cases(soon / seen.groupby(soon.index.names)["times"].sum() / 1000, _POINT))


def _again_by_threshold(runs: Runs) -> Measured:
    """Measure the mean number of retransmissions by the threshold."""
    return Measured(tables.cases(_counted(runs).groupby("threshold_kB")["retransmits"].mean(), "{:g} kB"))


def _marked_by_threshold(runs: Runs) -> Measured:
    """Measure the share of marked packets, in %, by the threshold; the note has how long both flows took."""
    means = _counted(runs).groupby("threshold_kB")["marked"].mean()
    flows = runs.flows.merge(_counted(runs)[["run", "threshold_kB"]], on="run")
    took = flows.groupby(["threshold_kB", "run"])["end_s"].max().reset_index()
    times = tables.mean_ci(took, ["threshold_kB"], "end_s").set_index("threshold_kB")
    return Measured(tables.cases(means, "{:g} kB"), f"the last flow ended at {tables.listed(times, 's', '{:g} kB')}")
