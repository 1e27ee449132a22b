# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: how far figures 15 to 20 depend on inputs that the paper lacks, and on NUFTCP's readings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import estimates
from rdcnlab.fields.quantities import FieldError, Listed, whole
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import evenness, updates
from rdcnlab_papers.analysis.measured import Measured, largest, means
from rdcnlab_papers.dogar import clos
from rdcnlab_papers.dogar.clos import Inputs
from rdcnlab_papers.dogar.fig15 import Fig15
from rdcnlab_papers.dogar.fig16 import Fig16
from rdcnlab_papers.dogar.simulation import BUFFERS, COUNTS, PAIR
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The paper's own losses of DCTCP, and its packets out of order, by buffer.
STATED, _STATED_AHEAD = Fig15.stated_numbers["dctcp"], Fig16.stated_numbers["dctcp"]
#: The setting in which Sec. 4.1 and algorithm 2 are taken literally.
LITERAL = "spine down, algorithm 2"
#: The setting with the same updates, and NUFTCP as the prose has it.
_PROSE = "spine down"
#: Changes, one at a time; and both readings that the losses depend on.
SETTINGS: dict[str, Inputs] = {
    "default": Inputs(),
    "spine down": Inputs(pattern="down"),
    "one spine, in turn": Inputs(pattern="alternate"),
    "8 flows a group": Inputs(per_group=8),
    "marks from 300 kB": Inputs(mark_kB=300),
    "T 2 ms": Inputs(hold_us=2000),
    "held ACKs without SACK": Inputs(hold_sack=True),
    "algorithm 2": Inputs(readings=(3,)),
    LITERAL: Inputs(pattern="down", readings=(3,)),
}


def _evenness(value: str) -> Callable[[Runs], pd.DataFrame]:
    return lambda runs: evenness.evenness(runs, clos.EVERY_NS).rename(columns={value: "value"})


#: Quantities by the label of their panel, whether the axis is logarithmic, and how they are counted.
QUANTITIES: dict[str, tuple[str, bool, Callable[[Runs], pd.DataFrame]]] = {
    "lost": ("lost", True, lambda runs: updates.lost(runs)),
    "ahead": ("out of order", True, lambda runs: updates.came_ahead(runs)),
    "again": ("retransmitted", True, lambda runs: updates.retransmitted(runs)),
    "variation": ("variation of a\nflow's throughput", False, _evenness("variation")),
    "gbps": ("throughput of\nboth [Gb/s]", False, _evenness("gbps")),
}


