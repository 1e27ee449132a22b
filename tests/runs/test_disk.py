# SPDX-License-Identifier: Apache-2.0
"""Faults of the disk that runs are on: each has a sentence with path and cure, and no run is lost or shown damaged."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from rdcnlab.fields.errors import HintWarning, RunError
from rdcnlab.runs import disk
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario
from tests.runs.test_store import put

#: Puts a run of 4 MB into the store of its first argument, in the file system that the test has made.
WRITE = """
import sys
import warnings
from pathlib import Path
import numpy as np, pyarrow as pa
from rdcnlab.engines import Outcome
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario
from tests.fake_engine import tables
scenario = Scenario.load(sys.argv[2])
store = Store(Path(sys.argv[1]))
try:
    with store.workspace(run_id(scenario, "e1")) as directory:
        (directory / "records").write_bytes(np.random.default_rng(0).bytes(4_000_000))
        print(store.put(scenario, "e1", Outcome(tables(scenario), {}), directory).id)
except RunError as error:
    print("error:", error)
"""


def in_file_system(options: str, store: Path, scenario: Path, before: str = "true") -> str:
    """Write a run into a tmpfs of its own, in a namespace; skip where namespaces are not allowed."""
    mounted = f"mount -t tmpfs -o {options} none {store} && {before}"
    shell = f'{mounted} && exec "$0" -c "$1" {store} {scenario}'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", shell, sys.executable, WRITE]
    if shutil.which("unshare") is None or subprocess.run([*command[:4], "true"], check=False).returncode:
        pytest.skip("this machine allows no namespaces")
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert not done.returncode, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout.strip()


@pytest.fixture
def file(tmp_path: Path, two_flows: Scenario) -> Path:
    path = tmp_path / "scenario.json"
    path.write_text(two_flows.json())
    return path


def test_a_full_disk_is_named_with_its_size(tmp_path: Path, file: Path, two_flows: Scenario) -> None:
    store = tmp_path / "store"
    store.mkdir()
    said = in_file_system("size=3m", store, file)
    assert said.startswith(f"error: there is no room in {store}: ")
    assert " of 3 MiB are free" in said
    assert "RDCNLAB_STORE" in said
    assert in_file_system("size=30m", store, file) == run_id(two_flows, "e1")


def test_a_disk_that_cannot_be_written_is_named(tmp_path: Path, file: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    said = in_file_system("size=9m", store, file, f"mount -o remount,ro {store}")
    assert said.startswith(f"error: nothing can be written to {store}: its file system is read-only.")
    assert "RDCNLAB_STORE" in said


@pytest.mark.parametrize("content", [None, b"", b"P", b"PAR1", b"PAR1" + bytes(100), bytes(100) + b"PAR1"])
def test_a_run_with_a_damaged_table_is_made_again(store: Store, two_flows: Scenario, content: bytes | None) -> None:
    identifier = put(store, two_flows)
    table = store.root / identifier / "flows.parquet"
    whole = table.read_bytes()
    table.unlink()
    if content is not None:
        table.write_bytes(content)
    with pytest.warns(HintWarning, match=r"flows\.parquet is (damaged|missing); the run is made again"):
        assert store.find(two_flows, "e1") is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HintWarning)
        put(store, two_flows)
    assert table.read_bytes() == whole
    assert store.find(two_flows, "e1") is not None


def test_a_directory_that_is_not_there_yet_has_room(store: Store) -> None:
    assert disk.no_room(store.root / "not" / "there") is None


def of_a_file(root: Path) -> None:
    root.write_text("a file")


def of_links(root: Path) -> None:
    root.symlink_to(root.with_name("other"))
    root.with_name("other").symlink_to(root)


def below_a_file(root: Path) -> None:
    root.parent.rmdir()
    root.parent.write_text("a file")


@pytest.mark.usefixtures("fake_engine", "pool_here")
@pytest.mark.parametrize(
    ("spoil", "cause"), [(of_a_file, "no directory"), (of_links, "a link"), (below_a_file, "no directory")]
)
def test_a_store_that_cannot_be_one_is_named_before_anything_is_run(
    tmp_path: Path, two_flows: Scenario, spoil: Callable[[Path], None], cause: str
) -> None:
    root = tmp_path / "place" / "store"
    root.parent.mkdir()
    spoil(root)
    store = Store(root, shipped=Shipped(tmp_path / "none"))
    for use in (store.check_writable, lambda: campaign([two_flows], store=store, progress=False)):
        with pytest.raises(RunError, match=f"written to .*{cause}.*RDCNLAB_STORE"):
            use()
    assert not (tmp_path / "made").exists()  # the engine was not asked


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_a_store_in_which_only_the_last_step_would_fail_is_named_before_anything_is_run(
    store: Store, two_flows: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the directory of work can be written to, and the store itself cannot."""
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if Path(target).parent == store.root:
            raise PermissionError(errno.EACCES, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(RunError, match="this user has no right to write there"):
        campaign([two_flows], store=store, progress=False)
    assert not (tmp_path / "made").exists()


def test_a_run_that_cannot_be_put_in_its_place_says_why(
    store: Store, two_flows: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if self.name == "run":
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(RunError, match=r"could not be stored in .*: .*Input/output error"):
        put(store, two_flows)
