# SPDX-License-Identifier: Apache-2.0
"""What other packages add, by entry points of their metadata; they are loaded when they are used.

=====================  ==============================================================================================
``rdcnlab.commands``   a command: a function with typer's annotations, or a `typer.Typer` with commands
``rdcnlab.benchmarks`` a part of ``rdcnlab bench``: a function as those of `rdcnlab.app.bench.PARTS`
``rdcnlab.figures``    figures by name, for commands that take one: see `rdcnlab.app.figures.Figures`
``rdcnlab.papers``     a paper; the package rdcnlab-papers asks for these
=====================  ==============================================================================================

A command of rdcnlab itself keeps its name: another package cannot replace it.
"""

from __future__ import annotations

import functools
import importlib.util
from importlib import metadata
from pathlib import Path
from typing import Any

from rdcnlab.fields.errors import RunError


@functools.cache
def points(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of a group by their names, in alphabetical order.

    Raises
    ------
    RunError
        Two packages use one name.
    """
    point_by_name: dict[str, metadata.EntryPoint] = {}
    for point in sorted(metadata.entry_points(group=group), key=lambda point: point.name):
        other = point_by_name.setdefault(point.name, point)
        if other.value != point.value:
            packages = " and ".join(sorted(map(_distribution, (other, point))))
            raise RunError(f"{group}: two packages add the name '{point.name}': {packages}. Uninstall one of them")
    return point_by_name


def load(point: metadata.EntryPoint) -> Any:
    """Import what an entry point names.

    Raises
    ------
    RunError
        It cannot be imported.
    """
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise RunError(
            f"{point.group}: '{point.name}' of {_distribution(point)} cannot be imported: {error}"
        ) from error


def directory(module: str) -> Path | None:
    """Return the directory of a package without importing it; None if it is not installed."""
    package = importlib.util.find_spec(module)
    return None if package is None or package.origin is None else Path(package.origin).parent


def _distribution(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module
