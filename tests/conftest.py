# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from rdcnlab.runs import campaign
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import entry_points
from rdcnlab.system.locks import locked
from tests.pool_here import PoolHere

# A shell starts a background job with Ctrl-C ignored, and its child processes inherit that. Tests send Ctrl-C to them.
signal.signal(signal.SIGINT, signal.default_int_handler)
# an example takes longer on a busy machine, and is not wrong for that
hypothesis.settings.register_profile("without deadlines", deadline=None)
hypothesis.settings.load_profile("without deadlines")

#: For tests of the laboratory that use commands or figures of the papers, which an environment may lack.
with_papers = pytest.mark.skipif(
    not entry_points.points("rdcnlab.papers"), reason="the package rdcnlab-papers is not installed"
)
#: The cores that the tests may use together.
CORES = os.sched_getaffinity(0)
#: Tests that take more than two seconds; ``tools/slow`` writes the list.
SLOW = frozenset((Path(__file__).parent / "slow.txt").read_text().split())


@contextlib.contextmanager
def all_cores() -> Iterator[None]:
    """Use the cores of other workers too, as a build of the kernel does, which is among the last to end."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


def pytest_configure() -> None:
    """Give each of several workers its own core, so that guests of different workers never share a core."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that were measured to be slow, and run quick ones first, so that a failure is seen early."""
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker("slow")
    items.sort(key=lambda item: [item.get_closest_marker(name) is not None for name in ("slow", "guest", "ns3")])


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # there is no such process, or it ends while its file is read
        return False


def wait_for(condition: object, limit_s: float = 120) -> object:
    assert callable(condition)
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise TimeoutError


TWO_FLOWS = {
    "network": "aykurt",
    "flows": [
        {"name": "main", "size": "2 GiB", "cc": "cubic", "path": "green"},
        {"name": "migrated", "size": "2 GiB", "cc": "cubic", "path": [["50 ms", "blue"], ["50 ms", "green"]]},
    ],
}


@pytest.fixture
def two_flows() -> Scenario:
    """Two small flows."""
    return Scenario.from_dict(TWO_FLOWS).with_(size="16 MiB")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store without shipped results."""
    return Store(tmp_path / "runs", shipped=Shipped(tmp_path / "none"))


#: Makes a folder once for all tests and workers: its name, and the function that fills it.
Shared = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """Make a folder that many tests read once for all workers, whichever needs it first."""
    session = tmp_path_factory.getbasetemp()
    root = session.parent if "PYTEST_XDIST_WORKER" in os.environ else session

    def folder(name: str, fill: Callable[[Path], object]) -> Path:
        made = root / "shared" / name
        made.parent.mkdir(exist_ok=True)
        with locked(made.with_name(f"{name}.lock")):
            if not made.with_name(f"{name}.made").exists():
                made.mkdir()
                fill(made)
                made.with_name(f"{name}.made").touch()
        return made

    return folder


@pytest.fixture
def pool_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the scenarios of campaigns in this process; see `tests/pool_here.py`."""
    monkeypatch.setattr(campaign, "LocalPool", PoolHere)


@pytest.fixture
def fake_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replace the kernel engine by `tests/fake_engine.py`, also in workers."""
    here = str(Path(__file__).parent)
    monkeypatch.setenv("RDCNLAB_ENGINE", "fake_engine:FakeEngine")
    monkeypatch.setenv("RDCNLAB_RESULTS", str(tmp_path / "none"))
    monkeypatch.setenv("RDCNLAB_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("FAKE_MARK", str(tmp_path))
    monkeypatch.setattr(sys, "path", [here, *sys.path])
