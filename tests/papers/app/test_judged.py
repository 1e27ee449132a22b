# SPDX-License-Identifier: Apache-2.0
"""Scorecards of many items, judged by several processes."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab_papers import aykurt, carpa
from rdcnlab_papers.app.site import kept, stored
from rdcnlab_papers.items.item import Item


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_processes_judge_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "runs")
    aykurt.fig8a(profile="quick").run(store=store, progress=False)
    kinds = [carpa.fig6, aykurt.fig8a, aykurt.fig4]
    names = [f"{kind.paper}/{kind.id}" for kind in kinds]
    one = [row for kind in kinds for row in stored.judge(kind, store)]
    assert {row.verdict == "not run" for row in one} == {True, False}
    assert stored.judge_all(names, store, progress=False) == one  # few: in this process
    monkeypatch.setattr(stored, "_FEW", 1)
    assert stored.judge_all(names, store, workers=2, progress=False) == one
    assert stored.judge_all(names, store, workers=1, progress=False) == one
    assert stored.judge_all([], store) == []


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Keep scorecards in a directory of the test, and list what is judged."""
    judged: list[str] = []
    judge = stored.judge

    def noted(kind: type[Item], store: Store) -> list[dict[str, Any]]:
        judged.append(kind.id)
        return judge(kind, store)

    monkeypatch.setenv("RDCNLAB_SCORES", str(tmp_path / "scores"))
    monkeypatch.setattr(stored, "judge", noted)
    return judged


def test_what_did_not_change_is_not_judged_again(tmp_path: Path, counted: list[str]) -> None:
    store = Store(tmp_path / "runs")
    names = ["tdtcp/fig13", "carpa/fig6"]
    first = stored.judge_all(names, store, again=False)
    assert counted == ["fig13", "fig6"]
    assert stored.judge_all(names, store, again=False) == first
    assert counted == ["fig13", "fig6"]
    assert stored.judge_all(names, store) == first
    assert counted == 2 * ["fig13", "fig6"]
    (tmp_path / "scores" / "carpa-fig6.json").write_text("{")
    assert stored.judge_all(names, store, again=False) == first
    assert counted[4:] == ["fig6"]


def test_a_change_of_claims_runs_code_or_libraries_makes_all_be_judged_again(
    tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    results, claims, site, models = (tmp_path / name for name in ("results", "papers", "site", "models"))
    shutil.copytree(places.papers(), claims)
    monkeypatch.setenv("RDCNLAB_MODELS", str(models))
    for folder in (results, site, models):
        folder.mkdir()
    monkeypatch.setattr(places, "papers", lambda: claims)
    monkeypatch.syspath_prepend(site)
    store = Store(tmp_path / "runs", shipped=Shipped(results))
    changes = [
        lambda: None,
        lambda: (claims / "note.yaml").write_text("a: 1"),
        lambda: (results / "new").write_text("a"),
        lambda: (site / "numpy-99.0.dist-info").mkdir(),
        lambda: (models / "trained").touch(),
        lambda: monkeypatch.setattr(sys, "version", "3.99"),
    ]
    for number, change in enumerate(changes, 1):
        change()
        kept.stamp_of.cache_clear()
        stored.judge_all(["carpa/fig6"], store, again=False)
        stored.judge_all(["carpa/fig6"], store, again=False)
        assert len(counted) == number


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_an_item_with_a_local_run_is_judged_each_time(tmp_path: Path, counted: list[str]) -> None:
    store = Store(tmp_path / "runs")
    before = stored.judge_all(["aykurt/fig8a"], store, again=False)
    aykurt.fig8a(profile="quick").run(store=store, progress=False)
    for _ in range(2):
        stored.judge_all(["aykurt/fig8a"], store, again=False)
    assert counted == 3 * ["fig8a"]
    for run in store:
        store.delete(run)
    assert stored.judge_all(["aykurt/fig8a"], store, again=False) == before
