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
        raise InputError.unknown("paper", name, PAPERS, "paper")
    return cast(Package, importlib.import_module(f"{__name__}.{name}"))


def select(names: Sequence[str] = ()) -> list[type[Item]]:
    """Return items by name: ``aykurt`` selects a whole paper, ``aykurt/fig4`` one item; no name selects all items.

    Raises
    ------
    InputError
        There is no such paper or item.
    """
    return [getattr(paper(name.partition("/")[0]), name.partition("/")[2]) for name in full_names(names)]


def full_names(names: Sequence[str] = ()) -> list[str]:
    """Return the full names of the items that `select` returns, such as ``aykurt/fig4``, and import none of them."""
    chosen: dict[tuple[str, str], None] = {}
    for name in names or PAPERS:
        paper_name, _, item = name.partition("/")
        identifiers = paper(paper_name).ITEMS
        if item and item not in identifiers:
            raise InputError.unknown("item", name, [f"{paper_name}/{identifier}" for identifier in identifiers], "item")
        chosen.update(dict.fromkeys((paper_name, identifier) for identifier in ([item] if item else identifiers)))
    return ["/".join(name) for name in chosen]
