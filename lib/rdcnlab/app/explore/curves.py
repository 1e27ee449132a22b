# SPDX-License-Identifier: Apache-2.0
"""What runs of the explorer look like: goodput, RTT and queue over time, and a table of means.

Every run has a line of its own: a mean over runs of which one starved would show a rate that no run has. Colours are
those of the two groups of flows in all runs that are compared, whatever their transports.
"""

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
#: The roles whose colours and markers the two groups have.
_ROLES = ("main", "migrated")
#: Share of the mean goodput of its group below which a run is named.
_STARVED = 0.5


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
    """Draw goodput, RTT and the fullest queue over time, one line for each run.

    Parameters
    ----------
    *shown : Shown or Runs
        What is compared, at most `MOST`. The length of the first is that of the time axis.
    """
    every = [each if isinstance(each, Shown) else Shown("", each) for each in shown][:MOST]
    # earlier runs may be longer by far; then the rest of them would make the new ones a line
    end_ms = every[0].runs[0].scenario.limit / 1e6
    with style():
        figure = drawing(7.4, 5.2)
        rate, rtt, queue = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 2))
        for one, dashes in zip(every, _LINES, strict=False):
            drawn = _Lines(dashes, end_ms)
            looks, before = _looks(one.runs), f"{one.label}: " if one.label else ""
            for role, values in _by_role(one.runs, _rates(one.runs), "rate_bps", 1e9):
                count = f", {len(one.runs)} runs" if len(one.runs) > 1 else ""
                drawn.draw(rate, values, looks[role].color, f"{before}{role}, {looks[role].label}{count}")
            for role, values in _by_role(one.runs, _rtts(one.runs), "srtt_us", 1e3):
                drawn.draw(rtt, values, looks[role].color)
            queued = _queues(one.runs)
            if not queued.empty:
                drawn.draw(queue, _of_runs(queued, "mean_B", 1e3), "#555555")
        for ax, words in ((rate, "goodput [Gb/s]"), (rtt, "RTT [ms]"), (queue, "fullest\nqueue [kB]")):
            ax.set_ylabel(words)
            ax.set_ylim(bottom=0)
        queue.set_xlabel("time [ms]")
        queue.set_xlim(0, end_ms)
        handles, labels = rate.get_legend_handles_labels()
        box = figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=8)
        for line in box.get_lines():
            line.set_alpha(1.0)
        figure.align_ylabels()
    return figure


def means(shown: Iterable[Shown]) -> pd.DataFrame:
    """Return the means of each group of flows over time and runs, one row each.

    Returns
    -------
    DataFrame
        ``runs``, ``flows``, ``transport``, ``goodput [Gb/s]``, ``least`` and ``most`` (goodput of a run, Gb/s),
        ``RTT [ms]``, ``retransmits`` (segments in a run).
    """
    rows = []
    for one in shown:
        looks = _looks(one.runs)
        rates = dict(_by_role(one.runs, _rates(one.runs), "rate_bps", 1e9))
        rtts = dict(_by_role(one.runs, _rtts(one.runs), "srtt_us", 1e3))
        retransmissions = (
            one.runs.flows.assign(role=one.runs.flows["flow"].map(tables.role)).groupby("role")["retransmits"].sum()
        )
        for role, drawn in looks.items():
            of_runs = _goodput(rates, role, len(one.runs))
            rows.append(
                {
                    "runs": one.label,
                    "flows": role,
                    "transport": drawn.label,
                    "goodput [Gb/s]": of_runs.mean(),
                    "least": of_runs.min(),
                    "most": of_runs.max(),
                    "RTT [ms]": rtts[role].mean(axis=1).mean() if role in rtts else float("nan"),
                    "retransmits": retransmissions.get(role, 0) / len(one.runs),
                }
            )
    return pd.DataFrame(rows)


def _goodput(rates: dict[str, pd.DataFrame], role: str, count: int) -> pd.Series[float]:
    """Return the mean goodput of a group in each of the runs in Gb/s; 0 in a run in which nothing arrived."""
    of_runs = rates[role].mean() if role in rates else pd.Series(dtype=float)
    return of_runs.reindex(range(count), fill_value=0.0)


