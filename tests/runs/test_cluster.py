# SPDX-License-Identifier: Apache-2.0
"""A campaign on a Dask cluster of separate processes without shared files: same bytes, nothing lost or made twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.campaign import CampaignError, campaign
from rdcnlab.runs.pools.cluster import ClusterPool
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.conftest import wait_for
from tests.fake_engine import CRASHES, DIES, FAILS, ORPHANED, SLEEPS, TAKES
from tests.runs.machines import Machines, without_rdcnlab

pytest.importorskip("distributed")
pytestmark = [pytest.mark.usefixtures("fake_engine"), pytest.mark.slow]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Machines]:
    machines = Machines(tmp_path / "machines")
    yield machines
    machines.end()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two workers for several tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]))
        machines = Machines(tmp_path_factory.mktemp("machines"))
        for name in ("one", "two"):
            machines.add(name)
    yield machines
    machines.end()


def made(cluster: Machines) -> Counter[int]:
    return sum((worker.made for worker in cluster.workers), Counter())


def bytes_of(store: Store) -> dict[str, bytes]:
    """Return all files of a store but provenances, which have wall-clock times, and lists, which have their hashes."""
    paths = [path for path in store.root.glob("[!.]*/*") if path.name not in ("provenance.json", "SHA256SUMS")]
    return {str(path.relative_to(store.root)): path.read_bytes() for path in paths}


def test_the_same_bytes_as_on_this_machine(
    cluster: Machines, store: Store, tmp_path: Path, two_flows: Scenario
) -> None:
    for name in ("one", "two"):
        cluster.add(name)
    asked = [two_flows.with_(seed=seed) for seed in range(6)]
    runs = campaign(asked, store=store, cluster=cluster.address, progress=False)
    assert [run.scenario for run in runs] == asked
    assert made(cluster) == Counter(range(6))
    here = Store(tmp_path / "here", shipped=Shipped(tmp_path / "none"))
    campaign(asked, store=here, workers=1, progress=False)
    assert bytes_of(store) == bytes_of(here)
    # nothing stays on the workers
    assert not [path for worker in cluster.workers for path in worker.home.rglob("*.parquet")]
    assert not list((store.root / ".work").iterdir())
    # a second campaign asks nobody
    campaign(asked, store=store, cluster="tcp://127.0.0.1:1", progress=False)


@pytest.mark.parametrize(
    ("seed", "reason"), [(FAILS, "the guest panicked"), (DIES, "SIGKILL"), (CRASHES, "a fault of ours")]
)
def test_a_failure_comes_back_with_its_log(
    shared: Machines, store: Store, two_flows: Scenario, seed: int, reason: str
) -> None:
    asked = [two_flows.with_(seed=number) for number in (1, seed, 2)]
    with pytest.raises(CampaignError, match=rf"{reason}.* \(on tcp://") as caught:
        campaign(asked, store=store, cluster=shared.address, progress=False)
    assert [failure.scenario.seed for failure in caught.value.failures] == [seed]
    assert len(list(store)) == 2
    if seed == FAILS:
        log = caught.value.failures[0].error.log
        assert log is not None
        assert log.is_relative_to(store.root / ".failed")
        assert log.read_text() == "what went on\n"


def test_a_client_of_dask_stays_open(shared: Machines, store: Store, two_flows: Scenario) -> None:
    from distributed import Client

    with Client(shared.address, set_as_default=False) as client:
        assert len(campaign([two_flows], store=store, cluster=client, progress=False)) == 1
        assert client.status == "running"


def in_background(work: Callable[[], object]) -> Callable[[], None]:
    """Start a function in a thread; the result waits for it, and raises its error."""
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the test
            errors.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()

    def joined() -> None:
        thread.join(90)
        assert not thread.is_alive()
        if errors:
            raise errors[0]

    return joined


def test_a_worker_dies_and_another_comes(
    cluster: Machines, store: Store, two_flows: Scenario, capfd: pytest.CaptureFixture[str]
) -> None:
    """What the dead worker had finished stays; what it was making starts again on the worker that came later."""
    first = cluster.add("first")
    seeds = [1, 2, TAKES, 3, TAKES + 1]
    asked = [two_flows.with_(seed=seed) for seed in seeds]
    joined = in_background(lambda: campaign(asked, store=store, cluster=cluster.address, progress=False))
    wait_for(lambda: (first.home / f"begun-{TAKES}").exists())
    first.kill()
    second = cluster.add("second")
    joined()
    assert first.made == Counter([1, 2])
    assert second.made == Counter([TAKES, 3, TAKES + 1])
    assert sorted(run.scenario.seed for run in store) == sorted(seeds)
    assert f"the worker {'tcp://'}" in capfd.readouterr().err


def test_a_run_that_takes_its_workers_with_it_fails_at_last(
    cluster: Machines, store: Store, two_flows: Scenario
) -> None:
    """Dask's nanny starts the worker again each time. The other runs are not affected."""
    cluster.add("one", "--nanny")
    asked = [two_flows.with_(seed=seed) for seed in (1, ORPHANED, 2)]
    with pytest.raises(CampaignError, match="3 workers vanished while they ran this") as caught:
        campaign(asked, store=store, cluster=cluster.address, progress=False)
    assert [failure.scenario.seed for failure in caught.value.failures] == [ORPHANED]
    assert made(cluster) == Counter([1, 2])


