# SPDX-License-Identifier: Apache-2.0
"""Changes that change the identity of a run, and changes that do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdcnlab.engines import fingerprint
from rdcnlab.engines.kernel import KernelEngine, identity
from rdcnlab.engines.kernel.switches.bmv2 import Bmv2
from rdcnlab.scenario import Scenario

CODE = 'def f(x):\n    """Say something."""\n    return x + 1  # because\n'


def bare(text: str) -> str:
    return ast.dump(fingerprint.bare(ast.parse(text)))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ('def f(x):\n    """Say something else."""\n    return (x\n            + 1)\n', True),
        ("def f(x):\n    return x + 1\n", True),
        ("def f(x):\n    return x + 2\n", False),
        ('"""A module."""\ndef f(x):\n    return x + 1\nNAME = 1\n"""An attribute."""\n', False),
    ],
)
def test_only_what_python_does_counts(other: str, same: bool) -> None:
    assert (bare(CODE) == bare(other)) is same


@pytest.fixture
def engine(two_flows: Scenario, monkeypatch: pytest.MonkeyPatch) -> KernelEngine:
    """An engine without a kernel. The kernel's source is not needed."""
    monkeypatch.setattr(identity.build, "identity", lambda **_: "kernel")
    return KernelEngine(two_flows)


def test_how_a_guest_is_booted_counts(engine: KernelEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = engine.identity()
    monkeypatch.setattr(identity.guest, "WALL_CLOCK", 1)
    assert engine.identity() != before


def test_how_software_is_found_does_not_count() -> None:
    seen: list[str] = []

    def spy(tree: ast.AST, path: Path) -> Iterator[Path]:
        seen.append(str(path))
        return fingerprint.imported_engines(tree, path)

    fingerprint.hash_of([fingerprint.file_of(str(Bmv2.reader)), fingerprint.file_of(identity._READER)], spy)
    assert any("bmv2/observe" in path for path in seen)
    assert not [path for path in seen if "/build/" in path or "install" in path or "/guest/" in path]


def test_the_hash_of_code_is_kept_until_a_module_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = [fingerprint.file_of(identity._READER)]
    with monkeypatch.context() as patch:
        patch.setattr(fingerprint, "hash_of", lambda *_: "computed")
        assert fingerprint.kept_hash_of(first) == "computed"
    assert fingerprint.kept_hash_of(first) == "computed"
    monkeypatch.setattr(fingerprint, "_state", lambda: "other bytes")
    assert fingerprint.kept_hash_of(first) == fingerprint.hash_of(first)
    for damaged in ("[", '["other bytes", 5]', '["other bytes", {"a": null}]', "{}"):
        (tmp_path / "rdcnlab" / "code.json").write_text(damaged)
        assert fingerprint.kept_hash_of(first) == fingerprint.hash_of(first)


def test_the_hash_of_a_module_that_is_edited_meanwhile_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, states = [fingerprint.file_of(identity._READER)], iter(["before", "after"])
    with monkeypatch.context() as patch:
        patch.setattr(fingerprint, "_state", lambda: next(states))
        assert fingerprint.kept_hash_of(first) == fingerprint.hash_of(first)
    assert not (tmp_path / "rdcnlab" / "code.json").exists()


def test_what_editors_leave_beside_modules_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engines = tmp_path / "rdcnlab" / "engines"
    engines.mkdir(parents=True)
    (engines / "a.py").touch()
    monkeypatch.setattr(fingerprint, "_ROOT", tmp_path)
    before = fingerprint._state()
    (engines / ".#a.py").symlink_to("nobody@nowhere")
    assert fingerprint._state() == before is not None
    (engines / "b.py").symlink_to("nowhere")
    assert fingerprint._state() is None


def test_a_run_is_known_by_its_plan(engine: KernelEngine, two_flows: Scenario) -> None:
    same, *others = two_flows, two_flows.with_(seed=9), two_flows.with_(**{"transport.recovery": 0})
    assert engine.identity() == KernelEngine(same).identity()
    assert engine.identity() not in [KernelEngine(other).identity() for other in others]


@pytest.mark.parametrize("kind", ["ocs", "bmv2", "linux"])
def test_code_is_found_by_its_imports(kind: str) -> None:
    seen: list[Path] = []

    def spy(tree: ast.AST, path: Path) -> Iterator[Path]:
        seen.append(path)
        return identity._beside(tree, path)

    fingerprint.hash_of([identity._INSIDE / "main.py", identity._INSIDE / f"switch_{kind}.py"], spy)
    names = {path.name for path in seen}
    assert {"main.py", "topology.py", "traffic.py", "probes.py", f"switch_{kind}.py"} <= names
    others = {"ocs", "bmv2", "linux"} - {kind}
    assert not names & {f"switch_{other}.py" for other in others}
    assert ("manager.py" in names) is (kind == "bmv2")
