# SPDX-License-Identifier: Apache-2.0
"""Figures that have names, such as ``aykurt/fig4``, for the commands that take one. Another package has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.store import Store
from rdcnlab.system import entry_points


class Figures(Protocol):
    """What an entry point of the group ``rdcnlab.figures`` names: an object, or a module, with these functions."""

    def draw(self, name: str, store: Store) -> tuple[Any, str, Sequence[str]]:
        """Return the picture of a figure from its stored runs, the stem of its file, and the titles that it cites.

        Raises
        ------
        InputError
            There is no such figure, or it has no stored runs.
        """

    def pack(self, name: str, store: Store, directory: Path) -> Sequence[Path]:
        """Write an archive for each figure of this name, and return the archives."""

    def check(self, archive: Path, **options: Any) -> Any:
        """Check an archive; the answer has ``rows``, ``holds`` and a text."""


def figures(field: str, value: str) -> Figures:
    """Return what knows the figures.

    Parameters
    ----------
    field, value : str
        The argument of the command that asks, and its value.

    Raises
    ------
    InputError
        No package with figures is installed.
    """
    for point in entry_points.points("rdcnlab.figures").values():
        return cast(Figures, entry_points.load(point))
    reason = f"'{value}' needs the papers, which are not installed: pip install rdcnlab-papers"
    raise InputError.of(field, value, "a run", reason=reason)
