# SPDX-License-Identifier: Apache-2.0
"""Trained models as files: what was trained, on which data, with which libraries.

A model is known by a digest of what it was trained on and of how. Whoever asks for the same again gets the file,
shipped in ``data/models`` or kept in the user's cache, instead of a new training.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rdcnlab import places

_DIGITS = 16


@dataclass(frozen=True)
class Recipe:
    """What a model is made of; two equal ones give the same file.

    Parameters
    ----------
    kind : str
        What it predicts: ``variant``, ``prolongation``...
    settings : dict
        Whatever decides how it is trained; plain values.
    data : str
        Digest of what it is trained on, see `digest`.
    """

    kind: str
    settings: Mapping[str, Any]
    data: str

    @property
    def name(self) -> str:
        """Name of the file, without its ending."""
        text = json.dumps({"settings": self.settings, "data": self.data}, sort_keys=True)
        return f"{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"


def digest(*parts: npt.ArrayLike) -> str:
    """Return the sha256 of arrays: their shapes, types and values."""
    sha = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        if array.dtype.kind in "OU":
            array = array.astype(np.bytes_)
        sha.update(f"{array.shape} {array.dtype.str}".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def find(recipe: Recipe, ending: str) -> Path | None:
    """Return the file of a model that was trained before, shipped or cached."""
    for folder in (places.models(), places.model_cache()):
        path = folder / f"{recipe.name}{ending}"
        if path.exists():
            return path
    return None


def shipped(kind: str, ending: str) -> list[Path]:
    """Return the shipped models of a kind."""
    return sorted(places.models().glob(f"{kind}-*{ending}"))


def provenance(path: Path) -> dict[str, Any]:
    """Return what is known of a model's file: settings, data, libraries, and what was found when it was made."""
    found: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def keep(
    recipe: Recipe, ending: str, write: Callable[[Path], None], about: Mapping[str, Any], libraries: tuple[str, ...]
) -> Path:
    """Write a model into the user's cache, whole or not at all.

    Parameters
    ----------
    recipe : Recipe
        What it is made of.
    ending : str
        Of the file, such as ``.keras``.
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
        "settings": dict(recipe.settings),
        "data": recipe.data,
        "libraries": {name: version(name) for name in libraries},
        **about,
    }
    with tempfile.TemporaryDirectory(dir=folder) as place:
        fresh = Path(place) / f"{recipe.name}{ending}"
        write(fresh)
        beside = fresh.with_suffix(".json")
        beside.write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")
        for path in (beside, fresh):  # the model last: what is found is complete
            path.replace(folder / path.name)
    return folder / f"{recipe.name}{ending}"


def ship(path: Path) -> Path:
    """Copy a model and its provenance to the shipped ones; return where it is."""
    places.models().mkdir(parents=True, exist_ok=True)
    for part in (path.with_suffix(".json"), path):
        if part.parent != places.models():
            shutil.copyfile(part, places.models() / part.name)
    return places.models() / path.name
