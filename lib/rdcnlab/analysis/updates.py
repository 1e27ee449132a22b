# SPDX-License-Identifier: Apache-2.0
"""Network updates: losses, retransmissions and throughput of flows in each interval, and the order of variants.

Every function of `Runs` returns samples: ``run``, ``seed``, ``cc``, ``value``; ``flow`` if there is a sample for each
flow, and the number of the ``interval`` if there is one for each interval. A run has one congestion control.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rdcnlab.analysis import reordering, tables
from rdcnlab.analysis.intervals import Estimate, estimates
from rdcnlab.analysis.measured import difference, means
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS

#: Losses of queues, not of routes that lead nowhere for a while.
_QUEUE_LOSSES = ("drop_tail", "drop_pool", "drop_red")
#: The kernel's counter of segments that arrive while an earlier one is missing; ns-3 counts the same.
_AHEAD = "TCPOFOQueue"
#: Stands for the share of a number that is no point of a distribution.
_WHOLE = -1.0


@for_each_run
def retransmissions(runs: Runs, width_ns: int, from_ns: int) -> pd.DataFrame:
    """Count the segments that all flows together send again in each interval.

    Parameters
    ----------
    runs : Runs
        Runs with the table ``events``.
    width_ns : int
        Width of an interval.
    from_ns : int
        Start of the first interval. Intervals that do not end before the limit are left out.
    """
    events = runs.events
    retransmitted = events[events["event"] == "retransmit"]
    number = (retransmitted["t_ns"].to_numpy() - from_ns) // width_ns
    parts = []
    for place, run in enumerate(runs):
        count = (run.scenario.limit - from_ns) // width_ns
        of_run = number[(retransmitted["run"] == place).to_numpy()]
        inside = of_run[(of_run >= 0) & (of_run < count)]
        counts = np.bincount(inside, minlength=count).astype(float)
        parts.append(pd.DataFrame({"run": place, "interval": range(count), "value": counts}))
    return _labelled(pd.concat(parts, ignore_index=True), runs)


@for_each_run
def throughput(runs: Runs, width_ns: int, from_ns: int) -> pd.DataFrame:
    """Return the rate of payload of each flow in each interval in Gb/s, retransmissions included.

    Bytes are counted at the ends of links where data enter; a link's bytes contain headers, which are taken off.
    Parameters are those of `retransmissions`; bins are whole parts of an interval.
    """
    parts = []
    for place, run in enumerate(runs):
        scenario, rows = run.scenario, runs.throughput
        of_run = rows[(rows["run"] == place) & rows["where"].isin(ends_of_data(scenario))]
        count = (scenario.limit - from_ns) // width_ns
        number = (of_run["bin"].to_numpy(dtype=np.int64) * scenario.probes.bin - from_ns) // width_ns
        inside = (number >= 0) & (number < count)
        for flow in scenario.flows:
            chosen = inside & (of_run["flow"] == flow.name).to_numpy()
            weights = of_run["bytes"].to_numpy(dtype=float)[chosen]
            carried = np.bincount(number[chosen], weights=weights, minlength=count)
            gbps = carried * payload_share(scenario) * 8 / width_ns
            parts.append(pd.DataFrame({"run": place, "flow": flow.name, "interval": range(count), "value": gbps}))
    return _labelled(pd.concat(parts, ignore_index=True), runs)


@for_each_run
def windows(runs: Runs, from_ns: int) -> pd.DataFrame:
    """Return the congestion window of each flow in kB, at the last ACK of each bin from an instant on."""
    tcp = runs.tcp[runs.tcp["t_ns"] >= from_ns]
    kb = tcp["cwnd_B"].to_numpy(dtype=float) / 1000
    return _labelled(pd.DataFrame({"run": tcp["run"].astype(int), "flow": tcp["flow"], "value": kb}), runs)


@for_each_run
def drops(runs: Runs, from_ns: int, intervals: int, width_ns: int) -> pd.DataFrame:
    """Count the packets that queues lose, and scale them to a number of intervals, for instance those of the paper.

    Parameters
    ----------
    runs : Runs
        Runs with the table ``events``.
    from_ns : int
        Instant from which losses count.
    intervals, width_ns : int
        Number and width of the intervals that the count is scaled to.
    """
    counts = _lost(runs, from_ns)
    spans = np.array([(run.scenario.limit - from_ns) / width_ns for run in runs])
    return counts.assign(value=counts["value"] * intervals / spans)


@for_each_run
def lost(runs: Runs, from_ns: int = 0) -> pd.DataFrame:
    """Count the packets that queues lose in each run, from an instant on."""
    return _lost(runs, from_ns)


@for_each_run
def sent_again(runs: Runs, from_ns: int = 0) -> pd.DataFrame:
    """Count the segments that all flows together send again in each run, from an instant on."""
    events = runs.events
    return _by_run(events[(events["event"] == "retransmit") & (events["t_ns"] >= from_ns)].groupby("run").size(), runs)


@for_each_run
def spurious(runs: Runs, from_ns: int = 0) -> pd.DataFrame:
    """Return the rate in Gb/s of payload that is sent again although no queue has lost it, from an instant on.

    It is computed from the number of segments sent again minus that of losses: a lost segment is replaced by one. So
    losses on the last round trip make it too small. Columns: ``run``, ``seed``, ``cc``, ``gbps``.
    """
    counts = sent_again(runs, from_ns)
    surplus = (counts["value"] - lost(runs, from_ns)["value"]).clip(lower=0)
    bits = [8 * (run.scenario.network.mtu - TCP_HEADERS) for run in runs]
    spans_ns = [run.scenario.limit - from_ns for run in runs]
    return counts.assign(gbps=surplus * np.array(bits) / np.array(spans_ns)).drop(columns="value")


@for_each_run
def came_ahead(runs: Runs) -> pd.DataFrame:
    """Count the segments that arrive while an earlier one is missing, in each run; needs ``probes.counters``."""
    return _by_run(reordering.counters(runs, (_AHEAD,))[_AHEAD], runs)


@for_each_run
def duplicates(runs: Runs) -> pd.DataFrame:
    """Count the ACKs that reach senders and acknowledge nothing new, in each run; needs ``probes.acks``."""
    events = runs.events
    return _by_run(events[events["event"] == "duplicates"].groupby("run")["value"].sum(), runs)


@for_each_run
def mean_queue(runs: Runs, link: str, from_ns: int) -> pd.DataFrame:
    """Return the mean length of a link's queue in B in each run, from an instant on; bins without a row count as 0."""
    bins = [(from_ns // run.scenario.probes.bin, run.scenario.limit // run.scenario.probes.bin) for run in runs]
    queues = runs.queues[runs.queues["link"] == link]
    parts = [
        queues.loc[(queues["run"] == number) & queues["bin"].between(first, last - 1), "mean_B"].sum() / (last - first)
        for number, (first, last) in enumerate(bins)
    ]
    return _by_run(pd.Series(parts), runs)


def payload_share(scenario: Scenario) -> float:
    """Return the share of payload in the bytes that a full segment takes on the wire."""
    network = scenario.network
    return (network.mtu - TCP_HEADERS) / (network.mtu + network.overhead)


def ends_of_data(scenario: Scenario) -> set[str]:
    """Return the ends of links where data enter, not ACKs: those at the switches of senders."""
    homes = {scenario.network.host(flow.src).at for flow in scenario.flows}
    return {f"{link.name}@{home}" for link in scenario.network.links for home in homes}


def quantiles(samples: pd.DataFrame, shares: Sequence[float]) -> pd.DataFrame:
    """Return points of the distribution of each variant and seed: ``cc``, ``seed``, ``share``, ``value``.

    The value at a share is the smallest sample that at least this share of the samples do not exceed.
    """
    return pd.DataFrame(
        [
            {"cc": cc, "seed": seed, "share": share, "value": value}
            for (cc, seed), group in tables.groups(samples, ["cc", "seed"])
            for share, value in zip(
                shares, np.quantile(group["value"].to_numpy(), shares, method="inverted_cdf"), strict=True
            )
        ],
        columns=["cc", "seed", "share", "value"],
    )


def order(points: pd.DataFrame, rising: Sequence[str]) -> dict[str, Estimate]:
    """Return the difference between each variant and the one before it, at every share.

    Parameters
    ----------
    points : DataFrame
        Points as from `quantiles`; without the column ``share``, one number of each variant and seed.
    rising : sequence of str
        Variants. One that did not run is left out.
    """
    stats = {cc: _by_share(points[points["cc"] == cc]) for cc in rising if (points["cc"] == cc).any()}
    return {
        f"{higher} over {lower}{_share_text(share)}": difference(stats[higher].loc[[share]], stats[lower].loc[[share]])
        for lower, higher in pairwise(stats)
        for share in stats[lower].index.intersection(stats[higher].index)
    }


def differences_between(higher: pd.DataFrame, lower: pd.DataFrame, variants: Sequence[str]) -> dict[str, Estimate]:
    """Return the differences of variants between two settings, at every share; points as for `order`."""
    cases: dict[str, Estimate] = {}
    for cc in variants:
        first, second = (_by_share(part[part["cc"] == cc]) for part in (higher, lower))
        for share in first.index.intersection(second.index):
            cases[f"{cc}{_share_text(share)}"] = difference(first.loc[[share]], second.loc[[share]])
    return cases


def change_of_means(samples: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return the relative change, in %, of the mean of each variant and seed between two settings.

    Returns
    -------
    DataFrame
        ``cc``, ``seed``, ``value``: the difference without its sign, in % of the mean in the other setting.
    """
    first, second = (part.groupby(["cc", "seed"])["value"].mean() for part in (samples, others))
    return (100 * (first / second - 1).abs()).rename("value").dropna().reset_index()


def _lost(runs: Runs, from_ns: int) -> pd.DataFrame:
    events = runs.events
    return _by_run(
        events[events["event"].isin(_QUEUE_LOSSES) & (events["t_ns"] >= from_ns)].groupby("run").size(), runs
    )


def _by_run(counts: pd.Series[Any], runs: Runs) -> pd.DataFrame:
    """Return the count of each run, or 0 if the run has no count, with seed and variant."""
    values = counts.reindex(range(len(runs)), fill_value=0).to_numpy(dtype=float)
    return _labelled(pd.DataFrame({"run": range(len(runs)), "value": values}), runs)


def _by_share(points: pd.DataFrame) -> pd.DataFrame:
    """Average over seeds, by share; a number that is no point of a distribution has the index `_WHOLE`."""
    return means(points.assign(share=points.get("share", _WHOLE)), "share", "value")


def _share_text(share: float) -> str:
    return "" if share == _WHOLE else f" at {share:.0%}"


def spread(points: pd.DataFrame) -> dict[Hashable, Estimate]:
    """Return the range of the variants at every share, in % of their mean; `points` comes from `quantiles`."""
    grouped = points.groupby(["share", "seed"])["value"]
    ranges = (100 * (grouped.max() - grouped.min()) / grouped.mean()).rename("value").reset_index()
    return dict(estimates(means(ranges, "share", "value")))


def _labelled(frame: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """Add the seed and the congestion control of each row's run."""
    settings = runs.scenarios.set_index("run")[["seed", "cc"]]
    return frame.assign(seed=frame["run"].map(settings["seed"]), cc=frame["run"].map(settings["cc"].astype(str)))
