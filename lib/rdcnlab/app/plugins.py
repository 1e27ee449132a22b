# SPDX-License-Identifier: Apache-2.0
"""What other packages add, by entry points of their metadata: commands, benchmarks, figures.

=====================  ==============================================================================================
``rdcnlab.commands``   a command: a function with typer's annotations, or a `typer.Typer` with commands
``rdcnlab.benchmarks`` a part of ``rdcnlab bench``: a function as those of `rdcnlab.app.bench.PARTS`
``rdcnlab.figures``    what `Figures` has, for commands that take the name of a figure
``rdcnlab.papers``     a paper; only the package rdcnlab-papers asks for these
=====================  ==============================================================================================
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, cast

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.store import Store


class Figures(Protocol):
    """Figures that have names, such as ``aykurt/fig4``."""

    def names(self, incomplete: str) -> list[str]:
        """Return the names that begin so."""

    def draw(self, name: str, store: Store) -> tuple[Any, str, Sequence[str]]:
        """Return the picture of a figure from its stored runs, the stem of its file, and what it cites.

        Raises
        ------
        InputError
            There is no such figure, or it has no stored runs.
        """

    def pack(self, name: str, store: Store, directory: Path) -> Sequence[Path]:
        """Write an archive for each figure of this name, and return the archives."""

    def check(self, archive: Path, **options: Any) -> Any:
        """Check an archive; the answer has ``rows``, ``holds`` and a text."""


@functools.cache
def points(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of a group by their names, in alphabetical order."""
    return {point.name: point for point in sorted(metadata.entry_points(group=group), key=lambda point: point.name)}


def load(point: metadata.EntryPoint) -> Any:
    """Return what an entry point names.

    Raises
    ------
    RunError
        Its package cannot be imported, or lacks it.
    """
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        package = point.dist.name if point.dist is not None else point.module
        raise RunError(f"{point.name} of the package {package} cannot be loaded: {error}") from error


def figures(field: str, name: str) -> Figures:
    """Return who knows figures by name.

    Raises
    ------
    InputError
        No package with figures is installed; `field` and `name` say who asks for what.
    """
    for point in points("rdcnlab.figures").values():
        return cast(Figures, load(point))
    reason = f"{name} would be a figure of a paper, and no package with papers is installed: pip install rdcnlab-papers"
    raise InputError.of(field, name, "a run", reason=reason)
