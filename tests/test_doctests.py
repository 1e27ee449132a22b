# SPDX-License-Identifier: Apache-2.0
"""Examples in docstrings give what they say, in every module that has some."""

from __future__ import annotations

import doctest
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

#: The laboratory, and the papers if they are installed; their examples use runs that papers have shipped.
PACKAGES = [Path(spec.origin).parent for spec in map(find_spec, ("rdcnlab", "rdcnlab_papers")) if spec and spec.origin]
#: Modules whose examples take more than two seconds: they draw, or read models.
SLOW = ("rdcnlab.analysis.drawing", "rdcnlab_papers.app.tune", "rdcnlab_papers.items.item", "rdcnlab.runs.run")


def modules() -> list[str]:
    """Return the names of all modules with examples, found by their text."""
    names = []
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if ">>> " in text and (len(PACKAGES) > 1 or ">>> from rdcnlab_papers" not in text):
                names.append(".".join(path.with_suffix("").relative_to(package.parent).parts))
    return [name.removesuffix(".__init__") for name in names]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in modules()]
)
def test_the_examples_of_a_module_give_what_they_say(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("rdcnlab"):
            raise
        pytest.skip(f"{error.name} is not installed")
    done = doctest.testmod(module)
    assert done.attempted > 0, "examples that doctest does not find are not run"
    assert done.failed == 0


def test_modules_with_examples_are_found() -> None:
    found = modules()
    assert len(found) > 50
    assert {"rdcnlab.scenario.model", "rdcnlab.fields.phrases"} <= set(found)
    assert set(SLOW) <= set(found) or len(PACKAGES) == 1
