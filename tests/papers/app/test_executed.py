# SPDX-License-Identifier: Apache-2.0
"""Notebooks of items are executed to their end, from shipped runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rdcnlab.app import notebook_file
from rdcnlab.runs.store import Store
from rdcnlab_papers import select, tdtcp
from rdcnlab_papers.app import notebooks
from rdcnlab_papers.app.site import shown
from rdcnlab_papers.items.item import Item

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


@pytest.mark.slow
def test_an_executed_notebook_gives_the_page_that_its_runs_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Picture, table, verdicts and causes are the same bytes; nothing is drawn or judged twice."""
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    item, store = tdtcp.fig13(profile="paper"), Store()
    runs = item.stored_runs(store)
    if runs is None:
        pytest.skip("the runs are not shipped")
    folders = [tmp_path / name for name in ("of runs", "of a notebook", "of another item")]
    for folder in folders:
        folder.mkdir()
    book = tmp_path / "executed.ipynb"
    parameters = {"profile": item.profile, "column": item.column}
    notebooks.execute(notebooks.path(tdtcp.fig13), book, parameters, [shown.reading_cell()])
    other = tmp_path / "other.ipynb"
    shutil.copy(book, other)
    from_runs = shown.from_runs(item, runs, store, folders[0])
    assert from_runs.explained
    assert shown.from_notebook(item, book, store, folders[1]) == from_runs
    files = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders[:2]]
    assert files[0] == files[1]
    assert {Path(name).suffix for name in files[0]} == {".png", ".csv"}
    # readers do not see the cell that was added
    last = ["".join(notebook_file.read(path)["cells"][-1]["source"]) for path in (book, notebooks.path(tdtcp.fig13))]
    assert last[0] == last[1]
    # a notebook about other parameters is not the item's page
    assert shown.from_notebook(tdtcp.fig13(seeds=1), other, store, folders[2]) is None
    assert not list(folders[2].iterdir())
