# SPDX-License-Identifier: Apache-2.0
"""The general model, on synthetic tables: its inputs for a scenario, and that scores and intervals are correct."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab_papers import aykurt
from rdcnlab_papers.aykurt.space import Point
from rdcnlab_papers.models import general

pytestmark = pytest.mark.usefixtures("own_models")


@pytest.fixture
def rows() -> pd.DataFrame:
    """Synthetic data: BBR doubles the ratio, and the ratio grows as days get shorter; with noise."""
    draw = np.random.default_rng(0)
    count = 400
    frame = pd.DataFrame(
        {
            "migrated": draw.choice(general.VARIANTS, count),
            "main": draw.choice(general.VARIANTS, count),
            "day_ms": 2 ** draw.uniform(0, 6, count),
            "night_ms": draw.choice([0.0, 0.1], count),
            "buffer_kB": 2 ** draw.uniform(8, 12, count),
            "rtt_us": 2 ** draw.uniform(6, 10, count),
            "flows": draw.choice([2, 4, 8, 16], count),
        }
    )
    logs = (frame["migrated"] == "bbr") - 0.3 * np.log2(frame["day_ms"]) + draw.normal(0, 0.1, count)
    frame[general.TARGET] = 2**logs
    return frame


def test_what_is_told_of_a_scenario_is_in_it_and_does_not_tell_seeds_apart() -> None:
    for scenario in aykurt.general(count_of_scenarios=40).scenarios():
        known = general.inputs(scenario)
        assert tuple(known) == general.INPUTS
        assert general.inputs(scenario.with_(seed=9)) == known
        assert known["flows"] == len(scenario.flows)
        assert known["buffer_kB"] * 1000 == scenario.network.links[1].buffer_bytes(scenario.network.mtu)
        assert 1 <= known["day_ms"] + known["night_ms"] <= 100
        assert known["night_ms"] <= 0.2 * (known["day_ms"] + known["night_ms"])


def test_the_rtt_is_that_of_the_network() -> None:
    assert general.rtt_ns(Point(period_ms=10).scenario()) == pytest.approx(170_000, rel=1e-4)


def test_the_first_scenarios_are_the_same_however_many_there_are() -> None:
    few, many = (aykurt.general(count_of_scenarios=count).scenarios() for count in (20, 50))
    assert few == many[:20]
    assert len({scenario.hash for scenario in many}) == 50


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"flows.main.cc": "cubic", "flows.migrated.path": [["1 ms", "blue"], ["2 ms", "green"]]}, "flows"),
        ({"network.links.green.buffer": "1 MB"}, "network.links"),
    ],
)
def test_scenarios_of_another_kind_are_refused(two_flows: Scenario, change: dict[str, object], field: str) -> None:
    with pytest.raises(InputError, match=field):
        general.inputs(two_flows.with_(**change))
    with pytest.raises(InputError, match=r"flows\[0\]"):
        general.inputs(Point(protocol="QUIC", period_ms=10).scenario())


def test_models_find_what_matters_and_nothing_in_shuffled_targets(rows: pd.DataFrame) -> None:
    found = general.compare(rows)
    assert set(found.index) == set(general.candidates())
    assert found["r2"].iloc[0] > 0.9
    assert found["off"].iloc[0] < 1.2
    lost = general.ablation(rows, "gradient boosting")
    assert set(lost.index[:2]) == {"migrated", "day_ms"}
    assert set(lost.index) == set(general.INPUTS)
    shuffled = rows.assign(**{general.TARGET: rows[general.TARGET].sample(frac=1, random_state=1).to_numpy()})
    assert general.compare(shuffled)["r2"].max() < 0.1


def test_the_ceiling_is_what_chance_leaves(rows: pd.DataFrame) -> None:
    same = rows.loc[np.repeat(rows.index[:100], 4)].reset_index(drop=True)
    assert general.ceiling(same) == pytest.approx(1)
    noise = 2 ** np.random.default_rng(0).normal(0, np.log2(same[general.TARGET]).std(), len(same))
    assert general.ceiling(same.assign(**{general.TARGET: same[general.TARGET] * noise})) == pytest.approx(0.5, abs=0.1)


def test_nine_of_ten_are_in_their_interval(rows: pd.DataFrame) -> None:
    inside, width = general.coverage(rows)
    # 400 rows: the share has a standard deviation of 1.5 points; 0.85 and 0.96 are more than three away from 0.9
    assert 0.85 < inside < 0.96
    # noise of 0.1 alone makes an interval of 2 * 1.645 * 0.1 wide in logarithms, which is a factor of 1.26
    assert 1.2 < width < 2


def test_a_saved_predictor_answers_and_says_where_it_knows_nothing(rows: pd.DataFrame) -> None:
    path = general.load_or_train(rows, "gradient boosting")
    assert general.load_or_train(rows, "gradient boosting") == path
    known = general.best().predict(rows)
    assert (known["low"] <= known[general.TARGET]).all()
    assert (known[general.TARGET] <= known["high"]).all()
    assert np.corrcoef(np.log(known[general.TARGET]), np.log(rows[general.TARGET]))[0, 1] > 0.95
    with pytest.raises(InputError, match="rtt_us: 50000"):
        general.load(path).predict(rows.assign(rtt_us=50_000.0))
    with pytest.raises(InputError, match="migrated: there is no variant 'vegas'"):
        general.load(path).predict(rows.assign(migrated="vegas"))
