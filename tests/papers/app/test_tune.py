# SPDX-License-Identifier: Apache-2.0
"""The answer of the tuner, with a model of outcomes of a formula."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rdcnlab_papers.app.tune import Answer, tune
from rdcnlab_papers.models import gaussian, tuner
from tests.papers.models.test_buffers import rows


@pytest.fixture(scope="module")
def made() -> gaussian.Predictor:
    return gaussian.predictor(rows(70, noise=0.02))


def test_what_the_model_has_no_data_on_makes_all_its_numbers_unsure(made: gaussian.Predictor) -> None:
    known, small = (
        tune(tuner.Objective(12.5, 50, buffer, share=0), run=False, predictor=made) for buffer in (1800, 100)
    )
    assert not any("no data" in sentence for sentence in known.doubts())
    assert any(sentence.startswith("The model has no data on a buffer of 100 kB") for sentence in small.doubts())
    assert all(row["unsure"] for row in small.rows())


def test_a_run_that_is_too_short_is_a_doubt(made: gaussian.Predictor) -> None:
    answer = tune(tuner.Objective(12.5, 50, share=0), run=False, predictor=made)
    short = Answer(answer.objective, answer.proposal, None, "share: error of 3", answer.suggested)
    assert [*answer.doubts(), "The run is too short for reliable errors: share: error of 3."] == short.doubts()


@pytest.mark.parametrize("share", [20, 40])
def test_suggested_runs_leave_less_doubt_than_the_most_doubtful_ones(made: gaussian.Predictor, share: float) -> None:
    """The most doubtful settings may be next to each other. After a run of one, the others are hardly doubtful."""
    objective = tuner.Objective(12.5, 50, share=share, weights=(1, 0.2, 0.1))
    answer = tune(objective, run=False, predictor=made)
    assert answer.proposal.unsure
    settings = objective.settings(made)
    best = settings.loc[objective.cost(made.predict(settings)).nsmallest(200).index]
    naive = best.iloc[np.argsort(-made.doubt(best))[:3]]
    assert len(answer.suggested) == 3
    assert _after(made, answer.suggested).doubt(best).max() < _after(made, naive).doubt(best).max()


def _after(model: gaussian.Predictor, settings: pd.DataFrame) -> gaussian.Predictor:
    """Return the model as it will be when these settings have been run, if their outcomes are the predicted ones."""
    mean, _ = model.processes.predict(settings)
    rows = pd.concat([settings, gaussian.outcomes_of(mean, settings.index)], axis=1)
    known = pd.concat([model.processes.rows, rows[list(model.processes.rows.columns)]])
    return gaussian.Predictor(gaussian.processes(known, model.processes.kernels), model.factors, model.about)
