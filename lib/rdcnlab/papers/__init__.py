# SPDX-License-Identifier: Apache-2.0
"""The papers: each item in a few lines, without any mechanism.

A paper is a folder. An item is one module in that folder, and ``tools/index`` lists it. Importing this package imports
no paper.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rdcnlab.fields.errors import InputError
from rdcnlab.papers.lazy import Package

if TYPE_CHECKING:
    from rdcnlab.papers.item import Item

#: Names of all papers.
PAPERS = tuple(found.name for found in pkgutil.iter_modules(__path__) if found.ispkg)


def paper(name: str) -> Package:
    """Return the package of a paper. Its attributes are the paper's items.

    Raises
    ------
    InputError
        There is no such paper.
    """
    if name not in PAPERS:
        raise InputError.of("paper", name, ", ".join(PAPERS))
    return cast(Package, importlib.import_module(f"{__name__}.{name}"))


def select(names: Sequence[str] = ()) -> list[type[Item]]:
    """Return items by name: ``aykurt`` selects a whole paper, ``aykurt/fig4`` one item; no name selects all items.

    Raises
    ------
    InputError
        There is no such paper or item.
    """
    chosen: dict[tuple[str, str], None] = {}
    for name in names or PAPERS:
        of, _, item = name.partition("/")
        known = paper(of).ITEMS
        if item and item not in known:
            raise InputError.of("item", name, ", ".join(f"{of}/{identifier}" for identifier in known))
        chosen.update(dict.fromkeys((of, each) for each in ([item] if item else known)))
    return [getattr(paper(of), item) for of, item in chosen]
