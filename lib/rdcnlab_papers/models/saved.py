# SPDX-License-Identifier: Apache-2.0
"""Trained models as files, with their settings, their data and the versions of libraries.

A digest of the training data and of the settings identifies a model. If a model with this digest is shipped in
``data/models`` or is in the user's cache, it is not trained again. Each file has a second file beside it, with its
provenance.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.system import places
from rdcnlab.system.locks import locked

_DIGITS = 16
_SKLEARN = ("scikit-learn", "skops", "numpy")


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a model: equal recipes give the same model.

    Parameters
    ----------
    kind : str
        What the model predicts: ``variant``, ``prolongation``...
    ending : str
        Suffix of the file, such as ``.keras``.
    settings : dict
        All settings that the training depends on, as plain values.
    data : str
        Digest of the training data, see `digest`.
    """

    kind: str
    ending: str
    settings: Mapping[str, Any]
    data: str

    @property
    def name(self) -> str:
        """Name of the file."""
        text = json.dumps({"settings": self.settings, "data": self.data}, sort_keys=True)
        return f"{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}{self.ending}"


def digest(*parts: npt.ArrayLike) -> str:
    """Return the sha256 of arrays: their shapes, types and values."""
    sha = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        if array.dtype.kind in "OU":
            array = array.astype(np.bytes_)
        sha.update(f"{array.shape} {array.dtype.str}".encode())
        sha.update(array.data if array.size else b"")  # no copy, because the array may be large
    return sha.hexdigest()


def find(recipe: Recipe) -> Path | None:
    """Return the file of a model that is shipped or in the cache, or None."""
    paths = (folder / recipe.name for folder in (places.models(), places.model_cache()))
    return next((path for path in paths if path.exists()), None)


def once(recipe: Recipe, train: Callable[[], Path]) -> Path:
    """Return the file of a model: the saved file if there is one, otherwise that of `train`, which trains and keeps it.

    Other processes that need the same model wait for it.
    """
    folder = places.model_cache()
    folder.mkdir(parents=True, exist_ok=True)
    with locked((folder / recipe.name).with_suffix(".lock")):
        return find(recipe) or train()


def check_ranges(rows: pd.DataFrame, ranges: Mapping[str, tuple[float, float]], slack: float = 0.0) -> None:
    """Check that all numbers are inside of the ranges of a model's training data.

    Parameters
    ----------
    rows : DataFrame
        Inputs; it has a column for each range.
    ranges : dict of str to (float, float)
        Smallest and largest value by column; both are included.
    slack : float
        Share by which a number may be outside, for numbers that were computed.

    Raises
    ------
    InputError
        A number is outside of its range, or is none.
    """
    for name, (low, high) in ranges.items():
        # not "outside", which is false for NaN
        inside = (rows[name] >= low * (1 - slack)) & (rows[name] <= high * (1 + slack))
        if not inside.all():
            number = float(rows[name][~inside].iloc[0])
            raise InputError.of(name, number, f"a number from {low:g} to {high:g}, the range of the training data")


def list_models(kind: str, item: str) -> list[tuple[Path, dict[str, Any]]]:
    """Return all models of a kind with their provenance, the shipped ones first.

    Parameters
    ----------
    kind : str
        Beginning of the names of files.
    item : str
        Item that trains such a model, for the error's words.

    Raises
    ------
    RunError
        There is no model of this kind.
    """
    folders = (places.models(), places.model_cache())
    records = [path for folder in folders for path in sorted(folder.glob(f"{kind}-*.json"))]
    provenances = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in records]
    models = [(path.with_suffix(about["ending"]), about) for path, about in provenances]
    models = [(path, about) for path, about in models if path.exists()]
    if not models:
        raise RunError(f"there is no model of the {kind} yet; this trains one: rdcnlab reproduce {item}")
    return models


def provenance(path: Path) -> dict[str, Any]:
    """Return the provenance of a model's file: settings, data, libraries, and results of the training."""
    about: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return about


def keep(recipe: Recipe, write: Callable[[Path], None], about: Mapping[str, Any], libraries: tuple[str, ...]) -> Path:
    """Write a model into the user's cache, either completely or not at all.

    Parameters
    ----------
    recipe : Recipe
        Recipe of the model.
    write : callable
        Writes the model to a path.
    about : dict
        Further information, such as the number of rows and the scores, as plain values.
    libraries : tuple of str
        Distributions whose versions are recorded.
    """
    folder = places.model_cache()
    folder.mkdir(parents=True, exist_ok=True)
    text = {
        "kind": recipe.kind,
        "ending": recipe.ending,
        "settings": dict(recipe.settings),
        "data": recipe.data,
        "libraries": {name: version(name) for name in libraries},
        **about,
    }
    with tempfile.TemporaryDirectory(dir=folder) as directory:
        fresh = Path(directory) / recipe.name
        write(fresh)
        record = fresh.with_suffix(".json")
        record.write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")
        for path in (record, fresh):  # the model is moved last, so a model that exists is complete
            path.replace(folder / path.name)
    return folder / recipe.name


def most_rows(kind: str, item: str) -> Path:
    """Return the file of the model of a kind with the most rows to train on, in the order of `list_models`."""
    return max(list_models(kind, item), key=lambda pair: int(pair[1]["rows"]))[0]


def keep_sklearn(recipe: Recipe, model: Any, about: Mapping[str, Any]) -> Path:
    """Write estimators of scikit-learn, or a dict of them, into the user's cache; see `keep`."""
    import_skops()
    from skops.io import dump

    return keep(recipe, lambda target: dump(model, target, compression=ZIP_LZMA), about, _SKLEARN)


def read_sklearn(path: Path) -> Any:
    """Read a file of `keep_sklearn`. Only classes of scikit-learn and numpy are created, and no other code is run."""
    import_skops()
    from skops.io import get_untrusted_types, load

    trusted = [name for name in get_untrusted_types(file=path) if name.split(".")[0] in ("sklearn", "numpy")]
    return load(path, trusted=trusted)


def import_skops() -> None:
    """Import `skops.io` without all of scikit-learn.

    It imports every module of scikit-learn, which takes seconds, to list the estimators that it trusts unasked. Here
    `read_sklearn` says what is trusted.
    """
    import sklearn.utils

    listing = sklearn.utils.all_estimators
    sklearn.utils.all_estimators = list
    try:
        import skops.io  # noqa: F401  (imported for later imports)
    finally:
        sklearn.utils.all_estimators = listing


def ship(paths: Iterable[Path]) -> None:
    """Ship these models, with their provenance. They replace the shipped models of their kinds."""
    chosen = list(paths)
    places.models().mkdir(parents=True, exist_ok=True)
    kinds = {provenance(path)["kind"] for path in chosen}
    names = {name for path in chosen for name in (path.name, path.with_suffix(".json").name)}
    for old in [old for kind in kinds for old in places.models().glob(f"{kind}-*") if old.name not in names]:
        old.unlink()
    for part in [part for path in chosen for part in (path, path.with_suffix(".json"))]:
        if part.parent != places.models():
            shutil.copyfile(part, places.models() / part.name)
