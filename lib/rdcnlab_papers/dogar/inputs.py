# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: how far the results depend on inputs that the paper does not give."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import over_seeds
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.dogar import space
from rdcnlab_papers.dogar.fig2 import STATED
from rdcnlab_papers.dogar.space import LARGE, Setting
from rdcnlab_papers.dogar.updates import Experiment
from rdcnlab_papers.items.causes import Cause

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Quantities by the label of their panel.
QUANTITIES = {
    "retransmissions": "retransmitted\nin an update",
    "throughput": "throughput\nof a flow [Gb/s]",
    "window": "window [kB]",
    "drops": "lost in\nan update",
}
#: Claims about the order of a quantity.
_ORDERS = {"retransmissions-order": "retransmissions", "windows-order": "window", "drops-order": "drops"}
_SCALES, _COUNTS = {"quick": 0.05, "paper": 0.2}, {"quick": 4, "paper": 6}


class Change(NamedTuple):
    """One input that differs from its default, a setting, or a change of the scenario."""

    inputs: space.Inputs = space.Inputs()
    setting: Setting = Setting()
    fields: tuple[tuple[str, Any], ...] = ()


#: Changes, one at a time. All have the large buffer, with which the paper has more figures.
CHANGES = {
    "default": Change(),
    "1 flow a group": Change(space.Inputs(per_group=1)),
    "4 flows a group": Change(space.Inputs(per_group=4)),
    "RTT 50 us": Change(space.Inputs(rtt_us=50)),
    "RTT 500 us": Change(space.Inputs(rtt_us=500)),
    "groups swap at once": Change(space.Inputs(change_ms=0)),
    "change takes 0.1 s": Change(space.Inputs(change_ms=100)),
    "change takes 0.5 ms": Change(space.Inputs(change_ms=space.BRIEF_MS)),
    "RED 10 % to 100 %": Change(space.Inputs(red_percent=(10, 100))),
    "marks from 10 %": Change(space.Inputs(mark_percent=10)),
    "marks from 60 %": Change(space.Inputs(mark_percent=60)),
    "ECN for all": Change(fields=(("transport.ecn", True),)),
    "switches 100 ms apart": Change(setting=Setting(LARGE, "switches")),
    "groups 100 ms apart": Change(setting=Setting(LARGE, "groups")),
}


#: The changes that give an update another duration, for which both groups share a link, by this duration in s.
_DURATIONS = {"groups swap at once": 0, "change takes 0.5 ms": 0.0005, "change takes 0.1 s": 0.1, "default": 1.0}
#: The variant beside whose points a picture has the durations.
_LABELLED = "cubic"