def test_the_scheduler_starts_again(cluster: Machines, store: Store, two_flows: Scenario) -> None:
    """Workers of Dask end with their scheduler. Results are kept, and what was on its way starts again."""
    first = cluster.add("first")
    seeds = [1, 2, TAKES, 3]
    asked = [two_flows.with_(seed=seed) for seed in seeds]
    joined = in_background(lambda: campaign(asked, store=store, cluster=cluster.address, progress=False))
    wait_for(lambda: (first.home / f"begun-{TAKES}").exists())
    cluster.kill_scheduler()
    cluster.start()
    second = cluster.add("second")
    joined()
    assert first.made == Counter([1, 2])
    assert second.made == Counter([TAKES, 3])
    assert sorted(run.scenario.seed for run in store) == sorted(seeds)


# a run that never ends keeps a core, and runs of two such tests would wait for each other's
@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_clients_end_ends_the_runs(
    shared: Machines, tmp_path: Path, two_flows: Scenario, number: signal.Signals
) -> None:
    """After Ctrl-C, or kill -9 of the client, engines on the workers clean up, and finished runs are kept."""
    root = tmp_path / "runs"
    code = (
        "import sys\nfrom rdcnlab import Scenario, Store, campaign\nbase = Scenario.load(sys.argv[1])\n"
        f"campaign([base.with_(seed=s) for s in (1, 2, {SLEEPS})], store=Store(sys.argv[2]), cluster=sys.argv[3],"
        " progress=False)"
    )
    (tmp_path / "s.json").write_text(two_flows.json())
    command = [sys.executable, "-c", code, str(tmp_path / "s.json"), str(root), shared.address]
    homes = [worker.home for worker in shared.workers]
    for path in [path for home in homes for path in home.glob("cleaned")]:
        path.unlink()
    parent = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    before = {path for home in homes for path in home.glob("[0-9]*")}
    wait_for(lambda: {path for home in homes for path in home.glob("[0-9]*")} - before)
    # a client that is killed while it stores leaves work, which the next one removes; here it only waits
    wait_for(lambda: len(list(Store(root))) == 2 and not list((root / ".work").iterdir()))
    parent.send_signal(number)
    assert parent.wait(60) != 0
    wait_for(lambda: any((home / "cleaned").exists() for home in homes))
    store = Store(root)
    assert sorted(run.scenario.seed for run in store) == [1, 2]
    assert not list((root / ".work").iterdir())


def test_a_worker_with_another_engine_is_left_out(
    cluster: Machines, store: Store, two_flows: Scenario, capfd: pytest.CaptureFixture[str]
) -> None:
    other = cluster.add("other", FAKE_IDENTITY="0ther")
    asked = [two_flows.with_(seed=seed) for seed in range(3)]
    with pytest.raises(InputError, match=r"cluster\.tcp://.*\.identity: 0ther .* must be fa4e, as here"):
        campaign(asked, store=store, cluster=cluster.address, progress=False)
    same = cluster.add("same")
    campaign(asked, store=store, cluster=cluster.address, progress=False)
    assert not other.made
    assert same.made == Counter(range(3))
    assert "is left out" in capfd.readouterr().err


