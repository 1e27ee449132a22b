# SPDX-License-Identifier: Apache-2.0
"""Scorecards of many items, judged by several processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.app.site import stored
from rdcnlab.papers import aykurt, carpa
from rdcnlab.runs.store import Store


@pytest.mark.usefixtures("fake_engine")
def test_processes_judge_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "runs")
    aykurt.fig8a(profile="quick").run(store=store, progress=False)
    kinds = [carpa.fig6, aykurt.fig8a, aykurt.fig4]
    names = [f"{kind.paper}/{kind.id}" for kind in kinds]
    one = [row for kind in kinds for row in stored.judge(kind, store)]
    assert {row["verdict"] == "not run" for row in one} == {True, False}
    assert stored.judge_all(names, store, progress=False) == one  # few: in this process
    monkeypatch.setattr(stored, "_FEW", 1)
    assert stored.judge_all(names, store, workers=2, progress=False) == one
    assert stored.judge_all(names, store, workers=1, progress=False) == one
    assert stored.judge_all([], store) == []
