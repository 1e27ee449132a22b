# SPDX-License-Identifier: Apache-2.0
"""Make the entries of many items, on all cores; only those whose inputs changed are made again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from rdcnlab import papers
from rdcnlab.app.site import entry
from rdcnlab.fields.errors import RunError
from rdcnlab.papers.item import Item
from rdcnlab.runs.store import Store
from rdcnlab.system import limits
from rdcnlab.system.progress import bar


@dataclass(frozen=True)
class Asked:
    """What a worker process is asked for; plain text, because an item's class cannot be sent."""

    name: str
    store: Path
    folder: Path
    execute: bool


def collect(
    kinds: Iterable[type[Item]], store: Store, root: Path, *, execute: bool, workers: int | None = None
) -> list[entry.Entry]:
    """Return the entries of items, in the same order.

    Parameters
    ----------
    kinds : iterable of type of Item
        The items.
    store : Store
        Where runs are looked up. Nothing is run.
    root : Path
        Directory that keeps the entries, one directory for each item.
    execute : bool
        Whether to execute the notebooks.
    workers : int, optional
        Worker processes; by default one on every core.

    Raises
    ------
    RunError
        A notebook failed. The entries of the other items are kept.
    """
    chosen = list(kinds)
    asked = [Asked(f"{kind.paper}/{kind.id}", store.root, root / kind.paper / kind.id, execute) for kind in chosen]
    count = min(len(asked), workers or len(limits.cores()))
    if len(asked) == 1:  # a process takes seconds to start
        return [one(asked[0])]
    done: dict[str, entry.Entry] = {}
    failed: list[str] = []
    with ProcessPoolExecutor(count, get_context("spawn")) as pool:
        waiting: dict[Future[entry.Entry], str] = {pool.submit(one, each): each.name for each in asked}
        try:
            with bar(len(asked), "item", shown=True) as progress:
                for future in as_completed(waiting):
                    name = waiting[future]
                    progress.set_description(name, refresh=False)
                    try:
                        done[name] = future.result()
                    except RunError as error:
                        failed.append(f"{name}: {error}")
                    progress.update()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if failed:
        raise RunError("; ".join(failed))
    return [done[each.name] for each in asked]


def one(asked: Asked) -> entry.Entry:
    """Return the entry of one item, the kept one if nothing changed."""
    (kind,) = papers.select([asked.name])
    store = Store(asked.store)
    stamp = f"{entry.stamp(kind, store)} {asked.execute}"
    found = entry.current(asked.folder, stamp)
    if found is None:
        found = entry.make(kind, store, asked.folder, stamp, execute=asked.execute)
    pa.default_memory_pool().release_unused()
    return found


def files(entries: Sequence[entry.Entry], root: Path) -> list[Path]:
    """Return the pictures and tables of entries."""
    return [
        root / each.paper / each.id / name
        for each in entries
        for shown in each.columns
        for name in (shown.figure, shown.data)
        if name
    ]
