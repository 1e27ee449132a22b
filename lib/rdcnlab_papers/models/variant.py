# SPDX-License-Identifier: Apache-2.0
"""Predict the TCP variant of a flow from its window and RTT, with a recurrent network. Aykurt et al., Sec. VI-B.

As in the paper, a first layer reduces a trace, an LSTM reads the result in order of time, and a dense layer predicts
the variant. Variants differ in the growth of the window from RTT to RTT, and in the size of its falls. So these
features are computed from window and RTT. A typical pattern can take 1 ms or be a curve of 100 ms, and it can be
anywhere in a trace. So the first layer has convolutions of several widths, and the dense layer reads the mean and the
maximum of all outputs of the LSTM, instead of the last one.

The network of the paper is included for comparison. This `plain` form has only the parts that the paper names: window
and RTT as inputs, an embedding that reduces them, an LSTM, and a dense layer that reads its last output.
"""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from rdcnlab.system import extras, progress
from rdcnlab_papers.models import saved
from rdcnlab_papers.models.network import Network, Plain, read
from rdcnlab_papers.models.traces import Floats, Traces, cut, series

#: Passes over the data. The pass with the best result on validation traces is kept.
EPOCHS = 20
_STRIDE_MS = 5
#: For each width: number of filters, number of samples they read, and distances of these samples in ms.
_FILTERS, _TAPS, _APART = 16, 7, (1, 2, 4, 8, 16)
_UNITS = 48
_DROPOUT = 0.5
_BATCH = 64
#: Learning rate at the begin. It decreases to zero along a cosine.
_RATE = 2e-3
_DECAY = 0.01
#: Version number of `network`, `_features` and `_train`. A change must increase it, so that models are trained again.
_FORM = 3
_CHANNELS = 5
_SEGMENT_KB = 9
_NORMAL = "normal"
_KIND = "variant"
#: Width of the plain form's embedding, and version number of `plain`.
_EMBEDDED, _PLAIN_FORM = 16, 1
#: A name of its own, because `best` must not find the plain form.
_PLAIN_KIND = "plain-variant"
LIBRARIES = ("tensorflow-cpu", "keras", "numpy")

#: The network: ``wide`` has convolutions of several widths and more features, ``plain`` is that of the paper.
Form = Literal["wide", "plain"]


@dataclass(frozen=True)
class Classifier:
    """A trained network.

    Parameters
    ----------
    model : Network or Plain
        Takes the features of traces (see `_features`), and gives a probability for each variant.
    variants : tuple of str
        Variants in the order of the probabilities.
    path : Path
        File of the network.
    """

    model: Network | Plain
    variants: tuple[str, ...]
    path: Path

    def probabilities(self, samples: Floats) -> pd.DataFrame:
        """Return the probability of each variant, one row per trace; `samples` has the shape of `Traces.samples`."""
        if not len(samples):
            return pd.DataFrame(columns=list(self.variants), dtype=float)
        form: Form = "plain" if isinstance(self.model, Plain) else "wide"
        return pd.DataFrame(self.model.predict(_features(samples, form)), columns=self.variants)

    def predict(self, samples: Floats) -> pd.Series[str]:
        """Return the most likely variant of each trace."""
        likeliest = self.probabilities(samples).to_numpy().argmax(axis=1)
        return pd.Series(np.array(self.variants)[likeliest], dtype=str)

    def confusion(self, traces: Traces) -> pd.DataFrame:
        """Return the confusion matrix: traces by their variant (rows) and by the predicted variant (columns).

        Raises
        ------
        ValueError
            There are traces of a variant that the classifier does not know.
        """
        names = list(self.variants)
        if not set(traces.variants) <= set(names):
            raise ValueError(f"traces of {', '.join(traces.variants)}, but the classifier knows {', '.join(names)}")
        counts = pd.crosstab(traces.about["variant"].to_numpy(), self.predict(traces.samples).to_numpy())
        return counts.reindex(index=names, columns=names, fill_value=0).rename_axis(index="actual", columns="predicted")


def accuracy(confusion: pd.DataFrame) -> float:
    """Return the share in % of traces whose variant was predicted correctly; NaN if there are no traces."""
    counts = confusion.to_numpy()
    return 100 * float(np.trace(counts)) / float(counts.sum()) if counts.sum() else float("nan")