def test_a_worker_without_rdcnlab_says_so(cluster: Machines, store: Store, two_flows: Scenario, tmp_path: Path) -> None:
    cluster.add("bare", PYTHONPATH=without_rdcnlab(tmp_path))
    with pytest.raises(InputError, match=r"cluster\.tcp://.*\.rdcnlab: 'none' is not possible"):
        campaign([two_flows], store=store, cluster=cluster.address, progress=False)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("somewhere", "the address of a Dask scheduler such as tcp://"),
        ("tcp://127.0.0.1:1", "a Dask scheduler that runs; none answers there"),
        ("missing.json", "a scheduler file that exists"),
        ("slurm:0", "slurm:N for N jobs"),
        (7, "or a Client or Cluster of Dask"),
    ],
)
def test_bad_addresses(store: Store, two_flows: Scenario, address: object, allowed: str) -> None:
    with pytest.raises(InputError, match=f"cluster: .*{allowed}"):
        campaign([two_flows], store=store, cluster=address, progress=False)


def test_workers_are_not_for_a_cluster(store: Store, two_flows: Scenario) -> None:
    with pytest.raises(InputError, match="workers: 2 must be left out together with a cluster"):
        campaign([two_flows], store=store, cluster="tcp://127.0.0.1:1", workers=2, progress=False)


def test_a_cluster_without_workers_is_given_up(cluster: Machines, store: Store, two_flows: Scenario) -> None:
    pool = ClusterPool(cluster.address, store, wall_limit_s=60, patience_s=2)
    with pytest.raises(RunError, match="had no worker that can be used for 2 s"):
        campaign([two_flows], store=store, pool=pool, progress=False)
    # the next campaign of the same command does not wait again
    begun = time.monotonic()
    with pytest.raises(RunError, match="had no worker"):
        campaign([two_flows], store=store, pool=pool, progress=False)
    assert time.monotonic() < begun + 1
    pool.close()


def test_a_scheduler_that_stays_away_is_given_up(cluster: Machines, store: Store, two_flows: Scenario) -> None:
    pool = ClusterPool(cluster.address, store, wall_limit_s=60, patience_s=2)
    cluster.kill_scheduler()
    with pytest.raises(RunError, match="did not come back within 2 s"):
        campaign([two_flows], store=store, pool=pool, progress=False)
    pool.close()


def test_jobs_of_slurm_are_workers(
    store: Store, two_flows: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of SLURM are scripts that start and end a process; all the rest is real."""
    import dask

    programs = tmp_path / "bin"
    programs.mkdir()
    start = f"""#!/bin/sh
cp "$1" {tmp_path}/job.sh # as SLURM does: dask-jobqueue removes its file
setsid sh {tmp_path}/job.sh >>{tmp_path}/job.log 2>&1 &
echo Submitted batch job $!
"""
    for name, script in {"sbatch": start, "scancel": '#!/bin/sh\nkill -- -"$1"\n'}.items():
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), os.environ["PATH"]]))
    monkeypatch.chdir(tmp_path)
    asked = [two_flows.with_(seed=seed) for seed in range(3)]
    with pytest.raises(InputError, match=r"cluster: 'slurm:1' is not possible; .*cores and memory of a job"):
        campaign(asked, store=store, cluster="slurm:1", progress=False)
    own = {"cores": 1, "memory": "1GB", "interface": "lo", "log-directory": str(tmp_path)}
    with dask.config.set({f"jobqueue.slurm.{name}": value for name, value in own.items()}):
        runs = campaign(asked, store=store, cluster="slurm:1", progress=False)
    assert [run.scenario for run in runs] == asked
    assert (tmp_path / "made").read_text().count("\n") == 3
    wait_for(lambda: "End worker" in (tmp_path / "job.log").read_text())