class Readings(Item):
    """Packets lost, out of order and retransmitted, and throughput, with one input or reading changed at a time.

    Parameters
    ----------
    updates : int or None
        Number of updates in a run; None: 15 in the paper profile.
    settings : tuple of str
        Which of `SETTINGS` are run.
    hold_sack : bool
        Whether NUFTCP's receivers leave out SACK while they may hold ACKs, in all settings.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    reads: ClassVar[tuple[str, ...]] = ("events", "throughput")
    parts: ClassVar[dict[str, Part]] = {
        "events": Part(("t_ns", "event", "link", "flow", "value"), tick=NS_PER_MS),
        "throughput": evenness.RECEIVED,
    }

    updates: Annotated[int, whole(1, 1000)] | None = None
    settings: Annotated[tuple[str, ...], Field(min_length=1), Listed] = tuple(SETTINGS)
    hold_sack: bool = False

    @field_validator("settings")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in SETTINGS:
                raise FieldError.unknown("", name, SETTINGS, "setting")
        return value

    def at(self, setting: str, cc: clos.Variant, buffer: str, seed: int) -> Scenario:
        """Return the scenario of a setting, a variant and a buffer."""
        count = COUNTS[self.profile] if self.updates is None else self.updates
        inputs = SETTINGS[setting]
        if self.hold_sack:
            inputs = inputs._replace(hold_sack=True)
        return clos.updates(cc, seed=seed, count=count, buffer_kB=BUFFERS[buffer], inputs=inputs)

    def points(self) -> list[Scenario]:
        """Return all settings, variants, buffers and seeds; some settings change NUFTCP only."""
        return list(
            dict.fromkeys(
                self.at(setting, cc, buffer, seed)
                for setting in self.settings
                for cc in PAIR
                for buffer in BUFFERS
                for seed in range(self.count)
            )
        )

    def quantities(self, runs: Runs) -> pd.DataFrame:
        """Return one row for each setting, variant, buffer and seed, with the keys of `QUANTITIES`."""
        series = {name: count(runs).set_index("run")["value"] for name, (_, _, count) in QUANTITIES.items()}
        rows = []
        for seed in sorted({run.scenario.seed for run in runs}):
            for setting in self.settings:
                for cc in PAIR:
                    for buffer in BUFFERS:
                        number = self.index_of(runs, self.at(setting, cc, buffer, seed))
                        row = {"setting": setting, "cc": cc, "buffer": buffer, "seed": seed}
                        rows.append(row | {name: float(values[number]) for name, values in series.items()})
        return pd.DataFrame(rows)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure losses and retransmissions by the literal reading, and losses by the prose."""
        quantities = self.quantities(runs)

        def numbers(setting: str, cc: str, name: str) -> dict[Any, float]:
            chosen = quantities[(quantities["setting"] == setting) & (quantities["cc"] == cc)]
            return dict(estimates(means(chosen, "buffer", name)))

        measured = {}
        if LITERAL in self.settings:
            lost, retransmissions = ({cc: numbers(LITERAL, cc, name) for cc in PAIR} for name in ("lost", "again"))
            ratios = {buffer: lost["dctcp"][buffer] / stated for buffer, stated in STATED.items()}
            shares = {
                buffer: 100 * (retransmissions["nuftcp"][buffer] / retransmissions["dctcp"][buffer])
                for buffer in BUFFERS
            }
            measured = {
                "literal-none": largest(quantities.query("cc == 'nuftcp' and setting == @LITERAL"), "buffer", "lost"),
                "literal-dctcp": Measured(ratios),
                "literal-again": Measured(shares),
            }
        if _PROSE in self.settings:
            measured["prose-loses"] = Measured.by_case(numbers(_PROSE, "nuftcp", "lost"))
        return measured

    def causes(self) -> list[Cause]:
        """Return an experiment of ns-3 in which held ACKs carry no SACK."""
        if self.column != "ns3":
            return []
        return [Cause("literal-again", self.with_parameters(profile=self.profile, settings=(LITERAL,), hold_sack=True))]

    def plot(self, runs: Runs) -> Figure:
        """Draw each quantity by setting, variant and buffer."""
        quantities, names = self.quantities(runs), list(self.settings)
        with figures.style():
            figure, axes = figures.panels(1, len(QUANTITIES), width=2.0, height=3.6, sharex="col")
            for ax, (name, (label, wide, _)) in zip(axes[0], QUANTITIES.items(), strict=True):
                for number, (cc, buffer) in enumerate((cc, buffer) for cc in PAIR for buffer in BUFFERS):
                    rows = quantities[(quantities["cc"] == cc) & (quantities["buffer"] == buffer)]
                    mean, look = means(rows, "setting", name).reindex(names), figures.look(cc)
                    ax.errorbar(
                        mean["mean"],
                        np.arange(len(names)) + (number - 1.5) * 0.18,
                        xerr=figures.error_lengths(mean, least=0),
                        fmt=look.marker,
                        color=look.color,
                        markerfacecolor=look.color if buffer == "large" else "none",
                        markersize=4,
                        label=f"{look.label}, {buffer} buffer",
                    )
                ax.set(xlabel=label)
                if wide:
                    ax.set_xscale("symlog", linthresh=10)
                stated = {"lost": STATED, "ahead": _STATED_AHEAD}.get(name, {}).values()
                for index, number_stated in enumerate(stated):
                    figures.reference(ax, number_stated, "_" if index else "paper, DCTCP", along="x")
                ax.set_xlim(left=0)
            axes[0, 0].set_yticks(range(len(names)), names)
            axes[0, 0].invert_yaxis()
            figures.legend(figure, axes[0, 0])
        return figure
