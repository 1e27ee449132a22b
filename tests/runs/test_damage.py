# SPDX-License-Identifier: Apache-2.0
"""Flipped bits, and other values: none is taken for what was measured; a local run is made again, a shipped one named.

The values of a damaged file are never compared here with those that would be right: either the run is the one that was
stored, value by value, or it counts as missing, or an error names the file.
"""

from __future__ import annotations

import json
import random
import shutil
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from rdcnlab.fields.errors import HintWarning, RunError
from rdcnlab.runs import manifest, shipped, stored, sums
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.digest import digest, digests
from rdcnlab.runs.parts import CARRIED, GROUPS, WHOLE, WINDOWS
from rdcnlab.runs.run import Run
from rdcnlab.runs.shipped import Shipped, ship
from rdcnlab.runs.store import Store, run_id
from rdcnlab.runs.verify import damages, sample, verify
from rdcnlab.scenario import Scenario
from tests.conftest import Shared
from tests.fake_engine import tables
from tests.runs.test_store import put

FILES = ("flows.parquet", "throughput.parquet", "tcp.parquet", "queues.parquet", "events.parquet",
         "scenario.json", "provenance.json", "digest.json", sums.NAME)  # fmt: skip
#: What is shipped of each run.
PARTS = {"flows": WHOLE, "tcp": WINDOWS, "throughput": CARRIED}


def flip(path: Path, rng: random.Random) -> bytes:
    """Flip one bit of a file, and return what it was."""
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
    path.write_bytes(changed)
    return whole


def content(run: Run) -> dict[str, str]:
    """Return everything that a run says."""
    said = {
        "scenario": run.scenario.json(),
        "provenance": json.dumps(dict(run.provenance)),
        "digests": str(run.digests),
    }
    return said | digests(run.tables)


