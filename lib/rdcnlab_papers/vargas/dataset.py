# SPDX-License-Identifier: Apache-2.0
"""The data set: settings all over the paper's Table 1, with a test of each run's length."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import GROUPS, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import sharing
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.models import fluid, gaussian
from rdcnlab_papers.models.physics import SLOW_S, physics
from rdcnlab_papers.vargas.space import RATES_GBPS, RTTS_MS, Length, Setting, first_settings, length_in, scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Settings under several conditions, under a single one (the cheapest), and between the conditions, by profile. The
#: quick profile has as many as a model of the tuner needs.
_COUNTS = {"quick": (0, gaussian.LEAST_ROWS, 0), "paper": (600, 400, 70)}
SINGLE = (5.0, 25)
#: Settings of the paper's study.
STUDY = 10_000
#: Lengths of CUBIC's epochs that divide the runs, in s.
EPOCHS_S = (4.0, SLOW_S)
#: What the outcomes of `rdcnlab_papers.analysis.sharing` are called in figures.
WORDS = {
    "share": "share of CUBIC [%]", "drops": "drops in 120 s", "average_kB": "average queue [kB]",
    "longest_kB": "longest queue [kB]",
}  # fmt: skip


class Dataset(Item):
    """Settings of the shared buffer under several conditions and under a single one, one run each.

    Parameters
    ----------
    several, single : int or None
        Number of settings under the nine conditions of Table 1, and under one of them (5 Gb/s, 25 ms). None: as the
        profile has. A larger number has the settings of a smaller one, and more.
    between : int or None
        Number of settings with rates and RTTs between those of Table 1, for the tuner. None: as the profile has.
    length_s : int or None
        Length of a run in s. None: 3 s in the quick profile, `space.seconds` of the RTT in the paper's.
    """

    undivided: ClassVar[str] = "every setting has one run"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 1}
    reads: ClassVar[tuple[str, ...]] = ("throughput", "queues")
    parts: ClassVar[dict[str, Part]] = {"throughput": GROUPS}

    several: Annotated[int, whole(0, 100_000)] | None = None
    single: Annotated[int, whole(0, 100_000)] | None = None
    between: Annotated[int, whole(0, 100_000)] | None = None
    length_s: Length | None = None

    @property
    def settings(self) -> list[Setting]:
        """All settings, each once."""
        asked = (self.several, self.single, self.between)
        several, single, others = (
            default if value is None else value for value, default in zip(asked, _COUNTS[self.profile], strict=True)
        )
        return list(
            dict.fromkeys(
                [*first_settings(several), *first_settings(single, SINGLE), *first_settings(others, between=True)]
            )
        )

    def points(self) -> list[Scenario]:
        """Return one run of each setting; its seed is 0."""
        length_s = length_in(self.profile, self.length_s)
        return [
            scenario(setting, seed=seed, length_s=length_s) for setting in self.settings for seed in range(self.count)
        ]

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the share of runs that were long enough by kind of condition, and the cost of the whole study."""
        outcomes = sharing.outcomes(runs)
        kinds = {"5 Gb/s, 25 ms": is_single(outcomes), "between": ~of_table(outcomes)}
        kinds["other conditions"] = ~(kinds["5 Gb/s, 25 ms"] | kinds["between"])
        long_enough = {
            name: 100 * float((outcomes["doubt"][rows] == "").mean()) for name, rows in kinds.items() if rows.any()
        }
        errors = ", ".join(
            f"{name}: {outcomes[f'{name}_error'].median():.3g}" for name in ("share", "average_kB", "drops")
        )
        hours = study_hours(runs)
        return {
            "long-enough": Measured.by_case(long_enough, note=f"median errors: {errors}"),
            "cost": Measured({}, "needs runs of all nine conditions")
            if hours is None
            else Measured.one(hours, f"from {len(runs)} runs"),
        }

    def causes(self) -> list[Cause]:
        """Return a look at the runs by the length of CUBIC's epochs."""
        return [Cause("long-enough", self, _by_epoch)] if self.column == "kernel" else []

    def plot(self, runs: Runs) -> Figure:
        """Draw each outcome over that in balance, see `rdcnlab_papers.models.fluid`, by line rate."""
        outcomes = sharing.outcomes(runs)
        outcomes = outcomes.assign(drops=outcomes["drops"].clip(lower=1.0))  # no drop is drawn as 1
        balance = fluid.balance(outcomes)
        tail = outcomes["min_kB"] == outcomes["max_kB"]
        with figures.style():
            figure = figures.drawing(9.6, 3.02)
            panels = figure.subplots(1, 4)
            for words, marker, fill in (("drop tail", "s", figures.REFERENCE), ("RED", "o", "none")):
                panels[0].plot([], [], marker, color=figures.REFERENCE, markerfacecolor=fill, markersize=3, label=words)
            for ax, name in zip(panels, sharing.OUTCOMES, strict=True):
                for rate, color in zip(RATES_GBPS, figures.shades(len(RATES_GBPS)), strict=True):
                    here = outcomes["rate_gbps"] == rate
                    for rows, marker, fill in ((here & tail, "s", color), (here & ~tail, "o", "none")):
                        ax.plot(
                            balance.loc[rows, name], outcomes.loc[rows, name], marker, color=color,
                            markerfacecolor=fill, markersize=3,
                            label=f"{rate:g} Gb/s" if marker == "s" and rows.any() else None,
                        )  # fmt: skip
                ends = (1.05 * max(balance[name].max(), outcomes[name].max(), 1.0), 0.0)
                if name == "drops":
                    ax.set(xscale="log", yscale="log")
                    ends = (2 * ends[0], 0.5 * min(balance[name].min(), outcomes[name].min()))
                ax.plot(ends, ends, color=figures.REFERENCE, linestyle=":", linewidth=0.8, label="equal")
                ax.set(title=WORDS[name], xlabel="in balance", xlim=ends[::-1], ylim=ends[::-1])
                ax.set_aspect("equal")
            panels[0].set(ylabel="measured")
            figures.legend(figure, panels[0])
        return figure


