# SPDX-License-Identifier: Apache-2.0
"""The same scenario and seed give the same bytes, independent of what else the machine does."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import mininet
import pytest

from rdcnlab.engines.kernel import build, cores, guest, plan
from rdcnlab.engines.kernel.observe import observed
from rdcnlab.engines.network import compile_network
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.digest import digests
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest, SharedRun
from tests.engines.kernel.traffic.programs import run_in

pytestmark = pytest.mark.guest


@pytest.fixture(params=["cubic", "bbr"])
def scenario(request: pytest.FixtureRequest, two_flows: Scenario) -> Scenario:
    """A pair of flows with drops. BBR draws random numbers."""
    return two_flows.with_(cc=request.param, size="128 MiB", period="10 ms", seed=7)


def test_two_runs(run_guest: RunGuest, shared_run: SharedRun, scenario: Scenario) -> None:
    assert run_guest(scenario).digest == shared_run(scenario).digest


def test_two_sizes_of_memory(run_guest: RunGuest, scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    for mib in ("900", "1800"):
        monkeypatch.setenv("RDCNLAB_GUEST_MEMORY", mib)
        seen.add(run_guest(scenario).digest)
    assert len(seen) == 1


@pytest.mark.alone
def test_every_core_and_under_load(run_guest: RunGuest, scenario: Scenario) -> None:
    seen = {run_guest(scenario, core=core).digest for core in cores()[:2]}
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in cores()[:2]]
    try:
        seen.add(run_guest(scenario, core=cores()[0]).digest)
        seen.add(run_guest(scenario, core="any").digest)
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert len(seen) == 1


@pytest.mark.alone
def test_one_worker_and_two(two_flows: Scenario, tmp_path: Path) -> None:
    """A campaign's runs do not depend on the number of parallel runs, nor on the worker that makes them."""
    asked = [two_flows.with_(size="32 MiB", period="10 ms", seed=seed) for seed in range(4)]
    stores = [Store(tmp_path / str(workers), shipped=Shipped(tmp_path / "none")) for workers in (1, 2)]
    seen = [campaign(asked, workers=n, store=store, progress=False) for n, store in enumerate(stores, 1)]
    assert [dict(run.digests) for run in seen[0]] == [dict(run.digests) for run in seen[1]]
    assert len({str(run.digests) for run in seen[0]}) == len(asked)


@pytest.mark.slow
def test_what_is_drawn_before_the_start(run_guest: RunGuest, two_flows: Scenario) -> None:
    """A timer that starts at a random instant of the set-up would affect the first seconds. There must be none."""
    scenario = two_flows.with_(size="2 GiB", **{"probes.tcp": "none"})
    draws = [("s1", f"head -c {count} /dev/urandom > /dev/null") for count in (1, 1000)]
    assert len({run_guest(scenario, before=[draw]).digest for draw in draws}) == 1


def test_no_interface_speaks_ipv6(run_guest: RunGuest, two_hosts: Scenario) -> None:
    off = "cat /proc/net/if_inet6; cat /proc/sys/net/ipv6/conf/{}-eth0/disable_ipv6"
    asked = [(host, off.format(host)) for host in ("a", "b")] + [("a", "cat /proc/1/net/if_inet6")]
    assert [answer.split() for answer in run_guest(two_hosts, commands=asked).answers] == [["1"], ["1"], []]


#: A program that prints what a guest shows of its machine.
SHOWS = """\
import os, pathlib, sys
for name in ("meminfo", "cmdline", "mounts", "self/maps", "self/status", "self/limits", "self/stat", "vmstat",
             "zoneinfo", "stat", "uptime", "loadavg", "version", "swaps", "filesystems", "buddyinfo", "slabinfo",
             "self/environ"):
    path = pathlib.Path("/proc", name)
    print(name, path.read_bytes() if os.access(path, os.R_OK) else None)
print(os.listdir("/"), sys.flags.hash_randomization, sorted(os.environ))
"""


def shown(directory: Path, core: int | None = None) -> bytes:
    """Return what `SHOWS` prints, run in a directory."""
    (directory / "shows.py").write_text(SHOWS)
    (directory / "mine.yaml").write_text(
        "network: {fabric: dumbbell, pairs: 2, rate: 100 Mb/s}\nlimit: 10 s\n"
        "programs: [{host: s1, run: 'python3 shows.py', files: [shows.py]}]\n"
    )
    (directory / "run").mkdir()
    return run_in(directory / "run", Scenario.load(directory / "mine.yaml"), core).files["programs/s1.out"]


@pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.long)])
def test_what_a_program_sees_of_its_machine_is_the_same_in_each_run(
    kernel: build.Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Memory, addresses, processes and paths depend neither on the core nor on the user's settings and paths."""
    seen = set()
    for number in range(count):
        monkeypatch.setenv("TZ", ("UTC", "Asia/Tokyo")[number % 2])
        monkeypatch.setenv("LC_ALL", ("C", "de_DE.UTF-8", "C.UTF-8")[number % 3])
        monkeypatch.setenv("PYTHONHASHSEED", str(number))
        directory = tmp_path / f"{number:03d}" / "/".join(["long path"] * (number % 5 * 8))
        directory.mkdir(parents=True)
        seen.add(shown(directory, cores()[number % len(cores())]))
    assert len(seen) == 1


def test_seeds_differ(run_guest: RunGuest, shared_run: SharedRun, scenario: Scenario) -> None:
    assert shared_run(scenario).digest != run_guest(scenario.with_(seed=8)).digest


def test_seed_of_the_kernel_matters_to_bbr(run_guest: RunGuest, two_flows: Scenario) -> None:
    """If all start times are equal, the seed only affects the random numbers of the kernel."""
    base = two_flows.with_(cc="bbr", size="128 MiB", period="10 ms", **{"jitter.start": 0})
    assert run_guest(base.with_(seed=1)).digest != run_guest(base.with_(seed=2)).digest


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user to compare with")
def test_root_and_an_ordinary_user(
    shared_run: SharedRun, scenario: Scenario, kernel: build.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """User nobody gets the same result, without capabilities, in another directory and with the system's Python."""
    nobody = pwd.getpwnam("nobody")
    place = Path(tempfile.mkdtemp(prefix="rdcnlab-nobody-", dir="/var/tmp"))
    try:
        shutil.copytree(kernel.directory, place / "kernel")
        shutil.copytree(kernel.tools, place / "tools")
        shutil.copytree(build.HERE / "inside", place / "inside", ignore=shutil.ignore_patterns("__pycache__"))
        (place / "run").mkdir()
        for path in [place, *place.rglob("*")]:
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        child = os.fork()
        if not child:
            status = 1
            try:
                os.setgroups([])
                os.setgid(nobody.pw_gid)
                os.setuid(nobody.pw_uid)
                monkeypatch.setattr(guest, "HERE", place)
                copy = build.Kernel("copy", place / "kernel", place / "tools")
                guest.run(copy, plan.compile_plan(compile_network(scenario)), place / "run", python="/usr/bin/python3")
                (place / "run" / "digest").write_text(
                    str(digests(observed.tables(compile_network(scenario), place / "run")))
                )
                status = 0
            except BaseException:  # noqa: BLE001  (the parent checks the status)
                traceback.print_exc()
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert (place / "run" / "digest").read_text() == shared_run(scenario).digest
    finally:
        shutil.rmtree(place)


def test_two_pythons(run_guest: RunGuest, shared_run: SharedRun, scenario: Scenario, tmp_path: Path) -> None:
    """The version of Python in the guest must not matter. For example, 3.12 has no distutils."""
    other = another_python()
    if other is None:
        pytest.skip("no Python of another version, 3.11 or newer, is on the PATH")
    subprocess.run([other, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python3.*/site-packages")
    shutil.copytree(Path(mininet.__file__).parent, packages / "mininet", ignore=shutil.ignore_patterns("__pycache__"))
    python = tmp_path / "venv" / "bin" / "python"
    prefix = subprocess.check_output([python, "-c", "import sys; print(sys.base_prefix)"], text=True).strip()
    theirs = run_guest(scenario, python=str(python), read=[tmp_path / "venv", Path(prefix)])
    assert theirs.digest == shared_run(scenario).digest


#: A Python that sleeps before each import, so that its failing system calls are never many at one instant.
RESTFUL = """#!{python} -s
import builtins, os, runpy, sys, time
was = builtins.__import__
def rested(*given, **named):
    time.sleep(1e-6)
    return was(*given, **named)
builtins.__import__ = rested
sys.argv = [each for each in sys.argv[1:] if not each.startswith("-")]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_what_python_uses_when_it_starts(run_guest: RunGuest, two_flows: Scenario, tmp_path: Path) -> None:
    """Time that Python uses in the set-up stays with the scheduler; who goes first at an instant must not follow it.

    Of smaller flows none met an instant at which programs and the kernel's network thread were both ready.
    """
    scenario = two_flows.with_(size="512 MiB", period="50 ms", seed=1)
    python = tmp_path / "python"
    python.write_text(RESTFUL.format(python=sys.executable))
    python.chmod(0o755)
    assert run_guest(scenario, python=str(python), read=[tmp_path]).digest == run_guest(scenario).digest


def another_python() -> str | None:
    """Return a Python on the PATH that the project supports, other than the one of this process."""
    for minor in range(11, 20):
        found = shutil.which(f"python3.{minor}")
        if found is not None and minor != sys.version_info.minor:
            works = subprocess.run([found, "-c", "import ensurepip"], capture_output=True, check=False)
            if works.returncode == 0:  # a name from a version manager may not lead to a working Python
                return found
    return None


def test_the_patches_change_nothing_for_stock_tcp(
    run_guest: RunGuest, stock_kernel: build.Kernel, two_flows: Scenario
) -> None:
    """If links are made by tc, and all patches are applied but unused, the tables equal those without the patches."""
    flows = [
        {"name": name, "size": "64 MiB", "cc": cc, "path": "bypass", "src": src, "dst": "r1"}
        for name, cc, src in (("main", "cubic", "s1"), ("migrated", "bbr", "s2"), ("third", "dctcp", "s1"))
    ]
    scenario = two_flows.with_(flows=flows, **{"switch.kind": "linux", "probes.tcp": "ack"})
    ours, stock = run_guest(scenario), run_guest(scenario, kernel=stock_kernel)
    assert ours.tables["flows"]["retransmits"].sum() > 0
    assert ours.digest == stock.digest
