# SPDX-License-Identifier: Apache-2.0
"""What is known of a shared buffer, for models: features, and the values that outcomes can have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab_papers.models.fluid import FLOWS, NEAR_S, SEGMENT, balance

Floats = npt.NDArray[np.float64]
#: RFC 9438: the constant C in segments/s^3, and the factor of a window after a loss.
CUBIC_C, CUBIC_BETA = 0.4, 0.7
#: The buffer of all runs in kB, and the features of `physics`.
BUFFER_KB = 1800
#: A run of 10 to 16 s ends before it is in balance if an epoch of CUBIC is longer than this, in s, and CUBIC has more
#: than this share in balance, in percent (`docs/findings/vargas.md`).
SLOW_S, SLOW_SHARE = 7.0, 1.0
FEATURES = ("ecn", "high", "room", "room_low", "width", "slope", "rate", "rtt", "share", "queue", "drops", "epoch")


def physics(rows: pd.DataFrame, fluid: pd.DataFrame | None = None) -> pd.DataFrame:
    """Compute physical features from the settings.

    Parameters
    ----------
    rows : DataFrame
        Settings: the columns `rdcnlab_papers.analysis.sharing.SETTINGS`.
    fluid : DataFrame, optional
        Their outcomes in balance, if they are computed already.

    Returns
    -------
    DataFrame
        `FEATURES`:

        - ``ecn``, ``high``: ECN threshold and larger drop threshold over DCTCP's bandwidth-delay product, as
          logarithms (1 is added).
        - ``room``: larger drop threshold less ECN threshold, over the buffer: above 0 CUBIC can wait where DCTCP is
          marked already. ``room_low``: the same with the smaller one.
        - ``width``: distance of the drop thresholds over the buffer.
        - ``slope``: drop probability per length of the queue, or that of drop-tail, as a logarithm.
        - ``rate``, ``rtt``: logarithms.
        - ``share``, ``queue``, ``drops``: outcomes in balance, see `rdcnlab_papers.models.fluid`; the last two as
          logarithms.
        - ``epoch``: time in s that a flow of CUBIC takes from a loss to its window in balance, K of RFC 9438, Sec. 4.2,
          with the mean window in place of the largest one.
          See `SLOW_S`.
    """
    rate, rtt = rows["rate_gbps"].to_numpy(float), rows["rtt_ms"].to_numpy(float)
    ecn, low, high = (rows[name].to_numpy(float) for name in ("ecn_kB", "min_kB", "max_kB"))
    chance = rows["probability"].to_numpy(float) / 100
    product_kB = rate * 1e9 * NEAR_S / 8e3  # noqa: N806  (unit)
    fluid = balance(rows) if fluid is None else fluid
    flow = fluid["share"].to_numpy() / 100 * rate * 1e9 / (8 * SEGMENT * FLOWS)
    window = flow * (rtt * 1e-3 + fluid["average_kB"].to_numpy() * 8e-6 / rate)
    features = {
        "ecn": np.log1p(ecn / product_kB),
        "high": np.log1p(high / product_kB),
        "room": (high - ecn) / BUFFER_KB,
        "room_low": (low - ecn) / BUFFER_KB,
        "width": (high - low) / BUFFER_KB,
        "slope": np.log(np.where(high > low, np.maximum(chance, 1e-6) / np.maximum(high - low, 1.0), 1.0)),
        "rate": np.log(rate),
        "rtt": np.log(rtt),
        "share": fluid["share"].to_numpy(),
        "queue": np.log(fluid["average_kB"].to_numpy()),
        "drops": np.log(fluid["drops"].to_numpy()),
        "epoch": np.cbrt(window * (1 - CUBIC_BETA) / CUBIC_C),
    }
    return pd.DataFrame(features, index=rows.index)[list(FEATURES)]


def limit(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Limit outcomes to possible values: shares of 0 to 100 %, lengths up to the buffer, no negative drops."""
    top = {"share": 100.0, "drops": np.inf, "average_kB": BUFFER_KB, "longest_kB": BUFFER_KB}
    clipped: pd.DataFrame = outcomes.apply(lambda column: column.clip(0.0, top[str(column.name)]))
    return clipped
