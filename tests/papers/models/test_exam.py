# SPDX-License-Identifier: Apache-2.0
"""Tables of many classifiers are kept by their recipe: the shipped ones are current, and a stale one is not used."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rdcnlab.runs.frame import Runs
from rdcnlab.system import places
from rdcnlab_papers import aykurt
from rdcnlab_papers.models import exam, saved, variant
from rdcnlab_papers.models.exam import Exam
from rdcnlab_papers.models.traces import Traces

TABLES = ("exam-length", "exam-period", "exam-pair")


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_shipped_with_the_recipe_that_names_it(kind: str) -> None:
    (path,) = places.models().glob(f"{kind}-*.csv")
    about = saved.provenance(path)
    recipe = saved.Recipe(about["kind"], about["ending"], about["settings"], about["data"])
    assert recipe.name == path.name
    assert set(about["libraries"]) == set(variant.LIBRARIES)
    table = pd.read_csv(path)
    assert len(table) == about["rows"]
    assert ((table.iloc[:, 1:] >= 0) & (table.iloc[:, 1:] <= 100)).all(axis=None)  # percentages


def test_what_is_shipped_is_trained_on_the_shipped_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A change of traces, settings or the network would train 20 classifiers; so they must be shipped anew."""

    def trained(*_: object, **__: object) -> None:
        pytest.fail("a shipped table or classifier is stale: rdcnlab ship aykurt/tab3")

    monkeypatch.setenv("RDCNLAB_MODELS", str(tmp_path))  # no cache: only what is shipped
    monkeypatch.setattr(variant, "_train", trained)
    item = aykurt.tab3(profile="paper")
    runs = item.stored_runs()
    assert runs is not None
    paths = item.models(runs)
    assert {path.parent for path in paths} == {places.models()}
    kinds = Counter(path.name.rpartition("-")[0] for path in paths)
    assert kinds == {"variant": 3, "plain-variant": 2, "exam-forest": 1, **dict.fromkeys(TABLES, 1)}


@pytest.fixture
def computed() -> list[float]:
    """Hold what was computed, in order."""
    return []


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch, computed: list[float]) -> Callable[..., Path]:
    """Give a function that returns the record of one table of some traces."""

    def record(scale: float = 1.0, *, periods: tuple[float, ...] = (50.0, 1.0), epochs: int = 1) -> Path:
        names = [(cc, seed, ms) for cc in ("cubic", "reno") for seed in range(4) for ms in periods]
        about = pd.DataFrame(names, columns=["variant", "seed", "period_ms"]).assign(
            pair="any", begin_ms=0, run=range(len(names))
        )
        samples = scale * np.ones((len(about), 100, 2), dtype=np.float32)
        monkeypatch.setattr(exam, "_traces", lambda _: Traces(samples, about))

        def compute() -> pd.DataFrame:
            computed.append(scale)
            return pd.DataFrame({"scale": [scale]})

        return Exam(Runs([]), 3, ("cubic", "reno"), 10, epochs)._record("period", {}, compute)

    return record


@pytest.mark.usefixtures("own_models")
def test_a_record_is_used_again_only_for_the_same_traces_and_settings(
    examine: Callable[..., Path], computed: list[float]
) -> None:
    first = examine()
    assert examine() == first
    assert computed == [1.0]
    others = {examine(2.0), examine(epochs=2), examine(periods=(50.0, 5.0))}
    assert len(others | {first}) == 4
    assert computed == [1.0, 2.0, 1.0, 1.0]
    # a record of other traces stays as it was
    assert pd.read_csv(first)["scale"].tolist() == [1.0]
    assert json.loads(first.with_suffix(".json").read_text())["settings"]["epochs"] == 1


def made(monkeypatch: pytest.MonkeyPatch) -> Exam:
    """Return an exam on traces of two variants; their windows are about 10 and 100 kB."""
    names = [(cc, seed) for cc in ("cubic", "reno") for seed in range(4)]
    about = pd.DataFrame(names, columns=["variant", "seed"]).assign(
        pair="any", period_ms=50.0, begin_ms=0, run=range(len(names))
    )
    sizes = np.where(about["variant"] == "cubic", 10, 100) + about["seed"].to_numpy()
    samples = sizes.astype(np.float32)[:, None, None] * np.ones((1, 100, 2), dtype=np.float32)
    monkeypatch.setattr(exam, "_traces", lambda _: Traces(samples, about))
    return Exam(Runs([]), 2, ("cubic", "reno"), 10, 1)


def test_a_table_of_means_distinguishes_what_a_mean_distinguishes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(monkeypatch).by_table().to_numpy().tolist() == [[2, 0], [0, 2]]


def test_reliability_compares_probabilities_with_right_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A classifier that always says CUBIC with 95 % is right in half of four traces."""

    class Sure:
        def probabilities(self, samples: np.ndarray) -> pd.DataFrame:
            return pd.DataFrame({"cubic": [0.95] * len(samples), "reno": [0.05] * len(samples)})

    monkeypatch.setattr(Exam, "train", lambda *_: Sure())
    (row,) = made(monkeypatch).reliability().reset_index().to_dict("records")
    assert row == {"bin": 9, "traces": 4, "probability": pytest.approx(0.95), "right": 0.5}
