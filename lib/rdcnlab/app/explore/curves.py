# SPDX-License-Identifier: Apache-2.0
"""What runs of the explorer look like: goodput, RTT and queue over time, and a table of means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from rdcnlab.analysis import binned, tables
from rdcnlab.analysis.drawing import Drawing
from rdcnlab.analysis.figures import Look, drawing, look, style
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Flow

#: Line styles of the runs that are compared, in their order.
_LINES = ("-", "--", ":", "-.")
#: Most questions in one figure, because there are no more line styles.
MOST = len(_LINES)
#: The second group, if both have the same transport.
_OTHER = "#000000"


@dataclass(frozen=True)
class Shown:
    """Runs that are shown together: the same scenario with several seeds.

    Parameters
    ----------
    label : str
        Their name in the legend.
    runs : Runs
        At least one.
    """

    label: str
    runs: Runs


def transport(flow: Flow) -> str:
    """Return what a flow is: its congestion control, or its protocol if that says more."""
    return "tdtcp" if flow.tdtcp else "mptcp" if flow.protocol == "mptcp" else str(flow.cc)


def curves(*shown: Shown | Runs) -> Drawing:
    """Draw goodput, RTT and the fullest queue over time; several runs give a mean, and a band from least to most.

    Parameters
    ----------
    *shown : Shown or Runs
        What is compared, at most `MOST`. The first has the bands, because bands over bands cannot be read, and its
        length is that of the time axis.
    """
    every = [each if isinstance(each, Shown) else Shown("", each) for each in shown][:MOST]
    # earlier runs may be longer by far; then the rest of them would make the new ones a line
    end_ms = every[0].runs[0].scenario.limit / 1e6
    with style():
        figure = drawing(7.4, 5.2)
        rate, rtt, queue = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 2))
        for one, dashes in zip(every, _LINES, strict=False):
            drawn = _Lines(dashes, end_ms, band=one is every[0])
            looks, before = _looks(one.runs), f"{one.label}: " if one.label else ""
            for role, values in _by_role(one.runs, _rates(one.runs), "rate_bps", 1e9):
                drawn.draw(rate, values, looks[role].color, f"{before}{role}, {looks[role].label}")
            for role, values in _by_role(one.runs, _rtts(one.runs), "srtt_us", 1e3):
                drawn.draw(rtt, values, looks[role].color)
            queued = _queues(one.runs)
            if not queued.empty:
                drawn.draw(queue, _spread(queued, "mean_B", 1e3), "#555555")
        for ax, words in ((rate, "goodput [Gb/s]"), (rtt, "RTT [ms]"), (queue, "fullest\nqueue [kB]")):
            ax.set_ylabel(words)
            ax.set_ylim(bottom=0)
        queue.set_xlabel("time [ms]")
        queue.set_xlim(0, end_ms)
        handles, labels = rate.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=8)
        figure.align_ylabels()
    return figure


def means(shown: Iterable[Shown]) -> pd.DataFrame:
    """Return the means of each group of flows over time and runs, one row each.

    Returns
    -------
    DataFrame
        ``runs``, ``flows``, ``transport``, ``goodput [Gb/s]``, ``RTT [ms]``, ``retransmits`` (segments in a run).
    """
    rows = []
    for one in shown:
        looks = _looks(one.runs)
        rates = dict(_by_role(one.runs, _rates(one.runs), "rate_bps", 1e9))
        rtts = dict(_by_role(one.runs, _rtts(one.runs), "srtt_us", 1e3))
        again = one.runs.flows.assign(role=one.runs.flows["flow"].map(tables.role)).groupby("role")["retransmits"].sum()
        for role, drawn in looks.items():
            rows.append(
                {
                    "runs": one.label,
                    "flows": role,
                    "transport": drawn.label,
                    "goodput [Gb/s]": rates[role]["mean"].mean() if role in rates else 0.0,
                    "RTT [ms]": rtts[role]["mean"].mean() if role in rtts else float("nan"),
                    "retransmits": again.get(role, 0) / len(one.runs),
                }
            )
    return pd.DataFrame(rows)


def _looks(runs: Runs) -> dict[str, Look]:
    """Return the look of each group; groups of the same transport differ in their colour."""
    found: dict[str, Look] = {}
    for flow in runs[0].scenario.flows:
        name = transport(flow)
        usual = look(name)
        taken = {other.color for role, other in found.items() if role != tables.role(flow.name)}
        color = _OTHER if usual.color in taken else usual.color
        found.setdefault(tables.role(flow.name), Look(usual.label, color, usual.marker))
    return found


def _rates(runs: Runs) -> pd.DataFrame:
    width = runs[0].scenario.probes.bin
    return binned.rates(runs.throughput, width, width, receiver=True)


def _rtts(runs: Runs) -> pd.DataFrame:
    width = runs[0].scenario.probes.bin
    found = runs.tcp[["run", "flow", "t_ns", "srtt_us"]].dropna()
    binned = found.assign(t_s=found["t_ns"] // width * width / 1e9)
    return binned.groupby(["run", "flow", "t_s"], observed=True)["srtt_us"].mean().reset_index()


def _queues(runs: Runs) -> pd.DataFrame:
    width = runs[0].scenario.probes.bin
    fullest = runs.queues.groupby(["run", "bin"], observed=True)["mean_B"].max().reset_index()
    return fullest.assign(t_s=fullest["bin"] * width / 1e9)


def _by_role(runs: Runs, frame: pd.DataFrame, value: str, unit: float) -> list[tuple[str, pd.DataFrame]]:
    """Return the values of each group over time, the groups in the order of the scenario's flows.

    The rates of a group's flows are added, their RTTs are averaged.
    """
    if frame.empty:
        return []
    grouped = frame.assign(role=frame["flow"].astype(str).map(tables.role)).groupby(["role", "run", "t_s"])[value]
    together = (grouped.sum() if value == "rate_bps" else grouped.mean()).reset_index()
    order = dict.fromkeys(tables.role(flow.name) for flow in runs[0].scenario.flows)
    by_role = {str(role): rows for role, rows in together.groupby("role")}
    return [(role, _spread(by_role[role], value, unit)) for role in order if role in by_role]


def _spread(frame: pd.DataFrame, value: str, unit: float) -> pd.DataFrame:
    """Return mean, least and most over the runs at each time."""
    return frame.groupby("t_s")[value].agg(["mean", "min", "max"]) / unit


@dataclass(frozen=True)
class _Lines:
    """How the runs of one question are drawn: line style, end of the time axis in ms, and whether they have a band."""

    dashes: str
    end_ms: float
    band: bool

    def draw(self, ax: Axes, values: pd.DataFrame, color: str, label: str | None = None) -> None:
        # what is beyond the end would still make the vertical axis longer
        seen = values[values.index * 1e3 <= self.end_ms]
        t_ms = seen.index.to_numpy() * 1e3
        ax.plot(t_ms, seen["mean"], self.dashes, color=color, linewidth=1.1, label=label)
        if self.band:
            ax.fill_between(t_ms, seen["min"], seen["max"], color=color, alpha=0.15, linewidth=0)


def image_of(shown: Sequence[Shown]) -> tuple[bytes, str]:
    """Return the figure as PNG, and what it shows in words, for readers who do not see it."""
    figure = curves(*shown)
    said = [
        f"{row['runs']} {row['flows']} ({row['transport']}): {row['goodput [Gb/s]']:.2f} Gb/s, "
        f"RTT {row['RTT [ms]']:.2f} ms"
        for row in means(shown).to_dict("records")
    ]
    return figure._repr_png_(), f"Goodput, RTT and the fullest queue over time. Means: {'; '.join(said)}"