def network(length_ms: int, classes: int) -> Any:
    """Return an untrained network for traces of a length."""
    keras = _keras()
    layers = keras.layers
    trace = keras.Input((length_ms, _CHANNELS))
    normal = layers.Normalization(name=_NORMAL)(trace)
    widths = [
        layers.Conv1D(_FILTERS, _TAPS, dilation_rate=dilation, padding="same", activation="relu")(normal)
        for dilation in _APART
    ]
    reduced = layers.AveragePooling1D(_STRIDE_MS)(layers.Concatenate()(widths))
    outputs = layers.LSTM(_UNITS, return_sequences=True)(reduced)
    summary = layers.Concatenate()([layers.GlobalAveragePooling1D()(outputs), layers.GlobalMaxPooling1D()(outputs)])
    return keras.Model(trace, layers.Dense(classes, activation="softmax")(layers.Dropout(_DROPOUT)(summary)))


def plain(length_ms: int, classes: int) -> Any:
    """Return an untrained network of the plain form for traces of a length."""
    keras = _keras()
    layers = keras.layers
    trace = keras.Input((length_ms, 2))
    normal = layers.Normalization(name=_NORMAL)(trace)
    embedded = layers.Conv1D(_EMBEDDED, _STRIDE_MS, strides=_STRIDE_MS)(normal)
    return keras.Model(trace, layers.Dense(classes, activation="softmax")(layers.LSTM(_UNITS)(embedded)))


def _features(samples: Floats, form: Form = "wide") -> Floats:
    """Return the features for a network, shape (n, ms, channels).

    The plain form has two: the logarithms of window and RTT, which range over three decades. The wide form has
    `_CHANNELS`: these, their changes from one ms to the next, and the growth of the window per RTT, in units of 9 kB.
    Changes are compressed symmetrically around zero.
    """
    logs = np.log1p(samples)
    if form == "plain":
        return logs
    changes = np.diff(logs, axis=1, prepend=logs[:, :1])
    window, rtt_ms = samples[:, :, :1], samples[:, :, 1:] / 1000
    growth = np.diff(window, axis=1, prepend=window[:, :1]) * rtt_ms / _SEGMENT_KB
    features: Floats = np.concatenate([logs, np.arcsinh(100 * changes), np.arcsinh(growth)], axis=2)
    return features


def load_or_train(
    data: Traces, *, epochs: int = EPOCHS, seed: int = 0, show: bool = True, form: Form = "wide"
) -> Classifier:
    """Return the classifier for some traces: the saved one if there is one, otherwise a new one, which is saved.

    The runs of the last seed are validation data: the pass of the training with the best result on them is kept. If
    there is only one seed, the training data serve as validation data.

    Parameters
    ----------
    data : Traces
        Training traces of at least two variants.
    epochs : int
        Passes over the data.
    seed : int
        Seed for the initial weights and for the order of traces.
    show : bool
        Show a progress bar during the training.
    form : {'wide', 'plain'}
        The network.

    Raises
    ------
    ValueError
        Fewer than two variants.
    """
    if len(data.variants) < 2:
        raise ValueError(f"traces of at least two variants are needed, not {len(data.variants)}")
    chosen = settings(data, epochs=epochs, seed=seed, form=form)
    content = saved.digest(data.samples, data.about["variant"], data.about["seed"])
    recipe = saved.Recipe(_PLAIN_KIND if form == "plain" else _KIND, ".keras", chosen, content)
    return load(saved.once(recipe, lambda: _train(data, recipe, show, form)))


def settings(data: Traces, *, epochs: int, seed: int = 0, form: Form = "wide") -> dict[str, Any]:
    """Return all settings that a classifier for some traces depends on, beside the traces; see `load_or_train`."""
    common: dict[str, Any] = {
        "variants": list(data.variants), "length_ms": data.samples.shape[1], "epochs": epochs, "rate": _RATE,
        "stride_ms": _STRIDE_MS, "units": _UNITS, "decay": _DECAY, "batch": _BATCH, "seed": seed,
    }  # fmt: skip
    if form == "plain":
        return common | {"embedded": _EMBEDDED, "form": _PLAIN_FORM}
    return common | {
        "filters": _FILTERS, "taps": _TAPS, "apart_ms": list(_APART), "dropout": _DROPOUT, "form": _FORM,
    }  # fmt: skip


