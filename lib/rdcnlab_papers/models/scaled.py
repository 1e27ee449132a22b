# SPDX-License-Identifier: Apache-2.0
"""Estimators whose features and outcomes are scaled to variance 1, and the two-layer network of Vargas et al."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler


def scaled(core: Any, features: Callable[[pd.DataFrame], pd.DataFrame]) -> TransformedTargetRegressor:
    """Return an untrained model: features of settings, everything scaled to variance 1, and an estimator."""
    steps = make_pipeline(FunctionTransformer(features), StandardScaler(), core)
    return TransformedTargetRegressor(steps, transformer=StandardScaler())


def network(width: int, decay: float) -> MLPRegressor:
    """Return an untrained network with two layers of so many units, as in Sec. 7.2.4, with weight decay."""
    return MLPRegressor(hidden_layer_sizes=(width, width), solver="lbfgs", alpha=decay, max_iter=2000, random_state=0)
