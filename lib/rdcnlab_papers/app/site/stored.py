# SPDX-License-Identifier: Apache-2.0
"""The stored runs that an item's page shows, and the scorecard of an item in all its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from rdcnlab.app.executors import executor
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.shipped import installed
from rdcnlab.runs.store import Store
from rdcnlab.system import limits
from rdcnlab.system.extras import command, is_installed
from rdcnlab.system.progress import bar
from rdcnlab_papers import select
from rdcnlab_papers.app.site import kept
from rdcnlab_papers.items import made
from rdcnlab_papers.items.item import Item, Profile
from rdcnlab_papers.items.judged import JudgedClaim

_PROFILES: tuple[Profile, ...] = ("paper", "quick")
#: Number of items up to which one process judges them: a process takes seconds to start.
_FEW = 3


def best(kind: type[Item], store: Store, column: str = "") -> tuple[Item, Runs | None]:
    """Return an item and its runs in a column, in the largest profile whose runs are all stored.

    If no profile has all its runs, or if an extra that the item needs is not installed, return the item in the quick
    profile, and None.
    """
    for profile in _PROFILES:
        item = kind(profile=profile, column=column)
        runs = None if lacking(item) else item.stored_runs(store)
        if runs is not None:
            return item, runs
    return kind(profile="quick", column=column), None


def lacking(item: Item) -> str:
    """Return the commands that install what an item needs and what is not installed; empty if nothing is missing."""
    return "; ".join(command(extra) for extra in item.extras if not is_installed(extra))


def judge(kind: type[Item], store: Store) -> list[JudgedClaim]:
    """Return an item's scorecard in all its columns, and free its tables: those of all items would fill the memory.

    If an extra is not installed, the verdict of its claims is ``not run``, and the remark has the command.
    """
    rows = []
    for column in kind.columns():
        item, runs = best(kind, store, column.id)
        missing = lacking(item)
        rows += [
            replace(row, remark=f"cannot be judged without: {missing}") if missing else row for row in item.rows(runs)
        ]
        del runs
        pa.default_memory_pool().release_unused()
    made.forget()
    return rows


def judge_all(
    names: Sequence[str], store: Store, *, workers: int | None = None, progress: bool = True, again: bool = True
) -> list[JudgedClaim]:
    """Return the scorecards of items in all their columns, in the order of the items.

    Parameters
    ----------
    names : sequence of str
        The items, such as ``aykurt/fig4``. Only the process that judges an item imports it.
    store : Store
        Where runs are looked up. Nothing is run.
    workers : int, optional
        Worker processes; by default one on every core. Few items are judged in this process.
    progress : bool
        Whether to show a progress bar.
    again : bool
        Judge all items. Otherwise those are left out of which nothing changed since the last time; see
        `rdcnlab_papers.app.site.kept`.
    """
    rows = {} if again else {name: rows for name in names if (rows := kept.read(name, store)) is not None}
    left = [name for name in names if name not in rows]
    count = min(len(left), workers or len(limits.cores()))
    judge = partial(_judged, store.root, store.shipped.root)
    with bar(len(left), "item", shown=progress and len(left) > _FEW) as shown:
        if count < 2 or len(left) <= _FEW:
            rows |= {name: judge(name) for name in left}
        else:
            with executor(count, ["rdcnlab_papers.app.site.stored"]) as pool:
                for name, of_item in zip(left, pool.map(judge, left), strict=True):
                    rows[name] = of_item
                    shown.update()
    return [row for name in names for row in rows[name]]


def _judged(root: Path, results: Path, name: str) -> list[JudgedClaim]:
    (kind,) = select([name])
    watched = kept.Watched(Store(root, shipped=installed(results)))
    rows = judge(kind, watched)
    kept.write(name, watched, rows)
    return rows


def explaining_runs(item: Item, store: Store) -> list[Runs] | None:
    """Return the runs of the experiments of all causes if all are stored, otherwise None."""
    experiments: list[Item] = []  # several causes may look at the same runs
    for cause in item.explanation():
        if cause.shown_by not in experiments:
            experiments.append(cause.shown_by)
    stored = [experiment.stored_runs(store) for experiment in experiments]
    return None if any(runs is None for runs in stored) else [runs for runs in stored if runs is not None]
