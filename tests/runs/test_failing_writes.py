# SPDX-License-Identifier: Apache-2.0
"""Each write of a store fails once, with each error of a disk: a sentence, and nothing is wrong afterwards.

``failing_writes.c`` stands between the process and the C library, so that it also reaches what Arrow writes. The test
counts the calls that change something below the store, and then lets the first one fail, the second one, and so on.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdcnlab.scenario import Scenario

#: What a sentence says of each error.
ERRORS = {
    "ENOSPC": "there is no room",
    "EIO": "Input/output error",
    "EROFS": "read-only",
    "EDQUOT": "quota",
    "ESTALE": "Stale file handle",
}

#: Puts a run again and again, and prints one line of JSON for each call that failed.
PROGRAM = """
import ctypes, errno, json, shutil, sys, traceback, warnings
from pathlib import Path
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.digest import digests
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario
from tests.fake_engine import tables
from tests.runs.test_store import put
warnings.simplefilter("ignore")
shim, root = ctypes.CDLL(sys.argv[1]), Path(sys.argv[2])
scenario = Scenario.load(sys.argv[3])
expected = digests(tables(scenario))
whole = Path(sys.argv[4])  # a store with the run, whose list is missing, or one of whose tables is damaged

def attempt(name, n):
    shutil.rmtree(root, ignore_errors=True)
    if whole.is_dir():
        shutil.copytree(whole, root)
    store = Store(root, shipped=Shipped(root / "none"))
    said, cause = "", None
    shim.fail_at(str(root).encode(), n, getattr(errno, name))
    try:
        store.check_writable()
        put(store, scenario)
    except RunError as error:
        said, first = error.reason, error
        while first.__cause__ is not None:
            first = first.__cause__
        cause = getattr(first, "errno", None)
    except BaseException:
        said = traceback.format_exc()
    finally:
        calls = shim.calls_seen()
        shim.fail_at(b"", 0, 0)
    # what is there then is right, or counts as missing; and it can be made
    after = Store(root, shipped=Shipped(root / "none"))
    found = after.find(scenario, "e1")
    values = [found is None or digests(found.tables) == expected]
    put(after, scenario)
    again = after.find(scenario, "e1")
    values.append(again is not None and digests(again.tables) == expected)
    with after.workspace("sweep"):
        pass
    left = sorted(path.name for path in [*root.iterdir(), *(root / ".work").iterdir()])
    row = {"error": name, "n": n, "calls": calls, "said": said, "cause": cause, "values": values, "left": left}
    print(json.dumps(row))
    return calls

step, names = int(sys.argv[5]), sys.argv[6:]
for begin, name in enumerate(names, 1):
    n = begin  # so that each error meets other calls
    while attempt(name, n) >= n:
        n += step
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    path = tmp_path_factory.mktemp("shim") / "failing_writes.so"
    source = Path(__file__).with_name("failing_writes.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", path, source, "-ldl"], check=True)
    return path


@pytest.fixture
def root() -> Iterator[Path]:
    """A store in memory, if there is such a file system: the test waits for the disk a thousand times."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as directory:
        yield Path(directory) / "store"


@pytest.mark.parametrize("before", ["nothing", "an old run", "a damaged run"])
@pytest.mark.parametrize("step", [45, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_each_write_fails_once_and_nothing_is_wrong_afterwards(
    shim: Path, tmp_path: Path, root: Path, two_flows: Scenario, before: str, step: int
) -> None:
    from rdcnlab.runs.store import Store
    from tests.runs.test_store import put

    scenario = two_flows.with_(size="1 MiB")
    (tmp_path / "scenario.json").write_text(scenario.json())
    if before != "nothing":
        directory = tmp_path / "whole" / put(Store(tmp_path / "whole"), scenario)
        if before == "an old run":
            (directory / "SHA256SUMS").unlink()
        else:
            (directory / "flows.parquet").write_bytes(b"PAR1")
    arguments = [shim, root, tmp_path / "scenario.json", tmp_path / "whole", step, *ERRORS]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        env={**os.environ, "LD_PRELOAD": str(shim)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["error"] for row in rows} == set(ERRORS)
    # the last attempt of each error had no call that failed
    assert len(rows) > len(ERRORS) * (90 if before == "an old run" else 150) / step
    for row in rows:
        assert "Traceback" not in row["said"], row
        assert row["values"] == [True, True], row
        assert not row["said"] or str(root) in row["said"], row
        assert not row["said"] or "RDCNLAB_STORE" in row["said"], row
        # the cause is kept, for people and for programs
        assert not row["said"] or ERRORS[row["error"]] in row["said"], row
        assert not row["said"] or row["cause"] == getattr(errno, row["error"]), row
        others = [name for name in row["left"] if len(name) != 64]
        assert set(others) <= {".damaged", ".failed", ".work"}, row
    assert any(row["said"] for row in rows)
