# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rdcnlab.engines import SCHEMAS, Outcome
from rdcnlab.fields.errors import RunError
from rdcnlab.runs import shipped, sums
from rdcnlab.runs.digest import digest, digests
from rdcnlab.runs.parts import CARRIED, WHOLE, WINDOWS, Part
from rdcnlab.runs.shipped import Shipped, ship
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario
from tests.fake_engine import tables


def put(store: Store, scenario: Scenario, identity: str = "e1") -> str:
    with store.workspace(run_id(scenario, identity)) as directory:
        return store.put(scenario, identity, Outcome(tables(scenario), {"note": "x"}), directory).id


def test_what_is_put_is_found(store: Store, two_flows: Scenario) -> None:
    put(store, two_flows)
    run = store.find(two_flows, "e1")
    assert run is not None
    assert run.scenario == two_flows
    assert run.tables["flows"].equals(tables(two_flows)["flows"])
    assert run.digests == digests(run.tables)
    assert repr(run) == f"<run {run.id[:12]}: aykurt, 2 flows, seed 0>"
    assert run.provenance == {"identity": "e1", "note": "x", "made_at": run.provenance["made_at"]}
    assert store.find(two_flows, "e2") is None
    assert store.find(two_flows.with_(seed=5), "e1") is None
    assert [run.id for run in store] == [run_id(two_flows, "e1")]
    assert not list((store.root / ".work").iterdir())


def test_hashes_are_those_of_the_local_scenarios(store: Store, two_flows: Scenario) -> None:
    assert store.hashes() == frozenset()
    put(store, two_flows)
    (store.root / "a-file").touch()
    (store.root / "a-directory").mkdir()
    (store.root / "damaged").mkdir()
    (store.root / "damaged" / "scenario.json").write_text('{"flows": [')
    assert store.hashes() == {two_flows.hash}
    identifier = put(store, two_flows.with_(seed=5), "e2")
    assert store.hashes() == Store(store.root).hashes() == {two_flows.hash, two_flows.with_(seed=5).hash}
    shutil.rmtree(store.root / identifier)
    assert store.hashes() == {two_flows.hash}


def test_files_are_the_same_for_the_same_run(tmp_path: Path, two_flows: Scenario) -> None:
    stores = [Store(tmp_path / name, shipped=Shipped(tmp_path)) for name in "ab"]
    folders = [store.root / put(store, two_flows) for store in stores]
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == sorted(
        [*(f"{name}.parquet" for name in SCHEMAS), "scenario.json", "provenance.json", "digest.json", "SHA256SUMS"]
    )
    # the provenance has the date, and the list has its sum
    same = [name for name in names if name not in ("provenance.json", "SHA256SUMS")]
    assert all((folders[0] / name).read_bytes() == (folders[1] / name).read_bytes() for name in same)


