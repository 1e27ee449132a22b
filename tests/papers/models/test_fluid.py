# SPDX-License-Identifier: Apache-2.0
"""The fluid model of the shared buffer: limits that can be computed by hand, and what real runs say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, RidgeCV

from rdcnlab_papers import vargas
from rdcnlab_papers.analysis import sharing
from rdcnlab_papers.models import fluid, physics
from rdcnlab_papers.models.corrected import Corrected
from rdcnlab_papers.vargas import space


def settings(*rows: space.Setting) -> pd.DataFrame:
    return pd.DataFrame(rows).astype(float)


@pytest.mark.parametrize("rtt_s", [0.025, 0.1])
def test_the_loss_for_a_window_gives_this_window(rtt_s: float) -> None:
    losses = np.geomspace(1e-8, 0.5, 40)
    rtts = np.full_like(losses, rtt_s)
    windows = fluid.window(losses, rtts)
    assert (np.diff(windows) < 0).all()
    assert fluid.loss_for(windows, rtts) == pytest.approx(losses, rel=1e-6)


def test_windows_are_those_of_the_standards() -> None:
    """RFC 9438, table 2: at an RTT of 0.1 s and a loss of 1e-8 CUBIC has 187 000 segments; at 1e-2 Reno's 12 remain."""
    windows = fluid.window(np.array([1e-8, 1e-2]), np.array([0.1, 0.1]))
    assert windows[0] == pytest.approx(187_000, rel=0.01)
    assert 8 < windows[1] < 12.3  # timeouts take a part


def test_dctcp_keeps_its_least_windows_and_cubic_has_the_rest() -> None:
    """Drop-tail of 800 kB, 5 Gb/s: 31 kB are on the way, so 100 flows with 1.5 segments have 227 of 831 kB or less."""
    balance = fluid.balance(settings(space.Setting(25, 800, 800, 5.0, 5.0, 50)))
    queue = balance["average_kB"].iloc[0]
    assert 650 < queue < 800
    assert balance["share"].iloc[0] == pytest.approx(100 * (1 - 227.1 / (31.25 + queue)), abs=0.1)


def test_a_delayed_ack_makes_the_least_window_of_ns3_small() -> None:
    """100 segments of 1514 B in 40 ms and a queue of 1.2 ms are 0.6 % of 5 Gb/s."""
    rows = settings(space.Setting(25, 800, 800, 5.0, 5.0, 50))
    left = 100 - fluid.balance(rows, least=fluid.NS3)["share"].iloc[0]
    assert left == pytest.approx(100 * 151.4 / (625 * 41.2), rel=0.01)


def test_below_the_ecn_threshold_cubic_has_nothing() -> None:
    balance = fluid.balance(settings(space.Setting(800, 400, 400, 5.0, 5.0, 50)))
    assert balance["share"].iloc[0] < 0.1
    assert balance["average_kB"].iloc[0] == pytest.approx(800, rel=0.1)


def test_early_drop_holds_the_queue_between_its_thresholds() -> None:
    rows = settings(*(space.Setting(100, 400, 1600, chance, 5.0, 25) for chance in (2.0, 5.0, 10.0)))
    balance = fluid.balance(rows)
    assert balance["average_kB"].is_monotonic_decreasing
    # the smaller threshold, less a part of the swing of DCTCP's queue, which has 100 kB
    assert balance["average_kB"].between(360, 600).all()


def test_every_setting_has_possible_outcomes() -> None:
    balance = fluid.balance(settings(*space.first_settings(300), *space.first_settings(100, between=True)))
    assert np.isfinite(balance).all().all()
    assert balance["share"].between(0, 100).all()
    assert (balance["drops"] > 0).all()
    assert (balance["average_kB"] <= balance["longest_kB"]).all()
    # lengths are not limited to the buffer of 1800 kB
    assert balance["longest_kB"].max() < 2000


def test_real_runs_have_nearly_these_shares() -> None:
    """Figure 2's grid, which no number of the model is from, where the ECN threshold is one of table 1."""
    runs = vargas.fig2(profile="paper").stored_runs()
    rows = sharing.by_setting(sharing.outcomes(runs))
    rows = rows[rows["ecn_kB"] <= space.ECN_MOST_KB]
    assert len(rows) >= 80
    balance = fluid.balance(rows)
    difference = (balance["share"] - rows["share"]).abs()
    assert difference.median() < 2
    assert difference.quantile(0.9) < 8
    length = (balance["average_kB"] / rows["average_kB"] - 1).abs()
    assert length.median() < 0.15


def test_drops_at_a_full_queue_are_too_few_by_a_factor_that_hardly_varies() -> None:
    """Bursts are not in the model. What corrects it learns this factor; if runs or model change, findings must too."""
    rows = sharing.by_setting(sharing.outcomes(vargas.fig2(profile="paper").stored_runs()))
    rows = rows[(rows["ecn_kB"] <= space.ECN_MOST_KB) & (rows["share"] > 10) & (rows["min_kB"] == rows["max_kB"])]
    assert len(rows) >= 60
    factor = rows["drops"] / fluid.balance(rows)["drops"]
    assert 6 < factor.median() < 9
    assert factor.quantile(0.9) / factor.quantile(0.1) < 2


def test_a_correction_is_what_differs() -> None:
    """Outcomes that are those in balance and 3 more need one number to be learned."""
    rows = settings(*space.first_settings(40))
    values = fluid.balance(rows)[["share", "average_kB"]].to_numpy() + 3
    model = Corrected(LinearRegression(), ("share", "average_kB")).fit(rows.iloc[:5], values[:5])
    assert model.predict(rows) == pytest.approx(values)


@pytest.mark.parametrize("core", [LinearRegression(), RidgeCV()])
def test_a_correction_of_one_outcome_is_a_column(core: LinearRegression | RidgeCV) -> None:
    rows = settings(*space.first_settings(12))
    values = fluid.balance(rows)[["share"]].to_numpy() + 3
    assert Corrected(core, ("share",)).fit(rows, values).predict(rows).shape == (12, 1)


def test_features_are_finite_and_have_their_names() -> None:
    features = physics.physics(settings(*space.first_settings(64)))
    assert tuple(features.columns) == physics.FEATURES
    assert np.isfinite(features).all().all()
