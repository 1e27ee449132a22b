# SPDX-License-Identifier: Apache-2.0
"""Figure 3: packets dropped over ECN and drop-tail thresholds; Sec. 6.4: random early drop against drop-tail."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import Estimate
from rdcnlab.analysis.resampling import Floats, Means, bootstraps_of_means, jackknife
from rdcnlab.fields.quantities import whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import heat, sharing
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.vargas.grids import CLOSE, COLUMNS, ROWS, Grid
from rdcnlab_papers.vargas.space import DROP_KB, ECN_KB, PROBABILITY, Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Figure 3 of the paper: packets dropped in 120 s, a row for each ECN threshold.
STATED = (
    (28249, 17314, 27729, 33081, 36768, 32693, 28900, 19006, 37914, 44630, 36129, 37235),
    (19440, 19247, 17223, 34111, 46720, 30625, 14181, 54474, 57690, 37531, 17687, 31554),
    (13922, 24800, 27485, 23381, 19203, 31333, 24942, 59966, 30941, 65705, 15778, 30403),
    (14204, 21099, 16202, 29929, 19190, 57759, 36813, 28665, 22681, 23075, 34120, 21200),
    (12594, 20482, 20260, 20376, 17872, 23580, 38868, 26062, 52800, 31014, 32673, 27126),
    (1063, 18434, 19625, 21007, 23664, 14326, 36262, 22385, 34980, 27182, 29517, 35532),
    (300, 5641, 17492, 19195, 109397, 23756, 21810, 25829, 22704, 22198, 26739, 22940),
    (300, 300, 971, 6197, 20788, 20494, 22962, 25486, 25645, 33324, 27829, 25833),
    (400, 400, 400, 400, 1401, 5572, 18929, 15735, 23709, 27560, 24116, 56144),
    (727, 727, 727, 727, 727, 727, 1427, 6447, 17131, 18486, 29335, 411469),
)
#: Sec. 6.3: few drops.
FEW = 1000
#: Larger thresholds in kB at which early drop, from half of it on, is compared with drop-tail; by profile.
_RED = {"quick": (1000, 1800), "paper": (400, 600, 1200, 1800)}
#: ECN threshold in kB with which they are compared, if the grid has it: it is in the grids of all profiles and columns.
_RED_ECN = 150


def paper_table() -> pd.DataFrame:
    """Return the paper's table of drops, by ECN threshold (rows) and drop threshold (columns) in kB."""
    return pd.DataFrame(STATED, pd.Index(ECN_KB, name=ROWS), pd.Index(DROP_KB, name=COLUMNS), dtype=float)


