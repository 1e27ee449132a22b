# SPDX-License-Identifier: Apache-2.0
"""Which variant of TCP a flow is: a recurrent network over its window and RTT. Aykurt et al., Sec. VI-B.

As in the paper, a layer reduces a trace, an LSTM reads that in order, and a dense layer names the variant. What
variants differ in is how a window grows from RTT to RTT and how far it falls, so these are computed from window and RTT
for it. What tells may be over in a ms or be a curve of 100 ms, and be anywhere in a trace. So the layer that
reduces is made of convolutions of several widths, and the dense one sees the mean and the largest of all that the LSTM
says, not its last.
"""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rdcnlab.models import saved
from rdcnlab.models.network import Network, read
from rdcnlab.models.traces import Floats, Traces, cut, series
from rdcnlab.system import extras, progress

#: Passes over the data; the one that does best on traces kept aside is taken.
EPOCHS = 20
_STRIDE_MS = 5
#: Of each width: so many convolutions over so many samples, which are 1, 2, ... ms apart.
_FILTERS, _TAPS, _APART = 16, 7, (1, 2, 4, 8, 16)
_UNITS = 48
_DROPOUT = 0.5
_BATCH = 64
#: How fast it learns at first; less and less, by a cosine, down to nothing.
_RATE = 2e-3
_DECAY = 0.01
#: Counts changes of `network`, `_features` and `_train`: a model of another form is another model.
_FORM = 3
_CHANNELS = 5
_SEGMENT_KB = 9
_NORMAL = "normal"
_KIND = "variant"
_LIBRARIES = ("tensorflow-cpu", "keras", "numpy")


@dataclass(frozen=True)
class Classifier:
    """A trained network.

    Parameters
    ----------
    model : Network
        Takes what `_features` makes of traces, gives a probability for each variant.
    variants : tuple of str
        In the order of the probabilities.
    path : Path
        Its file.
    """

    model: Network
    variants: tuple[str, ...]
    path: Path

    def probabilities(self, samples: Floats) -> pd.DataFrame:
        """Return the probability of each variant, one row a trace; shape of `samples` as in `Traces`."""
        if not len(samples):
            return pd.DataFrame(columns=list(self.variants), dtype=float)
        return pd.DataFrame(self.model.predict(_features(samples)), columns=self.variants)

    def predict(self, samples: Floats) -> pd.Series[str]:
        """Return the likeliest variant of each trace."""
        likeliest = self.probabilities(samples).to_numpy().argmax(axis=1)
        return pd.Series(np.array(self.variants)[likeliest], dtype=str)

    def confusion(self, of: Traces) -> pd.DataFrame:
        """Return how many traces of each variant (rows) were taken for each (columns).

        Raises
        ------
        ValueError
            There are traces of a variant that the classifier does not know.
        """
        names = list(self.variants)
        if not set(of.variants) <= set(names):
            raise ValueError(f"traces of {', '.join(of.variants)}, but the classifier knows {', '.join(names)}")
        counts = pd.crosstab(of.about["variant"].to_numpy(), self.predict(of.samples).to_numpy())
        return counts.reindex(index=names, columns=names, fill_value=0).rename_axis(index="actual", columns="predicted")


def accuracy(confusion: pd.DataFrame) -> float:
    """Return the share of traces, in %, that were told right; NaN where there are none."""
    counts = confusion.to_numpy()
    return 100 * float(np.trace(counts)) / float(counts.sum()) if counts.sum() else float("nan")


def network(length_ms: int, classes: int) -> Any:
    """Return an untrained network for traces of a length."""
    keras = _keras()
    layers = keras.layers
    trace = keras.Input((length_ms, _CHANNELS))
    normal = layers.Normalization(name=_NORMAL)(trace)
    widths = [
        layers.Conv1D(_FILTERS, _TAPS, dilation_rate=apart, padding="same", activation="relu")(normal)
        for apart in _APART
    ]
    reduced = layers.AveragePooling1D(_STRIDE_MS)(layers.Concatenate()(widths))
    read = layers.LSTM(_UNITS, return_sequences=True)(reduced)
    said = layers.Concatenate()([layers.GlobalAveragePooling1D()(read), layers.GlobalMaxPooling1D()(read)])
    return keras.Model(trace, layers.Dense(classes, activation="softmax")(layers.Dropout(_DROPOUT)(said)))


def _features(samples: Floats) -> Floats:
    """Return what a network looks at, shape (n, ms, `_CHANNELS`).

    Logarithms of window and RTT, which go over three decades; how these change from one ms to the next; and by how much
    the window grows in an RTT, in units of 9 kB. Sizes of changes are compressed alike on both sides of zero.
    """
    logs = np.log1p(samples)
    changes = np.diff(logs, axis=1, prepend=logs[:, :1])
    window, rtt_ms = samples[:, :, :1], samples[:, :, 1:] / 1000
    growth = np.diff(window, axis=1, prepend=window[:, :1]) * rtt_ms / _SEGMENT_KB
    features: Floats = np.concatenate([logs, np.arcsinh(100 * changes), np.arcsinh(growth)], axis=2)
    return features


