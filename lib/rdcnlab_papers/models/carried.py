# SPDX-License-Identifier: Apache-2.0
"""A model of a shared buffer for conditions that it has not seen: the mean of four models that err differently there.

Three are networks: one reads logarithms of the settings, one what `physics` says of them, and one the same without rate
and RTT, whose new values it need not extend to. The fourth is the fluid model, corrected by trees that do not know rate
and RTT either. They were chosen with whole conditions held out, on settings that the score leaves out: those in
``several`` that are not in ``later``, see `rdcnlab_papers.vargas.tab2.Tab2.cases`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import ExtraTreesRegressor

from rdcnlab_papers.analysis.sharing import OUTCOMES, SETTINGS
from rdcnlab_papers.models.corrected import Corrected
from rdcnlab_papers.models.physics import physics
from rdcnlab_papers.models.scaled import network, scaled

Floats = npt.NDArray[np.float64]


def logs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the logarithms of the settings (1 is added)."""
    return rows[list(SETTINGS)].transform(np.log1p)


def everywhere(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what `physics` says of settings in numbers that mean the same at every rate and RTT."""
    return physics(rows).drop(columns=["rate", "rtt"])


class Mean(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The mean of what several estimators predict.

    Parameters
    ----------
    members : sequence of estimator
        Untrained estimators of all outcomes.
    """

    def __init__(self, members: Sequence[Any]) -> None:
        self.members = members

    def fit(self, rows: pd.DataFrame, values: Floats) -> Self:
        """Train each on settings and their outcomes, shape (n, outcomes)."""
        self.members_ = [clone(member).fit(rows, values) for member in self.members]
        return self

    def predict(self, rows: pd.DataFrame) -> Floats:
        """Predict the outcomes of settings, shape (n, outcomes)."""
        mean: Floats = np.mean([member.predict(rows) for member in self.members_], axis=0)
        return mean


def carried(outcomes: Sequence[str] = OUTCOMES) -> Mean:
    """Return the untrained model."""
    networks = [scaled(network(16, 1.0), features) for features in (logs, physics, everywhere)]
    trees = Corrected(ExtraTreesRegressor(300, random_state=0), tuple(outcomes), everywhere)
    return Mean([*networks, trees])
