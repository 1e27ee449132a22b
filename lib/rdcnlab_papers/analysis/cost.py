# SPDX-License-Identifier: Apache-2.0
"""Model the throughput that a flow loses by rerouting, and estimate the shortest period between moves.

The loss is modelled from moves to the longer path. After such a move a flow has the window of the shorter path, so its
rate is ``RTT / (RTT + X)`` of the line's. It is full again after the time to grow the window by the share ``X / RTT``.
A flow that is moved every P s moves to the longer path every 2 P s.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import cubic

Floats = npt.NDArray[np.float64]


def growth_s(rtt_s: float, extra_s: float, rate_bps: float, variant: str) -> float:
    """Return the time in s that a flow needs on the longer path to fill it, from the window of the shorter one.

    CUBIC: from its plateau, ``cbrt(dW / C)`` (Sec. II-C2 of Carpa et al.). Reno: one segment a round trip. BBR: its
    estimate of the smallest RTT is renewed after 10 s (``bbr_min_rtt_win_sec``).
    """
    growth = cubic.full_window(rate_bps, extra_s)
    times: dict[str, Callable[[], float]] = {
        "cubic": lambda: float(np.cbrt(growth / cubic.SCALE)),
        "reno": lambda: growth * (rtt_s + extra_s),
        "bbr": lambda: 10.0,
    }
    return times[variant]()


def least_period_s(rtt_s: float, extra_s: float, rate_bps: float, variant: str, loss: float) -> float:
    """Estimate the shortest time in s between moves that costs at most a share of the throughput, `loss`.

    Each pair of moves loses at most ``X / (RTT + X)`` of the rate for `growth_s`. Two periods must be at least
    ``1 / loss`` times this product.
    """
    share = extra_s / (rtt_s + extra_s)
    return share * growth_s(rtt_s, extra_s, rate_bps, variant) / (2 * loss)


def least_periods(points: pd.DataFrame, rate_bps: float, loss: float) -> pd.Series[float]:
    """Return `least_period_s` of each point.

    Parameters
    ----------
    points : DataFrame
        ``rtt_s``, ``extra_s``, ``flows`` and ``variant``.
    rate_bps : float
        Rate of the line in bit/s, which the flows share.
    loss : float
        The share that may be lost.
    """
    columns = (points["rtt_s"], points["extra_s"], rate_bps / points["flows"], points["variant"])
    values = [least_period_s(*point, loss) for point in zip(*columns, strict=True)]
    return pd.Series(values, index=points.index, dtype=float)