@pytest.mark.parametrize("count", [90, pytest.param(9000, marks=pytest.mark.long)])
def test_a_flipped_bit_of_a_local_run_is_found_and_the_run_is_made_again(
    store: Store, two_flows: Scenario, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rdcnlab.runs.store._now", lambda: "2026-11-29T12:00:00+00:00")
    rng = random.Random(count)
    scenario = two_flows.with_(size="1 MiB")
    directory = store.root / put(store, scenario)
    right = store.find(scenario, "e1")
    assert right is not None
    expected = content(right)
    for number in range(count):
        path = directory / FILES[number % len(FILES)]
        whole = flip(path, rng)
        fresh = Store(store.root, shipped=store.shipped)
        with pytest.warns(HintWarning, match="the run is made again when it is needed"):
            assert fresh.find(scenario, "e1") is None, path
        assert not directory.exists()
        assert (store.root / ".damaged" / directory.name).is_dir()
        put(store, scenario)
        assert path.read_bytes() == whole
        found = fresh.find(scenario, "e1")
        assert found is not None
        assert content(found) == expected


def test_a_bit_that_flips_while_a_run_is_used_is_an_error_and_not_a_value(store: Store, two_flows: Scenario) -> None:
    directory = store.root / put(store, two_flows)
    run = store.find(two_flows, "e1")
    assert run is not None
    flip(directory / "flows.parquet", random.Random(1))
    with pytest.raises(RunError, match=r"flows\.parquet is damaged; do it again, and the run is made again"):
        run.table("flows")


def test_pages_have_checksums_that_a_reader_checks(store: Store, two_flows: Scenario) -> None:
    """The list finds any flip; the checksums find those of pages, also in a table that was taken out of the store."""
    path = store.root / put(store, two_flows) / "throughput.parquet"
    column = pq.read_metadata(path).row_group(0).column(3)
    begin = column.data_page_offset if column.dictionary_page_offset is None else column.dictionary_page_offset
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[begin + column.total_compressed_size - 1] ^= 1  # the end of the values
    path.write_bytes(changed)
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(path, page_checksum_verification=True)


def test_a_scenario_that_does_not_fit_the_id_is_refused(store: Store, two_flows: Scenario) -> None:
    directory = store.root / put(store, two_flows)
    (directory / "scenario.json").write_text(two_flows.with_(seed=7).json() + "\n")
    stored.seal(directory)  # even if all files are what the list says
    with pytest.warns(HintWarning, match="does not fit the run's id"):
        assert store.get(directory.name) is None


def test_a_run_of_an_earlier_version_is_checked_and_gets_its_list(store: Store, two_flows: Scenario) -> None:
    scenarios = [two_flows.with_(seed=seed) for seed in range(3)]
    whole, changed, other = (store.root / put(store, scenario) for scenario in scenarios)
    expected = (whole / sums.NAME).read_bytes()
    for directory in (whole, changed, other):
        (directory / sums.NAME).unlink()
        for path in directory.glob("*.parquet"):  # without checksums of pages
            pq.write_table(pq.read_table(path), path)
    tripled(changed / "flows.parquet")
    (other / "scenario.json").write_text(two_flows.with_(seed=9).json() + "\n")
    assert store.find(scenarios[0], "e1") is not None
    listed = sums.listed(whole / sums.NAME)
    assert set(listed) == {line.split(b"  ")[1].decode() for line in expected.splitlines()}
    assert all(sums.sha256(whole / name) == digest_of for name, digest_of in listed.items())
    with pytest.warns(HintWarning, match=r"flows\.parquet is damaged"):
        assert store.find(scenarios[1], "e1") is None
    with pytest.warns(HintWarning, match="does not fit"):
        assert store.find(scenarios[2], "e1") is None


def test_a_run_that_another_process_made_again_meanwhile_is_not_set_aside(store: Store, two_flows: Scenario) -> None:
    directory = store.root / put(store, two_flows)
    store._set_aside(directory)
    assert store.find(two_flows, "e1") is not None


def tripled(path: Path) -> pa.Table:
    """Multiply the completion times of a table by three."""
    table = pq.read_table(path)
    number = table.column_names.index("fct_s")
    table = table.set_column(number, table.schema.field(number), pc.multiply(table["fct_s"], 3.0))
    pq.write_table(table, path)
    return table


def list_again(results: Path) -> None:
    """List the shipped files as they are now, as somebody who changes a file can do."""
    (results / sums.NAME).unlink()
    manifest.forget()
    manifest.complete(results)
    shipped.forget()
    sums.forget()


# Shipped ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def results(shared: Shared, tmp_path: Path, two_flows: Scenario) -> Path:
    """Four shipped runs in two folders."""

    def fill(folder: Path) -> None:
        made = Store(folder / "runs", shipped=Shipped(folder / "none"))
        for seed in range(4):
            put(made, two_flows.with_(seed=seed, size="1 MiB"))
        runs = sorted(made, key=lambda run: run.scenario.seed)
        ship(dict.fromkeys(runs[:2], PARTS), folder / "results" / "paper" / "a")
        ship(dict.fromkeys(runs[2:], PARTS), folder / "results" / "paper" / "b")

    shutil.copytree(shared("shipped-four", fill) / "results", tmp_path / "results")
    shipped.forget()
    return tmp_path / "results"


def everything(results: Path) -> list[str]:
    """Return everything that the shipped runs say."""
    said = []
    for row in Shipped(results):
        said += [row.id, str(row.data), str(dict(row.provenance)), str(dict(row.digests))]
        said += [digest(row.table(name, part)) for name, part in PARTS.items()]
    return said


@pytest.mark.parametrize("count", [90, pytest.param(9000, marks=pytest.mark.long)])
def test_a_flipped_bit_of_shipped_runs_is_an_error_that_names_file_and_cure(results: Path, count: int) -> None:
    rng = random.Random(count)
    expected = everything(results)
    paths = sorted(path for path in results.rglob("*") if path.is_file())
    assert len(paths) == 9
    for number in range(count):
        path = paths[number % len(paths)]
        whole = flip(path, rng)
        sums.forget()
        shipped.forget()
        with pytest.raises(RunError, match=r"the shipped results are not what was shipped|is not listed in") as caught:
            everything(results)
        # of a list with another name, the file that it does not have
        assert path.name in str(caught.value) or path.name == sums.NAME
        assert list(manifest.problems(results))
        path.write_bytes(whole)
    sums.forget()
    shipped.forget()
    assert everything(results) == expected


@pytest.mark.parametrize("name", ["paper/a/runs.parquet", "paper/a/flows.parquet", "paper/a", sums.NAME])
def test_a_missing_shipped_file_is_an_error(results: Path, name: str) -> None:
    shutil.rmtree(results / name) if (results / name).is_dir() else (results / name).unlink()
    with pytest.raises(RunError, match="is missing") as caught:
        len(Shipped(results))
    assert name in str(caught.value)
    assert "Install rdcnlab again" in str(caught.value) or "git checkout" in str(caught.value)


def test_a_file_that_is_not_listed_is_an_error(results: Path) -> None:
    shutil.copytree(results / "paper" / "a", results / "paper" / "c")
    with pytest.raises(RunError, match=r"paper/c/\w+\.parquet is not listed"):
        len(Shipped(results))
    # what tools/index does after a merge
    assert manifest.complete(results)
    assert not manifest.complete(results)
    assert len(Shipped(results)) == 4
    assert not list(manifest.problems(results))


def test_a_list_is_not_changed_to_fit_a_damaged_file(results: Path) -> None:
    flip(results / "paper" / "a" / "flows.parquet", random.Random(3))
    before = (results / sums.NAME).read_bytes()
    assert not manifest.complete(results)
    assert (results / sums.NAME).read_bytes() == before


@pytest.mark.parametrize("moved", [False, True])
def test_shipping_that_was_killed_before_its_list_is_in_place_can_go_on(results: Path, moved: bool) -> None:
    """Before the folder is moved, the list of what was there is right; after that, the next one."""
    folder, next_folder = results / "paper" / "a", results / "paper" / "b"
    if moved:
        for path in next_folder.iterdir():
            shutil.copy(path, folder)
    manifest.prepare(results, folder, sorted(next_folder.iterdir()))
    shipped.forget()
    sums.forget()
    manifest.finish(results)
    assert not list(manifest.problems(results))
    assert {path.name for path in results.iterdir()} == {"paper", sums.NAME}


def test_the_list_of_the_shipped_results_is_complete() -> None:
    root = Path(__file__).parents[2] / "data" / "results"
    assert manifest.count(root) == len(list(root.rglob("*.parquet")))
    assert list(manifest.problems(root)) == []


# rdcnlab runs check, rdcnlab verify ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_verify_finds_a_changed_value_whatever_was_changed_with_it(store: Store, two_flows: Scenario) -> None:
    scenarios = [two_flows.with_(seed=seed) for seed in range(4)]
    runs = campaign(scenarios, store=store, progress=False)
    directories = {run.scenario.seed: store.root / run.id for run in runs}
    tripled(directories[1] / "flows.parquet")
    tripled(directories[2] / "flows.parquet")
    stored.seal(directories[2])  # and its list
    changed = tripled(directories[3] / "flows.parquet")
    digest_path = directories[3] / "digest.json"  # and its digest
    digest_path.write_text(json.dumps(json.loads(digest_path.read_text()) | {"flows": digest(changed)}))
    stored.seal(directories[3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HintWarning)
        rows = verify(sample(store, 9, 0), workers=1, progress=False)
    notes = {row["run"]: (row["same"], row["note"]) for row in rows}
    by_seed = {seed: notes[path.name[:12]] for seed, path in directories.items()}
    assert by_seed == {
        0: (True, ""),
        1: (False, "the stored table flows is not what was measured"),
        2: (False, "the stored table flows is not what was measured"),
        3: (False, "differs in flows"),
    }
    assert [row["run"] for row in damages(store)] == [directories[1].name[:12]]


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_verify_compares_what_is_shipped_and_says_what_is_not(
    store: Store, two_flows: Scenario, tmp_path: Path
) -> None:
    (run,) = campaign([two_flows], store=store, progress=False)
    other = Run(run.id, run.scenario, run.provenance, {**run.digests, "queues": "0" * 64}, run.source)
    ship({other: {"flows": WHOLE, "throughput": CARRIED}}, tmp_path / "results" / "paper" / "a")
    fresh = Store(tmp_path / "empty", shipped=Shipped(tmp_path / "results"))
    (row,) = verify(sample(fresh, 1, 0), workers=1, progress=False)
    assert row["same"]
    assert row["note"] == "not compared, because it is not shipped, and different now: queues"
    # a table that only the new run has is no difference; of parts, values count
    local = Run(run.id, run.scenario, run.provenance, {"flows": run.digests["flows"]}, run.source)
    assert verify([local], workers=1, progress=False)[0]["same"]
    wrong = {**tables(two_flows), "throughput": tables(two_flows.with_(seed=5))["throughput"]}
    mixed = tmp_path / "mixed" / run_id(two_flows, "fa4e")
    mixed.mkdir(parents=True)
    for name, table in wrong.items():
        stored.write_table(table, mixed / f"{name}.parquet")
    stored.seal(mixed)
    ship({Run(run.id, run.scenario, run.provenance, run.digests, mixed): {"throughput": CARRIED}},
         tmp_path / "wrong" / "paper" / "a")  # fmt: skip
    (row,) = verify(sample(Store(tmp_path / "empty", shipped=Shipped(tmp_path / "wrong")), 1, 0), workers=1,
                    progress=False)  # fmt: skip
    assert (row["same"], row["note"]) == (False, "differs in throughput")


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_a_shipped_table_with_other_values_is_found_by_verify(
    store: Store, two_flows: Scenario, tmp_path: Path
) -> None:
    (run,) = campaign([two_flows], store=store, progress=False)
    results = tmp_path / "results"
    ship({run: {"flows": WHOLE}}, results / "paper" / "a")
    tripled(results / "paper" / "a" / "flows.parquet")
    fresh = Store(tmp_path / "empty", shipped=Shipped(results))
    (row,) = verify(sample(fresh, 1, 0), workers=1, progress=False)
    assert not row["same"]
    assert row["note"].startswith("the stored table flows is not what was measured: the shipped results are not")
    assert [row["source"] for row in damages(fresh)] == ["shipped"]
    # and if its list was changed, too
    list_again(results)
    again = Store(tmp_path / "empty", shipped=Shipped(results))
    assert not list(damages(again))
    (row,) = verify(sample(again, 1, 0), workers=1, progress=False)
    assert (row["same"], row["note"]) == (False, "the stored table flows is not what was measured")


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_verify_compares_sums_of_groups_in_any_order(store: Store, two_flows: Scenario, tmp_path: Path) -> None:
    (run,) = campaign([two_flows], store=store, progress=False)
    results = tmp_path / "results"
    ship({run: {"throughput": GROUPS}}, results / "paper" / "a")
    path = results / "paper" / "a" / "throughput.parquet"
    table = pq.read_table(path)
    for rows, same in ((np.arange(len(table))[::-1], True), (np.zeros(len(table), int), False)):
        stored.write_table(table.take(rows), path)
        list_again(results)
        fresh = Store(tmp_path / "empty", shipped=Shipped(results))
        assert verify(sample(fresh, 1, 0), workers=1, progress=False)[0]["same"] == same
