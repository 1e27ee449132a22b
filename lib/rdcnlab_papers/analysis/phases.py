# SPDX-License-Identifier: Apache-2.0
"""Sending and waiting phases of a flow, from a capture at a host (``probes.capture``)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]


def send_times(events: pd.DataFrame, least_B: int = 200) -> Floats:  # noqa: N803  (unit)
    """Return the times in s at which data packets left the captured hosts.

    Parameters
    ----------
    events : DataFrame
        The table ``events`` of one run.
    least_B : int
        Shorter frames, such as ACKs, do not count.
    """
    chosen = events[(events["event"] == "capture_out") & (events["value"] >= least_B)]
    return np.sort(chosen["t_ns"].to_numpy(dtype=np.float64) / 1e9)


def waiting_share(times_s: Floats, begin_s: float, end_s: float, gap_s: float) -> float:
    """Return the share of a span of time in which a flow waits.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Times at which packets left, in rising order.
    begin_s, end_s : float
        The span.
    gap_s : float
        A gap between two packets counts as waiting, in full, if it is longer than this.
    """
    inside = times_s[(times_s > begin_s) & (times_s < end_s)]
    gaps = np.diff(np.concatenate(([begin_s], inside, [end_s])))
    return float(gaps[gaps > gap_s].sum() / (end_s - begin_s))


def nearest_second(tcp: pd.DataFrame, window: float, from_s: float, until_s: float) -> tuple[float, float]:
    """Return the begin of the second in which a flow's mean window is nearest to a value, and that mean.

    Parameters
    ----------
    tcp : DataFrame
        Rows of one flow of the table ``tcp``.
    window : float
        Wanted window in segments.
    from_s, until_s : float
        Whole seconds in this span are compared.
    """
    second = np.floor(tcp["t_ns"].to_numpy(dtype=float) / 1e9)
    means = tcp.groupby(second)["cwnd"].mean()
    begins, values = means.index.to_numpy(dtype=float), means.to_numpy(dtype=float)
    inside = (begins >= from_s) & (begins + 1 <= until_s)
    index = int(np.argmin(np.abs(values[inside] - window)))
    return float(begins[inside][index]), float(values[inside][index])