def test_the_provenance_has_the_date_of_the_run_and_nothing_depends_on_it(
    tmp_path: Path, two_flows: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [Store(tmp_path / name, shipped=Shipped(tmp_path)) for name in "ab"]
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    put(stores[0], two_flows)
    monkeypatch.setattr("rdcnlab.runs.store._now", lambda: "2031-05-06T07:08:09+00:00")
    put(stores[1], two_flows)
    now, later = (store.find(two_flows, "e1") for store in stores)
    assert now is not None
    assert later is not None
    assert before <= datetime.datetime.fromisoformat(now.provenance["made_at"]) <= datetime.datetime.now(datetime.UTC)
    assert later.provenance["made_at"] == "2031-05-06T07:08:09+00:00"
    assert (now.id, dict(now.digests)) == (later.id, dict(later.digests))


def test_is_never_overwritten(store: Store, two_flows: Scenario) -> None:
    identifier = put(store, two_flows)
    before = {path: path.stat().st_ino for path in (store.root / identifier).iterdir()}
    put(store, two_flows)
    assert before == {path: path.stat().st_ino for path in (store.root / identifier).iterdir()}


def test_a_failure_keeps_its_log(store: Store) -> None:
    for text in ("first", "second"):
        with pytest.raises(RunError) as caught:
            fail(store, text)
        log = caught.value.log
        assert log is not None
        assert log.read_text() == text
    assert not list((store.root / ".work").iterdir())
    assert list(store) == []


def fail(store: Store, text: str) -> None:
    with store.workspace("abc") as directory:
        (directory / "engine").mkdir()
        (directory / "engine" / "log").write_text(text)
        raise RunError("no", directory / "engine" / "log")


@pytest.mark.parametrize("moment", ["before the tables", "among the tables", "before the rename", "after the rename"])
def test_kill_at_any_moment(tmp_path: Path, two_flows: Scenario, moment: str) -> None:
    """If a process is killed while it stores a run, the next process can store the run."""
    root = tmp_path / "runs"
    code = """
        import os, pathlib, signal, sys
        from rdcnlab.runs import store as module
        from rdcnlab.scenario import Scenario
        from tests.runs.test_store import put

        def die(*_, **__):
            os.kill(os.getpid(), signal.SIGKILL)

        moment = sys.argv[2]
        if moment == "before the tables":
            module.write_table = die
        elif moment == "among the tables":
            original, count = module.write_table, []
            def write(table, path):
                count.append(path)
                die() if len(count) == 3 else original(table, path)
            module.write_table = write
        else:
            original = pathlib.Path.rename
            def rename(self, target):
                if self.name == "run" and moment == "before the rename":
                    die()
                original(self, target)
                if self.name == "run":
                    die()
            pathlib.Path.rename = rename
        put(module.Store(sys.argv[1]), Scenario.load(sys.argv[3]))
    """
    scenario = tmp_path / "scenario.json"
    scenario.write_text(two_flows.json())
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), root, moment, scenario],
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    store = Store(root, shipped=Shipped(tmp_path))
    assert (store.find(two_flows, "e1") is None) == (moment != "after the rename")
    put(store, two_flows)
    run = store.find(two_flows, "e1")
    assert run is not None
    assert run.digests == digests(run.tables)
    assert not list((root / ".work").iterdir())


def test_work_in_progress_is_not_swept_away(store: Store) -> None:
    with store.workspace("abc") as first:
        (first / "x").touch()
        with store.workspace("abc") as second:
            assert first != second
            assert (first / "x").exists()
    assert not first.exists()


def test_reads_through_to_shipped_results(tmp_path: Path, store: Store, two_flows: Scenario) -> None:
    scenarios = [two_flows.with_(seed=seed) for seed in range(3)]
    for scenario in scenarios:
        put(store, scenario, "old")
    kept = dict.fromkeys(("flows", "tcp", "queues"), WHOLE)
    ship(dict.fromkeys(store, kept), tmp_path / "results" / "aykurt" / "fig4")
    fresh = Store(tmp_path / "fresh", shipped=Shipped(tmp_path / "results"))
    for scenario in scenarios:
        run = fresh.find(scenario, "new")
        assert run is not None
        assert run.shipped
        assert run.provenance["identity"] == "old"
        assert digest(run.table("tcp")) == run.digests["tcp"]
        assert digest(run.table("flows")) == run.digests["flows"]
        assert digest(run.table("queues")) == run.digests["queues"]
        with pytest.raises(RunError, match="throughput"):
            run.table("throughput")
    assert fresh.find(two_flows.with_(seed=9), "new") is None
    put(fresh, scenarios[0], "new")
    local = fresh.find(scenarios[0], "new")
    assert local is not None
    assert not local.shipped


def test_shipped_runs_that_are_replaced_while_they_are_read_are_an_error(
    store: Store, two_flows: Scenario, tmp_path: Path
) -> None:
    for seed in range(3):
        put(store, two_flows.with_(seed=seed))
    kept = {"flows": WHOLE}
    first, later = tmp_path / "results" / "aykurt" / "fig4", tmp_path / "later" / "aykurt" / "fig4"
    runs = sorted(store, key=lambda run: run.scenario.seed)
    ship(dict.fromkeys(runs, kept), first)
    ship(dict.fromkeys(reversed(runs), kept), later)
    found = Shipped(tmp_path / "results").row(two_flows.hash)
    assert found is not None
    # what another process does; the rows of the run are now at another place
    shutil.rmtree(first)
    later.rename(first)
    (tmp_path / "later" / sums.NAME).rename(tmp_path / "results" / sums.NAME)
    with pytest.raises(RunError, match="were replaced while they were read"):
        found.table("flows")
    shipped.forget()
    again = Shipped(tmp_path / "results").row(two_flows.hash)
    assert again is not None
    assert again.table("flows").equals(tables(two_flows)["flows"])


