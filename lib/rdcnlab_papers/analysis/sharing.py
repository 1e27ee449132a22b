# SPDX-License-Identifier: Apache-2.0
"""Outcomes of two groups of flows that share a queue: one row for each run, with errors.

The quantities are those of Vargas et al., Sec. 7.2.2: the share of CUBIC in the throughput, packets that the queue
drops, and its average and maximum length. Each is measured after the run's warm-up; `rdcnlab_papers.analysis.steady`
says where it ends and whether the run was long enough. The maximum of the whole run, warm-up included, is a column of
its own: a paper that names a maximum without a warm-up means this one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.runs import join
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.runs.parts import GROUPS, WHOLE, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.steady import steady, warm_up

Floats = npt.NDArray[np.float64]

#: The link whose queue is shared, and the groups of flows: the beginning of their names.
LINK, CUBIC, DCTCP = "shared", "c", "d"
#: Columns that describe a setting, and columns that are measured.
SETTINGS = ("rate_gbps", "rtt_ms", "ecn_kB", "min_kB", "max_kB", "probability")
OUTCOMES = ("share", "drops", "average_kB", "longest_kB")
#: Outcomes without drops, and the occupancies of the queue.
NO_DROPS = tuple(name for name in OUTCOMES if name != "drops")
OCCUPANCIES = ("average_kB", "longest_kB")
#: Drops are those of a run of this length in s, as in the paper (Sec. 6.2).
PAPER_S = 120
#: Largest errors of a run that is long enough: percentage points of the share, kB of the average length, and drops in
#: 120 s, as a share of them or as a number. A share of 10 % is the least difference that figures 2 and 3 draw.
SHARE_ERROR, MEAN_ERROR_KB, DROPS_ERROR, FEW_DROPS = 2.0, 20.0, 0.15, 500.0
#: CUBIC is starved if its share is below this many percent. Whatever it sends is then lost, its flows wait for their
#: retransmission timers, and these double: drops are not at a steady rate, but as many in each doubling of time.
STARVED = 0.5
#: Losses a second of each flow in the last half of a run, below which it may be timers that send what is lost: they
#: have doubled to more than a second by then. Flows that lose more have a small share, but go on at a steady rate.
_MOST_BY_TIMERS = 1.0


def setting(scenario: Scenario) -> dict[str, float]:
    """Return `SETTINGS` of a scenario on the fabric ``shared-queue``: Gb/s, ms, kB of 1000 B, and percent.

    Without random early drop the thresholds are the buffer's end, where packets of all kinds are lost.
    """
    link = scenario.network.link(LINK)
    receiver = next(host for host in scenario.network.hosts if host.name == scenario.flows[0].dst)
    delays = [host.delay for host in scenario.network.hosts if host.name.startswith("f")]
    buffer = link.buffer_bytes(scenario.network.mtu)
    red = link.red
    return {
        "rate_gbps": link.rate / 1e9,
        "rtt_ms": 2 * (delays[0] + receiver.delay + link.delay) / 1e6,
        "ecn_kB": (buffer if link.ecn_threshold is None else link.ecn_threshold) / 1e3,
        "min_kB": (buffer if red is None else red.min) / 1e3,
        "max_kB": (buffer if red is None else red.max) / 1e3,
        "probability": 0.0 if red is None else red.probability / 1e4,
    }


@dataclass(frozen=True)
class Bins:
    """A run in bins of time, as arrays with one value for each bin.

    Parameters
    ----------
    width_s : float
        Length of a bin in s.
    share : ndarray
        Share of CUBIC in percent of the bytes; 0 where nothing was carried.
    carried : ndarray
        Bytes that the link carried.
    average_kB, longest_kB : ndarray
        Average and maximum length of the queue.
    drops : ndarray
        Packets that the queue dropped.
    """

    width_s: float
    share: Floats
    carried: Floats
    average_kB: Floats  # noqa: N815  (unit)
    longest_kB: Floats  # noqa: N815
    drops: Floats


@for_each_run
def outcomes(runs: Runs) -> pd.DataFrame:
    """Return one row for each run: `SETTINGS`, `OUTCOMES`, their errors, and whether the run was long enough.

    Returns
    -------
    DataFrame
        ``run``, ``seed``, ``engine``; ``share`` (percent of CUBIC), ``drops`` (packets, in 120 s), ``average_kB``
        and ``longest_kB`` (of the queue), ``peak_kB`` (its maximum in the whole run); ``share_error``, ``drops_error``,
        ``average_kB_error``: half the width of the 95 % interval, or half of the drift if that is more (see `steady`);
        ``used`` (percent of the line's rate);
        ``start_drops`` (in the warm-up); ``warm_s``, ``length_s``; ``doubt`` (why the run is too short; empty if it is
        long enough).
    """
    rows = [
        {"run": number, **outcome(run.scenario, bins)}
        for number, (run, bins) in enumerate(zip(runs, series(runs), strict=True))
    ]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=["run", *SETTINGS, *OUTCOMES])


def by_setting(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean outcomes of each setting over its seeds, one row each, in the order of the first of its rows.

    The column ``length_s`` has the length of its runs in s.

    Models are trained on some settings and tested on others, so seeds of one setting must not be on both sides.
    """
    return rows.groupby(list(SETTINGS), sort=False)[[*OUTCOMES, "length_s"]].mean().reset_index()


def outcome(scenario: Scenario, bins: Bins) -> dict[str, object]:
    """Return the row of one run; see `outcomes`."""
    width_s, count = bins.width_s, len(bins.share)
    # the quantity that is steady last decides; no flow starts after the earliest bin
    earliest = int(np.ceil(scenario.jitter.start / scenario.probes.bin))
    start = max(earliest, *(warm_up(values[earliest:]) + earliest for values in (bins.share, bins.average_kB)))
    # the burst of drops of slow start can last longer than the share needs; drops of starved flows have no steady rate
    if bins.share[start:].mean() >= STARVED:
        start = max(start, warm_up(bins.drops[earliest:]) + earliest)
    share = steady(bins.share, SHARE_ERROR, start=start)
    mean = steady(bins.average_kB, MEAN_ERROR_KB, start=start)
    start_drops, warm_s = float(bins.drops[:start].sum()), start * width_s
    left_s = PAPER_S - warm_s
    drops = start_drops + float(bins.drops[start:].mean()) / width_s * left_s
    rate = steady(bins.drops / width_s, max(FEW_DROPS, DROPS_ERROR * drops) / left_s, start=start)
    drops_error = rate.error * left_s
    if share.mean < STARVED and float(bins.drops[count // 2 :].mean()) / width_s < _most_by_timers(scenario):
        drops, drops_error = starved_drops(bins.drops, width_s)
        wide = drops_error > max(FEW_DROPS, DROPS_ERROR * drops)
        rate = replace(rate, doubt=f"error of {drops_error:.3g} in {PAPER_S} s" if wide else "")
    doubts = ["still warming up"] if start >= earliest + (count - earliest) // 2 else []
    doubts += [
        f"{name}: {estimate.doubt}"
        for name, estimate in (("share", share), ("length", mean), ("drops", rate))
        if estimate.doubt
    ]
    capacity = scenario.network.link(LINK).rate * width_s / 8
    return {
        "seed": scenario.seed,
        "engine": scenario.engine.kind,
        **setting(scenario),
        "share": share.mean,
        "drops": drops,
        "average_kB": mean.mean,
        "longest_kB": float(bins.longest_kB[start:].max()),
        "peak_kB": float(bins.longest_kB.max()),
        "share_error": share.error,
        "drops_error": drops_error,
        "average_kB_error": mean.error,
        "used": 100 * float(bins.carried[start:].mean()) / capacity,
        "start_drops": start_drops,
        "warm_s": warm_s,
        "length_s": count * width_s,
        "doubt": "; ".join(doubts),
    }


def _most_by_timers(scenario: Scenario) -> float:
    """Return the losses a second of all flows of CUBIC below which it may be timers that send what is lost."""
    return sum(flow.name.startswith(CUBIC) for flow in scenario.flows) * _MOST_BY_TIMERS


def starved_drops(drops: npt.NDArray[np.float64], width_s: float) -> tuple[float, float]:
    """Return the drops in 120 s of flows that are starved, and the error, of their drops in bins of a shorter run.

    Timers that double give as many drops from T / 2 to T as from T to 2 T. The error is that of all doublings that are
    left if each has as many as the one before the last.
    """
    length, half = len(drops), len(drops) // 2
    last, before = float(drops[half:].sum()), float(drops[half // 2 : half].sum())
    doublings = max(float(np.log2(PAPER_S / (length * width_s))), 0.0)
    return float(drops.sum()) + last * doublings, abs(last - before) * doublings


def series(runs: Runs) -> list[Bins]:
    """Return each run in bins. The tables of all runs are read and added up together: there may be a thousand runs."""
    if not len(runs):
        return []
    widths = [run.scenario.probes.bin for run in runs]
    counts = np.array([run.scenario.limit // width for run, width in zip(runs, widths, strict=True)], dtype=np.int64)
    ends = counts.cumsum()
    carried, cells = _at_link(runs, "throughput", GROUPS, "where", counts)
    flows, size = carried["flow"].array, carried["bytes"].to_numpy()
    members = [flows.categories.str.startswith(group)[flows.codes] for group in (CUBIC, DCTCP)]
    cubic, dctcp = (np.bincount(cells[member], size[member], minlength=ends[-1]) for member in members)
    total = cubic + dctcp
    share = np.divide(100 * cubic, total, out=np.zeros(len(total)), where=total > 0)
    queue, cells = _at_link(runs, "queues", WHOLE, "link", counts)
    average, longest, drops = np.zeros((3, len(total)))
    for values, column in ((average, "mean_B"), (longest, "max_B"), (drops, "drops")):
        values[cells] = queue[column]
    by_run = (np.split(values, ends[:-1]) for values in (share, total, average / 1e3, longest / 1e3, drops))
    return [Bins(width / 1e9, *values) for width, *values in zip(widths, *by_run, strict=True)]


def _at_link(
    runs: Runs, name: str, part: Part, column: str, counts: npt.NDArray[np.int64]
) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    """Return the rows of a table at the shared link, and the position of each row's bin among the bins of all runs.

    Bins are left out if they are not among the first `counts` of their run.
    """
    table, indices = join.read_part([*runs], name, part)
    frame = join.frame(table, categories=True)
    bins = frame["bin"].to_numpy()
    is_counted = (frame[column] == LINK).to_numpy() & (bins < counts[indices])
    first = counts.cumsum() - counts
    return frame[is_counted], (first[indices] + bins)[is_counted]
