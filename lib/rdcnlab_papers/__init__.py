# SPDX-License-Identifier: Apache-2.0
"""The papers: each item in a few lines, without any mechanism.

A paper is a package that an entry point of the group ``rdcnlab.papers`` names, and may come with any installed
distribution. An item is one module in it, and ``tools/index`` lists those of our own papers. Importing this package
imports no paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.system import entry_points
from rdcnlab_papers.items.lazy import Package

if TYPE_CHECKING:
    from rdcnlab_papers.items.item import Item

__all__ = ["Item", "full_names", "paper", "papers", "select"]


def papers() -> tuple[str, ...]:
    """Return the names of all papers that are installed, in alphabetical order."""
    return tuple(entry_points.points("rdcnlab.papers"))


def paper(name: str) -> Package:
    """Return the package of a paper. Its attributes are the paper's items.

    Raises
    ------
    InputError
        There is no such paper.
    RunError
        The paper's package has another name than its entry point, or is no `Package`.
    """
    if name not in papers():
        raise InputError.unknown("paper", name, papers(), "paper")
    package = entry_points.load(entry_points.points("rdcnlab.papers")[name])
    if not isinstance(package, Package) or package.__name__.rpartition(".")[2] != name:
        raise RunError(f"the entry point {name} does not name a package {name} of items (docs/new-paper.md)")
    return package


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
    for name in names or papers():
        paper_name, _, item = name.partition("/")
        identifiers = paper(paper_name).ITEMS
        if item and item not in identifiers:
            raise InputError.unknown("item", name, [f"{paper_name}/{identifier}" for identifier in identifiers], "item")
        chosen.update(dict.fromkeys((paper_name, identifier) for identifier in ([item] if item else identifiers)))
    return ["/".join(name) for name in chosen]


def __getattr__(name: str) -> Any:
    """Import `Item` when it is used: it needs pandas, which takes a second to import."""
    if name == "Item":
        from rdcnlab_papers.items.item import Item

        return Item
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