def test_parts_of_tables_are_shipped_and_shared(tmp_path: Path, store: Store, two_flows: Scenario) -> None:
    """Two items ship parts of one run. Each finds the parts it asks for. Parts that were not shipped are not found."""
    put(store, two_flows)
    (run,) = store
    ship({run: {"throughput": CARRIED}}, tmp_path / "paper" / "one")
    ship({run: {"tcp": WINDOWS, "flows": WHOLE}}, tmp_path / "paper" / "two")
    row = Shipped(tmp_path).row(two_flows.hash)
    assert row is not None
    assert row.table("throughput", CARRIED).equals(CARRIED.of(run.table("throughput")))
    assert row.table("tcp", WINDOWS).equals(WINDOWS.of(run.table("tcp")))
    assert row.table("flows").equals(run.table("flows"))
    few = Part(("bin", "bytes"), CARRIED.place)
    assert row.table("throughput", few).equals(few.of(run.table("throughput")))
    for name, part in (("throughput", WHOLE), ("throughput", Part(CARRIED.columns)), ("tcp", Part(WINDOWS.columns))):
        with pytest.raises(RunError, match="do not hold"):
            row.table(name, part)


def test_another_result_of_a_scenario_is_not_mixed_in(tmp_path: Path, store: Store, two_flows: Scenario) -> None:
    put(store, two_flows)
    (run,) = store
    ship({run: {"flows": WHOLE}}, tmp_path / "paper" / "a")
    other = replace(run, digests={**run.digests, "flows": "0" * 64})
    ship({other: {"tcp": WHOLE}}, tmp_path / "paper" / "b")
    row = Shipped(tmp_path).row(two_flows.hash)
    assert row is not None
    assert row.digests == run.digests
    assert row.copy("tcp") is None


def test_rows_are_read_across_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Store, two_flows: Scenario
) -> None:
    monkeypatch.setattr(shipped, "_GROUP", 7)
    for seed in range(4):
        put(store, two_flows.with_(seed=seed))
    runs = list(store)
    ship({run: {"throughput": WHOLE, "events": WHOLE} for run in runs}, tmp_path / "paper" / "item")
    rows = Shipped(tmp_path)
    for run in runs:
        row = rows.row(run.scenario.hash)
        assert row is not None
        for name in ("throughput", "events"):
            assert digest(row.table(name)) == run.digests[name]
    assert len(rows) == 4


def test_digest_is_of_the_content() -> None:
    table = pa.table({"a": [1, None, 3], "b": ["x", "", None], "c": [0.5, -0.0, 2.0], "d": [True, None, False]})
    assert digest(table) == digest(pa.concat_tables([table.slice(0, 1), table.slice(1)]))
    for other in (
        table.slice(0, 2),
        table.select(["b", "a", "c", "d"]),
        table.set_column(0, "a", pa.array([1, 0, 3])),
        table.set_column(1, "b", pa.array(["", "x", None])),
        table.set_column(2, "c", pa.array([0.5, 0.0, 2.0])),
        table.rename_columns(["A", "b", "c", "d"]),
    ):
        assert digest(other) != digest(table)


def test_digest_survives_parquet(tmp_path: Path, two_flows: Scenario) -> None:
    for name, table in tables(two_flows).items():
        pq.write_table(table, tmp_path / name)
        assert digest(pq.read_table(tmp_path / name, schema=SCHEMAS[name])) == digest(table)


def test_outcomes_have_the_right_columns(two_flows: Scenario) -> None:
    good = tables(two_flows)
    with pytest.raises(RunError, match="instead of"):
        Outcome({"flows": good["flows"]})
    with pytest.raises(RunError, match="received_B"):
        Outcome({**good, "flows": good["flows"].drop_columns(["received_B"])})


def test_default_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path))
    assert Store().root == tmp_path
    monkeypatch.delenv("RDCNLAB_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Store().root == tmp_path / "rdcnlab" / "runs"
