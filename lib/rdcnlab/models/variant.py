# SPDX-License-Identifier: Apache-2.0
"""Which variant of TCP a flow is: a recurrent network over its window and RTT. Aykurt et al., Sec. VI-B.

A *trace* is half a second of what a flow's ACKs tell: the congestion window in kB and the smoothed RTT in us, once a
ms. As in the paper, a layer reduces it (a convolution whose stride is its width), an LSTM reads that in order, and a
dense layer names the variant.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab import progress, tables
from rdcnlab.errors import InputError
from rdcnlab.models import saved
from rdcnlab.runs import Runs
from rdcnlab.units import NS_PER_MS

LENGTH_MS = 500
COLUMNS = ("cwnd_B", "srtt_us")
ENDING = ".keras"
_LIBRARIES = ("tensorflow-cpu", "keras", "numpy")
#: Trained by no more than this many passes; the one that does best on traces kept aside is taken.
EPOCHS = 80
#: Passes without a better one after which training ends.
_PATIENCE = 15
_STRIDE_MS = 5
_FILTERS = 32
_UNITS = 64
_BATCH = 64

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Traces:
    """Traces of flows.

    Parameters
    ----------
    samples : ndarray of float32, shape (n, ms, 2)
        Congestion window [kB] and smoothed RTT [us].
    about : DataFrame
        A row for each: ``variant``, ``run``, ``seed``, ``period_ms``, ``flow``, ``begin_ms``. Nothing of it but the
        variant, which is what shall be predicted, is ever shown to a model.
    """

    samples: Floats
    about: pd.DataFrame

    def __len__(self) -> int:
        return len(self.samples)

    def where(self, mask: npt.ArrayLike) -> Traces:
        """Return some of the traces."""
        chosen = np.asarray(mask)
        return Traces(self.samples[chosen], self.about[chosen].reset_index(drop=True))

    def first(self, length_ms: int) -> Traces:
        """Return the begin of each trace."""
        return Traces(self.samples[:, :length_ms], self.about)

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants there are, in the order of the alphabet."""
        return tuple(sorted(set(self.about["variant"])))


def traces(runs: Runs, length_ms: int = LENGTH_MS) -> Traces:
    """Cut the flows of runs into traces, one after the other from the begin; what is shorter at the end is left out.

    Parameters
    ----------
    runs : Runs
        With ``tcp`` tables in bins of at most 1 ms.
    length_ms : int
        Length of a trace.
    """
    values: list[Floats] = []
    about: list[dict[str, Any]] = []
    for place, run in enumerate(runs):
        frame = run.table("tcp").to_pandas()
        variant_of = {flow.name: flow.cc for flow in run.scenario.flows}
        period = next((flow.period for flow in run.scenario.flows if flow.slots), None)
        for (flow,), of_flow in tables.groups(frame, ["flow"]):
            whole = series(of_flow)
            for begin in range(0, len(whole) - length_ms + 1, length_ms):
                values.append(whole[begin : begin + length_ms])
                about.append(
                    {
                        "variant": variant_of[flow],
                        "run": place,
                        "seed": run.scenario.seed,
                        "period_ms": (period or 0) / NS_PER_MS,
                        "flow": flow,
                        "begin_ms": begin,
                    }
                )
    stacked = np.stack(values) if values else np.empty((0, length_ms, len(COLUMNS)), dtype=np.float32)
    return Traces(stacked, pd.DataFrame(about, columns=["variant", "run", "seed", "period_ms", "flow", "begin_ms"]))


