# SPDX-License-Identifier: Apache-2.0
"""What a scenario's own text reaches in a real guest: commands of QUIC, programs, the shell; and a guest that stops."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build, guest, plan
from rdcnlab.engines.kernel.guest import quota, watchdog
from rdcnlab.engines.kernel.jail import sandbox
from rdcnlab.engines.kernel.looking import look
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.kernel.guest.test_faults import guest_of
from tests.engines.kernel.traffic.programs import run_in

pytestmark = pytest.mark.guest

#: Prints what it may do, as JSON: its user, whether it can mount the host's file system, and which files it can reach.
ATTACK = """
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
mounted = [libc.mount(b"none", b"/mnt", b"hostfs", 0, b"/") == 0, libc.mount(b"none", b"/", b"", 32, b"rw") == 0]
def can(flags, path):
    try:
        os.close(os.open(path, flags))
        return True
    except OSError:
        return False
print(json.dumps([
    os.getuid(), mounted, os.path.exists("/run/rdcnlab/plan.json"),
    [path for path in {read!r} if can(os.O_RDONLY, path)],
    [path for path in {write!r} if can(os.O_WRONLY | os.O_CREAT, path)],
]))
"""
NOTHING = [1000, [False, False], False, [], []]


@pytest.fixture
def attack(kernel: build.Kernel, tmp_path: Path) -> str:
    """The code of an attack on another run's files, beside the directory of this one."""
    if sandbox.kind(kernel.launch) != "landlock":
        pytest.skip("only Landlock keeps files from being read")
    other = tmp_path / "other"
    other.mkdir()
    (other / "provenance.json").write_text("{}")
    (other / "secret").write_text("secret")
    # the guest's root could read files that everyone may not; the host's root, which starts it, must not either
    read = [str(other / "secret"), "/etc/shadow", "/etc/gshadow"]
    return ATTACK.format(read=read, write=[str(other / "provenance.json"), str(other / "new")])


def test_a_command_of_quic_is_no_superuser_and_reaches_no_file_of_the_host(
    run_guest: RunGuest, two_flows: Scenario, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = base64.b64encode(zlib.compress(attack.encode(), 9)).decode()
    # a command line is words without blanks, at most 1000 characters
    server = f"python3 -c exec(__import__('zlib').decompress(__import__('base64').b64decode('{code}')))#{{port}}"
    monkeypatch.setenv("PATH", f"/usr/bin:{os.environ['PATH']}")
    lines = {"name": "attack", "server": server, "client": "python3 -c pass#{port}"}
    scenario = two_flows.with_(**{"flows.main.protocol": "quic", "quic": lines, "limit": "2 s"})
    # the error of a flow that carries nothing has the last words of both commands
    with pytest.raises(RunError, match=r"server: " + re.escape(json.dumps(NOTHING))):
        run_guest(scenario)


def test_a_program_is_no_superuser_and_reaches_no_file_of_the_host(tmp_path: Path, attack: str) -> None:
    (tmp_path / "attack.py").write_text(attack)
    (tmp_path / "mine.yaml").write_text(
        "network: {fabric: dumbbell, pairs: 2, rate: 100 Mb/s}\nlimit: 10 s\n"
        "programs: [{host: s1, run: 'python3 attack.py', files: [attack.py]}]\n"
    )
    (tmp_path / "run").mkdir()
    assert json.loads(run_in(tmp_path / "run", Scenario.load(tmp_path / "mine.yaml")).printed("s1")) == NOTHING


def test_the_shell_is_no_superuser_and_reaches_no_file_of_the_host(two_flows: Scenario, attack: str) -> None:
    code = attack.encode().hex()
    (answer,) = look(two_flows, "s1", 0, [f"python3 -c \"exec(bytes.fromhex('{code}'))\""])
    assert json.loads(answer.text) == NOTHING


def test_root_in_a_guest_reads_no_secret_of_the_host(run_guest: RunGuest, two_hosts: Scenario, attack: str) -> None:
    """Own kernel code can do what root in the guest can."""
    (answer,) = run_guest(
        two_hosts, commands=[("a", f"python3 -c \"exec(bytes.fromhex('{attack.encode().hex()}'))\"")]
    ).answers
    user, _, _, read, written = json.loads(answer)
    assert (user, read, written) == (0, [], [])


def test_a_run_tells_its_jail(run_guest: RunGuest, two_hosts: Scenario, kernel: build.Kernel) -> None:
    found = sandbox.walls(kernel.launch)
    assert run_guest(two_hosts).report.jail == sandbox.described(sandbox.kind(kernel.launch), found)


@pytest.mark.parametrize("older", ["4", "2"])
def test_an_older_landlock_changes_no_result(
    run_guest: RunGuest, two_flows: Scenario, monkeypatch: pytest.MonkeyPatch, older: str
) -> None:
    digest = run_guest(two_flows).digest
    monkeypatch.setenv(sandbox.OLDER, older)
    seen = run_guest(two_flows)
    assert (seen.digest, seen.report.jail.split(",")[0]) == (digest, f"landlock {older}")


def test_a_stopped_guest_is_reported(
    kernel: build.Kernel, two_flows: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message comes within 45 s; here the limit is 2 s."""
    assert watchdog.STOPPED_S + 10 * watchdog.EXAMINE_S < 45
    limits = watchdog.Limits
    monkeypatch.setattr(watchdog, "Limits", lambda *given: limits(*given, stopped_s=2.0))

    def stop() -> None:
        for _ in range(6000):
            time.sleep(0.01)
            clock = tmp_path / "clock"
            if clock.exists() and watchdog.read(clock) > START_NS:
                os.kill(guest_of(kernel)[0], signal.SIGSTOP)
                return

    thread = threading.Thread(target=stop)
    thread.start()
    long = two_flows.with_(size="4 GiB")
    with pytest.raises(RunError, match=r"kernel \(process \d+\) has been stopped for \d+ s.*its state is T"):
        guest.run(kernel, plan.compile_plan(compile_network(long)), tmp_path, python=sys.executable, wall_limit_s=60)
    thread.join()


def test_a_guest_that_writes_without_end_is_ended(
    run_guest: RunGuest, two_hosts: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "BASE", 600 * 2**20)
    fill = "i=0; while :; do i=$((i+1)); head -c 200000000 /dev/zero > /run/rdcnlab/fill.$i || exit; done"
    with pytest.raises(RunError, match=r"directory holds \d\.\d GB, and 0\.6 GB is the most"):
        run_guest(two_hosts, commands=[("a", fill)])


def test_the_address_space_and_so_the_memory_are_the_same_in_each_run(run_guest: RunGuest, two_hosts: Scenario) -> None:
    asked = [("a", "grep MemTotal /proc/meminfo")]
    assert len({run_guest(two_hosts, commands=asked).answers[0] for _ in range(3)}) == 1