class Fig3(Grid):
    """Packets dropped in 120 s, over the ECN threshold and the drop-tail threshold, beside the paper's table.

    Parameters
    ----------
    early_percent : int
        Where random early drop begins, in percent of the threshold at which all is dropped. Not given.
    """

    reads: ClassVar[tuple[str, ...]] = ("throughput", "queues")

    early_percent: Annotated[int, whole(0, 99)] = 50

    @property
    def early(self) -> list[Setting]:
        """Settings with early drop, each between a part of a drop threshold of the grid and all of it."""
        ecn, drop = self.thresholds
        middle = _RED_ECN if _RED_ECN in ecn else ecn[len(ecn) // 2 - 1]
        compared = [threshold for threshold in _RED[self.profile] if threshold in drop]
        return [
            Setting(middle, threshold * self.early_percent // 100, threshold, PROBABILITY, *self.condition)
            for threshold in compared
        ]

    def points(self) -> list[Scenario]:
        """Return the grid, and the settings with early drop."""
        return super().points() + self.scenarios_of(self.early)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the settings in which packets are dropped, and the effect of early drop."""
        outcomes = self.grid_outcomes(runs)
        judged = outcomes.assign(right=(outcomes["drops"] < FEW) == (outcomes["max_kB"] < outcomes["ecn_kB"]))
        early = self.against_drop_tail(runs)
        stated = _with_stated(outcomes)
        return {
            "drops-follow-share": Measured.one(_correlation(outcomes, "share", "drops")),
            "few-below-ecn": Measured.one(
                100 * jackknife(judged, lambda rows: float(rows["right"].mean())).within(0, 1)
            ),
            "as-stated": Measured.one(_correlation(stated, "stated", "drops")),
            "ratio-to-stated": _ratio_to_stated(stated),
            "red-drops-less": self._pooled_drops(runs),
            "red-drops-less was": early["drops"],
            "red-lower-average": early["average_kB"],
            "red-same-maximum": early["peak_kB"],
            "red-same-maximum was": early["longest_kB"],
        }

    def _without_close(self) -> dict[str, Callable[[Runs], Measured]]:
        """Return by claim its coefficient without the settings whose thresholds are close."""

        def coefficient(runs: Runs, x: str) -> Measured:
            outcomes = _with_stated(self.grid_outcomes(runs))
            ratio = outcomes["max_kB"] / outcomes["ecn_kB"]
            return Measured.one(_correlation(outcomes[(ratio < CLOSE[0]) | (ratio >= CLOSE[1])], x, "drops"))

        return {
            "drops-follow-share": lambda runs: coefficient(runs, "share"),
            "as-stated": lambda runs: coefficient(runs, "stated"),
        }

    def against_drop_tail(self, runs: Runs) -> dict[str, Measured]:
        """Measure outcomes with early drop over those of drop-tail at the same larger threshold.

        The maximum of the queue is that of the whole run (``peak_kB``), as Sec. 6.4 names no warm-up, and that after it
        (``longest_kB``).
        """
        pairs = self._pairs(runs)
        return {
            value: Measured.by_case(
                means(pairs.assign(ratio=pairs[value] / pairs[f"{value}_tail"]), "max_kB", "ratio"), "{:g} kB"
            )
            for value in ("drops", "average_kB", "longest_kB", "peak_kB")
        }

    def _pairs(self, runs: Runs) -> pd.DataFrame:
        """Return runs with early drop beside those of drop-tail (``_tail``) at the same larger threshold and seed."""
        rows = sharing.outcomes(runs)
        return rows[rows["min_kB"] < rows["max_kB"]].merge(
            self.grid_outcomes(runs), on=["seed", "ecn_kB", "max_kB"], suffixes=("", "_tail")
        )

    def _pooled_drops(self, runs: Runs) -> Measured:
        """Measure the drops of all settings with early drop over those of drop-tail at the same larger thresholds."""
        pairs, each = self._pairs(runs), self.against_drop_tail(runs)["drops"]
        if pairs.empty:
            return Measured()
        pooled = jackknife(pairs, lambda rows: float(rows["drops"].sum() / rows["drops_tail"].sum()))
        return Measured.one(pooled, f"by threshold {each.text('')}")

    def causes(self) -> list[Cause]:
        """Return settings with thresholds apart, the timers of ns-3 (no probe, no RACK), and a narrow early drop."""
        narrow = self.with_parameters(profile=self.profile, early_percent=90, ecn_kB=(_RED_ECN,), drop_kB=(600, 1800))
        close = [Cause(claim, self, look) for claim, look in self._without_close().items()]
        if self.column == "ns3":
            return [*close, Cause("red-drops-less", narrow)]
        timers = {"transport.rto_min_us": 1_000_000, "transport.early_retrans": 0, "transport.recovery": 0}
        near = self.with_parameters(
            profile=self.profile, changes=timers, ecn_kB=(600, 800, 1000), drop_kB=(500, 700, 900), seeds=1
        )
        return [
            *close,
            Cause("few-below-ecn", near),
            Cause("red-drops-less", narrow),
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw our drops beside the paper's."""
        from matplotlib.colors import LogNorm

        measured = self.table(runs, "drops")
        with figures.style():
            figure = figures.drawing(11.5, 3.6)
            left, right = figure.subplots(1, 2)
            norm = LogNorm(0.1, 100)
            for ax, table, title in (
                (left, measured, f"here: {self.where()}"),
                (right, paper_table(), "stated by the paper"),
            ):
                heat.draw(
                    ax,
                    (table / 1000).clip(lower=0.001),
                    norm,
                    title=title,
                    label="thousand drops in 120 s",
                    text=_thousands,
                    map_="rocket_r",
                )
        return figure


def _thousands(value: float) -> str:
    """Return a number with two digits or, above 100, none after the point: 0.73, 2.6, 25, 411."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _correlation(rows: pd.DataFrame, x: str, y: str) -> Estimate:
    """Return Spearman's coefficient of two quantities over the settings of the grid."""
    keys = ["ecn_kB", "max_kB"]
    estimates = bootstraps_of_means(rows, keys, [x, y], lambda mean: {"": tables.spearmans(mean[x], mean[y])})
    return estimates[""].within(-1, 1)


def _ratio_to_stated(rows: pd.DataFrame) -> Measured:
    """Measure the median of our drops over the paper's, over all settings; the note has its distribution."""
    if rows.empty:
        return Measured()

    def medians(mean: Means) -> dict[Hashable, Floats]:
        return {"": np.median(mean["drops"].to_numpy() / mean["stated"].to_numpy(), axis=1)}

    keys = ["ecn_kB", "max_kB"]
    means = rows.groupby(keys)[["drops", "stated"]].mean()
    ratios = means["drops"] / means["stated"]
    low, high = ratios.quantile([0.1, 0.9])
    within = 100 * float(ratios.between(0.5, 2).mean())
    note = f"{len(ratios)} settings; 10 to 90 % of them {low:.2g} to {high:.2g}; within a factor of 2: {within:.0f} %"
    return Measured.one(bootstraps_of_means(rows, keys, ["drops", "stated"], medians)[""], note)


def _with_stated(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Add the drops that the paper states, to the settings of its table."""
    table = paper_table()
    stated = [_stated(table, *row) for row in outcomes[["ecn_kB", "max_kB"]].itertuples(index=False)]
    return outcomes.assign(stated=stated).dropna(subset=["stated"])


def _stated(table: pd.DataFrame, ecn: float, drop: float) -> float:
    if ecn not in table.index or drop not in table.columns:
        return float("nan")
    return float(table.to_numpy()[table.index.get_loc(ecn), table.columns.get_loc(drop)])
