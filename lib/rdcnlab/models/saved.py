# SPDX-License-Identifier: Apache-2.0
"""Trained models as files: what was trained, on which data, with which libraries.

A model is known by a digest of what it was trained on and of how. Whoever asks for the same again gets the file,
shipped in ``data/models`` or kept in the user's cache, instead of a new training. Beside each file stands what made it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA

import numpy as np
import numpy.typing as npt

from rdcnlab.fields.errors import RunError
from rdcnlab.system import places
from rdcnlab.system.locks import locked

_DIGITS = 16
_SKLEARN = ("scikit-learn", "skops", "numpy")


@dataclass(frozen=True)
class Recipe:
    """What a model is made of; two equal ones are taken for the same.

    Parameters
    ----------
    kind : str
        What it predicts: ``variant``, ``prolongation``...
    ending : str
        Of its file, such as ``.keras``.
    settings : dict
        Whatever decides how it is trained; plain values.
    data : str
        Digest of what it is trained on, see `digest`.
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
        sha.update(array.data if array.size else b"")  # not a copy of what may be large
    return sha.hexdigest()


def find(recipe: Recipe) -> Path | None:
    """Return the file of a model that was trained before, shipped or cached."""
    paths = (folder / recipe.name for folder in (places.models(), places.model_cache()))
    return next((path for path in paths if path.exists()), None)


@contextmanager
def alone(recipe: Recipe) -> Iterator[None]:
    """Let no other process train the same model meanwhile."""
    folder = places.model_cache()
    folder.mkdir(parents=True, exist_ok=True)
    with locked((folder / recipe.name).with_suffix(".lock")):
        yield


def known(kind: str) -> list[tuple[Path, dict[str, Any]]]:
    """Return all models of a kind with their provenance, the shipped ones first.

    Raises
    ------
    RunError
        There is none.
    """
    folders = (places.models(), places.model_cache())
    beside = [path for folder in folders for path in sorted(folder.glob(f"{kind}-*.json"))]
    found = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in beside]
    models = [(path.with_suffix(about["ending"]), about) for path, about in found]
    models = [(path, about) for path, about in models if path.exists()]
    if not models:
        raise RunError(f"there is no model of the {kind} yet; its notebook trains one (rdcnlab reproduce)")
    return models


def provenance(path: Path) -> dict[str, Any]:
    """Return what is known of a model's file: settings, data, libraries, and what was found when it was made."""
    about: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return about


def keep(recipe: Recipe, write: Callable[[Path], None], about: Mapping[str, Any], libraries: tuple[str, ...]) -> Path:
    """Write a model into the user's cache, whole or not at all.

    Parameters
    ----------
    recipe : Recipe
        What it is made of.
    write : callable
        Writes the model to a path.
    about : dict
        What else the reader should know, such as the number of rows and the scores; plain values.
    libraries : tuple of str
        Distributions whose versions are written down.
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
    with tempfile.TemporaryDirectory(dir=folder) as place:
        fresh = Path(place) / recipe.name
        write(fresh)
        beside = fresh.with_suffix(".json")
        beside.write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")
        for path in (beside, fresh):  # the model last: what is found is complete
            path.replace(folder / path.name)
    return folder / recipe.name


def most_rows(kind: str) -> Path:
    """Return the file of the model of a kind that was trained on most rows, a shipped one before others."""
    return max(known(kind), key=lambda pair: int(pair[1]["rows"]))[0]


def keep_sklearn(recipe: Recipe, model: Any, about: Mapping[str, Any]) -> Path:
    """Write estimators of scikit-learn, or a dict of them, into the user's cache; see `keep`."""
    from skops.io import dump

    return keep(recipe, lambda place: dump(model, place, compression=ZIP_LZMA), about, _SKLEARN)


def read_sklearn(path: Path) -> Any:
    """Read what `keep_sklearn` wrote. Data and not code: only classes of these libraries are made."""
    from skops.io import get_untrusted_types, load

    ours = [name for name in get_untrusted_types(file=path) if name.split(".")[0] in ("sklearn", "numpy")]
    return load(path, trusted=ours)


def ship(paths: Iterable[Path]) -> None:
    """Make these the shipped models of their kinds, with their provenance."""
    chosen = list(paths)
    places.models().mkdir(parents=True, exist_ok=True)
    kinds = {provenance(path)["kind"] for path in chosen}
    names = {name for path in chosen for name in (path.name, path.with_suffix(".json").name)}
    for old in [old for kind in kinds for old in places.models().glob(f"{kind}-*") if old.name not in names]:
        old.unlink()
    for part in [part for path in chosen for part in (path, path.with_suffix(".json"))]:
        if part.parent != places.models():
            shutil.copyfile(part, places.models() / part.name)
