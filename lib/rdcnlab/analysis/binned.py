# SPDX-License-Identifier: Apache-2.0
"""Throughput by bins of time: rates of flows, and the dense form with a value for every bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.runs.parts import RECEIVER, SENDER

Floats = npt.NDArray[np.float64]


def rates(throughput: pd.DataFrame, base_ns: int, bin_ns: int, *, receiver: bool = False) -> pd.DataFrame:
    """Compute rates from counted bytes. A bin without bytes has the rate zero.

    Parameters
    ----------
    throughput : DataFrame
        Columns ``run``, ``bin``, ``where``, ``flow``, ``bytes``.
    base_ns, bin_ns : int
        Width of the counted bins, and of the bins to return. The second is a multiple of the first.
    receiver : bool
        Whether to count payload at the receiver. Otherwise bytes on the switch's links count, overhead included.

    Returns
    -------
    DataFrame
        ``run``, ``flow``, ``t_s`` (start of the bin), ``rate_bps``. All runs have bins from 0 to the last bin of the
        longest run. So in a mean over runs, a run that has ended counts as zero.

    Raises
    ------
    ValueError
        `bin_ns` is not a multiple of `base_ns`.
    """
    bins = dense(throughput, base_ns, bin_ns, receiver=receiver)
    if not len(bins.bytes):
        return pd.DataFrame({"run": [], "flow": [], "t_s": [], "rate_bps": []})
    pairs, length = bins.bytes.shape
    return pd.DataFrame(
        {
            "run": np.repeat(bins.run, length),
            "flow": bins.flow.take(np.repeat(np.arange(pairs), length)),
            "t_s": np.tile(bins.t_s, pairs),
            "rate_bps": bins.bytes.ravel() * (8e9 / bin_ns),
        }
    )


@dataclass(frozen=True)
class Dense:
    """Bytes of each flow of each run in every bin; empty bins are included.

    Parameters
    ----------
    run : ndarray of int, shape (n,)
        Number of the run, in rising order.
    flow : array, shape (n,)
        Name of the flow, in alphabetical order within each run.
    t_s : ndarray, shape (m,)
        Start of each bin, in s.
    bytes : ndarray, shape (n, m)
        Counted bytes.
    """

    run: npt.NDArray[np.int64]
    flow: Any
    t_s: Floats
    bytes: Floats


def dense(throughput: pd.DataFrame, base_ns: int, bin_ns: int, *, receiver: bool = False) -> Dense:
    """Add the bins without bytes. Parameters and errors are those of `rates`."""
    step, remainder = divmod(bin_ns, base_ns)
    if remainder or step < 1:
        raise ValueError(f"bins of {bin_ns} ns cannot be made of bins of {base_ns} ns")
    where = throughput["where"]
    is_counted = (where == RECEIVER) if receiver else (where != RECEIVER) & (where != SENDER)
    mask = (is_counted & throughput["flow"].notna()).to_numpy()
    run, runs = pd.factorize(throughput["run"].to_numpy()[mask], sort=True)
    flow, flows = pd.factorize(throughput["flow"].array[mask], sort=True)
    bins = throughput["bin"].to_numpy()[mask] // step
    if not len(bins):
        return Dense(np.empty(0, dtype=np.int64), flows, np.empty(0), np.empty((0, 0)))
    length = int(bins.max()) + 1
    pair = run * len(flows) + flow
    present = np.flatnonzero(np.bincount(pair, minlength=len(runs) * len(flows)))
    number = np.full(len(runs) * len(flows), -1, dtype=np.int64)
    number[present] = np.arange(len(present))
    counts = np.bincount(
        number[pair] * length + bins, throughput["bytes"].to_numpy(dtype=float)[mask], minlength=len(present) * length
    )
    times: Floats = np.arange(length, dtype=np.float64) * (bin_ns / 1e9)
    return Dense(
        runs[present // len(flows)],
        flows.take(present % len(flows)),
        times,
        counts.reshape(-1, length).astype(float, copy=False),
    )
