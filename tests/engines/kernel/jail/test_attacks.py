# SPDX-License-Identifier: Apache-2.0
"""Attacks on the host from a jail, by a program in the place of a guest's kernel, which own kernel code may control.

Each attack is tried by root and by an ordinary user, on this host's Landlock and as if the host had an older one. What
a guest needs is tried as well, so that an attack does not fail because nothing works.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import compiling, own
from rdcnlab.engines.kernel.guest import memory
from rdcnlab.engines.kernel.jail import reading, sandbox

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).with_name("attacks.c")
NOBODY = pwd.getpwnam("nobody")
USERS = ["root", "nobody"] if os.geteuid() == 0 else ["self"]
#: Releases of Landlock: this host's, those of Linux 6.7, 6.2 (Debian 12 has 6.1: 2) and 5.13.
ABIS = [None, 4, 2, 1]


@dataclass
class Place:
    """A jail to try attacks in.

    Parameters
    ----------
    directory : Path
        The run's directory, which may be written.
    outside : Path
        A directory beside it, of the same user, with a `secret`.
    attack : callable
        Takes the kind of an attack and its argument, and returns what became of it.
    start : callable
        Starts a program of the host as the same user.
    """

    directory: Path
    outside: Path
    attack: Callable[..., str]
    start: Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(params=ABIS, ids=lambda abi: "here" if abi is None else f"landlock-{abi}")
def abi(request: pytest.FixtureRequest, kernel: build.Kernel, monkeypatch: pytest.MonkeyPatch) -> int:
    """The release of Landlock."""
    here: int = sandbox.walls(kernel.launch)["landlock"]
    if not here or (request.param is not None and request.param > here):
        pytest.skip(f"Landlock {request.param or ''} is not here")
    if request.param is not None:
        monkeypatch.setenv(sandbox.OLDER, str(request.param))
    return request.param or here


@pytest.fixture(params=USERS)
def place(request: pytest.FixtureRequest, kernel: build.Kernel, abi: int) -> Iterator[Place]:
    """A jail of a user."""
    who = {"user": NOBODY.pw_uid, "group": NOBODY.pw_gid, "extra_groups": []} if request.param == "nobody" else {}
    # below /dev/shm, as other runs' memory is, and as their directories are in some containers
    top = Path(tempfile.mkdtemp(prefix="rdcnlab-test-", dir=memory.directory(1 << 20)))
    try:
        for name in ("run", "outside", "shm"):
            (top / name).mkdir(mode=0o700)
        (top / "outside" / "secret").write_text("words of another run\n")
        shutil.copy(kernel.launch, top / "launch")
        subprocess.run(["gcc", "-static", "-O2", "-o", top / "attacks", SOURCE], check=True)
        top.chmod(0o755)
        if who:
            for path in top.rglob("*"):
                os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)

        def attack(kind: str, argument: object = "-", *, role: str = "guest", most_file: int = 1 << 20) -> str:
            (top / "shm" / "memory").mkdir(mode=0o700, exist_ok=True)
            if who:
                os.chown(top / "shm" / "memory", NOBODY.pw_uid, NOBODY.pw_gid)
            command = sandbox.command(
                top / "launch", program=[str(top / "attacks"), kind, str(argument)], write=[top / "run"],
                read=[top / "attacks"], memory=top / "shm" / "memory" if role == "guest" else None, most_file=most_file,
                role="guest" if role == "guest" else "build",
            )  # fmt: skip
            done = subprocess.run(command.line(), capture_output=True, text=True, check=False, **who)  # type: ignore[call-overload]
            assert done.returncode == 0, done
            return str(done.stdout.strip())

        def start(*words: str) -> subprocess.Popen[bytes]:
            return subprocess.Popen(words, **who)  # type: ignore[call-overload,no-any-return]

        yield Place(top / "run", top / "outside", attack, start)
    finally:
        shutil.rmtree(top)


def test_a_jail_lets_a_guest_do_what_it_needs(place: Place) -> None:
    assert place.attack("write", place.directory / "results") == "done"
    assert place.attack("read", place.directory / "results") == "done"
    assert place.attack("read", "/proc/cpuinfo") == "done"
    assert place.attack("memory-file") == "done"
    assert place.attack("child") == "done"
    assert not (place.directory.parent / "shm" / "memory").exists()


def test_a_jail_has_no_sockets(place: Place, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind("\0rdcnlab-test")
        unix.listen()
        for role in ("guest", "build"):
            assert place.attack("tcp", tcp.getsockname()[1], role=role) != "done"
            assert place.attack("abstract", "rdcnlab-test", role=role) != "done"
            for kind in ("raw", "packet", "netlink"):
                assert place.attack(kind, role=role) != "done"
    with socket.socket(socket.AF_UNIX) as unix:
        name = place.outside / "socket"
        unix.bind(str(name))
        name.chmod(0o777)
        unix.listen()
        assert place.attack("socket-file", name) != "done"


@pytest.mark.parametrize(
    "kind", ["io_uring", "keys", "bpf", "mount", "namespace", "namespace-by-clone", "type", "console", "right"]
)
def test_a_jail_refuses_system_calls_that_no_guest_needs(place: Place, kind: str) -> None:
    assert place.attack(kind) == "Operation not permitted"
    if kind != "right":
        assert place.attack(kind, role="build") == "Operation not permitted"


def test_a_guest_has_no_memory_that_no_limit_counts(place: Place) -> None:
    assert place.attack("memory") == "Operation not permitted"


@pytest.mark.parametrize("kind", ["kill", "kill-thread", "pipe-signal", "trace", "process-memory", "environment"])
def test_a_jail_does_not_reach_processes_of_the_host(place: Place, kind: str) -> None:
    for role in ("guest", "build"):
        victim = place.start("sleep", "60")
        try:
            said = place.attack(kind, victim.pid, role=role)
            if kind != "pipe-signal":  # there the system does not tell
                assert said != "done"
            with pytest.raises(subprocess.TimeoutExpired):
                victim.wait(0.3)
        finally:
            victim.kill()
            victim.wait()


def test_a_jail_does_not_signal_all_processes(place: Place) -> None:
    """In a namespace of processes there are others to signal: its own."""
    victim = place.start("sleep", "60")
    try:
        place.attack("kill-all")
        with pytest.raises(subprocess.TimeoutExpired):
            victim.wait(0.3)
    finally:
        victim.kill()
        victim.wait()


def test_a_jail_does_not_read_secrets(place: Place) -> None:
    secret = place.outside / "secret"
    assert secret.read_text()
    for role in ("guest", "build"):
        for path in (secret, "/etc/shadow", "/etc/gshadow", "/root/.ssh/id_rsa", "/proc/1/environ"):
            if os.path.exists(path):  # noqa: PTH110  (a user may not look into /root)
                assert place.attack("read", path, role=role) in ("Permission denied", "Operation not permitted"), path


def test_a_jail_does_not_write_outside_of_its_directory(place: Place) -> None:
    new = f"rdcnlab-test-{uuid.uuid4().hex}"  # a name that nobody else uses: an existing directory answers otherwise
    for path in (place.outside / "provenance.json", place.outside / "secret", f"/dev/shm/{new}", f"/tmp/{new}"):
        assert place.attack("write", path) == "Permission denied"
    assert [path.name for path in place.outside.iterdir()] == ["secret"]
    assert (place.outside / "secret").read_text() == "words of another run\n"


def test_a_guest_leaves_no_links_and_no_pipes(place: Place) -> None:
    """Who reads the results must not be led to another file."""
    assert place.attack("link", place.directory / "outcome.json") == "Permission denied"
    assert place.attack("fifo", place.directory / "outcome.json") == "Permission denied"


def test_a_file_of_a_guest_has_a_largest_size(place: Place, abi: int) -> None:
    (place.directory / "file").touch()
    os.chown(place.directory / "file", place.directory.stat().st_uid, place.directory.stat().st_gid)
    assert place.attack("big", place.directory / "file") == "File too large"


def test_without_landlock_system_calls_and_signals_are_held(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sandbox.OLDER, "0")
    monkeypatch.setattr(sandbox, "kind", lambda _: "landlock")  # no bubblewrap either, and no warning of that
    assert place.attack("child") == "done"
    assert place.attack("tcp", 1) == "Operation not permitted"
    victim = place.start("sleep", "60")
    try:
        assert place.attack("kill", victim.pid) != "done"
        with pytest.raises(subprocess.TimeoutExpired):
            victim.wait(0.3)
    finally:
        victim.kill()
        victim.wait()


def test_of_the_systems_settings_a_guest_reads_what_everyone_may_read(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    tree = {"open/a": 0o644, "mixed/b": 0o644, "mixed/key": 0o600, "closed/c": 0o644, "d": 0o644, "shadow": 0o640}
    for name, mode in tree.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        path.chmod(mode)
    (tmp_path / "closed").chmod(0o700)
    found = reading.settings(str(tmp_path))
    assert sorted(Path(one).relative_to(tmp_path).as_posix() for one in found) == ["d", "mixed/b", "open"]
    assert not any(Path(one) in Path("/etc/shadow").parents or one == "/etc/shadow" for one in reading.readable())
    assert not {"/", "/root", "/home", "/proc", "/dev/shm", "/tmp", "/mnt"} & set(reading.readable())


def test_a_compiler_reads_no_key_of_the_user(kernel: build.Kernel, abi: int, tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    out.mkdir()
    key = tmp_path / "key"
    key.write_text("int secret;\n")
    jail = compiling.jail(kernel.launch)
    (source / "good.c").write_text("#include <stddef.h>\nint f(void) { return sizeof(size_t); }\n")
    (source / "key.c").write_text(f'asm(".incbin \\"{key}\\"");\n')
    (source / "header.c").write_text(f'#include "{key}"\n')
    said = {}
    for name in ("good", "key", "header"):
        line = jail(["gcc", "-c", str(source / f"{name}.c"), "-o", str(out / f"{name}.o")], [out], [source])
        done = subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(out)})
        said[name] = (done.returncode, done.stderr)
    assert said["good"] == (0, "")
    for name in ("key", "header"):
        assert said[name][0] == 1
        assert str(key) in said[name][1]
        assert not (out / f"{name}.o").exists()


def test_the_assemblers_error_names_the_file(tmp_path: Path) -> None:
    log = (
        "/tree/out/tmpx/ccq8.s: Assembler messages:\n/tree/out/tmpx/ccq8.s:5: Error: file not found: /root/key\n"
        "make[5]: *** [/tree/source/scripts/Makefile.build:234: net/ipv4/tcp_rdcnlab_own.o] Error 1\n"
    )
    assert own.messages(log, "/home/me/tcp_mine.c") == ["tcp_mine.c: error: file not found: /root/key"]


def test_the_jail_is_told(kernel: build.Kernel, abi: int) -> None:
    found = sandbox.walls(kernel.launch)
    assert (found["landlock"], found["filter"]) == (abi, True)
    assert found["signals"]
    assert sandbox.missing(kernel.launch) == []
    words = sandbox.described("landlock", found)
    assert words.startswith(f"landlock {abi}, seccomp")
    assert len(words) < 80
    assert sys.executable in reading.readable()