@functools.lru_cache(maxsize=32)
def load(path: Path) -> Classifier:
    """Read a saved classifier."""
    extras.require("models")
    return Classifier(read(path), tuple(saved.provenance(path)["settings"]["variants"]), path)


def best(length_ms: int) -> Classifier | None:
    """Return the best classifier for traces of a length, or None if all classifiers need longer traces.

    The best one uses the longest traces; among those, it knows the most variants. Among equals a shipped classifier
    comes first. If there is no classifier at all, `rdcnlab_papers.models.saved.list_models` raises its error.
    """
    fitting = [
        (path, about["settings"])
        for path, about in saved.list_models(_KIND, "aykurt/tab3")
        if about["settings"]["length_ms"] <= length_ms
    ]
    if not fitting:
        return None
    return load(max(fitting, key=lambda pair: (pair[1]["length_ms"], len(pair[1]["variants"])))[0])


def classify(acks: pd.DataFrame) -> pd.DataFrame:
    """Predict the variant of flows.

    Parameters
    ----------
    acks : DataFrame
        One row for each ACK, or for the last ACK of each ms: ``t_ns``, ``cwnd_B`` and ``srtt_us``. If there are several
        flows or runs, also ``flow`` and ``run``. All flows are accepted, but the classifiers were trained only on flows
        in the testbed of Aykurt et al.

    Returns
    -------
    DataFrame
        One row for each trace: ``run`` and ``flow`` if `acks` has them, ``begin_ms`` (time after the first ACK),
        ``variant``, and ``probability``, which the classifier gives to this variant. A flow that is too short has one
        row without variant and probability.

    Raises
    ------
    InputError
        A column is missing or has an impossible value.
    RunError
        There is no trained or shipped classifier.
    """
    parts = []
    for names, of_flow in cut(acks):
        samples = series(of_flow)
        classifier = best(len(samples))
        if classifier is None:
            parts.append(pd.DataFrame([{**names, "begin_ms": None, "variant": None, "probability": None}]))
            continue
        length = classifier.model.length_ms
        begins = range(0, len(samples) - length + 1, length)
        probabilities = classifier.probabilities(np.stack([samples[begin : begin + length] for begin in begins]))
        answers = {
            "begin_ms": list(begins),
            "variant": probabilities.idxmax(axis=1),
            "probability": probabilities.max(axis=1),
        }
        parts.append(pd.DataFrame({**names, **answers}))
    return pd.concat(parts, ignore_index=True)


def _train(data: Traces, recipe: saved.Recipe, show: bool, form: Form) -> Path:
    keras = _keras()
    epochs = int(recipe.settings["epochs"])
    seeds = sorted(set(data.about["seed"]))
    aside = (data.about["seed"] == seeds[-1]).to_numpy() if len(seeds) > 1 else np.zeros(len(data), dtype=bool)
    numbers = np.searchsorted(np.array(data.variants), data.about["variant"].to_numpy(dtype=str))
    ready = _features(data.samples, form)
    build = plain if form == "plain" else network
    watched = "val_loss" if aside.any() else "loss"
    with _repeatable(int(recipe.settings["seed"])), progress.bar(epochs, "epoch", shown=show) as bar:
        model = build(data.samples.shape[1], len(data.variants))
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
        "best": {name: float(values[int(np.argmin(history[watched]))]) for name, values in history.items()},
    }
    # a compiled model is saved together with its optimizer, which is twice as large as the network
    uncompiled = build(data.samples.shape[1], len(data.variants))
    uncompiled.set_weights(model.get_weights())
    return saved.keep(recipe, uncompiled.save, about, LIBRARIES)


def _keras() -> Any:
    """Import Keras when it is needed, because the import takes seconds, and without its start messages."""
    extras.require("models")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # oneDNN gives results that depend on the processor, and prints a message about it at every start
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras

    return keras


@contextmanager
def _repeatable(seed: int) -> Iterator[None]:
    """Make Keras draw the same random numbers each time, and restore the caller's generators afterwards."""
    keras = _keras()
    import tensorflow

    states = random.getstate(), np.random.get_state()  # noqa: NPY002  (Keras sets this one)
    tensorflow.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
