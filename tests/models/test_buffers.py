# SPDX-License-Identifier: Apache-2.0
"""Models of the shared buffer, on outcomes that a formula gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rdcnlab.analysis.sharing import OUTCOMES, SETTINGS
from rdcnlab.models import buffers
from rdcnlab.papers.vargas import space


def rows(count: int, condition: tuple[float, int] | None = None, *, noise: float = 0.01, seed: int = 0) -> pd.DataFrame:
    """Return settings with outcomes of a formula: DCTCP keeps 300 kB under way, CUBIC has the rest."""
    settings = pd.DataFrame(space.drawn(count, condition))[
        ["rate_gbps", "rtt_ms", "ecn_kB", "min_kB", "max_kB", "probability"]
    ].astype(float)
    rng = np.random.default_rng(seed)
    length = 0.6 * settings["max_kB"] + 0.4 * settings["min_kB"]
    length = np.where(length > settings["ecn_kB"], length, settings["ecn_kB"])
    share = 100 * np.where(
        settings["max_kB"] < settings["ecn_kB"],
        0.02,
        1 - 300 / (settings["rate_gbps"] * 6.25 + np.maximum(length, 300)),
    )
    share = np.clip(share * (1 + noise * rng.normal(size=count)), 0, 100)
    return settings.assign(
        share=share,
        drops=np.round(300 + share**2 * settings["rtt_ms"] ** -0.5 * np.exp(noise * 5 * rng.normal(size=count))),
        average_kB=length * 0.9,
        longest_kB=np.minimum(length * 1.1, 1800),
    )


def test_settings_and_outcomes_have_their_names() -> None:
    found = rows(8)
    assert set(found.columns) == {*SETTINGS, *OUTCOMES}
    assert np.isfinite(buffers.physics(found)).all().all()
    assert buffers.physics(found).shape[1] == buffers._DIMENSIONS


def test_the_floor_is_what_two_segments_a_flow_carry() -> None:
    """100 flows with 2 * 1514 B at 12.5 Gb/s; 50 us and a queue of 800 kB take 562 us: 4.31 Gb/s, 34.5 %."""
    one = pd.DataFrame([{"rate_gbps": 12.5, "rtt_ms": 50, "ecn_kB": 0, "min_kB": 800, "max_kB": 800, "probability": 5}])
    assert buffers.physics(one)["floor"].iloc[0] == pytest.approx(0.3448, abs=1e-3)


@pytest.mark.parametrize("kind", ["shallow", "better"])
def test_a_model_is_scored_on_rows_that_it_was_not_trained_on(kind: buffers.Kind) -> None:
    scores = buffers.examined(kind, rows(160), 0.3, repeats=1)
    assert scores["train"].tolist() == [48]
    assert set(scores["model"]) <= set(buffers.candidates(kind))
    assert scores["r2"].iloc[0] > 0.5


def test_a_score_of_noise_is_not_good() -> None:
    """Outcomes that have nothing to do with settings cannot be predicted, whatever is chosen on training rows."""
    found = rows(120)
    rng = np.random.default_rng(1)
    for name in OUTCOMES:
        found[name] = rng.permutation(found[name].to_numpy())
    assert buffers.examined("shallow", found, 0.3, repeats=2)["r2"].max() < 0.2


def test_predictions_are_possible() -> None:
    wild = pd.DataFrame([[-5.0, -1.0, -3.0, 2500.0], [120.0, 10.0, 5.0, 5.0]], columns=list(OUTCOMES))
    assert buffers.bounded(wild).to_numpy().tolist() == [[0, 0, 0, 1800], [100, 10, 5, 5]]


def test_the_spread_is_that_of_single_splits() -> None:
    scores = pd.DataFrame({"r2": np.linspace(0.8, 1.0, 41)})
    found = buffers.spread(scores, "r2")
    assert (round(float(found), 3), round(found.low, 3), round(found.high, 3)) == (0.9, 0.805, 0.995)