def trained(data: Traces, *, epochs: int = EPOCHS, seed: int = 0, show: bool = True) -> Classifier:
    """Return the classifier for some traces: the saved one where there is one, else a new one, which is saved.

    Which pass of the training is kept is decided on the runs of the last seed, which are kept aside; with one seed
    only, on the training's own.

    Parameters
    ----------
    data : Traces
        To train on. At least two variants.
    epochs : int
        Passes over the data.
    seed : int
        For the first weights and the order of traces.
    show : bool
        Show a bar while it is trained.

    Raises
    ------
    ValueError
        Fewer than two variants.
    """
    if len(data.variants) < 2:
        raise ValueError(f"traces of at least two variants are needed, not {len(data.variants)}")
    settings = {
        "variants": list(data.variants), "length_ms": data.samples.shape[1], "epochs": epochs, "rate": _RATE,
        "stride_ms": _STRIDE_MS, "filters": _FILTERS, "taps": _TAPS, "apart_ms": list(_APART), "units": _UNITS,
        "dropout": _DROPOUT, "decay": _DECAY, "batch": _BATCH, "seed": seed, "form": _FORM,
    }  # fmt: skip
    content = saved.digest(data.samples, data.about["variant"], data.about["seed"])
    recipe = saved.Recipe(_KIND, ".keras", settings, content)
    with saved.alone(recipe):
        path = saved.find(recipe)
        return load(_train(data, recipe, show) if path is None else path)


@functools.lru_cache(maxsize=32)
def load(path: Path) -> Classifier:
    """Read a saved classifier."""
    extras.require("models")
    return Classifier(read(path), tuple(saved.provenance(path)["settings"]["variants"]), path)


def best(length_ms: int) -> Classifier | None:
    """Return the classifier of the longest traces that are not longer, and of most variants; shipped ones first.

    None if all want more. See `rdcnlab.models.saved.known` for the error where there is none at all.
    """
    fitting = [(path, of["settings"]) for path, of in saved.known(_KIND) if of["settings"]["length_ms"] <= length_ms]
    if not fitting:
        return None
    return load(max(fitting, key=lambda pair: (pair[1]["length_ms"], len(pair[1]["variants"])))[0])


def classify(acks: pd.DataFrame) -> pd.DataFrame:
    """Tell which variant flows are.

    Parameters
    ----------
    acks : DataFrame
        A row for each ACK, or for the last of each ms: ``t_ns``, ``cwnd_B`` and ``srtt_us``; ``flow`` and ``run``, if
        there are several. Any flow's will do, but classifiers have seen those of the testbed of Aykurt et al. only.

    Returns
    -------
    DataFrame
        A row for each trace: ``run`` and ``flow`` as far as they are there, ``begin_ms`` (from the first ACK),
        ``variant``, and the ``probability`` that the classifier gives it; one without these for a flow too short.

    Raises
    ------
    InputError
        A column is not there or has a value that cannot be.
    RunError
        No classifier was trained or shipped yet.
    """
    parts = []
    for names, of_flow in cut(acks):
        whole = series(of_flow)
        classifier = best(len(whole))
        if classifier is None:
            parts.append(pd.DataFrame([{**names, "begin_ms": None, "variant": None, "probability": None}]))
            continue
        length = classifier.model.length_ms
        begins = range(0, len(whole) - length + 1, length)
        found = classifier.probabilities(np.stack([whole[begin : begin + length] for begin in begins]))
        told = {"begin_ms": list(begins), "variant": found.idxmax(axis=1), "probability": found.max(axis=1)}
        parts.append(pd.DataFrame({**names, **told}))
    return pd.concat(parts, ignore_index=True)


def _train(data: Traces, recipe: saved.Recipe, show: bool) -> Path:
    keras = _keras()
    epochs = int(recipe.settings["epochs"])
    seeds = sorted(set(data.about["seed"]))
    aside = (data.about["seed"] == seeds[-1]).to_numpy() if len(seeds) > 1 else np.zeros(len(data), dtype=bool)
    numbers = np.searchsorted(np.array(data.variants), data.about["variant"].to_numpy(dtype=str))
    ready = _features(data.samples)
    watched = "val_loss" if aside.any() else "loss"
    with _repeatable(int(recipe.settings["seed"])), progress.bar(epochs, "epoch", shown=show) as bar:
        model = network(data.samples.shape[1], len(data.variants))
        model.get_layer(_NORMAL).adapt(ready[~aside])
        steps = epochs * -(-int((~aside).sum()) // _BATCH)
        rate = keras.optimizers.schedules.CosineDecay(_RATE, steps)
        model.compile(
            optimizer=keras.optimizers.AdamW(rate, weight_decay=_DECAY, clipnorm=1.0),
            loss="sparse_categorical_crossentropy",
            metrics=["accuracy"],
        )
        history = model.fit(
            ready[~aside],
            numbers[~aside],
            validation_data=(ready[aside], numbers[aside]) if aside.any() else None,
            epochs=epochs,
            batch_size=_BATCH,
            verbose=0,
            callbacks=[
                keras.callbacks.EarlyStopping(watched, patience=epochs, restore_best_weights=True),
                keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: bar.update()),
            ],
        ).history
    about = {
        "traces": int((~aside).sum()),
        "kept aside": int(aside.sum()),
        "passes": len(history["loss"]),
        "best": {name: float(of[int(np.argmin(history[watched]))]) for name, of in history.items()},
    }
    # what was compiled is saved with its optimizer, which is twice as large as the network
    plain = network(data.samples.shape[1], len(data.variants))
    plain.set_weights(model.get_weights())
    return saved.keep(recipe, plain.save, about, _LIBRARIES)


def _keras() -> Any:
    """Import Keras when it is needed, since it takes seconds, and without its greetings."""
    extras.require("models")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # its results hang on the processor, and it says so each time
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras

    return keras


@contextmanager
def _repeatable(seed: int) -> Iterator[None]:
    """Have Keras draw the same numbers each time, and the caller's generators be what they were."""
    keras = _keras()
    import tensorflow

    own = random.getstate(), np.random.get_state()  # noqa: NPY002  (Keras sets this one)
    tensorflow.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)
    try:
        yield
    finally:
        random.setstate(own[0])
        np.random.set_state(own[1])  # noqa: NPY002
