# SPDX-License-Identifier: Apache-2.0
"""A congestion control of the user's own is built into a kernel of its own, from a tree that is kept."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest

from rdcnlab.engines import get_engine
from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import own, patches, source
from rdcnlab.engines.kernel.build.tree import Tree
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.conftest import TWO_FLOWS, all_cores

GENTLE = patches.root() / "examples" / "tcp_gentle.c"


def scenario(file: Path, cc: str = "gentle", size: str = "16 MiB") -> Scenario:
    data = {**TWO_FLOWS, "engine": {"algorithm": str(file)}}
    return Scenario.from_dict(data).with_(cc=cc, size=size)


def as_it_is(line: list[str], *_: object) -> list[str]:
    """No jail."""
    return line


def test_its_kernel_has_an_identity_of_its_own(tmp_path: Path) -> None:
    plain, made = Scenario.from_dict(TWO_FLOWS), scenario(GENTLE)
    assert made.engine.algorithm is not None
    assert made.engine.algorithm.name == "gentle"
    assert build.identity(algorithm=made.engine.algorithm) != build.identity()
    other = tmp_path / "tcp_gentle.c"
    other.write_text(GENTLE.read_text().replace("PAUSE_FACTOR\t3", "PAUSE_FACTOR\t2"))
    numbers = {get_engine(each).identity() for each in (plain, made, scenario(other))}
    assert len(numbers) == 3


def test_a_build_takes_the_errors_of_the_users_file_only() -> None:
    log = (
        "  CC      net/ipv4/tcp_rdcnlab_own.o\n"
        "../source/net/ipv4/tcp_rdcnlab_own.c: In function 'f':\n"
        "../source/net/ipv4/tcp_rdcnlab_own.c:7:2: error: expected ';' before 'return'\n"
        "../source/net/ipv4/tcp_rdcnlab_own.c:9:1: warning: unused\n"
        "net/ipv4/tcp.c:1:1: error: not of this file\n"
        "make[3]: *** Error 1\n"
    )
    assert own.messages(log, "/home/me/tcp_mine.c") == ["tcp_mine.c:7:2: error: expected ';' before 'return'"]
    many = "".join(f"net/ipv4/tcp_rdcnlab_own.c:{n}:1: error: e\n" for n in range(20))
    assert own.messages(many, "a.c")[-1] == "and 12 more"
    assert own.messages("ld: out of memory\n", "a.c") == []


def test_an_error_in_a_macro_is_reported_where_the_users_file_has_the_macro() -> None:
    tree = "/k/a6a2.tree/source"
    log = (
        f"{tree}/net/ipv4/tcp_rdcnlab_own.c: In function 'gentle_register':\n"
        f"{tree}/include/linux/compiler_types.h:543:45: error: call to '__compiletime_assert_690' declared with "
        "attribute error: BUILD_BUG_ON failed: sizeof(struct gentle) > ICSK_CA_PRIV_SIZE\n"
        f"{tree}/include/linux/build_bug.h:50:9: note: in expansion of macro 'BUILD_BUG_ON_MSG'\n"
        f"{tree}/net/ipv4/tcp_rdcnlab_own.c:97:9: note: in expansion of macro 'BUILD_BUG_ON'\n"
        f"{tree}/net/ipv4/tcp_rdcnlab_own.c:99:9: note: in expansion of macro 'BUILD_BUG_ON'\n"
    )
    said = "tcp_big.c:97:9: error: BUILD_BUG_ON failed: sizeof(struct gentle) > ICSK_CA_PRIV_SIZE"
    assert own.messages(log, "tcp_big.c") == [said]
    warned = log.replace(f"{tree}/include/linux/build_bug", f"{tree}/net/a.c:1:1: warning: w\n{tree}/b")
    assert own.messages(warned, "tcp_big.c") == []  # the note belongs to the warning


def test_the_tree_is_prepared_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def prepare(self: Tree, *_: object) -> None:
        done.append("prepare")
        (self.src / "net/ipv4").mkdir(parents=True)
        (self.src / "net/ipv4/Makefile").touch()
        self.fragment.write_text("")
        self.prepared.touch()

    def compile_(self: Tree, _report: object, targets: tuple[str, ...] = ("linux",)) -> None:
        done.append(targets[0])
        if "broken" in (self.src / "net/ipv4/tcp_rdcnlab_own.c").read_text():
            self.log.write_text("x/net/ipv4/tcp_rdcnlab_own.c:3:1: error: broken\n")
            raise RunError("compiling the kernel failed", self.log)

    monkeypatch.setattr(Tree, "prepare", prepare)
    monkeypatch.setattr(Tree, "compile", compile_)
    monkeypatch.setattr(Tree, "pack", lambda self, target, work: target.mkdir())
    monkeypatch.setattr(own, "_release", lambda tree: "Linux 6.12")
    monkeypatch.setattr(source, "find", lambda cache: None)
    place = tmp_path / "kept.tree"

    def built(file: Path, name: str) -> None:
        algorithm = scenario(file).engine.algorithm
        assert algorithm is not None
        own.build(algorithm, place, tmp_path / name, tmp_path, "", [], lambda *_: None, as_it_is)

    built(GENTLE, "one")
    # the user's file comes first, so that its errors appear before the whole kernel is compiled
    assert done == ["prepare", "net/ipv4/tcp_rdcnlab_own.o", "linux"]
    other = tmp_path / "tcp_other.c"
    other.write_text(GENTLE.read_text() + "\nbroken\n")
    with pytest.raises(InputError, match=r"tcp_other\.c:3:1: error: broken"):
        built(other, "two")
    assert done[3:] == ["net/ipv4/tcp_rdcnlab_own.o"]
    assert (place / "source/net/ipv4/Makefile").read_text() == "obj-y += tcp_rdcnlab_own.o\n"
    made = scenario(other)
    other.write_text("changed")
    assert made.engine.algorithm is not None
    with pytest.raises(InputError, match=r"engine\.algorithm: .*the file the scenario was made with"):
        own.build(
            made.engine.algorithm, place, tmp_path / "two", tmp_path, "", [], lambda *_: None, lambda line, *_: line
        )
    assert not (place / "source/net/ipv4/Makefile").read_text()


@pytest.mark.guest
@pytest.mark.slow
def test_the_example_runs_and_a_faulty_file_shows_the_compilers_message(store: Store, tmp_path: Path) -> None:
    # long enough for the first losses: until then both are in slow start
    made, usual = (scenario(GENTLE, cc, size="64 MiB") for cc in ("gentle", "reno"))
    with all_cores():
        get_engine(made).prepare()
    ours, reno = campaign([made, usual], store=store, progress=False)
    assert ours.table("flows").column("cc").to_pylist() == ["gentle", "gentle"]
    assert all(ours.table("flows").column("finished").to_pylist())
    thresholds = [pc.min(run.table("tcp").column("ssthresh")).as_py() for run in (ours, reno)]
    assert thresholds[0] > 1.5 * thresholds[1]
    assert ours.provenance["kernel_id"] != build.identity()

    broken = tmp_path / "tcp_broken.c"
    lines = GENTLE.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if "ca->rtt_us = sample->rtt_us;" in line)
    lines[at] = "\tca->rtt_us = sample->nothing;"
    broken.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=rf"tcp_broken\.c:{at + 1}:\d+: error: .*has no member named 'nothing'"):
        get_engine(scenario(broken)).prepare()
