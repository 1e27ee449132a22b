# SPDX-License-Identifier: Apache-2.0
"""The alternative to scikit-learn's network: two dense layers of Keras, as an estimator; its import takes seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin

from rdcnlab.system.extras import require

Floats = npt.NDArray[np.float64]
#: Adam's steps, and the decay of weights. Keras has no lbfgs.
_EPOCHS, _BATCH, _RATE, _DECAY = 400, 16, 3e-3, 1e-3


class Dense(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Two layers of `width` rectified units, trained by Adam.

    Parameters
    ----------
    width : int
        Units of each layer.
    """

    def __init__(self, width: int = 48) -> None:
        self.width = width

    def fit(self, features: Floats, target: Floats) -> Dense:
        """Train on features and targets of variance 1."""
        require("models")
        import keras

        keras.utils.set_random_seed(0)
        decay = keras.regularizers.L2(_DECAY)
        layers = [keras.layers.Dense(self.width, "relu", kernel_regularizer=decay) for _ in range(2)]
        model = keras.Sequential([keras.Input(features.shape[1:]), *layers, keras.layers.Dense(target.shape[1])])
        model.compile(keras.optimizers.Adam(_RATE), "mse")
        model.fit(np.asarray(features), np.asarray(target), batch_size=_BATCH, epochs=_EPOCHS, verbose=0)
        self.model_: Any = model
        self.n_features_in_ = features.shape[1]
        return self

    def predict(self, features: Floats) -> Floats:
        """Return the predicted targets."""
        answer: Floats = np.asarray(self.model_.predict(np.asarray(features), verbose=0), dtype=float)
        return answer
