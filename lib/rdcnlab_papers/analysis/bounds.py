# SPDX-License-Identifier: Apache-2.0
"""Bounds of queues when flows of two links meet on one (Dogar et al., Sec. 3.1).

Flows that filled a link each, with windows `s_1` and `s_2`, share one link of capacity `c`. If `t` is the RTT without
queues, `c t` bytes of their windows are under way, and all other bytes wait: ``l = s_1 + s_2 - c t``. Windows that fill
a link are `c t` each, so ``l <= c t``. The paper adds one more round trip of both windows, `2 c t`: ``l_max < 3 c t``
(Eq. 5).
"""

from __future__ import annotations


def capacity(rate_bps: float, rtt_s: float) -> float:
    """Return the bytes that a link carries in a round trip, c t.

    Parameters
    ----------
    rate_bps : float
        Capacity of the link in bit/s.
    rtt_s : float
        RTT without queues in s.
    """
    if rate_bps <= 0 or rtt_s <= 0:
        raise ValueError(f"a capacity and an RTT above 0, not {rate_bps:g} bit/s and {rtt_s:g} s")
    return rate_bps * rtt_s / 8


def longest_queue(rate_bps: float, rtt_s: float) -> float:
    """Return the bound of the queue in bytes, 3 c t (Eq. 5).

    Examples
    --------
    >>> longest_queue(10e9, 250e-6)  # the example of Sec. 3.1: below the large buffer of 1 MB
    937500.0
    """
    return 3 * capacity(rate_bps, rtt_s)
