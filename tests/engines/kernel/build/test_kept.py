# SPDX-License-Identifier: Apache-2.0
"""An interrupted build continues in its tree. A small tree takes the place of the kernel's; make is the real one."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rdcnlab.engines.builds import call
from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import interruption, kept, own, patches, static, toolchain
from rdcnlab.engines.kernel.build.tree import Tree
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario.own import OwnAlgorithm
from rdcnlab.system.locks import locked

#: The second object waits while there is a file `wait` in the cache. `made` in the cache lists what was made.
MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 999
TOP = $(O)/../..
include net/ipv4/Makefile
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) $(O)/.config
\tmkdir -p $(O)/include/config && echo 6.12.999 > $(O)/include/config/kernel.release
\techo configured >> $(TOP)/made
linux: $(O)/linux
$(O)/linux: $(O)/one.o $(O)/two.o net/ipv4/Makefile
\tcp /bin/true $@ && echo linux $(obj-y) >> $(TOP)/made
$(O)/one.o:
\techo one > $@ && echo one >> $(TOP)/made
$(O)/two.o: $(O)/one.o
\techo half > $@
\twhile test -e $(TOP)/wait; do echo "  CC two"; sleep 0.1; done
\ttest ! -e $(TOP)/fail
\techo two > $@ && echo two >> $(TOP)/made
"""
#: The build in a process of its own, which can be interrupted.
BUILD = """\
from pathlib import Path
from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import patches, toolchain
toolchain.require = lambda: None
patches.series = lambda *, stock: []
build._build_tools = lambda target: (target.mkdir(), (target / "launch").touch())
build.build()
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of builds, empty; the source of the kernel is the small tree."""
    (tmp_path / "tree/net/ipv4").mkdir(parents=True)
    (tmp_path / "tree/Makefile").write_text(MAKEFILE)
    (tmp_path / "tree/net/ipv4/Makefile").write_text("obj-y += tcp.o\n")
    subprocess.run(["tar", "cf", tmp_path / "linux.tar", "-C", tmp_path, "tree"], check=True)
    monkeypatch.setenv("KERNEL_SOURCE", str(tmp_path / "linux.tar"))
    monkeypatch.setenv("RDCNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "require", lambda: None)
    monkeypatch.setattr(patches, "series", lambda *, stock: [])
    monkeypatch.setattr(build, "_build_tools", lambda target: (target.mkdir(), (target / "launch").touch()))
    (tmp_path / "cache/kernels").mkdir(parents=True)
    return tmp_path / "cache/kernels"


def made(cache: Path) -> list[str]:
    return (cache / "made").read_text().splitlines()


def place() -> Path:
    return kept.directory(build.cache_root(), build.identity())


def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds, at most 30 s."""
    end_s = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_the_kernel_is_built_in_the_tree_that_own_files_need(cache: Path) -> None:
    assert not build.has_tree()
    kernel = build.build()
    assert made(cache) == ["configured", "one", "two", "linux tcp.o"]
    assert kernel.linux.is_file()
    assert build.has_tree()


@pytest.mark.parametrize("variant", [{"stock": True}, {"debug": True}])
def test_the_tree_of_a_kernel_for_checks_is_removed(variant: dict[str, bool], cache: Path) -> None:
    build.build(**variant)
    assert not list(cache.glob("*.tree"))
    assert list(cache.glob("*/linux"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_build_continues_where_it_stopped(number: signal.Signals, cache: Path) -> None:
    (cache / "wait").touch()
    with subprocess.Popen([sys.executable, "-c", BUILD]) as process:
        two = place() / "out/two.o"
        until(two.exists)
        # as if the first object had been compiled long ago
        os.utime(place() / "out/one.o", (1, 1))
        process.send_signal(number)
    assert not list(cache.glob("*/linux"))
    (cache / "wait").unlink()
    build.build()
    assert two.read_text() == "two\n"
    assert made(cache) == ["configured", "one", "two", "linux tcp.o"]


def test_the_next_build_waits_for_the_tools_of_a_killed_one(cache: Path) -> None:
    """A tool inherits the lock: another process that holds it stands for the tool."""
    said: list[str] = []
    lock = place().with_suffix(".tree.lock")
    with subprocess.Popen(["flock", str(lock), "sleep", "1"]) as tool:
        until(lambda: subprocess.run(["flock", "-n", str(lock), "true"], check=False).returncode != 0)
        build.build(progress=lambda what, _done, _total: said.append(what))
        assert tool.poll() is not None
    assert "another process uses this kernel's tree" in said


def test_a_command_of_a_build_holds_the_lock_that_it_is_given(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with locked(lock) as number:
        # the descriptor is open in the child
        call(["test", "-e", f"/proc/self/fd/{number}"], tmp_path, tmp_path / "log", "looking", lock=number)
        with pytest.raises(RunError):
            call(["test", "-e", f"/proc/self/fd/{number}"], tmp_path, tmp_path / "log", "looking")


def test_a_tree_that_was_not_prepared_to_the_end_is_made_again(cache: Path) -> None:
    build.build()
    (place() / "prepared").unlink()
    (place() / "source/half-patched").touch()
    with kept.prepared(place(), cache / "log", "", [], lambda *_: None) as tree:
        assert not (tree.src / "half-patched").exists()
        assert tree.prepared.is_file()


def test_an_error_leaves_no_tree(cache: Path) -> None:
    (cache / "fail").touch()
    with pytest.raises(RunError, match="compiling the kernel failed"):
        build.build()
    assert not place().exists()


def test_the_kernel_has_nothing_of_a_users_own_file(cache: Path) -> None:
    kernel = build.build()
    tree = Tree.below(place(), cache / "log")
    for text in (b"int mine;\n", b"int other;\n"):
        path = cache / "tcp_mine.c"
        path.write_bytes(text)
        own.take_out(tree)
        own.add(tree, OwnAlgorithm(path=str(path), sha256=hashlib.sha256(text).hexdigest(), name="mine"))
    assert (tree.src / "net/ipv4/Makefile").read_text() == "obj-y += tcp.o\nobj-y += tcp_rdcnlab_own.o\n"
    kernel.linux.parent.rename(cache / "away")
    build.build()
    assert made(cache)[-1] == "linux tcp.o"


# -- what may be half-written


def changed_before(path: Path, seconds: float) -> Path:
    path.write_text("complete")
    os.utime(path, (1e9 - seconds, 1e9 - seconds))
    return path


@pytest.mark.parametrize(("boot", "left"), [("this", {"old", "recent"}), ("another", {"old"})])
def test_what_make_may_have_left_half_written_is_removed(
    boot: str, left: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 s before the last change if make was killed, 120 s if the machine was switched off."""
    monkeypatch.setattr(interruption, "_boot", lambda: "this")
    mark, out = tmp_path / "mark", tmp_path / "out"
    out.mkdir()
    since = changed_before(tmp_path / "since", 1000)
    for name, seconds in (("last", 0), ("soon", 9), ("recent", 11), ("old", 121)):
        changed_before(out / name, seconds)
    mark.write_text(boot)
    with interruption.marked(mark, out, since):
        assert {path.name for path in out.iterdir()} == left
        assert mark.read_text() == "this"
    assert not mark.exists()


def test_the_configuration_and_all_else_of_before_stays(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    config = changed_before(tmp_path / "out/.config", 5)
    since = changed_before(tmp_path / "since", 5)
    last = changed_before(tmp_path / "out/last", 0)
    interruption.remove_last(tmp_path / "out", since, 10)
    assert (config.exists(), last.exists()) == (True, False)


def test_the_mark_stays_if_make_did_not_end_well(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with pytest.raises(KeyboardInterrupt), interruption.marked(mark, tmp_path, tmp_path):
        raise KeyboardInterrupt
    assert mark.is_file()


def linked_statically(cache: Path) -> Path:
    """Return the directory of a static link of the small kernel."""
    work = cache.parent / "static"
    work.mkdir(exist_ok=True)
    static.link_kernel(work / "target", work, lambda *_: None)
    return work / "target"


def test_a_static_link_takes_the_tree_of_the_kernel_and_leaves_it_as_it_was(cache: Path) -> None:
    build.build()
    target = linked_statically(cache)
    assert made(cache) == ["configured", "one", "two", "linux tcp.o", "configured", "configured"]
    assert (target / "linux").is_file()
    assert static.LINK in (target / "config").read_text()
    tree = Tree.below(place(), Path())
    assert static.LINK not in tree.fragment.read_text()
    assert static.LINK not in (tree.out / ".config").read_text()


def test_a_tree_whose_static_link_was_killed_is_prepared_again(cache: Path) -> None:
    build.build()
    tree = Tree.below(place(), Path())
    tree.fragment.write_text(tree.fragment.read_text() + static.LINK)
    with kept.prepared(place(), cache / "log", build.config(hz=250), [], lambda *_: None) as again:
        assert static.LINK not in again.fragment.read_text()
        assert not again.is_compiled
