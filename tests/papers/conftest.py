# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of the papers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rdcnlab.system import places
from rdcnlab.system.locks import locked
from rdcnlab_papers.app.index import nothing_local
from rdcnlab_papers.app.site import stored
from rdcnlab_papers.items import made
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.items.judged import JudgedClaim, from_data, to_data
from tests.app.conftest import browser

__all__ = ["browser"]


@pytest.fixture(autouse=True, scope="session")
def own_scores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep scorecards out of the user's cache: tests judge with code and claims that are not those of the files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RDCNLAB_SCORES", str(tmp_path_factory.mktemp("scores")))
        yield


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    """Forget the scenarios that items of other tests made: a test may change how they are made."""
    made.forget()


Judged = Callable[[type[Item]], list[JudgedClaim]]


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Judge an item's claims from the shipped runs, once for all tests and workers."""
    session = tmp_path_factory.getbasetemp()
    directory = (session.parent if "PYTEST_XDIST_WORKER" in os.environ else session) / "judged"
    directory.mkdir(exist_ok=True)

    def rows(kind: type[Item]) -> list[JudgedClaim]:
        path = directory / f"{kind.paper}-{kind.id}.json"
        with locked(path.with_suffix(".lock")):
            if not path.exists():
                with nothing_local() as store:
                    path.write_text(json.dumps(to_data(stored.judge(kind, store))))
        return from_data(json.loads(path.read_text()))

    return rows


@pytest.fixture
def own_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Use empty directories for shipped models and for the user's cache of models."""
    monkeypatch.setenv("RDCNLAB_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(places, "models", lambda: tmp_path / "shipped")