def starved(shown: Iterable[Shown]) -> list[str]:
    """Return a sentence for each run in which a group got less than half of the mean of its runs."""
    sentences = []
    for one in shown:
        rates = dict(_by_role(one.runs, _rates(one.runs), "rate_bps", 1e9))
        for role in _looks(one.runs):
            of_runs = _goodput(rates, role, len(one.runs))
            for place, rate in of_runs[of_runs < _STARVED * of_runs.mean()].items():
                where = f"{one.label}, " if one.label else ""
                seed = one.runs[int(str(place))].scenario.seed
                sentences.append(
                    f"{where}seed {seed}: {role} got {rate:.2f} Gb/s, in the mean of {len(of_runs)} runs "
                    f"{of_runs.mean():.2f} Gb/s. The runs are of different kinds, and a mean describes none of them."
                )
    return sentences


def _looks(runs: Runs) -> dict[str, Look]:
    """Return the look of each group: the label of its transport, and the colour of the group."""
    looks: dict[str, Look] = {}
    for flow in runs[0].scenario.flows:
        role = tables.role(flow.name)
        if role not in looks:
            of_group = look(_ROLES[len(looks) % len(_ROLES)])
            looks[role] = Look(look(transport(flow)).label, of_group.color, of_group.marker)
    return looks


def _rates(runs: Runs) -> pd.DataFrame:
    width = runs[0].scenario.probes.bin
    return binned.rates(runs.throughput, width, width, receiver=True)


def _rtts(runs: Runs) -> pd.DataFrame:
    width = runs[0].scenario.probes.bin
    samples = runs.tcp[["run", "flow", "t_ns", "srtt_us"]].dropna()
    binned = samples.assign(t_s=samples["t_ns"] // width * width / 1e9)
    return binned.groupby(["run", "flow", "t_s"], observed=True)["srtt_us"].mean().reset_index()


def _queues(runs: Runs) -> pd.DataFrame:
    width = runs[0].scenario.probes.bin
    fullest = runs.queues.groupby(["run", "bin"], observed=True)["mean_B"].max().reset_index()
    return fullest.assign(t_s=fullest["bin"] * width / 1e9)


def _by_role(runs: Runs, frame: pd.DataFrame, value: str, unit: float) -> list[tuple[str, pd.DataFrame]]:
    """Return the values of each group over time, a column for each run; groups in the order of the scenario's flows.

    The rates of a group's flows are added, their RTTs are averaged.
    """
    if frame.empty:
        return []
    grouped = frame.assign(role=frame["flow"].astype(str).map(tables.role)).groupby(["role", "run", "t_s"])[value]
    together = (grouped.sum() if value == "rate_bps" else grouped.mean()).reset_index()
    order = dict.fromkeys(tables.role(flow.name) for flow in runs[0].scenario.flows)
    by_role = {str(role): rows for role, rows in together.groupby("role")}
    return [(role, _of_runs(by_role[role], value, unit)) for role in order if role in by_role]


def _of_runs(frame: pd.DataFrame, value: str, unit: float) -> pd.DataFrame:
    """Return the values at each time (rows) of each run (columns)."""
    return frame.pivot(index="t_s", columns="run", values=value) / unit


@dataclass(frozen=True)
class _Lines:
    """How the runs of one question are drawn: line style, and end of the time axis in ms."""

    dashes: str
    end_ms: float

    def draw(self, ax: Axes, values: pd.DataFrame, color: str, label: str | None = None) -> None:
        # what is beyond the end would still make the vertical axis longer
        seen = values[values.index * 1e3 <= self.end_ms]
        t_ms = seen.index.to_numpy() * 1e3
        width, alpha = (1.1, 1.0) if seen.shape[1] == 1 else (0.8, 0.6)
        for number, run in enumerate(seen.columns):
            text = None if number else label
            ax.plot(t_ms, seen[run], self.dashes, color=color, linewidth=width, alpha=alpha, label=text)


def image_of(shown: Sequence[Shown]) -> tuple[bytes, str]:
    """Return the figure as PNG, and what it shows in words, for readers who do not see it."""
    figure = curves(*shown)
    said = [
        f"{row['runs']} {row['flows']} ({row['transport']}): {row['goodput [Gb/s]']:.2f} Gb/s "
        f"(runs {row['least']:.2f} to {row['most']:.2f}), RTT {row['RTT [ms]']:.2f} ms"
        for row in means(shown).to_dict("records")
    ]
    return figure._repr_png_(), f"Goodput, RTT and the fullest queue over time. Means: {'; '.join(said)}"
