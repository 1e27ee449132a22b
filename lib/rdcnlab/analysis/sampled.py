# SPDX-License-Identifier: Apache-2.0
"""Series of samples of one connection, such as its window: falls, cycles, values at given instants."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import tables

Floats = npt.NDArray[np.float64]


def falls(t: Floats, values: Floats, share: float) -> Floats:
    """Return the instants at which a series falls in one step by more than a share of its previous value.

    Parameters
    ----------
    t, values : ndarray, shape (n,)
        Samples in order of time.
    share : float
        0.1 for a fall of more than 10 %.
    """
    if values.size < 2:
        return np.empty(0)
    fallen: Floats = t[1:][values[1:] < values[:-1] * (1 - share)]
    return fallen


def cycles(t: Floats, values: Floats, cycle: npt.ArrayLike, series: npt.ArrayLike = 0) -> pd.DataFrame:
    """Return the highest and lowest value of each cycle of one or several series.

    Parameters
    ----------
    t, values : ndarray, shape (n,)
        Samples.
    cycle : float or ndarray, shape (n,)
        Length of a cycle, in the unit of `t`.
    series : int or ndarray of int, shape (n,)
        Number of the series of each sample.

    Returns
    -------
    DataFrame
        ``series``, ``cycle`` (from 0), ``peak``, ``valley``, ``samples``, in the order of series and cycles.
    """
    if not len(t):
        return pd.DataFrame({name: [] for name in ("series", "cycle", "peak", "valley", "samples")})
    number = np.floor_divide(t, cycle).astype(np.int64)
    of_series = np.broadcast_to(np.asarray(series, dtype=np.int64), number.shape)
    order = np.lexsort((number, of_series))
    number, of_series = number[order], of_series[order]
    begins = np.flatnonzero((np.diff(number, prepend=number[0] - 1) != 0) | (np.diff(of_series, prepend=-1) != 0))
    # fmax and fmin leave out missing values
    peak, valley = (extreme.reduceat(np.asarray(values)[order], begins) for extreme in (np.fmax, np.fmin))
    samples = np.diff(begins, append=len(order))
    columns = {"series": of_series[begins], "cycle": number[begins], "peak": peak, "valley": valley}
    return pd.DataFrame({**columns, "samples": samples})


def at(t: Floats, values: Floats, grid: Floats) -> Floats:
    """Sample a step function: the last value at or before each point of a grid, NaN before the first value.

    Parameters
    ----------
    t, values : ndarray, shape (n,)
        Time and value of each step, in order of time.
    grid : ndarray, shape (m,)
        Times at which to sample.
    """
    last = np.searchsorted(t, grid, side="right") - 1
    sampled: Floats = np.where(last >= 0, values[np.maximum(last, 0)], np.nan)
    return sampled


def sample(tcp: pd.DataFrame, column: str, bin_ns: int) -> pd.DataFrame:
    """Sample a value that ACKs report, for each flow on the same grid; see `at`.

    Parameters
    ----------
    tcp : DataFrame
        Columns ``run``, ``flow``, ``t_ns`` and `column`, in order of time.
    column : str
        Column to sample.
    bin_ns : int
        Step of the grid. The grid begins at 0 and ends with the flow's last ACK.

    Returns
    -------
    DataFrame
        ``run``, ``flow``, ``t_s`` and `column`, from the first ACK on.
    """
    parts = []
    for (run, flow), of_flow in tables.groups(tcp, ["run", "flow"]):
        grid = np.arange(0, of_flow["t_ns"].iloc[-1], bin_ns, dtype=np.float64)
        values = at(of_flow["t_ns"].to_numpy(dtype=float), of_flow[column].to_numpy(dtype=float), grid)
        parts.append(pd.DataFrame({"run": run, "flow": flow, "t_s": grid / 1e9, column: values}))
    return pd.concat(parts, ignore_index=True).dropna()


def autocorrelation(values: npt.ArrayLike, lag: int) -> float:
    """Return the correlation of a series with itself `lag` samples later; NaN if it is too short or constant."""
    x = np.asarray(values, dtype=float)
    if lag < 1 or x.size < lag + 3 or np.ptp(x[:-lag]) == 0 or np.ptp(x[lag:]) == 0:
        return float("nan")
    return float(np.corrcoef(x[:-lag], x[lag:])[0, 1])
