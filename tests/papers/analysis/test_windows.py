# SPDX-License-Identifier: Apache-2.0
"""Where the peaks of windows are."""

from __future__ import annotations

import pandas as pd
import pytest

from rdcnlab_papers.analysis import windows


def window(values: dict[int, float]) -> pd.DataFrame:
    """Return a window in kB over cycles of 100 ms, two moves each; it keeps each value (begin in ms) until the next."""
    t_ms = range(300)
    size = pd.Series(values).reindex(t_ms).ffill() * 1000
    return pd.DataFrame(
        {"run": 0, "flow": "main", "period_ms": 50.0, "t_s": [t / 1000 for t in t_ms], "cwnd_B": size.to_numpy()}
    )


@pytest.mark.parametrize(
    ("values", "near"),
    [
        ({0: 1.0, 110: 5.0, 120: 2.0, 250: 5.0, 256: 2.0}, [False, True]),
        ({0: 1.0, 120: 5.0, 146: 2.0, 220: 5.0, 239: 2.0}, [True, False]),
    ],
)
def test_a_window_that_keeps_its_size_until_a_move_has_its_peak_there(
    values: dict[int, float], near: list[bool]
) -> None:
    """The last fifth of a slot of 50 ms and 5 ms after a move are near it. The first cycle does not count."""
    peaks = windows.peaks_near_moves(window(values))
    assert peaks["near"].tolist() == near
    assert (peaks["cwnd_B"] == 5000).all()
