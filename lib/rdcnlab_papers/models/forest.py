# SPDX-License-Identifier: Apache-2.0
"""The forest of Aykurt et al., Sec. VI-A, as a file that can predict, and records of its tests.

The records are the predictions for held-out runs, for which 11,000 trees are trained, and the result of the search over
the grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import ParameterGrid

from rdcnlab.fields.errors import InputError
from rdcnlab.system import progress
from rdcnlab_papers.models import fct, saved

_KIND, _SEARCH, _HELD_OUT = "seconds", "search", "held-out"
#: Version number of `fct.forest` and of the form of its files; a change of either must increase it.
_FORM = 1
_LIBRARIES = ("scikit-learn", "numpy")
_NAMES = ("migrated", "main")
_NUMBERS = ("day_ms", "night_ms")


@dataclass(frozen=True)
class Forest:
    """A trained forest.

    Parameters
    ----------
    model : estimator
        A model with the inputs `fct.INPUTS`.
    about : dict
        Provenance. It includes the ``variants`` of each flow and the ``ranges`` [ms] of the training data, and
        ``off_s``, the root mean square error [s] on held-out runs.
    """

    model: Any
    about: Mapping[str, Any]

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return ``prolongation_s`` and the typical error, ``off_s``, for rows of `fct.INPUTS`.

        Raises
        ------
        InputError
            An input is outside of the range of the training data.
        """
        for name in _NAMES:
            variants = self.about["variants"][name]
            for value in rows[name]:
                if value not in variants:
                    raise InputError.unknown(name, value, variants, "variant")
        saved.check_ranges(rows, {name: self.about["ranges"][name] for name in _NUMBERS})
        return pd.DataFrame({fct.TARGET: self.model.predict(rows[list(fct.INPUTS)]), "off_s": self.about["off_s"]})


def load_or_train(data: pd.DataFrame, parameters: Mapping[str, Any]) -> Path:
    """Return the file of the forest for a data set: the saved file if there is one, otherwise a new one.

    Parameters
    ----------
    data : DataFrame
        Data as `fct.dataset` returns them.
    parameters : dict
        Parameters of the forest, as `fct.forest` takes them.
    """
    recipe = saved.Recipe(_KIND, ".skops", {**parameters, "form": _FORM}, _content(data))

    def train() -> Path:
        model = fct.forest(**parameters)
        off = fct.score(data, model).mse ** 0.5
        model.fit(data[list(fct.INPUTS)], data[fct.TARGET])
        about = {
            "rows": len(data),
            "off_s": off,
            "variants": {name: sorted(set(data[name])) for name in _NAMES},
            "ranges": {name: [float(data[name].min()), float(data[name].max())] for name in _NUMBERS},
        }
        return saved.keep_sklearn(recipe, model, about)

    return saved.once(recipe, train)


@dataclass(frozen=True)
class HeldOut:
    """The record of a forest's predictions for runs that it was not trained on.

    Parameters
    ----------
    path : Path
        File of the record.
    runs : Scores
        Scores of folds over runs.
    scenarios : Scores or None
        Scores of folds over scenarios, if there are enough scenarios.
    times : Scores or None
        Scores of folds over days and nights, if there are at least two.
    lost : Series
        Importance of each input, see `fct.importances`.
    """

    path: Path
    runs: fct.Scores
    scenarios: fct.Scores | None
    times: fct.Scores | None
    lost: pd.Series[float]


def held_out(data: pd.DataFrame, parameters: Mapping[str, Any], *, trees: int) -> HeldOut:
    """Return the predictions for held-out folds: from the saved record if there is one, otherwise by training.

    Parameters
    ----------
    data : DataFrame
        Data as `fct.dataset` returns them.
    parameters : dict
        Parameters of the forest, as `fct.forest` takes them.
    trees : int
        Number of trees for `fct.importances`, which needs fewer.
    """
    kinds: list[fct.Folds] = ["runs"]
    if data["scenario"].nunique() >= fct.FOLDS:
        kinds.append("scenarios")
    if len(data[["day_ms", "night_ms"]].drop_duplicates()) > 1:
        kinds.append("times")
    settings = {**parameters, "folds": fct.FOLDS, "kinds": kinds, "trees": trees, "form": _FORM}
    recipe = saved.Recipe(_HELD_OUT, ".npz", settings, _content(data))

    def train() -> Path:
        model = fct.forest(**parameters)
        record: dict[str, Any] = {folds: fct.score(data, model, folds).predictions for folds in kinds}
        lost = fct.importances(data, fct.forest(**{**parameters, "n_estimators": trees}))
        record["lost"] = lost[list(fct.INPUTS)].to_numpy()
        return saved.keep(recipe, lambda target: np.savez_compressed(target, **record), {"rows": len(data)}, _LIBRARIES)

    path = saved.once(recipe, train)
    with np.load(path) as archive:
        scored = {folds: fct.scores(data, archive[folds], folds) for folds in kinds}
        lost = pd.Series(archive["lost"], index=list(fct.INPUTS)).sort_values(ascending=False)
    return HeldOut(path, scored["runs"], scored.get("scenarios"), scored.get("times"), lost)


def load(path: Path) -> Forest:
    """Read a saved forest."""
    return Forest(saved.read_sklearn(path), saved.provenance(path))


def best() -> Forest:
    """Return the forest that was trained on the most rows. Among equals, a shipped forest comes first."""
    return load(saved.most_rows(_KIND, "aykurt/fig15"))


def load_or_search(
    data: pd.DataFrame, grid: Mapping[str, tuple[Any, ...]] = fct.GRID, *, workers: int | None = None
) -> Path:
    """Return the file of a search's record: the saved file if there is one, otherwise that of a new search.

    A new search shows a progress bar.

    Parameters
    ----------
    data : DataFrame
        Data as `fct.dataset` returns them.
    grid : dict
        Parameters and their values.
    workers : int, optional
        Number of processes; by default one for each core.
    """
    settings = {"grid": {name: list(values) for name, values in grid.items()}, "folds": fct.FOLDS, "form": _FORM}
    recipe = saved.Recipe(_SEARCH, ".csv", settings, _content(data))

    def search() -> Path:
        parts = []
        with progress.bar(len(ParameterGrid(settings["grid"])), "forest") as bar:
            for part in fct.search(data, "runs", grid, workers=workers):
                parts.append(part)
                bar.update(len(part))
        scores = pd.concat(parts, ignore_index=True).sort_values("mse", ignore_index=True)
        return saved.keep(recipe, lambda target: scores.to_csv(target, index=False), {"rows": len(data)}, _LIBRARIES)

    return saved.once(recipe, search)


def _content(data: pd.DataFrame) -> str:
    return saved.digest(*(data[name].to_numpy() for name in (*fct.INPUTS, fct.TARGET)))
