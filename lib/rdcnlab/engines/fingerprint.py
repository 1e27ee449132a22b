# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of code, as a part of an engine's identity: a hash.

No list of files is kept by hand: the code is found from its first modules by following imports. Changes that do not
change what Python does, such as in comments, docstrings and line breaks, do not change the hash.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rdcnlab.system import places

#: Function that yields the files that a file imports, from its syntax tree and its path.
Imported = Callable[[ast.AST, Path], Iterator[Path]]
#: Fields of nodes that hold statements, or the branches that hold them. The body of a lambda is an expression.
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_ROOT = Path(__file__).resolve().parents[2]
#: The package whose modules count: engines only, because a plan contains what the scenario says.
_ENGINES = "rdcnlab.engines"


def hash_of(begin: Iterable[Path], imported: Imported | None = None) -> str:
    """Return the hash of some files and of all files that they import.

    Parameters
    ----------
    begin : iterable of Path
        The first files.
    imported : callable, optional
        Yields the files that a file imports, from its syntax tree and its path; by default `imported_engines`.
    """
    follow = imported_engines if imported is None else imported
    code_by_file: dict[Path, str] = {}
    queue = list(begin)
    while queue:
        path = queue.pop()
        if path in code_by_file:
            continue
        tree = ast.parse(path.read_text())
        queue += follow(tree, path)
        code_by_file[path] = ast.dump(bare(tree))
    words = [f"{path.relative_to(_ROOT)}\n{code}" for path, code in sorted(code_by_file.items())]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def bare(tree: ast.AST) -> ast.AST:
    """Remove docstrings, also those of attributes."""
    for node in _statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return tree


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def imported_engines(tree: ast.AST, path: Path) -> Iterator[Path]:  # noqa: ARG001  (same signature as every `Imported`)
    """Yield the modules of the engines that a module imports."""
    for name, member in imports(tree):
        for module in (name, f"{name}.{member}"):
            file = _file(module) if module.startswith(_ENGINES) else None
            if file is not None:
                yield file


def kept_hash_of(begin: Iterable[Path], imported: Imported = imported_engines) -> str:
    """Return `hash_of`, which takes half a second, from the user's cache unless a module of the engines has changed."""
    first = list(begin)
    question = " ".join([imported.__name__, *(str(path.relative_to(_ROOT)) for path in first)])
    before = _state()
    hashes = _kept(before)
    if question in hashes:
        return hashes[question]
    hashes[question] = hash_of(first, imported)
    # a module that was edited meanwhile must not have its hash kept under the bytes that were there before
    if before is not None and _state() == before:
        _keep(json.dumps([before, hashes]))
    return hashes[question]


def _kept(state: str | None) -> dict[str, str]:
    """Return the kept hashes of a state by their question; none if the file is missing, damaged, or another's."""
    with contextlib.suppress(OSError, ValueError, TypeError, RuntimeError):  # RuntimeError: nobody knows a home
        of, hashes = json.loads(places.code_hashes().read_text())
        if of == state and isinstance(hashes, dict) and all(isinstance(one, str) for one in hashes.values()):
            return hashes
    return {}


def _keep(text: str) -> None:
    with contextlib.suppress(OSError, RuntimeError):  # it is only quicker with it
        target = places.code_hashes()
        part = target.with_suffix(f".{os.getpid()}")
        target.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text)
        part.replace(target)


def _state() -> str | None:
    """Return a hash of what `hash_of` depends on: Python, and the bytes of all modules of the engines.

    None if a file disappears meanwhile, or cannot be read.
    """
    sha = hashlib.sha256(sys.version.encode())
    try:
        for path in sorted((_ROOT / "rdcnlab" / "engines").rglob("[!.]*.py")):  # editors leave files with a dot
            content = path.read_bytes()
            sha.update(f"{path.relative_to(_ROOT)} {len(content)}\n".encode() + content)
    except OSError:
        return None
    return sha.hexdigest()


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the module and the imported name of each import; the name is empty if the module itself is imported."""
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a tree and all statements in it. Expressions contain none, and are most of the nodes."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        yield node
        nodes += [child for name in _BODIES for child in getattr(node, name, ())]


def file_of(module: str) -> Path:
    """Return the file of a module of rdcnlab."""
    path = _file(module)
    assert path is not None, module
    return path


def _file(module: str) -> Path | None:
    path = _ROOT / Path(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
