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
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import Estimate, estimates
from rdcnlab.runs.frame import Runs, variants
from rdcnlab.runs.once import for_each_run
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab_papers.analysis import reordering, resent
from rdcnlab_papers.analysis.measured import difference, means

#: Losses of queues, not of routes that lead nowhere for a while.
_QUEUE_LOSSES = ("drop_tail", "drop_pool", "drop_red")
#: The kernel's counter of segments that arrive while an earlier one is missing; ns-3 counts the same.
_AHEAD = "TCPOFOQueue"
#: Stands for the share of a number that is no point of a distribution.
_WHOLE = -1.0


@for_each_run
def retransmissions(runs: Runs, width_ns: int, from_ns: int) -> pd.DataFrame:
    """Count the segments of all flows that are retransmitted in each interval.

    They are those that ``retransmits`` of the table ``flows`` counts: over a whole run both numbers are equal. With
    segmentation offload an event is a packet, and the kernel does not say how many segments each packet has; then each
    event of a flow counts as many as its events have on average.

    Parameters
    ----------
    runs : Runs
        Runs with the table ``events``; with `Offload.tso` also ``flows``.
    width_ns : int
        Width of an interval.
    from_ns : int
        Start of the first interval. Intervals that do not end before the limit are left out.
    """
    indices, times, segments = resent.segments(runs)
    number = (times - from_ns) // width_ns
    begins = np.searchsorted(indices, np.arange(len(runs) + 1))
    parts = []
    for run, (begin, end) in zip(runs, pairwise(begins), strict=True):
        count = (run.scenario.limit - from_ns) // width_ns
        of_run = number[begin:end]
        inside = (of_run >= 0) & (of_run < count)
        counted = np.bincount(of_run[inside], segments[begin:end][inside], minlength=count).astype(np.float64)
        # sums of averages are whole numbers over a run, but for what doubles lose
        parts.append(counted.round(6))
    return _labelled(_intervals(parts), runs)


@for_each_run
def throughput(runs: Runs, width_ns: int, from_ns: int) -> pd.DataFrame:
    """Return the rate of payload of each flow in each interval in Gb/s, retransmissions included.

    Bytes are counted at the ends of links where data enter; a link's bytes contain headers, which are taken off.
    Parameters are those of `retransmissions`; bins are whole parts of an interval.
    """
    table = runs.rows("throughput")
    bins, sizes = table["bin"].to_numpy(dtype=np.int64), table["bytes"].to_numpy(dtype=float)
    (indices, ends), (flows, names) = (_codes(table[column]) for column in ("where", "flow"))
    begins = np.searchsorted(table["run"].to_numpy(), np.arange(len(runs) + 1))
    parts, of_flows = [], list[str]()
    for run, (begin, end) in zip(runs, pairwise(begins), strict=True):
        scenario = run.scenario
        count = (scenario.limit - from_ns) // width_ns
        flow_names = [flow.name for flow in scenario.flows]
        # the last element belongs to code -1: a row without a place or a flow
        is_entry = np.append(ends.isin(ends_of_data(scenario)), False)[indices[begin:end]]
        flow = np.append(pd.Index(flow_names).get_indexer(names), -1)[flows[begin:end]]
        number = (bins[begin:end] * scenario.probes.bin - from_ns) // width_ns
        chosen = is_entry & (flow >= 0) & (number >= 0) & (number < count)
        carried = np.bincount(
            flow[chosen] * count + number[chosen], sizes[begin:end][chosen], minlength=len(flow_names) * count
        )
        gbps = carried * payload_share(scenario) * 8 / width_ns
        parts.append(gbps.reshape(len(flow_names), count))
        of_flows += flow_names
    rates = _intervals([rates for of_run in parts for rates in of_run])
    runs_of_flows = np.repeat(np.arange(len(runs)), [len(of_run) for of_run in parts])
    number = rates["run"].to_numpy()
    rates = rates.assign(run=runs_of_flows[number], flow=pd.Index(of_flows, dtype="str")[number])
    return _labelled(rates[["run", "flow", "interval", "value"]], runs)


@for_each_run
def windows(runs: Runs, from_ns: int) -> pd.DataFrame:
    """Return the congestion window of each flow in kB, at the last ACK of each bin from an instant on."""
    tcp = runs.rows("tcp")
    tcp = tcp[tcp["t_ns"] >= from_ns]
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
    counts = _counted(runs, _QUEUE_LOSSES, from_ns)
    spans = np.array([(run.scenario.limit - from_ns) / width_ns for run in runs])
    return counts.assign(value=counts["value"] * intervals / spans)


