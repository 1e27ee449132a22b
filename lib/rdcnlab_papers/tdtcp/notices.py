# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: which transport needs which notification, by the comparison's runs and on networks of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import Estimate
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.benchmarks import compared
from rdcnlab_papers.benchmarks.compared import SCHEDULED, Architecture, Case, TransportName, Workload
from rdcnlab_papers.benchmarks.questions import Question

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: A transport that is notified, the one whose window has the same rule without, and what it is notified of.
NOTIFIED: dict[TransportName, tuple[TransportName, str]] = {
    "tdtcp": ("cubic", "number of the network"),
    "nuftcp": ("cubic", "versions in packets"),
    "dctcp": ("reno", "marks of queues"),
}
_HELD_OUT: Architecture = "rotor-6"
_FOR_MARKS: tuple[Architecture, ...] = ("jupiter", "rotornet-direct")
_MIXED: tuple[Workload, ...] = ("web-search", "hadoop", "permutation")


class Notices(Question):
    """Reordering, slowdown and queues of transports that are notified, over those of the same rule without.

    Parameters
    ----------
    architectures : tuple of str
        Networks. TDTCP and NUFTCP run on the fabric ``rotor`` only; marks are compared on all others.
    workloads : tuple of str
        Workloads on the fabric ``rotor``; others have web search and Hadoop, as far as they are here.
    """

    measured_otherwise: ClassVar[tuple[str, ...]] = ("marks-cost-nothing",)

    architectures: compared.Architectures = (
        "leaf-spine", "expander", "jupiter", "helios", "opera", "rotornet", "rotornet-direct", "sirius", "shale",
        "rotor", "rotor-6",
    )  # fmt: skip
    workloads: compared.Workloads = ("web-search", "hadoop", "permutation", "incast")

    @property
    def cases(self) -> list[Case]:
        """The cases."""
        return compared.crossed(self.architectures, self.workloads, self._compared)

    @staticmethod
    def _compared(architecture: Architecture, workload: Workload) -> tuple[TransportName, ...]:
        if architecture in SCHEDULED:
            return ("cubic", "tdtcp", "nuftcp")
        return ("reno", "dctcp") if workload in ("web-search", "hadoop") else ()

    def ratio(self, totals: pd.DataFrame, value: str, notified: TransportName) -> dict[tuple[str, str], Estimate]:
        """Return the mean of a number of a notified transport over that without, by network and workload."""
        return compared.ratios(totals, value, notified, NOTIFIED[notified][0], ["architecture", "workload"])

    def plot(self, runs: Runs) -> Figure:
        """Draw the ratios: reordering and slowdown where networks turn, the queue and slowdown with marks."""
        totals = self.totals(runs)
        with figures.style():
            figure = figures.drawing(9.6, 4.4)
            panels = figure.subplots(1, 4, squeeze=False)[0]
            special: tuple[TransportName, ...] = ("tdtcp", "nuftcp")
            self._draw(panels[0], totals, "reordered", special, "retransmissions without a loss")
            self._draw(panels[1], totals, "mean", special, "mean slowdown")
            self._draw(panels[2], totals, "queue_kB", ("dctcp",), "longest queue")
            self._draw(panels[3], totals, "mean", ("dctcp",), "mean slowdown")
            panels[0].set_xscale("symlog", linthresh=0.01)
            panels[0].set_xlim(-0.001, 3)
            panels[0].set_xticks([0, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
            figures.legend_of_all(figure, [panels[0], panels[2]])
        return figure

    def _draw(self, ax: Axes, totals: pd.DataFrame, value: str, names: tuple[TransportName, ...], title: str) -> None:
        ratios_of = {name: self.ratio(totals, value, name) for name in names}
        cases = list(dict.fromkeys(case for ratios in ratios_of.values() for case in ratios))
        for place, name in enumerate(names):
            look, shift = figures.look(name), 0.2 * (place - (len(names) - 1) / 2)
            heights = [cases.index(case) + shift for case in ratios_of[name]]
            label = f"{look.label} ({NOTIFIED[name][1]}) over {figures.look(NOTIFIED[name][0]).label}"
            style: dict[str, Any] = {"color": look.color, "marker": look.marker, "markersize": 4, "linestyle": "none"}
            ax.plot(list(ratios_of[name].values()), heights, **style, label=label)
            known = [(height, one) for height, one in zip(heights, ratios_of[name].values(), strict=True) if one.known]
            if known:
                ax.hlines([height for height, _ in known], [max(one.low, 0) for _, one in known],
                          [one.high for _, one in known], color=look.color, linewidth=0.8)  # fmt: skip
        ax.axvline(1, color=figures.REFERENCE, linewidth=0.8)
        ax.set_yticks(range(len(cases)), [", ".join(case) for case in cases])
        ax.set_ylim(max(1, len(cases)) - 0.5, -0.5)
        ax.set_xlabel(f"{title},\nratio", fontsize=8)
        ax.tick_params(labelsize=7)

    def measured_by(self, totals: pd.DataFrame, repeats: str, slowdown: str) -> dict[str, Measured]:
        """Measure the ratios; see `Question`."""
        reordered = {name: self.ratio(totals, repeats, name) for name in ("tdtcp", "nuftcp")}
        slower = {name: self.ratio(totals, slowdown, name) for name in ("tdtcp", "dctcp")}
        marked: tuple[Workload, ...] = ("web-search", "hadoop")
        return {
            "number-of-the-network": _of(reordered["tdtcp"], (_HELD_OUT,), _MIXED),
            "versions": _of(reordered["nuftcp"], (_HELD_OUT,), _MIXED),
            "not-under-incast": _of(reordered["tdtcp"], (_HELD_OUT,), ("incast",)),
            "not-faster": _of(slower["tdtcp"], (_HELD_OUT,), _MIXED),
            "marks-shorten": _of(self.ratio(totals, "queue_kB", "dctcp"), ("jupiter",), ("web-search",)),
            "marks-cost-nothing": _of(slower["dctcp"], _FOR_MARKS, marked),
        }


def _of(
    ratios: dict[tuple[str, str], Estimate], architectures: tuple[Architecture, ...], workloads: tuple[Workload, ...]
) -> Measured:
    """Return the measurement of some networks and workloads."""
    wanted = {(architecture, workload) for architecture in architectures for workload in workloads}
    return Measured({", ".join(case): one for case, one in ratios.items() if case in wanted})
