# SPDX-License-Identifier: Apache-2.0
"""The identity of a run: the hash of kernel, plan, programs in the guest, and the code that reads the results.

No list of files is kept by hand: the code is found from its first modules by following imports. Changes that do not
change what Python does, such as in comments, docstrings and line breaks, do not change the identity.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rdcnlab.engines.kernel import build, guest
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.kernel.switches.together import switches_of
from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.scenario import Scenario, canonical_json

_INSIDE = build.HERE / "inside"
_ROOT = build.HERE.parents[2]
#: First module of the code that reads a run, and the package that counts: engines only, as the plan has the scenario.
_READER, _ENGINES = "rdcnlab.engines.kernel.observe.observed", "rdcnlab.engines"


def identity(scenario: Scenario, *, stock: bool) -> str:
    """Return the hash of everything that the tables of a scenario depend on.

    Parameters
    ----------
    scenario : Scenario
        The scenario that would be run.
    stock : bool
        Whether the kernel has the patches for time and randomness only.
    """
    switches = switches_of(scenario)
    parts = [
        build.identity(hz=scenario.engine.hz, stock=stock, algorithm=scenario.engine.algorithm),
        build.tools_identity(),
        canonical_json(compile_plan(scenario, here=False)),
        *(f"{name} {digest}" for name, digest in sorted(quic.identity(scenario).items())),
        *switches.identity(),
        " ".join(guest.arguments(build.Kernel("", Path(), Path()), Path(), Path(), 0, "", "")),
        *(guest_code(kind.name) for kind in switches.kinds),
        *(reader_code(kind.reader) for kind in switches.kinds),
    ]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}\n{part}".encode())
    return digest.hexdigest()


@functools.cache
def guest_code(kind: str) -> str:
    """Return the hash of the programs that run in a guest with a kind of switch."""
    # packages replace modules that the system's Python lacks; our own modules do not import them
    packages = sorted(_INSIDE.glob("*/*.py"))
    return _hashed([_INSIDE / "main.py", _INSIDE / f"switch_{kind}.py", *packages], _beside)


def code_of(module: str, *files: Path) -> str:
    """Return the hash of a module of an engine, of the modules of engines that it imports, and of some files."""
    return _hashed([_file(module), *files], _below)


@functools.cache
def reader_code(kind: str | None) -> str:
    """Return the hash of the code that makes tables of a guest's records; `kind` is a module of the kind of switch."""
    return _hashed([_file(_READER), _file(kind) if kind else None], _below)


def _hashed(begin: Sequence[Path | None], imported: Callable[[ast.AST, Path], Iterator[Path]]) -> str:
    """Return the hash of some files and of all files that they import."""
    code_by_file: dict[Path, str] = {}
    queue = [path for path in begin if path is not None]
    while queue:
        path = queue.pop()
        if path in code_by_file:
            continue
        tree = ast.parse(path.read_text())
        queue += imported(tree, path)
        code_by_file[path] = ast.dump(_bare(tree))
    words = [f"{path.relative_to(_ROOT)}\n{code}" for path, code in sorted(code_by_file.items())]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def _bare(tree: ast.AST) -> ast.AST:
    """Remove docstrings, also those of attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return tree


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def _beside(tree: ast.AST, path: Path) -> Iterator[Path]:
    """Yield the modules that a module imports from its own directory."""
    for name, _ in _imports(tree):
        file = path.parent / f"{name}.py"
        if file.exists():
            yield file


def _below(tree: ast.AST, path: Path) -> Iterator[Path]:  # noqa: ARG001  (same signature as `_beside`)
    """Yield the modules of the engines that a module imports."""
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
