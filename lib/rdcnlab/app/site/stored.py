# SPDX-License-Identifier: Apache-2.0
"""The stored runs that an item's page shows, and the scorecard of an item in all its columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rdcnlab.papers.item import Item, Profile
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store

_PROFILES: tuple[Profile, ...] = ("paper", "quick")


def best(kind: type[Item], store: Store, column: str = "") -> tuple[Item, Runs | None]:
    """Return an item and its runs in a column, in the largest profile whose runs are all stored.

    If no profile has all its runs, return the item in the quick profile, and None.
    """
    for profile in _PROFILES:
        item = kind(profile=profile, column=column)
        runs = item.stored(store)
        if runs is not None:
            return item, runs
    return kind(profile="quick", column=column), None


def judged(kind: type[Item], store: Store) -> list[dict[str, Any]]:
    """Return an item's scorecard in all its columns, and free its tables: those of all items would fill the memory."""
    rows = []
    for column in kind.columns():
        item, runs = best(kind, store, column.id)
        rows += item.rows(runs)
        del runs
        pa.default_memory_pool().release_unused()
    return rows


def explained(item: Item, store: Store) -> list[Runs] | None:
    """Return the runs of the experiments of all causes if all are stored, otherwise None."""
    experiments = [cause.shown_by.stored(store) for cause in item.causes()]
    return None if any(runs is None for runs in experiments) else [runs for runs in experiments if runs is not None]
