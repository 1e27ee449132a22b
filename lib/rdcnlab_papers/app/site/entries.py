# SPDX-License-Identifier: Apache-2.0
"""Make the entries of many items, on all cores; only those whose inputs changed are made again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from rdcnlab.app.executors import executor
from rdcnlab.fields.errors import RdcnlabError, RunError
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.system import limits
from rdcnlab.system.progress import bar
from rdcnlab_papers import select
from rdcnlab_papers.app.site import entry
from rdcnlab_papers.items.item import Item


@dataclass(frozen=True)
class Order:
    """The task of a worker process in plain data, because an item's class cannot be sent to a process."""

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
        An item could not be shown. The entries of the other items are kept.
    """
    selection = list(kinds)
    orders = [Order(f"{kind.paper}/{kind.id}", store.root, root / kind.paper / kind.id, execute) for kind in selection]
    count = min(len(orders), workers or len(limits.cores()))
    if len(orders) == 1:  # a process takes seconds to start
        return [entry_of(orders[0])]
    entries: dict[str, entry.Entry] = {}
    failed: list[str] = []
    # the longest ones first, or one of them would be worked on alone at the end
    shipped = store.shipped
    orders_first = sorted(orders, key=lambda order: _effort(order, shipped), reverse=True)
    with executor(count, ["rdcnlab_papers.app.site.entries"]) as pool, bar(len(orders), "item", shown=True) as progress:
        names: dict[Future[entry.Entry], str] = {pool.submit(entry_of, order): order.name for order in orders_first}
        left = list(names.values())
        progress.set_description(_running(left, count))
        for future in as_completed(names):
            name = names[future]
            left.remove(name)
            progress.set_description(_running(left, count), refresh=False)
            try:
                entries[name] = future.result()
            except Exception as error:  # noqa: BLE001  (a fault of one item must not cost the entries of the others)
                failed.append(f"{name}: {error if isinstance(error, RdcnlabError) else repr(error)}")
            progress.update()
    if failed:
        raise RunError("; ".join(failed))
    return [entries[order.name] for order in orders]


def _effort(order: Order, shipped: Shipped) -> tuple[bool, int]:
    """Return what sorts items by the time that they take: those with models, then by the size of their runs."""
    (kind,) = select([order.name])
    return bool(kind.extras), shipped.size(kind.paper, kind.id)


def _running(left: Sequence[str], count: int) -> str:
    """Name the items that are being worked on: processes take them in order."""
    return ", ".join(left[:count])


def entry_of(order: Order) -> entry.Entry:
    """Return the entry of one item; the stored entry if no input changed."""
    (kind,) = select([order.name])
    store = Store(order.store)
    stamp = f"{entry.stamp(kind, store)} {order.execute}"
    current = entry.current(order.folder, stamp)
    if current is None:
        current = entry.make(kind, store, order.folder, stamp, execute=order.execute)
    pa.default_memory_pool().release_unused()
    return current


def files(entries: Sequence[entry.Entry], root: Path) -> list[Path]:
    """Return the pictures and tables of entries."""
    return [
        root / item.paper / item.id / name
        for item in entries
        for shown in item.columns
        for name in (shown.figure, shown.data)
        if name
    ]
