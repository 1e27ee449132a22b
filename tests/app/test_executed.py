# SPDX-License-Identifier: Apache-2.0
"""Notebooks of items are executed to their end, from shipped runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.app import notebooks
from rdcnlab.papers import select
from rdcnlab.papers.item import Item
from rdcnlab.runs.store import Store

#: Their notebooks train models for a quarter of an hour.
LONG = {"aykurt/tab3"}
KINDS = [kind for kind in select() if f"{kind.paper}/{kind.id}" not in LONG]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.paper}-{kind.id}")
def test_every_cell_of_a_notebook_works(kind: type[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without shipped runs of its column a notebook would make them, which takes hours."""
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    item, store = kind(profile="paper"), Store(tmp_path / "runs")
    if any(needed.stored_runs(store) is None for needed in (item, *item.learns_from())):
        pytest.skip("the runs of the default column, or those of its model, are not shipped")
    # an error in a cell is an error here
    notebooks.execute(notebooks.path(kind), tmp_path / "executed.ipynb", {"profile": "paper"})
    made = list((tmp_path / "runs").glob("*"))
    assert not made
