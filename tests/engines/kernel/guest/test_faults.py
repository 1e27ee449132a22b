# SPDX-License-Identifier: Apache-2.0
"""Every fault of a run gives its own clear error, and leaves no processes or files behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import guest, plan
from rdcnlab.engines.kernel.build import Kernel
from rdcnlab.engines.kernel.guest import memory, processes, watchdog
from rdcnlab.engines.kernel.jail import sandbox
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest


#: A shell line that allocates more memory than the guest has.
EAT = (
    "echo 1 > /proc/sys/vm/overcommit_memory; "
    f"{sys.executable} -c 'x = bytearray(4 * 10**9); x[::4096] = bytes(len(x[::4096]))'"
)


@pytest.fixture(autouse=True)
def nothing_stays(kernel: Kernel) -> object:
    """Check that no process of a guest is left."""
    yield
    assert not guest_of(kernel)


def test_wall_clock_limit(run_guest: RunGuest, two_flows: Scenario) -> None:
    with pytest.raises(RunError, match=r"longer than the limit of 0.3 s of wall clock"):
        run_guest(two_flows.with_(size="2 GiB"), wall_limit_s=0.3)


def test_virtual_time_stands_still(run_guest: RunGuest, two_hosts: Scenario) -> None:
    with pytest.raises(RunError, match=r"virtual clock stands still.*spins"):
        run_guest(two_hosts, commands=[("a", "while :; do :; done")], stall_s=2.0)


def test_panic(run_guest: RunGuest, two_hosts: Scenario, kernel: Kernel, tmp_path: Path) -> None:
    """A kernel panics if its first process ends."""
    tools = tmp_path / "tools"
    shutil.copytree(kernel.tools, tools)
    shutil.copy("/bin/false", tools / "rdcn-guest")
    with pytest.raises(RunError, match="kernel panicked"):
        run_guest(two_hosts, kernel=Kernel(kernel.id, kernel.directory, tools))


def test_out_of_memory(run_guest: RunGuest, two_hosts: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDCNLAB_GUEST_MEMORY", "256")
    with pytest.raises(RunError, match=r"ran out of memory.*RDCNLAB_GUEST_MEMORY"):
        run_guest(two_hosts, commands=[("a", EAT)])


def test_a_signal_from_outside(kernel: Kernel, two_flows: Scenario, tmp_path: Path) -> None:
    def shoot() -> None:
        for _ in range(6000):
            time.sleep(0.01)
            for pid in guest_of(kernel):
                os.kill(pid, signal.SIGKILL)
                return

    shooter = threading.Thread(target=shoot)
    shooter.start()
    with pytest.raises(RunError, match="ended from outside by SIGKILL"):
        guest.run(
            kernel, plan.compile_plan(compile_network(two_flows.with_(size="4 GiB"))), tmp_path, python=sys.executable
        )
    shooter.join()


@pytest.mark.slow
@pytest.mark.parametrize("which", range(8))
def test_a_lost_process_ends_the_run(kernel: Kernel, two_flows: Scenario, tmp_path: Path, which: int) -> None:
    """If the host kills any process of the guest, the run ends soon, and its error gives the reason."""
    killed = []

    def shoot() -> None:
        for _ in range(6000):
            time.sleep(0.01)
            for session in guest_of(kernel):
                clock = tmp_path / "clock"
                if watchdog.read(clock) > START_NS:
                    others = sorted(one.pid for one in processes.members({session}) if one.pid != session)
                    os.kill(others[which % len(others)], signal.SIGKILL)
                    killed.append(time.monotonic())
                    return

    shooter = threading.Thread(target=shoot)
    shooter.start()
    # long enough to be running when the process is killed, short enough to end if the loss goes unnoticed
    long = two_flows.with_(size="4 GiB")
    with pytest.raises(RunError, match="the host ended a process of the guest from outside"):
        guest.run(kernel, plan.compile_plan(compile_network(long)), tmp_path, python=sys.executable, wall_limit_s=120)
    ended = time.monotonic()
    shooter.join()
    assert ended - killed[0] < 10


def test_a_clock_that_runs_away_ends_the_run(run_guest: RunGuest, two_hosts: Scenario) -> None:
    with pytest.raises(RunError, match=r"virtual clock is at \d+ s and the run had to end before 720 s"):
        run_guest(two_hosts, commands=[("a", "sleep 1000000000")], wall_limit_s=60)


def test_a_program_that_dies_says_why(kernel: Kernel, tmp_path: Path) -> None:
    inside, directory = tmp_path / "inside", tmp_path / "run"
    inside.mkdir()
    directory.mkdir()
    (inside / "main.py").write_text("import no_such_module\n")
    words = "the guest's program ended with status 1: ModuleNotFoundError: No module named 'no_such_module'"
    with pytest.raises(RunError, match=words) as caught:
        guest.boot(kernel, directory, memory.BASE, python=sys.executable, inside=str(inside), read=[inside])
    assert caught.value.log == directory / "console.log"


def guest_of(kernel: Kernel) -> list[int]:
    """Return the first process of each guest that this process started.

    It need not be a child: where bubblewrap confines the guest, processes of bubblewrap are between them. Files are
    compared and not their names, as the path of the kernel may contain a symbolic link.
    """

    def is_guest(pid: int) -> bool:
        try:
            return kernel.linux.samefile(f"/proc/{pid}/exe")
        except OSError:  # it has just ended, or is of another user
            return False

    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])

    def is_ours(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [pid for pid, parent in parents.items() if is_ours(pid) and is_guest(pid) and not is_guest(parent)]


def test_ctrl_c_ends_the_guest(kernel: Kernel, two_flows: Scenario, tmp_path: Path) -> None:
    def interrupt() -> None:
        for _ in range(6000):
            time.sleep(0.01)
            if guest_of(kernel):
                os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        guest.run(
            kernel, plan.compile_plan(compile_network(two_flows.with_(size="4 GiB"))), tmp_path, python=sys.executable
        )
    thread.join()
    assert not guest_of(kernel)


def test_killing_the_host_process_ends_the_guest(kernel: Kernel, two_flows: Scenario, tmp_path: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "from rdcnlab.engines.kernel import guest, plan\n"
        "from rdcnlab.engines.kernel.build import Kernel\n"
        "from rdcnlab.engines.network import compile_network\n"
        "from rdcnlab.scenario import Scenario\n"
        f"network = compile_network(Scenario.load({str(tmp_path / 'scenario.json')!r}))\n"
        f"kernel = Kernel('x', pathlib.Path({str(kernel.directory)!r}), pathlib.Path({str(kernel.tools)!r}))\n"
        f"guest.run(kernel, plan.compile_plan(network), pathlib.Path({str(tmp_path)!r}), python=sys.executable)\n"
    )
    (tmp_path / "scenario.json").write_text(two_flows.with_(size="16 GiB", limit="3600 s").json())
    process = subprocess.Popen([sys.executable, "-c", script])
    clock = tmp_path / "clock"
    deadline = time.monotonic() + 60
    while not (clock.exists() and watchdog.read(clock) > START_NS) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.05)
    (session,) = guest_of(kernel)
    assert len(processes.members({session})) > 3
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while processes.members({session}) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not processes.members({session})


def test_no_room_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDCNLAB_MEMORY_DIR", "/dev/shm")
    with pytest.raises(RunError, match=r"/dev/shm has only \d+ MiB free.*RDCNLAB_MEMORY_DIR"):
        memory.directory(2**60)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system noexec to try")
def test_noexec_memory(tmp_path: Path) -> None:
    script = (
        "from rdcnlab.engines.kernel.guest import memory\n"
        "try:\n    memory.directory(2**20)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    mount = f'mount -t tmpfs -o noexec,size=64m none {tmp_path} && exec {sys.executable} -c "$0"'
    answer = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, script],
        env={**os.environ, "RDCNLAB_MEMORY_DIR": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if answer.returncode and "permission" in answer.stderr.lower():
        pytest.skip(f"this root may not mount: {answer.stderr.strip()}")
    assert answer.stdout.startswith("RunError"), answer
    assert f"{tmp_path} is mounted noexec" in answer.stdout


@pytest.mark.parametrize("value", ["", "many", "1", "-5", "10000000"])
def test_bad_memory_size(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("RDCNLAB_GUEST_MEMORY", value)
    with pytest.raises(InputError, match="RDCNLAB_GUEST_MEMORY"):
        memory.size(100)


ESCAPES = {
    "remount": "mount -o remount,rw / && touch {target}",
    "mount anew": "mkdir -p /run/out && mount -t hostfs none /run/out -o / && touch /run/out{target}",
    "mount the place": "mkdir -p /run/in && mount -t hostfs none /run/in -o {parent} && touch /run/in/{name}",
    "by the other mount": "touch /run/rdcnlab/../..{target}",
}


@pytest.mark.parametrize("way", ESCAPES)
def test_a_guest_cannot_write_outside(
    run_guest: RunGuest, two_hosts: Scenario, kernel: Kernel, tmp_path: Path, way: str
) -> None:
    if sandbox.kind(kernel.launch) == "none":
        pytest.skip("neither Landlock nor bubblewrap is here, as the warning says")
    target = tmp_path / "escaped"
    line = ESCAPES[way].format(target=target, parent=target.parent, name=target.name)
    seen = run_guest(two_hosts, commands=[("a", f"{line}; echo status $?")])
    assert "status 0" not in seen.answers[0]
    assert not target.exists()


def test_a_guest_can_write_to_its_directory(run_guest: RunGuest, two_hosts: Scenario) -> None:
    seen = run_guest(two_hosts, commands=[("a", "echo here > /run/rdcnlab/note")])
    assert (seen.directory / "note").read_text() == "here\n"


def test_a_guest_reads_only_what_it_needs(
    run_guest: RunGuest, two_hosts: Scenario, kernel: Kernel, tmp_path: Path
) -> None:
    if sandbox.kind(kernel.launch) != "landlock":
        pytest.skip("only Landlock keeps files from being read")
    hidden = tmp_path / "hidden"
    hidden.write_text("words of the host")
    seen = run_guest(two_hosts, commands=[("a", f"cat {hidden}; echo status $?")])
    assert "status 0" not in seen.answers[0]
    assert "words of the host" not in seen.answers[0]
