# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: from which slice length on a plain transport is as good as one that knows the slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import Estimate, least
from rdcnlab.fields.quantities import Listed, SlotDuration
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.benchmarks import compared
from rdcnlab_papers.benchmarks.compared import SCHEDULED, USUAL, Architecture, Case, TransportName
from rdcnlab_papers.benchmarks.questions import Question

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The networks that were not used for the predictions: one with a packet network, and one without.
_HELD_OUT: tuple[Architecture, Architecture] = ("rotor-6", "rotornet-direct")
_YARDSTICK: Architecture = "expander"
_US = 1000


class Slices(Question):
    """Web search by the length of a day; a night takes a ninth of it. `Comparison.offered` has the load.

    Parameters
    ----------
    architectures : tuple of str
        Networks that turn. CUBIC on an expander, which does not, is the yardstick.
    days : tuple of int
        ns for which a circuit is up.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 5}
    measured_otherwise: ClassVar[tuple[str, ...]] = ()

    architectures: compared.Architectures = ("rotor", "rotor-6", "rotornet", "rotornet-direct")
    days: Annotated[tuple[SlotDuration, ...], Field(min_length=1), Listed] = (
        60_000, 180_000, 600_000, 2_000_000, 6_000_000,
    )  # fmt: skip

    @property
    def cases(self) -> list[Case]:
        """The cases: CUBIC everywhere, TDTCP and NUFTCP where flows follow schedules."""
        cases = [
            Case(architecture, "web-search", USUAL, transport, day)
            for architecture in self.architectures
            for day in self.days
            for transport in self._compared(architecture)
        ]
        return [*cases, Case(_YARDSTICK, "web-search", USUAL, "cubic")]

    @staticmethod
    def _compared(architecture: Architecture) -> tuple[TransportName, ...]:
        return ("cubic", "tdtcp", "nuftcp") if architecture in SCHEDULED else ("cubic",)

    def plot(self, runs: Runs) -> Figure:
        """Draw reordering and mean slowdown over the length of a day, by network."""
        totals = self.totals(runs)
        with figures.style():
            figure = figures.drawing(9.6, 4.4)
            panels = figure.subplots(2, len(self.architectures), sharex=True, sharey="row", squeeze=False)
            for column, architecture in enumerate(self.architectures):
                of_network = totals[totals["architecture"] == architecture]
                for row, value in enumerate(("reordered", "mean")):
                    self._draw(panels[row, column], of_network, value)
                panels[0, column].set_title(architecture, fontsize=8, loc="left")
                panels[1, column].set_xlabel("day [us]")
                yardstick = totals.loc[totals["architecture"] == _YARDSTICK, "mean"].mean()
                figures.reference(panels[1, column], yardstick, "CUBIC, expander")
            panels[0, 0].set_xscale("log")
            panels[0, 0].set_xticks([100, 1000], ["100", "1000"])
            panels[0, 0].set_yscale("symlog", linthresh=1)
            # markers at 0 are drawn whole
            panels[0, 0].set_ylim(bottom=-0.2)
            panels[0, 0].set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"])
            panels[0, 0].set_ylabel("retransmissions without\na loss, of 1000 segments")
            panels[1, 0].set_yscale("log")
            panels[1, 0].set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
            panels[1, 0].set_ylim(bottom=1)
            panels[1, 0].minorticks_off()
            panels[1, 0].set_ylabel("mean slowdown")
            figures.legend_of_all(figure, panels[:, 0])
        return figure

    def _draw(self, ax: Axes, totals: pd.DataFrame, value: str) -> None:
        stats = compared.over_seeds(totals, value, ["transport", "day"]).reset_index()
        stats = stats.assign(us=stats["day"] / _US)
        least = 1.0 if value == "mean" else 0.0
        for name, shift in (("cubic", 0.9), ("tdtcp", 1.0), ("nuftcp", 1.1)):
            chosen = stats[stats["transport"] == name]
            if len(chosen):
                look = figures.look(name)
                # beside each other: bands of three transports would hide each other
                ax.errorbar(
                    chosen["us"] * shift, chosen["mean"], figures.error_lengths(chosen, least=least), color=look.color,
                    marker=look.marker, markersize=4, linewidth=0.9, capsize=2, label=look.label,
                )  # fmt: skip

    def measured_by(self, totals: pd.DataFrame, repeats: str, slowdown: str) -> dict[str, Measured]:
        """Measure reordering and slowdown by the length of a day; see `Question`."""
        cubic = totals[(totals["transport"] == "cubic") & (totals["day"] > 0)]
        by_day = ["architecture", "day"]
        reordered = compared.estimates_of(cubic, repeats, by_day)
        hybrid, waiting = _HELD_OUT
        ratio = compared.ratios(totals[totals["architecture"] == hybrid], slowdown, "cubic", "tdtcp", by_day)
        longest = max(self.days)
        waits = {day: rows for (network, day), rows in tables.groups(cubic, by_day) if network == waiting}
        static = totals[(totals["architecture"] == _YARDSTICK) & (totals["transport"] == "cubic")]
        return {
            "reordering-ends": _by_day({day: one for (network, day), one in reordered.items()
                                        if network == hybrid and day == longest}),
            "as-fast-from": _by_day({day: one for (_, day), one in ratio.items() if day >= 600 * _US}),
            "slower-below": _by_day({day: one for (_, day), one in ratio.items() if day <= 60 * _US}),
            "waiting-costs": Measured() if not {180 * _US, 2000 * _US} <= set(waits) else
            Measured.one(compared.ratio(waits[2000 * _US], waits[180 * _US], slowdown)),
            "never-as-good": Measured() if not waits or static.empty else
            Measured.one(least(compared.ratio(rows, static, slowdown) for rows in waits.values())),
        }  # fmt: skip


def _by_day(estimates: dict[int, Estimate]) -> Measured:
    return Measured({f"{day // _US} us": one for day, one in estimates.items()})
