# SPDX-License-Identifier: Apache-2.0
"""What makes a run: the kernel, the plan it is given, the programs in the guest, and the code that reads what it left.

Nothing is listed by hand: code is found from where it begins, by what it imports. What does not change what Python
does, such as comments, docstrings and line breaks, changes no identity.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.kernel.switches import KINDS, kind_of
from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.scenario import Scenario, canonical_json

_INSIDE = build.HERE / "inside"
_ROOT = build.HERE.parents[2]
#: Where the code that reads a run begins, and what of it matters: engines, not the scenario, which the plan has.
_READER, _ENGINES = "rdcnlab.engines.kernel.observe.observed", "rdcnlab.engines"


def identity(scenario: Scenario, *, stock: bool) -> str:
    """Return the hash of all that a scenario's tables hang on.

    Parameters
    ----------
    scenario : Scenario
        What would be run.
    stock : bool
        On the kernel with the patches for time and randomness only.
    """
    kind = kind_of(scenario)
    parts = [
        build.identity(hz=scenario.engine.hz, stock=stock),
        build.tools_identity(),
        canonical_json(compile_plan(scenario, here=False)),
        *(f"{name} {digest}" for name, digest in sorted(quic.identity(scenario).items())),
        *kind.identity(scenario),
        guest_code(kind.name),
        reader_code(kind.name),
    ]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}\n{part}".encode())
    return digest.hexdigest()


@functools.cache
def guest_code(kind: str) -> str:
    """Return the hash of the programs that run in a guest with a kind of switch."""
    return _hashed([_INSIDE / "main.py", _INSIDE / f"switch_{kind}.py"], _beside)


@functools.cache
def reader_code(kind: str) -> str:
    """Return the hash of the code that makes tables of what a guest left."""
    return _hashed([_file(_READER), _file(KINDS[kind])], _below)


def _hashed(begin: list[Path | None], imported: Callable[[ast.AST, Path], Iterator[Path]]) -> str:
    """Return the hash of files and of all they import."""
    found: dict[Path, str] = {}
    waiting = [path for path in begin if path is not None]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        tree = ast.parse(path.read_text())
        waiting += imported(tree, path)
        found[path] = ast.dump(_bare(tree))
    words = [f"{path.relative_to(_ROOT)}\n{code}" for path, code in sorted(found.items())]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def _bare(tree: ast.AST) -> ast.AST:
    """Drop docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return tree


def _beside(tree: ast.AST, path: Path) -> Iterator[Path]:
    """Go through the modules that lie beside one and are imported by it."""
    for name, _ in _imports(tree):
        file = path.parent / f"{name}.py"
        if file.exists():
            yield file


def _below(tree: ast.AST, path: Path) -> Iterator[Path]:  # noqa: ARG001  (the form of what goes through imports)
    """Go through the modules of the engines that one imports."""
    for name, member in _imports(tree):
        for module in (name, f"{name}.{member}"):
            file = _file(module) if module.startswith(_ENGINES) else None
            if file is not None:
                yield file


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)


def _file(module: str) -> Path | None:
    path = _ROOT / Path(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
