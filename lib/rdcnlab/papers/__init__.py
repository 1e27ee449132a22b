# SPDX-License-Identifier: Apache-2.0
"""The papers: items in a few lines each, and no mechanism."""

from __future__ import annotations

from collections.abc import Sequence

from rdcnlab.fields.errors import InputError
from rdcnlab.papers import aykurt, tdtcp
from rdcnlab.papers.item import Item

PAPERS: dict[str, tuple[type[Item], ...]] = {"aykurt": aykurt.ITEMS, "tdtcp": tdtcp.ITEMS}


def select(names: Sequence[str]) -> list[type[Item]]:
    """Return items by name: ``aykurt`` for a whole paper, ``aykurt/fig4`` for one; nothing for all.

    Raises
    ------
    InputError
        There is no such paper or item.
    """
    chosen: dict[type[Item], None] = {}
    for name in names or list(PAPERS):
        paper, _, item = name.partition("/")
        if paper not in PAPERS:
            raise InputError.of("paper", paper, ", ".join(PAPERS))
        known = {kind.id: kind for kind in PAPERS[paper]}
        if item and item not in known:
            raise InputError.of("item", name, ", ".join(f"{paper}/{identifier}" for identifier in known))
        chosen.update(dict.fromkeys([known[item]] if item else known.values()))
    return list(chosen)
