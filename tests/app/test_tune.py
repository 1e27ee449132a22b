# SPDX-License-Identifier: Apache-2.0
"""The answer of the tuner, with a model of outcomes of a formula."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from rdcnlab.app.tune import Answer, tuned
from rdcnlab.models import gaussian, tuner
from tests.models.test_buffers import rows


@pytest.fixture(scope="module")
def made() -> gaussian.Predictor:
    return gaussian.predictor(rows(70, noise=0.02))


def test_what_the_model_has_no_data_on_makes_all_its_numbers_unsure(made: gaussian.Predictor) -> None:
    known, small = (
        tuned(tuner.Objective(12.5, 50, buffer, share=0), run=False, predictor=made) for buffer in (1800, 120)
    )
    assert not any("no data" in sentence for sentence in known.doubts())
    assert any(sentence.startswith("The model has no data on a buffer of 120 kB") for sentence in small.doubts())
    assert all(row["unsure"] for row in small.rows())


def test_a_run_that_is_too_short_is_a_doubt(made: gaussian.Predictor) -> None:
    answer = tuned(tuner.Objective(12.5, 50, share=0), run=False, predictor=made)
    short = Answer(answer.objective, answer.proposal, None, "share: error of 3", answer.suggested)
    assert [*answer.doubts(), "The run is too short for reliable errors: share: error of 3."] == short.doubts()


def test_suggested_runs_are_no_neighbours(made: gaussian.Predictor) -> None:
    """The three most doubtful settings are next to each other. After a run of one, the others are hardly doubtful."""
    objective = tuner.Objective(12.5, 50, share=40, weights=(1, 0.2, 0.1))
    answer = tuned(objective, run=False, predictor=made)
    assert answer.proposal.unsure
    settings = objective.settings(made)
    best = settings.loc[objective.cost(made.predict(settings)).nsmallest(200).index]
    naive = best.iloc[np.argsort(-made.doubt(best))[:3]]
    assert len(answer.suggested) == 3
    assert _spread(answer.suggested) > 2 * _spread(naive)


def _spread(settings: pd.DataFrame) -> float:
    """Return the distances in kB between the thresholds of any two settings, added up."""
    points = settings[["ecn_kB", "min_kB", "max_kB"]].to_numpy(float)
    return sum(float(np.abs(one - other).sum()) for one, other in itertools.combinations(points, 2))
