# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: how far the results depend on inputs that the paper does not give."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures, updates
from rdcnlab.analysis.intervals import over_seeds
from rdcnlab.analysis.measured import Measured, means
from rdcnlab.papers.causes import Cause
from rdcnlab.papers.dogar import space
from rdcnlab.papers.dogar.space import LARGE, Setting
from rdcnlab.papers.dogar.updates import Experiment
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

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
        return {
            **{claim: holds(quantities, quantity, ("bbr", "dctcp", "cubic")) for claim, quantity in _ORDERS.items()},
            "change-decides": Measured.by_case(means(cost, "cc", "value")),
            "switches-apart": Measured.by_case(means(ratio, "cc", "value")),
        }

    def causes(self) -> list[Cause]:
        """Return the orders of DCTCP and CUBIC alone, in the runs of the item."""

        def without_bbr(quantity: str, runs: Runs) -> Measured:
            return holds(self.quantities(runs), quantity, ("dctcp", "cubic"))

        return [Cause(claim, self, partial(without_bbr, quantity)) for claim, quantity in _ORDERS.items()]

    def plot(self, runs: Runs) -> Figure:
        """Draw each quantity by setting and variant."""
        quantities, names = self.quantities(runs), list(CHANGES)
        with figures.style():
            figure, axes = figures.panels(1, len(QUANTITIES), width=2.1, height=3.6, sharex="col")
            for ax, (kind, label) in zip(axes[0], QUANTITIES.items(), strict=True):
                for number, cc in enumerate(self.variants):
                    mean = means(quantities[quantities["cc"] == cc], "change", kind).reindex(names)
                    look, y = figures.look(cc), np.arange(len(names)) + (number - 1) * 0.2
                    error = figures.error_lengths(mean)
                    ax.errorbar(
                        mean["mean"], y, xerr=error, fmt=look.marker, color=look.color, markersize=4, label=look.label
                    )
                ax.set(xlabel=label, xscale="symlog" if kind in ("retransmissions", "drops") else "linear")
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
