# SPDX-License-Identifier: Apache-2.0
"""Figures by name, for the commands of rdcnlab that take one; see `rdcnlab.app.figures.Figures`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.store import Store
from rdcnlab_papers import select


def draw(name: str, store: Store) -> tuple[Any, str, Sequence[str]]:
    """Return the picture of an item from its stored runs, the stem of its file, and the title of its paper.

    Raises
    ------
    InputError
        There is no such item, or it has no stored runs.
    """
    from rdcnlab_papers.app.site.stored import best
    from rdcnlab_papers.items import claims

    (kind,) = select([name])
    item, runs = best(kind, store)
    if runs is None:
        raise InputError.of("PAPER/ITEM", name, reason=f"{name} has no stored runs: rdcnlab reproduce {name}")
    return item.plot(runs), f"{item.paper}-{item.id}", [claims.paper(item.paper).title]


def pack(name: str, store: Store, directory: Path) -> Sequence[Path]:
    """Write a crate of each item of this name, and return the crates."""
    from rdcnlab_papers.app import crate

    return [crate.write(item, store, directory) for item in select([name])]


def check(archive: Path, **options: Any) -> Any:
    """Check a crate; see `rdcnlab_papers.app.crate.check`."""
    from rdcnlab_papers.app import crate

    return crate.check(archive, **options)
