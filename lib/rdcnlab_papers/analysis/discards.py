# SPDX-License-Identifier: Apache-2.0
"""Count the segments that a receiver discards because of their timestamps, and the retransmitted segments.

The runs need `rdcnlab.scenario.Probes.discards`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Rows of the figure: the column, and the label of its axis.
_ROWS = {
    "discards": "segments discarded,\nfor each move",
    "needless": "retransmitted, never dropped,\nfor each move",
    "fct_s": "completion of the\nmigrated flow [s]",
}
_LINES = ((True, "with timestamps", "migrated"), (False, "without timestamps", "single"))


def count(runs: Runs) -> pd.DataFrame:
    """Count for each run the discarded, lost and retransmitted segments.

    Returns
    -------
    DataFrame
        The fields of the scenarios; ``discards``, ``drops`` and ``retransmits`` in segments; ``timeouts``; ``moves``,
        the number of moves until the migrated flow ended; ``needless``, the segments that were retransmitted although
        no queue had dropped them.
    """
    events = runs.events
    segment_events = events[events["event"] != "slot"]
    names = segment_events["event"].astype(object)  # stored events are categories, which take no new name
    kinds = names.where(~names.str.startswith("drop"), "drop")
    counts = segment_events.groupby(["run", kinds]).size().unstack(fill_value=0).reindex(range(len(runs)), fill_value=0)
    flows = runs.flows
    migrated = flows[flows["flow"] == "migrated"].set_index("run")
    slots = events[(events["event"] == "slot") & (events["flow"] == "migrated")]
    until_ns = slots["run"].map(migrated["end_s"]) * 1e9
    rows = pd.DataFrame(
        {
            "discards": counts.get("discard", 0),
            "drops": counts.get("drop", 0),
            "retransmits": flows.groupby("run")["retransmits"].sum(),
            "timeouts": migrated["timeouts"],
            "fct_s": migrated["fct_s"],
            "moves": slots[slots["t_ns"] < until_ns].groupby("run").size(),
        }
    )
    rows["needless"] = rows["retransmits"] - rows["drops"]
    return tables.with_fields(rows.rename_axis("run").reset_index(), runs.scenarios)


def by_move(runs: Runs) -> pd.DataFrame:
    """Count for each run as `count` does, but ``discards`` and ``needless`` for each move.

    Further columns are ``queue_ms``, the longest wait in the buffer of a link, and ``timestamps``, whether the flows
    use them.
    """
    counts = count(runs)
    scenarios = [run.scenario for run in runs]
    networks = [scenario.network for scenario in scenarios]
    for name in ("discards", "needless"):
        counts[name] = counts[name] / counts["moves"]
    return counts.assign(
        queue_ms=[8e3 * network.links[0].buffer_bytes(network.mtu) / network.links[0].rate for network in networks],
        timestamps=[scenario.transport.timestamps for scenario in scenarios],
    )


def plot(counts: pd.DataFrame, between_ms: tuple[float, float]) -> Figure:
    """Draw discarded segments, needless retransmissions and the migrated flow's completion time over the queue.

    Parameters
    ----------
    counts : DataFrame
        Result of `by_move`. Each period has one column of panels.
    between_ms : (float, float)
        Waits between which it depends on the tick of the clock whether a receiver discards; they are shaded.
    """
    periods = sorted(counts["period_ms"].unique(), reverse=True)
    with figures.style():
        figure = figures.drawing(3.4 * len(periods), 6.2)
        axes = figure.subplots(len(_ROWS), len(periods), sharex=True, sharey="row", squeeze=False)
        for column, period in enumerate(periods):
            of_period = counts[counts["period_ms"] == period]
            for (value, label), ax in zip(_ROWS.items(), axes[:, column], strict=True):
                for timestamps, name, role in _LINES:
                    stats = means(of_period[of_period["timestamps"] == timestamps], "queue_ms", value).reset_index()
                    color = figures.look(role).color
                    ax.plot(stats["queue_ms"], stats["mean"], color=color, marker="o", markersize=3, label=name)
                    ax.fill_between(stats["queue_ms"], stats["low"], stats["high"], color=color, alpha=0.2, linewidth=0)
                figures.shade(ax, [between_ms])
                ax.set_ylabel(label if not column else "")
            axes[0, column].set_title(f"a move every {period:g} ms")
            axes[-1, column].set_xlabel("longest wait in the queue [ms]")
        for ax in axes[:, 0]:
            ax.set_ylim(0, None)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles[: len(_LINES)], labels[: len(_LINES)], loc="outside upper center", ncols=len(_LINES))
    return figure