class Inputs(Experiment):
    """Retransmissions, throughput, windows and losses, with one input changed at a time."""

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    reads: ClassVar[tuple[str, ...]] = ("events", "throughput", "tcp")

    @property
    def times(self) -> float:
        """Factor on all times of updates: smaller than that of the figures, because there are many settings."""
        return _SCALES[self.profile] if self.scale is None else self.scale

    def changed_scenario(self, change: Change, cc: str, seed: int) -> Scenario:
        """Return the scenario of a change."""
        count = _COUNTS[self.profile] if self.updates is None else self.updates
        inputs = change.inputs
        item_inputs = self.inputs
        overrides = {
            name: getattr(item_inputs, name)
            for name in inputs._fields
            if getattr(inputs, name) == getattr(space.Inputs(), name)
        }
        scenario = space.updates(
            cc,  # type: ignore[arg-type]
            seed=seed,
            count=count,
            setting=change.setting,
            inputs=inputs._replace(**overrides),
            scale=self.times,
        )
        return scenario.with_(**dict(change.fields)) if change.fields else scenario

    def points(self) -> list[Scenario]:
        """Return all changes, variants and seeds."""
        return [
            self.changed_scenario(change, cc, seed)
            for change in CHANGES.values()
            for cc in self.variants
            for seed in self.seed_range
        ]

    def quantities(self, runs: Runs) -> pd.DataFrame:
        """Return the mean of each quantity: ``change``, ``cc``, ``seed``, and the keys of `QUANTITIES`."""
        parts = []
        for name, change in CHANGES.items():
            scenarios = (self.changed_scenario(change, cc, seed) for cc in self.variants for seed in self.seed_range)
            change_runs = self.only(runs, scenarios)
            tables = {
                "retransmissions": updates.retransmissions(change_runs, self.width_ns, self.from_ns),
                "throughput": updates.throughput(change_runs, self.width_ns, self.from_ns),
                "window": updates.windows(change_runs, self.from_ns),
                "drops": updates.drops(change_runs, self.from_ns, 1, self.width_ns),
            }
            columns = {kind: table.groupby(["cc", "seed"])["value"].mean() for kind, table in tables.items()}
            parts.append(pd.DataFrame(columns).reset_index().assign(change=name))
        return pd.concat(parts, ignore_index=True)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the share of settings in which each order holds, and the inputs that decide the throughput."""
        quantities = self.quantities(runs)
        rate = quantities.pivot_table(index=["cc", "seed"], columns="change", values="throughput")
        cost = (100 * (1 - rate["default"] / rate["groups swap at once"])).rename("value").reset_index()
        ratio = (rate["switches 100 ms apart"] / rate["default"]).rename("value").reset_index()
        costs = self.by_duration(quantities)
        both = costs[costs["cc"] == "dctcp"].assign(
            is_both=lambda rows: (rows["cost"] > STATED[1.0]) & (rows["drops"] == 0)
        )
        return {
            "one-duration": Measured.one(float(both.groupby("change")["is_both"].all().sum())),
            **{claim: holds(quantities, quantity, ("bbr", "dctcp", "cubic")) for claim, quantity in _ORDERS.items()},
            "change-decides": Measured.by_case(means(cost, "cc", "value")),
            "switches-apart": Measured.by_case(means(ratio, "cc", "value")),
        }

    def causes(self) -> list[Cause]:
        """Return the orders of DCTCP and CUBIC alone, in the runs of the item."""

        def without_bbr(quantity: str, runs: Runs) -> Measured:
            return holds(self.quantities(runs), quantity, ("dctcp", "cubic"))

        orders = [Cause(claim, self, partial(without_bbr, quantity)) for claim, quantity in _ORDERS.items()]
        return [*orders, Cause("one-duration", self, self._costs)]

    def by_duration(self, quantities: pd.DataFrame) -> pd.DataFrame:
        """Return what updates cost, by their duration: ``change``, ``cc``, ``seed``, ``cost`` in %, and ``drops``.

        The cost is the share of the throughput that groups which swap at one instant have more.
        """
        chosen = quantities[quantities["change"].isin(_DURATIONS)]
        static = chosen[chosen["change"] == "groups swap at once"].set_index(["cc", "seed"])["throughput"]
        at_once = static.reindex(pd.MultiIndex.from_frame(chosen[["cc", "seed"]])).to_numpy()
        return chosen[["change", "cc", "seed", "drops"]].assign(cost=100 * (1 - chosen["throughput"] / at_once))

    def _costs(self, runs: Runs) -> Measured:
        costs = self.by_duration(self.quantities(runs))
        lost, dropped = (means(costs, ["change", "cc"], kind)["mean"] for kind in ("cost", "drops"))
        listed = (
            f"{change}, {cc}: {lost[change, cc]:.3g} %, {dropped[change, cc]:.3g}"
            for change in _DURATIONS
            for cc in self.variants
        )
        return Measured(note="; ".join(listed))

    def plot_durations(self, runs: Runs) -> Figure:
        """Draw what updates cost over what they lose, by their duration, and where the paper's statements are."""
        costs = self.by_duration(self.quantities(runs))
        with figures.single(5.2, 3.4) as (figure, ax):
            for cc in self.variants:
                rows = means(costs[costs["cc"] == cc], "change", "cost").reindex(list(_DURATIONS))
                lost = means(costs[costs["cc"] == cc], "change", "drops").reindex(list(_DURATIONS))
                look = figures.look(cc)
                ax.errorbar(
                    rows["mean"], lost["mean"], xerr=figures.error_lengths(rows), yerr=figures.error_lengths(lost),
                    color=look.color, marker=look.marker, markersize=5, linewidth=0.7, capsize=2, label=look.label,
                )  # fmt: skip
                if cc != _LABELLED:
                    continue
                for name, duration in _DURATIONS.items():
                    words = f"{1000 * duration:g} ms" if duration < 1 else f"{duration:g} s"
                    ax.annotate(words, (rows["mean"][name], lost["mean"][name]), fontsize="small",
                                xytext=(6, -11), textcoords="offset points", color=look.color)  # fmt: skip
            ax.axvline(STATED[1.0], color=figures.REFERENCE, linewidth=0.8, linestyle=":")
            ax.plot([STATED[1.0], 60], [0, 0], color=figures.REFERENCE, linewidth=4, alpha=0.4,
                    label="paper: CUBIC and DCTCP", solid_capstyle="butt")  # fmt: skip
            ax.set_yscale("symlog", linthresh=1)
            ax.set(xlabel="throughput lost to an update every second [%]", ylabel="packets lost in an update",
                   ylim=(-0.2, None))  # fmt: skip
            figures.note(
                figure, f"numbers: longest duration of an update; all times of the runs are {self.times:g} of this"
            )
        return figure

    def plot(self, runs: Runs) -> Figure:
        """Draw each quantity by setting and variant."""
        quantities, names = self.quantities(runs), list(CHANGES)
        with figures.style():
            figure, axes = figures.panels(1, len(QUANTITIES), width=2.1, height=3.6, sharex="col")
            for ax, (kind, label) in zip(axes[0], QUANTITIES.items(), strict=True):
                for number, cc in enumerate(self.variants):
                    mean = means(quantities[quantities["cc"] == cc], "change", kind).reindex(names)
                    look, y = figures.look(cc), np.arange(len(names)) + (number - 1) * 0.2
                    error = figures.error_lengths(mean, least=0)
                    ax.errorbar(
                        mean["mean"], y, xerr=error, fmt=look.marker, color=look.color, markersize=4, label=look.label
                    )
                ax.set(xlabel=label)
                if kind in ("retransmissions", "drops"):
                    ax.set_xscale("symlog", linthresh=10)
                ax.set_xlim(left=0)
            axes[0, 0].set_yticks(range(len(names)), names)
            axes[0, 0].invert_yaxis()
            figures.legend(figure, axes[0, 0])
        return figure


def holds(quantities: pd.DataFrame, quantity: str, rising: Sequence[str]) -> Measured:
    """Measure the share of settings in which variants have an order; the note names the others."""
    table = quantities.pivot_table(index=["change", "seed"], columns="cc", values=quantity)
    if not set(rising) <= set(table.columns):
        return Measured(note="not all variants ran")
    is_ordered = (table[list(rising)].diff(axis=1).iloc[:, 1:] > 0).all(axis=1)
    wrong = sorted(is_ordered.groupby("change").all().loc[lambda flags: ~flags].index)
    note = f"not with: {', '.join(wrong)}" if wrong else ""
    return Measured.one(over_seeds(is_ordered.groupby("seed").mean()).within(0, 1), note)
