# SPDX-License-Identifier: Apache-2.0
"""A maintainer ships stored runs, and the shipped runs are read again."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab_papers import aykurt, vargas
from rdcnlab_papers.app.cli.papers import ship
from rdcnlab_papers.app.report import page
from rdcnlab_papers.app.site.stored import judge
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.models import gaussian
from tests.papers.items.test_claims import first_column, two_columns


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_shipped_results_serve_their_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    monkeypatch.setenv("RDCNLAB_RESULTS", str(results))
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    kinds: tuple[type[Item], ...] = (aykurt.fig4, aykurt.fig5)
    first_column(monkeypatch)
    monkeypatch.setattr(aykurt, "ITEMS", ("fig4", "fig5"))
    for kind in kinds:
        monkeypatch.setattr(kind, "runs_of_profile", {"quick": 1, "paper": 2})
    with pytest.raises(InputError, match="has no stored run of the paper profile"):
        ship(["aykurt"])
    kinds[0](profile="paper").run(progress=False)
    ship(["aykurt"])
    printed = capsys.readouterr().out
    assert "not complete: " in printed
    assert "of aykurt/fig5" in printed
    assert "aykurt/fig4, why other-variants" in printed
    assert "aykurt/fig4;" not in printed
    first = len(Shipped())
    # on another machine: shipped runs stay
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "more"))
    rows = [item.rows(item.run(progress=False)) for item in (kind(profile="paper") for kind in kinds)]
    explained = [kind(profile="paper").explain(progress=False) for kind in kinds]
    ship(["aykurt"])
    assert "not complete" not in capsys.readouterr().out
    assert len(Shipped()) > first
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "empty"))
    monkeypatch.setenv("FAKE_IDENTITY", "another")
    for kind, expected in zip(kinds, rows, strict=True):
        item = kind(profile="paper")
        runs = item.run(progress=False)
        assert all(run.shipped for run in runs)
        assert item.rows(runs) == expected
        assert f"({len(runs)} shipped)" in item.provenance(runs)
    for kind, expected_there in zip(kinds, explained, strict=True):
        assert kind(profile="paper").explain(progress=False) == expected_there
        assert list(expected_there.frame.columns) == ["because", "there", "verdict there"]
        assert len(expected_there) >= 1
    assert not (tmp_path / "empty").exists()
    # an item gets more scenarios: its shipped runs stay, although the item is no longer complete
    before = {row.id for row in Shipped()}
    monkeypatch.setattr(kinds[0], "runs_of_profile", {"quick": 1, "paper": 3})
    ship(["aykurt"])
    assert "not complete" in capsys.readouterr().out
    assert {row.id for row in Shipped()} == before
    kept = {folder.name: {path.stem for path in folder.iterdir()} for folder in (results / "aykurt").iterdir()}
    # figures 4 and 5 have the same runs, so the completion times are stored only once
    assert kept == {"fig4": {"runs", "flows", "throughput"}, "fig5": {"runs", "flows", "tcp"}}
    assert list(Store()) == []


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_runs_of_all_columns_are_shipped_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDCNLAB_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    two_columns(monkeypatch)
    kind = aykurt.fig8a
    monkeypatch.setattr(kind, "runs_of_profile", {"quick": 1, "paper": 2})
    for column in kind.columns():
        kind(profile="paper", column=column.id).run(progress=False)
    ship(["aykurt/fig8a"])
    shipped = list(Shipped())
    assert len(shipped) == 2 * 2 * 2  # columns, periods, seeds
    assert {row.data["transport"]["sack"] for row in shipped} == {True, False}
    # on another machine
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "empty"))
    monkeypatch.setenv("FAKE_IDENTITY", "another")
    rows = judge(kind, Store())
    assert [row.column for row in rows] == ["a"] * 3 + ["b"] * 3
    assert {row.verdict for row in rows} == {"reproduced"}
    assert {row.runs for row in rows} == {4}
    text = page([kind], Store(), tmp_path / "report")
    assert text.count("<img") == 2
    assert "<td>b</td> <td>100 % of 3 reproduced" in " ".join(text.split())


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_a_batch_adds_the_runs_that_are_not_shipped_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results"
    monkeypatch.setenv("RDCNLAB_RESULTS", str(results))
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    kind = aykurt.fig8a
    for count in (1, 2):
        monkeypatch.setattr(kind, "runs_of_profile", {"quick": 1, "paper": count})
        item = kind(profile="paper")
        expected = item.rows(item.run(progress=False))
        before = {path: path.read_bytes() for path in results.rglob("*.parquet")}
        ship(["aykurt/fig8a"], batch=True)
        assert all(path.read_bytes() == content for path, content in before.items())
        # on another machine
        monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / f"another-{count}"))
        runs = item.run(progress=False)
        assert all(run.shipped for run in runs)
        assert item.rows(runs) == expected
    ship(["aykurt/fig8a"], batch=True)  # nothing is new
    assert {folder.name for folder in (results / "aykurt").iterdir()} == {"fig8a", "fig8a.2"}
    rows_by_folder = {path.parent.name: pq.read_metadata(path).num_rows for path in results.rglob("runs.parquet")}
    assert rows_by_folder == {"fig8a": len(item.scenarios()) // 2, "fig8a.2": len(item.scenarios()) // 2}


@pytest.mark.usefixtures("fake_engine", "own_models")
def test_a_batch_of_the_data_set_has_a_model_of_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tuner can be used before the data set is complete. Without ``--batch`` no such model is shipped."""
    monkeypatch.setenv("RDCNLAB_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.setitem(sys.modules[vargas.dataset.__module__]._COUNTS, "paper", (0, 24, 0))
    vargas.dataset(profile="paper", single=21).run(progress=False)
    ship(["vargas/tab2"])
    assert not list((tmp_path / "shipped").glob("*"))
    ship(["vargas/tab2"], batch=True)
    assert {path.name.partition("-")[0] for path in (tmp_path / "shipped").iterdir()} == {"buffers"}
    assert gaussian.best().about["rows"] == 21
