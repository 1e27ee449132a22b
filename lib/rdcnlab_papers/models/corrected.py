# SPDX-License-Identifier: Apache-2.0
"""Estimators of the outcomes of a shared buffer: the fluid model, and corrections of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from rdcnlab_papers.analysis.sharing import OUTCOMES
from rdcnlab_papers.models.fluid import balance
from rdcnlab_papers.models.physics import physics

Floats = npt.NDArray[np.float64]


class Fluid(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The fluid model as an estimator, which learns nothing.

    Parameters
    ----------
    outcomes : sequence of str
        Outcomes to predict.
    """

    def __init__(self, outcomes: Sequence[str] = OUTCOMES) -> None:
        self.outcomes = outcomes

    def fit(self, rows: pd.DataFrame, values: Floats) -> Self:  # noqa: ARG002  (scikit-learn's interface)
        """Learn nothing."""
        self.n_features_in_ = rows.shape[1]
        return self

    def predict(self, rows: pd.DataFrame) -> Floats:
        """Return the outcomes of settings in balance, shape (n, outcomes)."""
        return balance(rows)[list(self.outcomes)].to_numpy(float)


class Corrected(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The fluid model with a correction: an estimator of how outcomes differ from those in balance.

    Parameters
    ----------
    core : estimator
        Estimates the differences from the features, all scaled to variance 1.
    outcomes : sequence of str
        Outcomes that it is trained on.
    features : callable
        Takes settings and returns features.
    """

    def __init__(
        self,
        core: Any,
        outcomes: Sequence[str] = OUTCOMES,
        features: Callable[[pd.DataFrame], pd.DataFrame] = physics,
    ) -> None:
        self.core = core
        self.outcomes = outcomes
        self.features = features

    def fit(self, rows: pd.DataFrame, values: Floats) -> Self:
        """Train on settings and their outcomes, shape (n, outcomes)."""
        self.scale_ = StandardScaler()
        self.estimator_ = make_pipeline(FunctionTransformer(self.features), StandardScaler(), clone(self.core))
        self.estimator_.fit(rows, self.scale_.fit_transform(values - Fluid(self.outcomes).predict(rows)))
        return self

    def predict(self, rows: pd.DataFrame) -> Floats:
        """Predict the outcomes of settings, shape (n, outcomes)."""
        # an estimator of one outcome may predict a row, not a column
        scaled = np.reshape(self.estimator_.predict(rows), (len(rows), len(self.outcomes)))
        corrections: Floats = self.scale_.inverse_transform(scaled)
        return Fluid(self.outcomes).predict(rows) + corrections
