# SPDX-License-Identifier: Apache-2.0
"""The model of CUBIC and Reno by Carpa et al., Sec. II-C and III-A, and the computation in Linux.

::

    W_max = B RTT / (8 MSS)                     segments that fill a path of B bit/s (Table I)
    y(t)  = C (t - K)^3 + W_max                 window t s after a loss (Sec. II-C2)
    K     = cbrt(beta W_max / C)                time until y is W_max again (Sec. III-A)
    w(t)  = w(0) + t / RTT                      Reno: one segment a round trip (Sec. II-C1)

A loss reduces the window by the share beta. The paper has C = 0.4 and beta = 0.2, so that K = cbrt(W_max / 2). Linux
has the same C (41 / 1024 of ``bic_scale``, times 10) and beta = 0.3 (717 / 1024 remain): ``net/ipv4/tcp_cubic.c``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Growth of the cubic function in segments per s^3, and the share by which a loss reduces the window in the paper.
SCALE, BETA = 0.4, 0.2
#: The share by which a loss reduces the window in Linux: ``beta`` is 717 of 1024.
BETA_OF_LINUX = 1 - 717 / 1024


def full_window(rate_bps: float, rtt_s: float, mss_B: float = 1448) -> float:  # noqa: N803  (unit)
    """Return the window in segments that fills a path: Table I, first row.

    Parameters
    ----------
    rate_bps : float
        Rate of the bottleneck in bit/s.
    rtt_s : float
        Round-trip time in s.
    mss_B : float
        Payload of a segment in bytes.

    Examples
    --------
    >>> round(full_window(100e6, 0.180))
    1554
    """
    return rate_bps * rtt_s / (8 * mss_B)


def recovery_time(window: float, beta: float = BETA, scale: float = SCALE) -> float:
    """Return K in s: the time after a loss until CUBIC's window has its former size; Sec. III-A, Table I, second row.

    Parameters
    ----------
    window : float
        Window before the loss, in segments.
    beta : float
        Share by which the loss reduces the window.
    scale : float
        Growth in segments per s^3.

    Examples
    --------
    >>> round(recovery_time(1550), 1)
    9.2
    """
    return float(np.cbrt(beta * window / scale))


@dataclass(frozen=True)
class Cubic:
    """The window of CUBIC after a loss, without a further loss.

    Parameters
    ----------
    window : float
        W_max in segments.
    beta : float
        Share by which the loss reduces the window.
    rtt_s : float
        Round-trip time in s, which delays the function (Sec. II-C2).
    """

    window: float
    beta: float = BETA
    rtt_s: float = 0.0

    @property
    def recovery_s(self) -> float:
        """K in s; see `recovery_time`."""
        return recovery_time(self.window, self.beta)

    def at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the window in segments at times in s after the loss."""
        since: Floats = np.asarray(t_s, dtype=np.float64) - self.rtt_s - self.recovery_s
        return SCALE * since**3 + self.window


def rest_of_recovery(window: float, share: float, scale: float = SCALE) -> float:
    """Return the time in s that the function needs from a share of its plateau to the plateau.

    The function is so flat there that a loss comes before the window is exactly as large as before. So a measured
    recovery is the time to a share such as 98 %, plus this time.
    """
    return float(np.cbrt((1 - share) * window / scale))


def plateaus(windows: Sequence[float]) -> list[float]:
    """Return the plateau W_max that Linux computes at each of several losses of a flow, from the windows before them.

    If the window before a loss is smaller than the plateau so far, Linux takes a smaller plateau, to leave room for
    other flows (fast convergence): ``bictcp_recalc_ssthresh()`` of ``net/ipv4/tcp_cubic.c``.
    """
    values: list[float] = []
    for window in windows:
        is_lower = bool(values) and window < values[-1]
        values.append(window * (1 - BETA_OF_LINUX / 2) if is_lower else window)
    return values


def of_linux(plateau: float, after: float) -> Cubic:
    """Return the function that Linux computes after a loss: K follows from the plateau and the window after the loss.

    Parameters
    ----------
    plateau : float
        W_max in segments; see `plateaus`.
    after : float
        Window after the reduction in segments.
    """
    return Cubic(plateau, beta=max(1 - after / plateau, 0.0))
