# SPDX-License-Identifier: Apache-2.0
"""Active learning: which settings of a shared buffer to run next, and what that saves against a random choice."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

from rdcnlab_papers.analysis.sharing import OUTCOMES, SETTINGS
from rdcnlab_papers.models import gaussian


def suggest(model: gaussian.Predictor, pool: pd.DataFrame, count: int) -> pd.DataFrame:
    """Choose settings of a pool to run, one after another: always the one whose prediction is the most uncertain.

    After each choice the processes are trained with this setting too, as if its run had the predicted outcome. This
    changes their deviations only. So the chosen settings are not neighbours.

    Parameters
    ----------
    model : Predictor
        The present predictor.
    pool : DataFrame
        Settings that could be run.
    count : int
        Number of settings to choose.
    """
    training, candidates, chosen = model.processes.rows, pool, []
    current = model
    for _ in range(min(count, len(pool))):
        label = candidates.index[int(np.argmax(current.doubt(candidates)))]
        setting = candidates.loc[[label]]
        chosen.append(label)
        candidates = candidates.drop(index=label)
        mean, _ = current.processes.predict(setting)
        training = pd.concat(
            [training, pd.concat([setting[list(SETTINGS)], gaussian.outcomes_of(mean, setting.index)], axis=1)],
            ignore_index=True,
        )
        current = gaussian.Predictor(gaussian.processes(training, model.processes.kernels), model.factors, model.about)
    return pool.loc[chosen]


def learning(
    rows: pd.DataFrame, *, active: bool, begin: int = 20, step: int = 5, most: int = 80, seed: int = 0
) -> pd.DataFrame:
    """Compute R2 for increasing numbers of runs, which are chosen by uncertainty (`active`) or at random.

    A third of the rows is used only for the score. Both kinds of choice begin with the same random rows.

    Returns
    -------
    DataFrame
        ``runs`` and ``r2``, the mean over outcomes.
    """
    order = np.random.default_rng(seed).permutation(len(rows))
    tests = rows.iloc[order[: len(rows) // 3]]
    pool = rows.iloc[order[len(rows) // 3 :]]
    training, candidates = pool.iloc[:begin], pool.iloc[begin:]
    scores = []
    equal = pd.DataFrame(1.0, [gaussian.ALL], [*OUTCOMES])  # the largest deviation is the same with any factor
    while True:
        fitted = gaussian.processes(training)
        mean, _ = fitted.predict(tests)
        predicted = gaussian.outcomes_of(mean, tests.index)
        r2 = np.mean([r2_score(tests[name], predicted[name]) for name in OUTCOMES])
        scores.append({"runs": len(training), "r2": float(r2)})
        if len(training) + step > min(most, len(pool)):
            return pd.DataFrame(scores)
        if active:
            model = gaussian.Predictor(fitted, equal, gaussian.provenance(training))
            additions = candidates.loc[suggest(model, candidates, step).index]
        else:
            additions = candidates.iloc[:step]
        training, candidates = pd.concat([training, additions]), candidates.drop(index=additions.index)
