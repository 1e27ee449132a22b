# SPDX-License-Identifier: Apache-2.0
"""Parameters that papermill puts into a notebook: unknown ones are refused before anything runs.

Papermill writes them into a cell after that of the notebook's parameters. A name that the notebook does not have is
then a variable that nothing reads, papermill only warns, and a run with the default values begins.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.phrases import sentence

#: The first line of the cell that papermill writes.
_INJECTED = "# Parameters"
#: A parameter of every notebook; without it the cell before is another one, and nothing is checked.
_ALWAYS = "profile"


def check(inputs: Sequence[str] | None = None) -> None:
    """Check that the notebook which is executed has all parameters that papermill has put into it.

    Parameters
    ----------
    inputs : sequence of str or None
        The cells that were executed, in this order. None means those of the notebook that this process executes, if
        it executes one.

    Raises
    ------
    InputError
        The notebook has no such parameter.
    """
    if inputs is None:
        inputs = vars(sys.modules["__main__"]).get("In")
    if not isinstance(inputs, Sequence):
        return
    places = [place for place, text in enumerate(inputs) if place and text.lstrip().startswith(_INJECTED)]
    if not places:
        return
    known = _assigned(inputs[places[-1] - 1])
    for name in _assigned(inputs[places[-1]]) if _ALWAYS in known else ():
        if name not in known:
            raise InputError.unknown("parameter", name, known, "parameter of this notebook")


def with_hint(error: InputError, parameters: Mapping[str, Any]) -> InputError:
    """Return an error that also says how papermill is given a list or a number, where a text looks like one."""
    problems = []
    for problem in error.problems:
        name = problem.field.partition(".")[0]
        value = parameters.get(name)
        looks = isinstance(value, str) and value.strip()[:1] in ("[", "(", "{")
        why = problem.reason or sentence(problem.value, problem.allowed)
        hint = f"{why} (with papermill: -y '{name}: {value}')"
        problems.append(replace(problem, reason=hint) if looks else problem)
    return InputError(*problems, more=error.more)


def _assigned(cell: str) -> list[str]:
    """Return the names that a cell assigns values to, in the order of its lines."""
    try:
        body = ast.parse(cell).body
    except SyntaxError:
        return []
    return [
        target.id for line in body if isinstance(line, ast.Assign) for target in line.targets
        if isinstance(target, ast.Name)
    ]  # fmt: skip
