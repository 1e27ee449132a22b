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
PAPERS = tuple(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


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
        paper_name, _, item = name.partition("/")
        identifiers = paper(paper_name).ITEMS
        if item and item not in identifiers:
            raise InputError.of("item", name, ", ".join(f"{paper_name}/{identifier}" for identifier in identifiers))
        chosen.update(dict.fromkeys((paper_name, identifier) for identifier in ([item] if item else identifiers)))
    return [getattr(paper(paper_name), item) for paper_name, item in chosen]
