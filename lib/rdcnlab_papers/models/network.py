# SPDX-License-Identifier: Apache-2.0
"""Predict with a saved classifier of variants, without TensorFlow: its import takes 7 s and 450 MB.

The computation is the same as in the layers of Keras, in single precision. The results differ in the seventh digit.
"""

from __future__ import annotations

import abc
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

Floats = npt.NDArray[np.float32]

#: Number of traces in a batch. The intermediate results of a batch fit into the processor's cache.
_BATCH = 64
#: Smallest divisor in the normalisation of Keras.
_EPSILON = np.float32(1e-7)


@dataclass(frozen=True)
class Convolution:
    """A dilated convolution with rectification: negative outputs become zero.

    Parameters
    ----------
    kernel : ndarray, shape (taps, channels, filters)
        Weights.
    bias : ndarray, shape (filters,)
        Constant that is added to the output of each filter.
    dilation_ms : int
        Dilation: distance in ms between the samples that a filter reads.
    """

    kernel: Floats
    bias: Floats
    dilation_ms: int

    def __call__(self, series: Floats) -> Floats:
        """Return the outputs of the filters for series of shape (n, ms, channels), padded with zeros."""
        taps, channels, filters = self.kernel.shape
        count, length, _ = series.shape
        reach = self.dilation_ms * (taps - 1)
        padded = np.pad(series, ((0, 0), (reach // 2, reach - reach // 2), (0, 0)))
        shifted = [padded[:, tap * self.dilation_ms : tap * self.dilation_ms + length] for tap in range(taps)]
        flat = np.concatenate(shifted, axis=2).reshape(count * length, taps * channels)
        answer: Floats = flat @ self.kernel.reshape(taps * channels, filters) + self.bias
        np.maximum(answer, 0, out=answer)
        return answer.reshape(count, length, filters)


@dataclass(frozen=True)
class Lstm:
    """A layer of long short-term memory (LSTM).

    The weights are those of input gate, forget gate, cell and output gate, in this order.

    Parameters
    ----------
    kernel : ndarray, shape (channels, 4 units)
        Weights of the input.
    recurrent : ndarray, shape (units, 4 units)
        Weights of the previous output.
    bias : ndarray, shape (4 units,)
        Constants that are added.
    """

    kernel: Floats
    recurrent: Floats
    bias: Floats

    def __call__(self, series: Floats) -> Floats:
        """Return the output after each sample of series of shape (n, steps, channels)."""
        count, steps, channels = series.shape
        units = len(self.recurrent)
        projections = (series.reshape(count * steps, channels) @ self.kernel + self.bias).reshape(
            count, steps, 4 * units
        )
        outputs = np.zeros((count, steps, units), dtype=np.float32)
        cell, last = np.zeros((2, count, units), dtype=np.float32)
        for step in range(steps):
            gates = projections[:, step] + last @ self.recurrent
            enter, forget, fresh, leave = (gates[:, gate * units : (gate + 1) * units] for gate in range(4))
            cell = _sigmoid(forget) * cell + _sigmoid(enter) * np.tanh(fresh)
            last = _sigmoid(leave) * np.tanh(cell)
            outputs[:, step] = last
        return outputs


def _sigmoid(values: Floats) -> Floats:
    # computed with tanh, which does not overflow
    result: Floats = np.float32(0.5) * (np.tanh(np.float32(0.5) * values) + np.float32(1))
    return result


@dataclass(frozen=True)
class _Trained(abc.ABC):
    """The common part of both networks: normalisation, an LSTM, and a dense layer with one output for each variant.

    Parameters
    ----------
    length_ms : int
        Length in ms of the training traces.
    mean, deviation : ndarray, shape (channels,)
        Mean and standard deviation of the features, for normalisation.
    lstm : Lstm
        The recurrent layer. The network computes its inputs from the features.
    kernel, bias : ndarray, shapes (outputs of the LSTM that are used, variants) and (variants,)
        Weights and constants of the dense output layer.
    """

    length_ms: int
    mean: Floats
    deviation: Floats
    lstm: Lstm
    kernel: Floats
    bias: Floats

    def predict(self, features: Floats) -> Floats:
        """Return the probability of each variant, shape (n, variants), for features of shape (n, ms, channels)."""
        return _in_batches(self._batch, features, len(self.bias))

    def _batch(self, features: Floats) -> Floats:
        return _shares(self._read((features - self.mean) / self.deviation) @ self.kernel + self.bias)

    @abc.abstractmethod
    def _read(self, normal: Floats) -> Floats:
        """Return the inputs of the dense layer for normalised features."""


@dataclass(frozen=True)
class Plain(_Trained):
    """The network of `rdcnlab_papers.models.variant.plain`, with its weights. Only the LSTM's last output is used.

    Parameters
    ----------
    embedding : ndarray, shape (ms, channels, units)
        Weights of the embedding. It maps each block of ``ms`` samples to one input of the LSTM.
    shift : ndarray, shape (units,)
        Constants that the embedding adds.
    """

    embedding: Floats
    shift: Floats

    def _read(self, normal: Floats) -> Floats:
        block, channels, units = self.embedding.shape
        steps = normal.shape[1] // block
        blocks = np.asarray(normal[:, : steps * block], dtype=np.float32).reshape(-1, block * channels)
        embedded: Floats = blocks @ self.embedding.reshape(block * channels, units) + self.shift
        last: Floats = self.lstm(embedded.reshape(-1, steps, units))[:, -1]
        return last


@dataclass(frozen=True)
class Network(_Trained):
    """The network of `rdcnlab_papers.models.variant.network`, with its weights. Mean and maximum of the LSTM are used.

    Parameters
    ----------
    widths : tuple of Convolution
        Parallel convolutions of different widths.
    stride_ms : int
        Number of samples whose mean is one input of the LSTM.
    """

    widths: tuple[Convolution, ...]
    stride_ms: int

    def _read(self, normal: Floats) -> Floats:
        wide = np.concatenate([width(normal) for width in self.widths], axis=2)
        steps = wide.shape[1] // self.stride_ms
        cut = wide[:, : steps * self.stride_ms].reshape(len(wide), steps, self.stride_ms, -1)
        outputs = self.lstm(cut.mean(axis=2))
        return np.concatenate([outputs.mean(axis=1), outputs.max(axis=1)], axis=1)


def _in_batches(predict: Callable[[Floats], Floats], features: Floats, variants: int) -> Floats:
    """Return the predictions for all features, computed batch by batch."""
    # on one core: the matrices are so small that threads would mostly wait for each other
    with threadpool_limits(1, "blas"):
        parts = [predict(features[begin : begin + _BATCH]) for begin in range(0, len(features), _BATCH)]
    return np.concatenate([np.empty((0, variants), dtype=np.float32), *parts])


def _shares(answer: Floats) -> Floats:
    """Return the softmax of the outputs of the dense layer."""
    odds = np.exp(answer - answer.max(axis=1, keepdims=True))
    shares: Floats = odds / odds.sum(axis=1, keepdims=True)
    return shares


def read(path: Path) -> Network | Plain:
    """Read one of the two networks from a file that Keras wrote."""
    import h5py  # comes with Keras

    with zipfile.ZipFile(path) as archive:
        layers = json.loads(archive.read("config.json"))["config"]["layers"]
        weights = h5py.File(io.BytesIO(archive.read("model.weights.h5")))

    def variables(layer: str) -> list[Floats]:
        arrays = weights["layers"][layer]["vars"]
        return [np.asarray(arrays[str(number)], dtype=np.float32) for number in range(len(arrays))]

    settings = {kind: [layer["config"] for layer in layers if layer["class_name"] == kind] for kind in _KINDS}
    mean, variance, _ = variables("normalization")
    lstm = weights["layers"]["lstm"]["cell"]["vars"]
    common = {
        "length_ms": settings["InputLayer"][0]["batch_shape"][1],
        "mean": mean,
        "deviation": np.maximum(np.sqrt(variance), _EPSILON),
        "lstm": Lstm(*(np.asarray(lstm[name], dtype=np.float32) for name in "012")),
        "kernel": variables("dense")[0],
        "bias": variables("dense")[1],
    }
    if not settings["AveragePooling1D"]:
        embedding, shift = variables("conv1d")
        return Plain(embedding=embedding, shift=shift, **common)
    # in the file a layer has the name of its kind; from the second layer of a kind on, a number follows
    names = ["conv1d" if number == 0 else f"conv1d_{number}" for number in range(len(settings["Conv1D"]))]
    widths = [
        Convolution(kernel, bias, config["dilation_rate"][0])
        for name, config in zip(names, settings["Conv1D"], strict=True)
        for kernel, bias in [variables(name)]
    ]
    return Network(widths=tuple(widths), stride_ms=settings["AveragePooling1D"][0]["pool_size"][0], **common)


_KINDS = ("InputLayer", "Conv1D", "AveragePooling1D")
