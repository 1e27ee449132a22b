# SPDX-License-Identifier: Apache-2.0
"""Which values of a setting satisfy statements, on made-up intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rdcnlab_papers.analysis import calibration

BOUNDS = {"peaks": (0.45, 0.75), "loss": (95.0, 100.0)}


def stats(**rows: dict[int, tuple[float, float]]) -> pd.DataFrame:
    """Return intervals by statement and value, with their middle as mean."""
    found = {(name, value): ends for name, of in rows.items() for value, ends in of.items()}
    frame = pd.DataFrame(found, index=["low", "high"]).T
    return frame.assign(mean=frame.mean(axis=1))


def test_a_statement_holds_only_with_its_whole_interval() -> None:
    states = calibration.judge(
        stats(
            peaks={1: (0.2, 0.44), 2: (0.4, 0.5), 3: (0.45, 0.75), 4: (0.7, 0.8)},
            loss={1: (95, 100), 2: (99, 99), 3: (96, 97), 4: (80, 94)},
        ),
        BOUNDS,
    )
    assert states["peaks"].tolist() == ["fails", "open", "holds", "open"]
    assert states["loss"].tolist() == ["holds", "holds", "holds", "fails"]
    together = calibration.together(states)
    assert together.tolist() == ["fails", "open", "holds", "fails"]
    assert calibration.interval(together) == (3, 3)
    assert calibration.failures(states) == {"peaks": [1], "loss": [4]}


def test_the_interval_is_the_longest_row_of_neighbours() -> None:
    states = pd.Series(["holds", "fails", "holds", "holds", "open", "holds"], index=[1, 2, 3, 4, 5, 6])
    assert calibration.interval(states) == (3, 4)
    assert calibration.interval(states.replace("holds", "open")) is None


def test_a_value_without_interval_is_never_satisfied() -> None:
    """One seed has no interval: nothing can be said."""
    found = stats(peaks={1: (np.nan, np.nan)}, loss={1: (97, 99)})
    assert calibration.judge(found, BOUNDS)["peaks"].tolist() == ["open"]