@for_each_run
def lost(runs: Runs, from_ns: int = 0) -> pd.DataFrame:
    """Count the packets that queues lose in each run, from an instant on."""
    return _counted(runs, _QUEUE_LOSSES, from_ns)


@for_each_run
def retransmitted(runs: Runs, from_ns: int = 0) -> pd.DataFrame:
    """Count the segments of all flows that are retransmitted in each run, from an instant on."""
    resent.need_packets_of_one_segment(runs)
    return _counted(runs, ("retransmit",), from_ns)


@for_each_run
def spurious(runs: Runs, from_ns: int = 0) -> pd.DataFrame:
    """Return the rate in Gb/s of payload that is retransmitted although no queue has lost it, from an instant on.

    It is computed from the number of retransmissions minus that of losses: a lost segment is replaced by one. So
    losses on the last round trip make it too small. Columns: ``run``, ``seed``, ``cc``, ``gbps``.
    """
    counts = retransmitted(runs, from_ns)
    surplus = (counts["value"] - lost(runs, from_ns)["value"]).clip(lower=0)
    bits = [8 * (run.scenario.network.mtu - TCP_HEADERS) for run in runs]
    spans_ns = [run.scenario.limit - from_ns for run in runs]
    return counts.assign(gbps=surplus * np.array(bits) / np.array(spans_ns)).drop(columns="value")


@for_each_run
def came_ahead(runs: Runs) -> pd.DataFrame:
    """Count the segments that arrive while an earlier one is missing, in each run; needs ``probes.counters``."""
    return _by_run(reordering.counters(runs, (_AHEAD,))[_AHEAD].to_numpy(), runs)


@for_each_run
def duplicates(runs: Runs) -> pd.DataFrame:
    """Count the ACKs that reach senders and acknowledge nothing new, in each run; needs ``probes.acks``."""
    events = runs.rows("events")
    chosen = events[events["event"] == "duplicates"]
    return _by_run(np.bincount(chosen["run"], chosen["value"], minlength=len(runs)), runs)


@for_each_run
def mean_queue(runs: Runs, link: str, from_ns: int) -> pd.DataFrame:
    """Return the mean length of a link's queue in B in each run, from an instant on; bins without a row count as 0."""
    queues = runs.rows("queues")
    queues = queues[queues["link"] == link]
    bins, lengths = queues["bin"].to_numpy(), queues["mean_B"].to_numpy()
    begins = np.searchsorted(queues["run"].to_numpy(), np.arange(len(runs) + 1))
    means_B = []  # noqa: N806  (unit)
    for run, (begin, end) in zip(runs, pairwise(begins), strict=True):
        first, last = (time // run.scenario.probes.bin for time in (from_ns, run.scenario.limit))
        of_run = bins[begin:end]
        means_B.append(lengths[begin:end][(of_run >= first) & (of_run < last)].sum() / (last - first))
    return _by_run(np.array(means_B), runs)


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


def _counted(runs: Runs, names: Sequence[str], from_ns: int) -> pd.DataFrame:
    """Count the events with some names in each run, from an instant on."""
    indices, times = runs.event_times(*names)
    return _by_run(np.bincount(indices[times >= from_ns], minlength=len(runs)), runs)


def _by_run(values: npt.NDArray[Any], runs: Runs) -> pd.DataFrame:
    """Return the value of each run, with seed and variant."""
    return _labelled(pd.DataFrame({"run": range(len(runs)), "value": values.astype(float)}), runs)


def _intervals(series: Sequence[npt.NDArray[np.float64]]) -> pd.DataFrame:
    """Return the values of some series of intervals: ``run`` (number of the series), ``interval``, ``value``."""
    lengths = [len(values) for values in series]
    return pd.DataFrame(
        {
            "run": np.repeat(np.arange(len(series)), lengths),
            "interval": np.concatenate([np.arange(length) for length in lengths]),
            "value": np.concatenate(series),
        }
    )


def _codes(column: pd.Series[Any]) -> tuple[npt.NDArray[Any], pd.Index[str]]:
    """Return the codes of a column of categories, -1 where it is empty, and the categories."""
    return column.cat.codes.to_numpy(), column.cat.categories


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
    indices = frame["run"].to_numpy()
    seeds = np.array([run.scenario.seed for run in runs], dtype=np.int64)
    names = pd.array([variants(run.scenario) for run in runs], dtype="str")
    return frame.assign(seed=seeds[indices], cc=names.take(indices))
