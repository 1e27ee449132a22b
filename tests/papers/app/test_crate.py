# SPDX-License-Identifier: Apache-2.0
"""A figure travels: its archive verifies itself, and each change of it is found by the check that is there for it."""

from __future__ import annotations

import json
import shutil
import stat
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rocrate.rocrate import ROCrate

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs import manifest, shipped, sums
from rdcnlab.runs.digest import digest
from rdcnlab.runs.store import Store
from rdcnlab_papers import aykurt
from rdcnlab_papers.app import crate
from rdcnlab_papers.app.crate import layout
from tests.papers.items.test_claims import first_column

FLOWS = "results/aykurt/fig4/flows.parquet"
RUNS = "results/aykurt/fig4/runs.parquet"


@pytest.fixture
def archive(
    fake_engine: None,
    pool_here: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The archive of a figure with a few runs."""
    monkeypatch.setenv("RDCNLAB_RESULTS", "none")
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first_column(monkeypatch)
    monkeypatch.setattr(aykurt.fig4, "runs_of_profile", {"quick": 1, "paper": 2})
    with pytest.raises(RunError, match=r"no column of aykurt/fig4 has all its runs here; .* reproduce aykurt/fig4"):
        crate.write(aykurt.fig4, Store(), tmp_path / "out")
    aykurt.fig4(profile="paper").run(progress=False)
    return crate.write(aykurt.fig4, Store(), tmp_path / "out")


def unpacked(archive: Path) -> Path:
    root = archive.parent / "unpacked"
    shutil.rmtree(root, ignore_errors=True)
    with zipfile.ZipFile(archive) as file:
        file.extractall(root)
    return root


def seal(root: Path) -> None:
    """Write both lists of files again, as somebody who changes a file can do."""
    for folder, name in ((root / layout.RESULTS, "**/*.parquet"), (root, "**/*")):
        files = [path for path in folder.glob(name) if path.is_file() and path != folder / sums.NAME]
        listed = {path.relative_to(folder).as_posix(): sums.sha256(path) for path in files}
        (folder / sums.NAME).write_bytes(sums.listing(listed))
    manifest.forget()
    shipped.forget()


def check(path: Path) -> crate.Checked:
    return crate.check(path, sample=3, workers=1, progress=False)


def test_a_crate_has_all_of_its_figure_and_holds(archive: Path, tmp_path: Path) -> None:
    checked = check(archive)
    assert checked.holds
    assert (len(checked.rows), checked.verdicts) == (3, len(aykurt.fig4().claims.claims))
    assert str(checked).endswith("aykurt/fig4: the crate holds")
    # the same content is the same bytes
    assert crate.write(aykurt.fig4, Store(), tmp_path / "again").read_bytes() == archive.read_bytes()
    # what repositories of research data read
    root = unpacked(archive)
    read = ROCrate(root)
    assert read.name.startswith("aykurt/fig4: ")
    files = {entity.id: entity for entity in read.data_entities if entity.type == "File"}
    present = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert present - files.keys() == {layout.METADATA, "ro-crate-preview.html", sums.NAME}
    assert all(files[name]["sha256"] == sums.sha256(root / name) for name in files)
    (paper,) = (entity for entity in read.contextual_entities if entity.type == "ScholarlyArticle")
    assert next(author["name"] for author in paper["author"]) == "Kaan Aykurt"
    (action,) = (entity for entity in read.contextual_entities if entity.type == "CreateAction")
    assert action["instrument"]["name"] == "rdcnlab"
    scenarios = json.loads((root / layout.SCENARIOS).read_text())
    assert len(scenarios) == checked.runs
    assert check(root).holds


def tripled(root: Path) -> pa.Table:
    table = pq.read_table(root / FLOWS)
    number = table.column_names.index("fct_s")
    table = table.set_column(number, table.schema.field(number), pc.multiply(table["fct_s"], 3.0))
    pq.write_table(table, root / FLOWS, write_page_checksum=True)
    return table


def flipped(root: Path) -> None:
    data = bytearray((root / FLOWS).read_bytes())
    data[len(data) // 2] ^= 1
    (root / FLOWS).write_bytes(data)


def values(root: Path) -> None:
    tripled(root)
    seal(root)


def values_and_digests(root: Path) -> None:
    flows = tripled(root)
    runs = pq.read_table(root / RUNS).to_pylist()
    for run in runs:
        first, count = json.loads(run["tables"])["flows"]["rows"]
        run["digests"] = json.dumps(json.loads(run["digests"]) | {"flows": digest(flows.slice(first, count))})
    pq.write_table(pa.Table.from_pylist(runs), root / RUNS, write_page_checksum=True)
    seal(root)


def verdict(root: Path) -> None:
    columns = json.loads((root / layout.VERDICTS).read_text())
    columns[0]["rows"][0]["verdict"] = "nonsense"
    (root / layout.VERDICTS).write_text(json.dumps(columns))
    seal(root)


def added(root: Path) -> None:
    (root / "figures" / "more.png").write_bytes(b"")


def removed(root: Path) -> None:
    (root / layout.SCENARIOS).unlink()


def test_a_change_of_a_crate_is_found(archive: Path) -> None:
    for change, said in (
        (flipped, f"{FLOWS} is damaged"),
        (added, "figures/more.png is not listed in SHA256SUMS"),
        (removed, "scenarios.json is missing"),
        (values, "0 with the same bytes"),
        (values_and_digests, "0 with the same bytes"),
        (verdict, "nonsense in the crate"),
    ):
        root = unpacked(archive)
        change(root)
        checked = check(root)
        assert not checked.holds
        assert said in str(checked)
        assert str(checked).endswith("the crate does not hold")


def test_other_archives_are_refused_by_name(tmp_path: Path) -> None:
    text = tmp_path / "text.zip"
    text.write_text("no archive")
    outside, link, large = (tmp_path / f"{name}.zip" for name in ("outside", "link", "large"))
    with zipfile.ZipFile(outside, "w") as file:
        file.writestr("../outside.txt", "")
    with zipfile.ZipFile(link, "w") as file:
        entry = zipfile.ZipInfo("link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(entry, "/etc")
    with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(layout.MOST_FILES + 1):
            file.writestr(str(number), "")
    empty = tmp_path / "empty"
    empty.mkdir()
    for path, reason in (
        (text, "File is not a zip file"), (tmp_path / "none.zip", "No such file"),
        (outside, "no file below its directory"), (link, "no file below its directory"),
        (large, "more than 10000 files"), (empty, "SHA256SUMS is missing"),
    ):  # fmt: skip
        with pytest.raises(InputError, match="; `rdcnlab export ITEM --format ro-crate` writes one") as caught:
            check(path)
        assert reason in str(caught.value)
    assert not (tmp_path.parent / "outside.txt").exists()
