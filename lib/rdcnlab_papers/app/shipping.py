# SPDX-License-Identifier: Apache-2.0
"""Ship an item: its stored runs of the paper profile in all columns, those of its causes, and its models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.runs import manifest
from rdcnlab.runs.campaign import lookup
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part, unite
from rdcnlab.runs.run import Run
from rdcnlab.runs.shipped import Row, Shipped, agree
from rdcnlab.runs.shipped import ship as write
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.models import saved


@dataclass(frozen=True)
class Done:
    """The result of shipping an item: `written` of its `runs` are in `folder`; `incomplete` names columns with gaps."""

    folder: Path
    runs: int
    written: int
    incomplete: tuple[str, ...]


def ship(kind: type[Item], store: Store, *, batch: bool = False) -> Done:
    """Ship an item.

    Parameters
    ----------
    kind : type of Item
        The item.
    store : Store
        The store with its runs; shipped runs count, too.
    batch : bool
        Leave the files of the item as they are, and write the runs that they lack into a folder of their own,
        ``<item>.2``, ``<item>.3``, and so on. So a campaign of several days adds only new runs to the history of Git.
    """
    places.require_source_tree("rdcnlab ship")
    manifest.finish(places.results())
    folder = places.results() / kind.paper / kind.id
    if batch:
        folder = _next_batch(folder)
    items = [kind(profile="paper", column=column.id) for column in kind.columns()]
    requests: dict[Run, list[dict[str, Part]]] = {}
    incomplete = []
    for item, shown, words in _shown(items):
        scenarios = list(dict.fromkeys(shown.scenarios()))
        runs = [run for run in lookup(scenarios, store, shown.parts_of) if run is not None]
        if len(runs) < len(scenarios):
            incomplete.append(f"{len(runs)} of {len(scenarios)} of {kind.paper}/{kind.id}{words}")
        if shown is item and len(runs) == len(scenarios):
            saved.ship(item.models(Runs(runs, item.read_parts)))
        elif shown is item and batch and runs:
            saved.ship(item.early_models(Runs(runs, item.read_parts)))
        for run in runs:
            requests.setdefault(run, []).append(shown.parts_of(run.scenario))
    shipped = Shipped()
    parts_by_run = {run: _not_elsewhere(run, unite(parts), folder, shipped) for run, parts in requests.items()}
    written = {run: parts for run, parts in parts_by_run.items() if parts}
    if written:
        write(written, folder)
    return Done(folder, len(parts_by_run), len(written), tuple(incomplete))


def _shown(items: list[Item]) -> Iterator[tuple[Item, Item, str]]:
    """Yield, for each column, the item, the item whose runs are shipped (itself or a cause's), and words about it."""
    for item in items:
        column = f" in column {item.column}" if len(items) > 1 else ""
        yield item, item, column
        for cause in item.causes():
            if cause.shown_by is not item:  # otherwise it only looks at the runs of the item
                yield item, cause.shown_by, f"{column}, why {cause.claim}"


def _next_batch(folder: Path) -> Path:
    """Return the item's folder if it does not exist yet, otherwise that of the first batch that does not."""
    names = (folder.name, *(f"{folder.name}.{number}" for number in range(2, 1000)))
    return next(candidate for name in names if not (candidate := folder.with_name(name)).exists())


def _not_elsewhere(run: Run, parts: dict[str, Part], folder: Path, shipped: Shipped) -> dict[str, Part]:
    """Return the parts that are not in another directory."""
    row = shipped.row(run.scenario.hash)
    if row is None or not agree(row.digests, run.digests):
        return parts
    return {name: part for name, part in parts.items() if not _elsewhere(row, name, part, folder)}


def _elsewhere(row: Row, name: str, part: Part, folder: Path) -> bool:
    return any(copy.file.parent != folder and copy.part.covers(part) for copy in row.copies.get(name, ()))
