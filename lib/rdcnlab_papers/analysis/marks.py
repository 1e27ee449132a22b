# SPDX-License-Identifier: Apache-2.0
"""Marks, drops and retransmissions, by the marking threshold and the period of moves."""

from __future__ import annotations

from collections.abc import Hashable

import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.resampling import Floats, Means
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured, means

#: Time in ms for which the queue that a move causes still exists.
_SOON_MS = 15
_POINT = "{:g} B, {:g} ms"
_THRESHOLD = "{:g} kB"


def count(runs: Runs) -> pd.DataFrame:
    """Return one row for each run: ``period_ms``, ``threshold_kB``, ``marked`` (% of packets), ``retransmits``."""
    links = {link.name for run in runs for link in run.scenario.network.links}
    throughput = runs.throughput
    packets = throughput[throughput["where"].isin(links)].groupby("run")["packets"].sum()
    frame = pd.DataFrame(
        {
            "marked": 100 * runs.queues.groupby("run")["marks"].sum() / packets,
            "retransmits": runs.flows.groupby("run")["retransmits"].sum(),
            "threshold_kB": [(run.scenario.switch.ecn_threshold or 0) // 1000 for run in runs],
            # 0 if no flow moves
            "period_ms": runs.scenarios.set_index("run")["period_ms"].fillna(0),
        }
    )
    return frame.reset_index(names="run")


#: Columns that distinguish the points of figure 7, and the numbers of a point. Functions that take ``mean`` get the
#: means of these numbers over runs, by point.
POINT, NUMBERS = ["period_ms", "threshold_kB"], ["marked", "retransmits"]


def over_thresholds(mean: Means) -> dict[Hashable, Floats]:
    """Return Spearman's coefficient of marked packets over thresholds, by period."""
    return _trends(mean["marked"], "period_ms")


def over_periods(mean: Means) -> dict[Hashable, Floats]:
    """Return Spearman's coefficient of marked packets over periods, by threshold."""
    return _trends(mean["marked"], "threshold_kB")


def more_at_5(mean: Means) -> dict[Hashable, npt.ArrayLike]:
    """Return by period how many more retransmissions there are at 5 kB than at the best other threshold."""
    of_periods = _by(mean["retransmits"], "period_ms")
    return {period: rows[5] - rows.drop(columns=5).min(axis=1) for period, rows in of_periods.items()}


def against_by_period(rows: pd.DataFrame) -> pd.Series[float]:
    """Correlate marks with retransmissions over the thresholds, by period (Spearman); `rows` comes from `count`."""
    marked, retransmits = _table(rows, "marked"), _table(rows, "retransmits")
    return marked.apply(lambda row: tables.spearman(row, retransmits.loc[row.name]), axis=1)


def _table(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Average a column over runs: one row for each period, one column for each threshold."""
    return rows.groupby(["period_ms", "threshold_kB"])[column].mean().unstack()


def _by(mean: pd.DataFrame, level: str) -> dict[Hashable, pd.DataFrame]:
    """Return for each value of one level of the points the means over the other level."""
    return {value: pd.DataFrame(mean.xs(value, axis=1, level=level)) for value in mean.columns.unique(level)}


def _trends(mean: pd.DataFrame, by: str) -> dict[Hashable, Floats]:
    """Return Spearman's coefficient of the means over the other level of the points."""
    return {value: tables.spearmans(rows.columns, rows) for value, rows in _by(mean, by).items()}


def against_retransmissions(mean: Means) -> dict[Hashable, Floats]:
    """Correlate marks with retransmissions over all thresholds and periods together (Spearman)."""
    return {"": tables.spearmans(mean["marked"], mean["retransmits"])}


def soon_after_moves(runs: Runs) -> Measured:
    """Measure the share of marks, in %, in the first 15 ms after a move; the note has the longest queue."""
    sums = _since_moves(runs, "marks")
    longest = runs.queues["max_B"].max() / 1000
    return Measured.by_case(100 * sums["soon"] / sums["all"], _POINT, f"the longest queue was {longest:.0f} kB")


def marks_a_meeting(runs: Runs) -> Measured:
    """Measure thousands of marks in the first 15 ms after a move onto the shared link, by threshold and period."""
    soon = _since_moves(runs, "marks")["soon"]
    # while both flows run, they meet once in two periods; in the first slot they are on different links
    meetings = tables.completion(runs.flows)
    meetings["times"] = (1000 * meetings["both_s"] / (2 * meetings["period_ms"])).round()
    settings = runs.scenarios[["run", "switch.ecn_threshold", "period_ms"]].merge(meetings[["run", "times"]], on="run")
    return Measured.by_case(soon / settings.groupby(soon.index.names)["times"].sum() / 1000, _POINT)


def retransmissions_by_threshold(runs: Runs) -> Measured:
    """Measure the mean number of retransmissions, by threshold."""
    return Measured.by_case(count(runs).groupby("threshold_kB")["retransmits"].mean(), _THRESHOLD)


def marked_by_threshold(runs: Runs) -> Measured:
    """Measure the share of marked packets, in %, by threshold; the note has the time at which the last flow ended."""
    rows = count(runs)
    flows = runs.flows.merge(rows[["run", "threshold_kB"]], on="run")
    end_times = flows.groupby(["threshold_kB", "run"])["end_s"].max().reset_index()
    listed = tables.list_estimates(means(end_times, "threshold_kB", "end_s"), "s", _THRESHOLD)
    return Measured.by_case(
        rows.groupby("threshold_kB")["marked"].mean(), _THRESHOLD, f"the last flow ended at {listed}"
    )


def _since_moves(runs: Runs, column: str) -> pd.DataFrame:
    """Sum a column of the queues by threshold and period: ``soon`` in the first 15 ms after moves, ``all`` in total."""
    queues = runs.queues
    counts = queues[column]
    parts = queues.assign(soon=counts.where(queues["bin"] % queues["period_ms"] < _SOON_MS, 0), all=counts)
    return parts.groupby(["switch.ecn_threshold", "period_ms"])[["soon", "all"]].sum()
