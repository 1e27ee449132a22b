# SPDX-License-Identifier: Apache-2.0
"""How even the throughput of flows is over time: near-zero intervals, variation, and flows that differ.

The rates count payload at the receiver, or at ends of links, in the bins of the run. A bin without packets has the rate
zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.runs.parts import RECEIVER, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.updates import payload_share

#: Payload at the receiver.
RECEIVED = Part(("bin", "where", "flow", "bytes"), RECEIVER)
#: A flow carries almost nothing below this share of its line, and as much as another one above this share of it.
ALMOST_NOTHING, ALIKE = 0.1, 0.8
#: Columns of `evenness` that describe the throughput of a run.
QUANTITIES = ("variation", "zero", "near_zero_ms", "uneven_ms", "gbps")


@dataclass(frozen=True)
class Curves:
    """Rates of the flows of one run.

    Parameters
    ----------
    flows : tuple of str
        Names of the flows, as in the scenario.
    t_ms : ndarray, shape (m,)
        Start of each bin.
    gbps : ndarray, shape (n, m)
        Rate of payload of each flow in each bin.
    """

    flows: tuple[str, ...]
    t_ms: npt.NDArray[np.float64]
    gbps: npt.NDArray[np.float64]

    def since(self, from_ns: int, before_ns: int | None = None) -> Curves:
        """Return the bins from an instant on, and before another one."""
        end = np.inf if before_ns is None else before_ns / 1e6
        mask = (self.t_ms >= from_ns / 1e6) & (self.t_ms < end)
        return Curves(self.flows, self.t_ms[mask], self.gbps[:, mask])


def curves(runs: Runs, number: int, ends: Collection[str] = ()) -> Curves:
    """Return the rates of one run.

    Parameters
    ----------
    runs : Runs
        Runs with the table ``throughput``.
    number : int
        Position of the run.
    ends : collection of str
        Ends of links, such as ``uplink@leaf``, of which every packet passes one. If given, bytes are counted there, and
        headers are taken off; otherwise payload is counted at the receiver.
    """
    return _curves(runs[number].scenario, runs.part(number, number + 1).rows("throughput"), ends)


def _curves_of_runs(runs: Runs, ends: Collection[str] = ()) -> Iterator[Curves]:
    """Yield the rates of each run; see `curves`."""
    table = runs.rows("throughput")
    begins = np.searchsorted(table["run"].to_numpy(), np.arange(len(runs) + 1))
    for run, (begin, end) in zip(runs, pairwise(begins), strict=True):
        yield _curves(run.scenario, table[begin:end], ends)


def _curves(scenario: Scenario, rows: pd.DataFrame, ends: Collection[str]) -> Curves:
    """Return the rates of a run with some rows of the table ``throughput``."""
    width = scenario.probes.bin
    count = scenario.limit // width
    share = payload_share(scenario) if ends else 1.0
    names = tuple(flow.name for flow in scenario.flows)
    where, flows = rows["where"].cat, rows["flow"].cat
    # the last element belongs to code -1: a row without a place or a flow
    is_counted = np.append(where.categories.isin(list(ends) or [RECEIVER]), False)[where.codes]
    flow = np.append(pd.Index(names).get_indexer(flows.categories), -1)[flows.codes]
    bins = rows["bin"].to_numpy(dtype=np.int64)
    chosen = is_counted & (flow >= 0) & (bins < count)
    sums = np.bincount(
        flow[chosen] * count + bins[chosen], rows["bytes"].to_numpy(dtype=float)[chosen], minlength=len(names) * count
    )
    return Curves(names, np.arange(count) * width / 1e6, sums.reshape(len(names), count) * 8 / width * share)


def line_gbps(scenario: Scenario) -> float:
    """Return the rate of payload of a sender's line that is full, in Gb/s."""
    rate = min(scenario.network.host(flow.src).rate for flow in scenario.flows)
    return rate * payload_share(scenario) / 1e9


@for_each_run
def evenness(runs: Runs, from_ns: int, ends: tuple[str, ...] = ()) -> pd.DataFrame:
    """Describe the throughput of each run from an instant on; the values of a run that ended before are NaN.

    Parameters
    ----------
    runs : Runs
        Runs with the table ``throughput``.
    from_ns : int
        Instant from which bins count.
    ends : tuple of str
        As for `curves`.

    Returns
    -------
    DataFrame
        ``run``, ``seed``, ``cc``; ``variation``: standard deviation over mean of a flow's rate, mean over the flows
        (NaN if a flow carries nothing); ``zero``: share of bins without a packet, the largest of a flow, in %;
        ``near_zero_ms``: the longest time for which a flow carries almost nothing, mean over the flows; ``uneven_ms``:
        time in which the slowest flow carries less than `ALIKE` of the fastest; ``gbps``: of all flows together.
    """
    rows = []
    for number, (run, all_curves) in enumerate(zip(runs, _curves_of_runs(runs, ends), strict=True)):
        run_curves = all_curves.since(from_ns)
        identity = {"run": number, "seed": run.scenario.seed, "cc": str(run.scenario.flows[0].cc)}
        if not run_curves.t_ms.size:
            rows.append(identity | dict.fromkeys(QUANTITIES, float("nan")))
            continue
        width_ms = run.scenario.probes.bin / 1e6
        means = run_curves.gbps.mean(axis=1)
        deviations = run_curves.gbps.std(axis=1)
        minimum, maximum = run_curves.gbps.min(axis=0), run_curves.gbps.max(axis=0)
        near_zero = run_curves.gbps < ALMOST_NOTHING * line_gbps(run.scenario)
        rows.append(
            {
                **identity,
                "variation": float((deviations / means).mean()) if means.all() else float("nan"),
                "zero": 100 * float((run_curves.gbps == 0).mean(axis=1).max()),
                "near_zero_ms": width_ms * float(np.mean([longest(bins) for bins in near_zero])),
                "uneven_ms": width_ms * int((minimum < ALIKE * maximum).sum()),
                "gbps": float(means.sum()),
            }
        )
    return pd.DataFrame(rows)


@for_each_run
def lowest(runs: Runs, from_ns: int, before_ns: int) -> pd.DataFrame:
    """Return the lowest rate of each flow in some bins: ``run``, ``seed``, ``cc``, ``flow``, ``share`` (% of its line).

    Parameters
    ----------
    runs : Runs
        Runs with the table ``throughput``.
    from_ns, before_ns : int
        Instants from which and before which bins count.
    """
    rows = []
    for number, (run, all_curves) in enumerate(zip(runs, _curves_of_runs(runs), strict=True)):
        run_curves = all_curves.since(from_ns, before_ns)
        line = line_gbps(run.scenario)
        identity = {"run": number, "seed": run.scenario.seed, "cc": str(run.scenario.flows[0].cc)}
        rows += [
            {**identity, "flow": name, "share": 100 * float(rate.min()) / line}
            for name, rate in zip(run_curves.flows, run_curves.gbps, strict=True)
        ]
    return pd.DataFrame(rows)


def longest(chosen: npt.NDArray[np.bool_]) -> int:
    """Return the length of the longest unbroken run of true values.

    Examples
    --------
    >>> longest(np.array([True, False, True, True, False]))
    2
    """
    edges = np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]]))
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return int((ends - begins).max(initial=0))
