# SPDX-License-Identifier: Apache-2.0
"""Parts of a cluster: leases of cores, messages of runs, builds that travel, facts of machines. Dask is not needed."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rdcnlab.engines import Outcome
from rdcnlab.engines.builds import cache
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.pools import build_bundle, lease, run_message, worker_environment
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario
from rdcnlab.system import extras
from tests.conftest import wait_for
from tests.fake_engine import tables


@pytest.fixture
def other_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lease from other names than those of real runs beside this test."""
    monkeypatch.setattr(lease, "NAME", f"test-{tmp_path.name}-{os.getpid()}-")


def test_a_core_is_leased_once_and_given_back(other_names: None) -> None:
    first = lease.take(5)
    assert first is not None
    assert lease.take(5) is None
    other = lease.take(6)
    assert other is not None
    first.close()
    again = lease.take(5)
    assert again is not None
    again.close()
    other.close()


def test_the_lease_of_a_process_that_is_killed_is_free(other_names: None) -> None:
    code = (
        "import sys, time\nfrom rdcnlab.runs.pools import lease\nlease.NAME = sys.argv[1]\n"
        "with lease.lease_core() as core:\n print(core, flush=True)\n time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, lease.NAME], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    core = int(holder.stdout.readline())
    assert core == min(os.sched_getaffinity(0))
    assert lease.take(core) is None
    holder.kill()
    holder.wait()
    holder.stdout.close()
    free = wait_for(lambda: lease.take(core))
    free.close()  # type: ignore[attr-defined]


def test_pools_have_different_cores_as_far_as_there_are_enough() -> None:
    """Two campaigns of one worker each, on a machine of three cores, do not wait for one core."""
    cores = [90_000, 90_001, 90_002]  # numbers that no other pool of this machine has
    with lease.choose_cores(cores, 1) as first, lease.choose_cores(cores, 1) as second:
        assert [first, second] == [[90_000], [90_001]]
        with lease.choose_cores(cores, 2) as shared:
            assert shared == [90_000, 90_002]
    with lease.choose_cores(cores, 5) as many:
        assert many == [*cores, 90_000, 90_001]
    with lease.choose_cores(cores, 0) as none:
        assert none == []


def test_a_lease_pins_and_the_affinity_comes_back(other_names: None) -> None:
    mine = os.sched_getaffinity(0)
    with lease.lease_core() as core:
        assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == mine


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Store, Store]:
    """The stores of a worker and of a client."""
    none = Shipped(tmp_path / "none")
    return Store(tmp_path / "there", shipped=none), Store(tmp_path / "here", shipped=none)


def put(store: Store, scenario: Scenario) -> run_message.RunMessage:
    """Store a run with a file in a worker's store, and return its message."""
    with store.workspace("work") as directory:
        (directory / "r1.pcapng").write_bytes(b"packets")
        outcome = Outcome(tables(scenario), {"wall_s": 1.5}, {"r1.pcapng": directory / "r1.pcapng"})
        return run_message.of_run(store.put(scenario, "fa4e", outcome, directory))


def test_a_message_has_the_whole_run(stores: tuple[Store, Store], two_flows: Scenario) -> None:
    there, here = stores
    run = run_message.store_run(put(there, two_flows), two_flows, "fa4e", here)
    assert run.id == run_id(two_flows, "fa4e")
    assert run.file("r1.pcapng").read_bytes() == b"packets"
    assert run.provenance["wall_s"] == 1.5
    assert not list(there)


def test_a_message_that_was_changed_on_the_way_is_refused(stores: tuple[Store, Store], two_flows: Scenario) -> None:
    there, here = stores
    sent = put(there, two_flows)
    other = put(there, two_flows.with_(seed=1))
    mixed = dataclasses.replace(sent, tables={**sent.tables, "flows": other.tables["flows"]})
    with pytest.raises(RunError, match="not those that it made"):
        run_message.store_run(mixed, two_flows, "fa4e", here)
    assert not list(here)


def test_the_end_of_a_long_log_comes_back(
    stores: tuple[Store, Store], two_flows: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here = stores
    monkeypatch.setattr(run_message, "_END_B", 8)
    left = there.root / ".failed" / "id"
    (left / "engine").mkdir(parents=True)
    (left / "engine" / "console.log").write_text("long ago, and then this")
    sent = run_message.of_failure("the guest panicked", left / "engine" / "console.log", there.root)
    assert not list((there.root / ".failed").iterdir())
    with pytest.raises(RunError, match="the guest panicked") as caught:
        run_message.store_run(sent, two_flows, "fa4e", here)
    assert caught.value.log is not None
    assert caught.value.log.read_text() == "hen this"


def test_builds_are_unpacked_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDCNLAB_CACHE", str(tmp_path / "client"))
    source = cache() / "kernels" / "0123456789abcdef"
    source.mkdir(parents=True)
    (source / "linux").write_bytes(b"\x7fELF" * 1000)
    (source / "linux").chmod(0o755)
    (source / "version").write_text("6.12\n")
    one = build_bundle.build_of("kernels/0123456789abcdef", source)
    scripts = build_bundle.scripts_of({"gcc": "gcc (Debian 12.2.0-14) 12.2.0"})
    monkeypatch.setenv("RDCNLAB_CACHE", str(tmp_path / "worker"))
    places = [one.place, scripts.place]
    assert build_bundle.lacking(places) == places
    for each in (one, scripts, one):
        build_bundle.unpack(each)
    assert build_bundle.lacking(places) == []
    kernel = cache() / one.place
    assert {path.name for path in kernel.iterdir()} == {"linux", "version"}
    assert os.access(kernel / "linux", os.X_OK)
    assert not os.access(kernel / "version", os.X_OK)
    assert not list(kernel.parent.glob(".*"))
    environment = build_bundle.environment({"KERNEL_SOURCE": "https://not-needed.invalid/x"}, scripts.place)
    said = subprocess.run(["gcc", "--version"], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == "gcc (Debian 12.2.0-14) 12.2.0\n"
    refused = subprocess.run(["gcc", "-c", "x.c"], env=environment, capture_output=True, text=True, check=False)
    assert (refused.returncode, "compiles nothing" in refused.stderr) == (1, True)


def test_what_differs_is_named() -> None:
    here = {"Python": "3.11", "rdcnlab": "0.1.0", "kernel": "a6a2", "identity": "77"}
    assert worker_environment.differing("cluster.w", here, here) is None
    other = worker_environment.differing(
        "cluster.w", {**here, "rdcnlab": "0.0.9", "kernel": "4373", "identity": "78"}, here
    )
    assert [(problem.field, problem.value) for problem in other.problems] == [  # type: ignore[union-attr]
        ("cluster.w.rdcnlab", "0.0.9"),
        ("cluster.w.kernel", "4373"),
    ]
    assert "must be 0.1.0, as here" in str(other)
    alone = worker_environment.differing("cluster.w", {**here, "identity": "78"}, here)
    assert "cluster.w.identity: 78 is not possible; it must be 77, as here" in str(alone)


def test_without_dask_the_command_that_installs_it_is_named(
    store: Store, two_flows: Scenario, fake_engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(
        RunError, match=r"A cluster needs the Python packages distributed and dask_jobqueue; .*make cluster"
    ):
        campaign([two_flows], store=store, cluster="tcp://127.0.0.1:8786", progress=False)
