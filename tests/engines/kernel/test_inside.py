# SPDX-License-Identifier: Apache-2.0
"""Modules that run in the guest are not part of a package, so import-linter does not check them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build

INSIDE = build.HERE / "inside"


@pytest.mark.parametrize("path", sorted(INSIDE.rglob("*.py")), ids=lambda path: str(path.relative_to(INSIDE)))
def test_imports_nothing_of_the_package(path: Path) -> None:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or path.parent != INSIDE, f"{path.name}: a relative import needs a package"
            names.append(node.module or "")
    assert not [name for name in names if name.split(".")[0] == "rdcnlab"]