def series(acks: pd.DataFrame) -> Floats:
    """Return what the ACKs of one flow tell, once a ms: the last at or before its end, the first before there is any.

    Parameters
    ----------
    acks : DataFrame
        ``t_ns``, ``cwnd_B``, ``srtt_us``, in order of time.

    Returns
    -------
    ndarray of float32, shape (ms, 2)
        Congestion window [kB] and smoothed RTT [us].
    """
    t_ns = acks["t_ns"].to_numpy(dtype=float)
    ends = np.arange(1, t_ns[-1] // NS_PER_MS + 2) * NS_PER_MS
    last = np.maximum(np.searchsorted(t_ns, ends, side="left") - 1, 0)
    cwnd, rtt = (acks[name].to_numpy(dtype=np.float64)[last] for name in COLUMNS)
    return np.stack([cwnd / 1000, rtt], axis=1).astype(np.float32)


def _features(samples: Floats) -> Floats:
    """Return logarithms: windows and RTTs go over three decades, and their ratios are what variants differ in."""
    logs: Floats = np.log1p(samples)
    return logs


@dataclass(frozen=True)
class Classifier:
    """A trained network.

    Parameters
    ----------
    model : keras.Model
        Takes logarithms of traces, gives a probability for each variant.
    variants : tuple of str
        In the order of the probabilities.
    path : Path
        Its file.
    """

    model: Any
    variants: tuple[str, ...]
    path: Path

    def probabilities(self, samples: Floats) -> pd.DataFrame:
        """Return the probability of each variant, one row a trace; shape of `samples` as in `Traces`."""
        return pd.DataFrame(self.model.predict(_features(samples), batch_size=512, verbose=0), columns=self.variants)

    def predict(self, samples: Floats) -> pd.Series[str]:
        """Return the likeliest variant of each trace."""
        likeliest = self.probabilities(samples).to_numpy().argmax(axis=1)
        return pd.Series(np.array(self.variants)[likeliest])

    def confusion(self, of: Traces) -> pd.DataFrame:
        """Return how many traces of each variant (rows) were taken for each (columns)."""
        names = list(self.variants)
        counts = pd.crosstab(of.about["variant"], self.predict(of.samples).to_numpy())
        return counts.reindex(index=names, columns=names, fill_value=0).rename_axis(index="actual", columns="predicted")


def network(length_ms: int, classes: int) -> Any:
    """Return an untrained network for traces of a length."""
    keras = _keras()
    return keras.Sequential(
        [
            keras.Input((length_ms, len(COLUMNS))),
            keras.layers.Normalization(),
            keras.layers.Conv1D(_FILTERS, _STRIDE_MS, strides=_STRIDE_MS, activation="relu"),
            keras.layers.LSTM(_UNITS),
            keras.layers.Dense(classes, activation="softmax"),
        ]
    )


def trained(data: Traces, *, epochs: int = EPOCHS, seed: int = 0, show: bool = True) -> Classifier:
    """Return the classifier for some traces: the saved one where there is one, else a new one, which is saved.

    Which pass of the training is kept is decided on the runs of the last seed, which are kept aside; with one seed
    only, on the training's own.

    Parameters
    ----------
    data : Traces
        To train on. At least two variants.
    epochs : int
        Most passes over the data.
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
        "variants": list(data.variants), "length_ms": data.samples.shape[1], "epochs": epochs, "patience": _PATIENCE,
        "stride_ms": _STRIDE_MS, "filters": _FILTERS, "units": _UNITS, "batch": _BATCH, "seed": seed,
    }  # fmt: skip
    recipe = saved.Recipe("variant", settings, saved.digest(data.samples, data.about["variant"], data.about["seed"]))
    path = saved.find(recipe, ENDING)
    return _train(data, recipe, show) if path is None else load(path)


def best(length_ms: int) -> Classifier:
    """Return the shipped classifier of most variants for traces of a length, or the longest that is not longer.

    Raises
    ------
    InputError
        There is none for traces that short.
    """
    known = {path: saved.provenance(path)["settings"] for path in saved.shipped("variant", ENDING)}
    lengths = sorted({int(of["length_ms"]) for of in known.values()})
    fitting = [path for path, of in known.items() if of["length_ms"] <= length_ms]
    if not fitting:
        allowed = f"at least {lengths[0]} ms of ACKs" if lengths else "nothing, because no classifier is shipped"
        raise InputError.of("trace", f"{length_ms} ms", allowed)
    return load(max(fitting, key=lambda path: (known[path]["length_ms"], len(known[path]["variants"]))))


def classify(acks: pd.DataFrame) -> pd.DataFrame:
    """Tell which variant flows are.

    Parameters
    ----------
    acks : DataFrame
        A row for each ACK, or for the last of each ms: ``t_ns``, ``cwnd_B`` and ``srtt_us``; ``flow``, if there are
        several. Any flow's will do, but the classifier has seen those of the testbed of Aykurt et al. only.

    Returns
    -------
    DataFrame
        A row for each trace: ``flow``, ``begin_ms`` (from the first ACK), ``variant``, and the ``probability`` that the
        classifier gives it.

    Raises
    ------
    InputError
        A column is not there or has no numbers, or a flow is shorter than any classifier needs.
    """
    missing = [name for name in ("t_ns", *COLUMNS) if name not in acks.columns]
    if missing:
        raise InputError.of("columns", ", ".join(map(str, acks.columns)), f"a table with {', '.join(missing)}")
    for name in ("t_ns", *COLUMNS):
        if not pd.api.types.is_numeric_dtype(acks[name]) or not np.isfinite(acks[name]).all():
            raise InputError.of(f"column {name}", acks[name].dtype, "numbers, none missing")
    parts = []
    for (flow,), of_flow in tables.groups(acks if "flow" in acks.columns else acks.assign(flow=""), ["flow"]):
        ordered = of_flow.sort_values("t_ns", kind="stable")
        whole = series(ordered.assign(t_ns=ordered["t_ns"] - ordered["t_ns"].iloc[0]))
        classifier = best(len(whole))
        length = int(classifier.model.input_shape[1])
        begins = range(0, len(whole) - length + 1, length)
        found = classifier.probabilities(np.stack([whole[begin : begin + length] for begin in begins]))
        parts.append(
            pd.DataFrame(
                {
                    "flow": flow,
                    "begin_ms": list(begins),
                    "variant": found.idxmax(axis=1),
                    "probability": found.max(axis=1),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _keras() -> Any:
    """Import Keras when it is needed, since it takes seconds, and without its greetings."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import keras

    return keras


def load(path: Path) -> Classifier:
    """Read a saved classifier."""
    keras = _keras()
    return Classifier(keras.models.load_model(path), tuple(saved.provenance(path)["settings"]["variants"]), path)


def _train(data: Traces, recipe: saved.Recipe, show: bool) -> Classifier:
    keras = _keras()
    epochs, seed = int(recipe.settings["epochs"]), int(recipe.settings["seed"])
    keras.utils.set_random_seed(seed)
    seeds = sorted(set(data.about["seed"]))
    aside = (data.about["seed"] == seeds[-1]).to_numpy() if len(seeds) > 1 else np.zeros(len(data), dtype=bool)
    numbers = np.searchsorted(np.array(data.variants), data.about["variant"])
    ready = _features(data.samples)
    model = network(data.samples.shape[1], len(data.variants))
    model.layers[0].adapt(ready[~aside])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    watched = "val_loss" if aside.any() else "loss"
    with progress.bar(epochs, "epoch", shown=show) as bar:
        history = model.fit(
            ready[~aside],
            numbers[~aside],
            validation_data=(ready[aside], numbers[aside]) if aside.any() else None,
            epochs=epochs,
            batch_size=_BATCH,
            verbose=0,
            callbacks=[
                keras.callbacks.EarlyStopping(watched, patience=_PATIENCE, restore_best_weights=True),
                keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: bar.update()),
            ],
        ).history
    about = {
        "traces": int((~aside).sum()),
        "kept aside": int(aside.sum()),
        "passes": len(history["loss"]),
        "best": {name: float(of[int(np.argmin(history[watched]))]) for name, of in history.items()},
    }
    path = saved.keep(recipe, ENDING, lambda place: model.save(place, include_optimizer=False), about, _LIBRARIES)
    return Classifier(model, data.variants, path)


def accuracy(confusion: pd.DataFrame) -> float:
    """Return the share of traces, in %, that were told right."""
    return 100 * float(np.trace(confusion.to_numpy())) / float(confusion.to_numpy().sum())


def choose(data: Traces, count: int) -> Traces:
    """Return so many of the traces, drawn once for all; all where there are no more."""
    if len(data) <= count:
        return data
    mask = np.zeros(len(data), dtype=bool)
    mask[np.random.default_rng(0).permutation(len(data))[:count]] = True
    return data.where(mask)


def of(data: Traces, variants: Sequence[str]) -> Traces:
    """Return the traces of runs in which all flows are of some variants."""
    alien = set(data.about.loc[~data.about["variant"].isin(variants), "run"])
    return data.where(~data.about["run"].isin(alien).to_numpy())
