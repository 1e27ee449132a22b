# SPDX-License-Identifier: Apache-2.0
"""Examples in docstrings give what they say, in every module that has some."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import rdcnlab

PACKAGE = Path(rdcnlab.__file__).parent
#: Modules whose examples take more than two seconds: they draw, or read models.
SLOW = ("rdcnlab.analysis.drawing", "rdcnlab_papers.app.tune", "rdcnlab_papers.items.item", "rdcnlab.runs.run")


def modules() -> list[str]:
    """Return the names of all modules with examples, found by their text."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))
    names = [".".join(path.with_suffix("").relative_to(PACKAGE.parent).parts) for path in paths]
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
    assert {"rdcnlab.runs.run", "rdcnlab.scenario.model", "rdcnlab.fields.phrases", *SLOW} <= set(found)