def _by_epoch(runs: Runs) -> Measured:
    """Measure the share of runs that were long enough, by the length of an epoch of CUBIC in balance (`EPOCHS_S`)."""
    outcomes = sharing.outcomes(runs)
    epochs = pd.cut(physics(outcomes)["epoch"], [0, *EPOCHS_S, math.inf])
    percent = 100.0 * outcomes["doubt"].eq("").groupby(epochs, observed=True).mean()
    names = [f"up to {EPOCHS_S[0]:g} s", f"to {EPOCHS_S[1]:g} s", "longer"]
    by_name = dict(zip(epochs.cat.categories, names, strict=True))
    return Measured.by_case({by_name[epoch]: share for epoch, share in percent.items()})


def of_table(rows: pd.DataFrame) -> pd.Series[bool]:
    """Select the rows whose rate and RTT are of Table 1, and not between."""
    return rows["rate_gbps"].isin(RATES_GBPS) & rows["rtt_ms"].round(3).isin(RTTS_MS)


def is_single(rows: pd.DataFrame) -> pd.Series[bool]:
    """Select the rows of the single condition that has many settings of its own."""
    return (rows["rate_gbps"] == SINGLE[0]) & (rows["rtt_ms"].round(3) == SINGLE[1])


def study_hours(runs: Runs) -> float | None:
    """Return the core-hours of 10 000 settings, equally many under each condition of Table 1.

    It is computed from the wall clock of the runs, each on one core. None: a condition has no run.
    """
    outcomes = sharing.outcomes(runs)
    costs = pd.DataFrame(
        {
            "rate_gbps": outcomes["rate_gbps"],
            "rtt_ms": outcomes["rtt_ms"],
            "wall_s": [float(run.provenance.get("wall_s", float("nan"))) for run in runs],
        }
    )
    costs = costs[of_table(costs)]
    means = costs.groupby(["rate_gbps", "rtt_ms"])["wall_s"].mean()
    return float(means.mean() * STUDY / 3600) if len(means) == len(RATES_GBPS) * len(RTTS_MS) else None
