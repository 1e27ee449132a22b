# SPDX-License-Identifier: Apache-2.0
"""The balance of DCTCP and CUBIC in a shared buffer, computed and not trained: both are fluids with one queue.

DCTCP adapts its rate within its RTT, which is nearly that of the queue. So it takes what CUBIC leaves, and one of two
things holds:

- *CUBIC is held by its losses.* DCTCP keeps the queue a little above the ECN threshold. CUBIC has the rate that its
  response function gives for the losses there.
- *DCTCP is held by its least window.* All its packets are marked, and each flow has its `Least` under way, which leaves
  room on the line. CUBIC takes it: the queue grows until CUBIC's losses balance.

Sources: the response of CUBIC is that of RFC 9438 (Sec. 5.1), and that of Reno where it is larger (Sec. 4.3), with the
timeouts of Padhye et al. (1998). The queue of DCTCP is that of Alizadeh et al. (2010), Sec. 3.3: at most the threshold
and a segment of each flow, with an amplitude of sqrt(2 N (C RTT + K)) / 2 segments. Its length is taken as normal, with
the deviation of a sawtooth of this amplitude: CUBIC is held by losses so rare that the ends of the distribution count.
The theory is one of windows that are larger than the least. Here it is used for all, as it has no free number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr

from rdcnlab_papers.analysis.sharing import OUTCOMES, PAPER_S

Floats = npt.NDArray[np.float64]
#: Flows of each kind, the RTT of DCTCP without queue in s, and bytes of a segment on the line.
FLOWS, NEAR_S, SEGMENT = 100, 50e-6, 1514.0
#: Segments of a flow of DCTCP under way if all are marked. Its window is two, but the first of them waits at the
#: receiver for a second one before it is acknowledged, which is the likely reason. This number is from runs: 400
#: settings of 5 Gb/s and 25 ms (`docs/findings/vargas.md`).
LEAST_SEGMENTS = 1.5
#: Linux's least retransmission timeout in s.
LEAST_RTO_S = 0.2
#: Share of the line that starved flows of CUBIC have at least: their timers send now and then. This number was set, not
#: measured, and all drops of starved flows follow from it.
LEAST_SHARE = 5e-4
#: Steps of a bisection, and a queue in bytes that is longer than any.
_STEPS, _LONGEST = 45, 2.4e6


class Least(NamedTuple):
    """What a flow of DCTCP has under way if all packets are marked: segments, and the delay of their ACK in s."""

    segments: float
    wait_s: float


#: Linux; and ns-3, where a window falls to one segment: its ACK waits 40 ms (Linux: TCP_DELACK_MIN) for a second one.
LINUX, NS3 = Least(LEAST_SEGMENTS, 0.0), Least(1.0, 0.04)


def window(loss: Floats, rtt_s: Floats) -> Floats:
    """Return the segments of a flow of CUBIC that arrive in an RTT in s, on average, for a loss rate above 0."""
    without = np.maximum(np.sqrt(1.5 / loss), 1.054 * (rtt_s / loss) ** 0.75)
    timeouts = (LEAST_RTO_S + rtt_s) / rtt_s * np.minimum(1.0, 3 * np.sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)
    windows: Floats = (1 - loss) / (1 / without + timeouts)
    return windows


def loss_for(windows: Floats, rtt_s: Floats) -> Floats:
    """Invert `window`: return the loss rate at which so many segments of a flow of CUBIC arrive in an RTT."""
    low, high = np.full_like(windows, -25.0), np.full_like(windows, -1e-6)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        larger = window(np.exp(middle), rtt_s) > windows
        low, high = np.where(larger, middle, low), np.where(larger, high, middle)
    losses: Floats = np.exp((low + high) / 2)
    return losses


def balance(rows: pd.DataFrame, *, flows: int = FLOWS, segment: float = SEGMENT, least: Least = LINUX) -> pd.DataFrame:
    """Compute the outcomes of settings in balance.

    Parameters
    ----------
    rows : DataFrame
        Settings: the columns `rdcnlab_papers.analysis.sharing.SETTINGS`.
    flows : int
        Number of flows of DCTCP, and of CUBIC.
    segment : float
        Bytes of a segment on the line.
    least : Least
        Least window of a flow of DCTCP.

    Returns
    -------
    DataFrame
        `rdcnlab_papers.analysis.sharing.OUTCOMES`: ``share`` of CUBIC in percent, ``drops`` in 120 s, ``average_kB``
        and ``longest_kB`` of the queue. Bursts of drops at a full queue, the start of flows and timers are not in it.
    """
    capacity = rows["rate_gbps"].to_numpy(float) * 1e9 / 8
    far_s = rows["rtt_ms"].to_numpy(float) * 1e-3
    ecn, low, high = (1e3 * rows[name].to_numpy(float) for name in ("ecn_kB", "min_kB", "max_kB"))
    chance = rows["probability"].to_numpy(float) / 100
    width = np.where(high > low, high - low, 1.0)
    swing = segment * np.sqrt(2 * flows * (capacity * NEAR_S + ecn) / segment) / 2
    sigma = swing / math.sqrt(12)

    def excess(queue: Floats, threshold: Floats) -> Floats:
        """Return the mean length beyond a threshold."""
        distance = (queue - threshold) / sigma
        density = np.exp(-(distance**2) / 2) / math.sqrt(2 * math.pi)
        mean: Floats = sigma * (distance * ndtr(distance) + density)
        return mean

    def loss(queue: Floats) -> Floats:
        early = np.where(high > low, chance * (excess(queue, low) - excess(queue, high)) / width, 0.0)
        beyond = np.where(high > low, 1 - chance, 1.0) * ndtr((queue - high) / sigma)
        mean: Floats = np.clip(early + beyond, 1e-9, 1.0)
        return mean

    def cubic(queue: Floats) -> Floats:
        losses, rtt_s = loss(queue), far_s + queue / capacity
        rate = flows * segment * window(losses, rtt_s) / rtt_s
        limited: Floats = np.where(losses >= 1, 0.0, np.minimum(rate, capacity))
        return limited

    def least_dctcp(queue: Floats) -> Floats:
        return flows * least.segments * segment / (NEAR_S + queue / capacity + least.wait_s)

    # a swing of more than two segments a flow would take the mean below the threshold, which DCTCP is not marked below
    marked = ecn + np.maximum(flows * segment - swing / 2, 0)
    held = least_dctcp(marked) + cubic(marked) > capacity
    shortest, longest = marked, np.full_like(marked, _LONGEST)
    for _ in range(_STEPS):
        middle = (shortest + longest) / 2
        grows = least_dctcp(middle) + cubic(middle) > capacity
        shortest, longest = np.where(grows, middle, shortest), np.where(grows, longest, middle)
    queue = np.where(held, shortest, marked)
    left = 1 - np.minimum(least_dctcp(queue) / capacity, 1)
    share = np.clip(np.where(held, left, cubic(queue) / capacity), 0, 1)
    rtt_s = far_s + queue / capacity
    rate = np.maximum(share, LEAST_SHARE) * capacity / segment
    losses = loss_for(rate * rtt_s / flows, rtt_s)
    drops = PAPER_S * rate * losses / (1 - losses)
    values = {"share": 100 * share, "drops": drops, "average_kB": queue / 1e3, "longest_kB": (queue + swing / 2) / 1e3}
    return pd.DataFrame(values, index=rows.index)[list(OUTCOMES)]
