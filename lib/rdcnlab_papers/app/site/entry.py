# SPDX-License-Identifier: Apache-2.0
"""`Entry`: the report's content about one item, with the files that it shows. It is made again if an input changed."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rdcnlab.fields.errors import RunError
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab_papers.app import notebooks
from rdcnlab_papers.app.site import executed, shown, stored
from rdcnlab_papers.app.site.shown import Shown
from rdcnlab_papers.app.site.stored import best, explaining_runs
from rdcnlab_papers.items import claims, folders, judged
from rdcnlab_papers.items.item import Item

#: Layers of the package that pages depend on. The other layers make runs, and the runs' digests are in the stamp.
_LAYERS, _LAYERS_OF_PAPERS = ("fields", "scenario", "runs", "analysis"), ("benchmarks", "items", "models", "analysis")
_FILE = "entry.json"


@dataclass(frozen=True)
class Entry:
    """An item in all its columns.

    Parameters
    ----------
    paper, id, title, says : str
        As in the claims' file.
    own : bool
        Whether the claims are our own goals.
    columns : list of Shown
        The item in each column.
    notebook : str
        Name of the executed notebook in the entry's directory, or empty.
    unexecuted : str
        The reason why there is no executed notebook.
    failed : str
        The reason why the notebook failed, if it did; it is executed again at the next time.
    """

    paper: str
    id: str
    title: str
    says: str
    own: bool
    columns: list[Shown]
    notebook: str = ""
    unexecuted: str = ""
    failed: str = ""


def current(folder: Path, stamp: str) -> Entry | None:
    """Return the entry in a directory if it was made with this stamp, otherwise None."""
    path = folder / _FILE
    if not path.exists():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    if data.pop("stamp") != stamp or data["failed"]:
        return None
    columns = [Shown(**{**column, "rows": judged.from_data(column["rows"])}) for column in data["columns"]]
    return Entry(**{**data, "columns": columns})


def stamp(kind: type[Item], store: Store) -> str:
    """Return a digest of everything that an item's entry depends on: its runs, its claims, its notebook, and the code.

    If all of this is unchanged, neither the figures nor the notebook would change.
    """
    paper = claims.paper(kind.paper)
    # all claims of the paper: an item may read those of another one
    parts: list[str] = [code(kind.paper), paper.model_dump_json()]
    parts.append(_digest([notebooks.path(kind), places.tree() / "requirements.lock"]))
    for column in kind.columns():
        item, runs = best(kind, store, column.id)
        experiments = explaining_runs(item, store)
        for shown_runs in (runs, *(experiments or ())):
            parts.append("none" if shown_runs is None else " ".join(_identities(shown_runs)))
        parts.append(str(experiments is None))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def make(kind: type[Item], store: Store, folder: Path, made_with: str, *, execute: bool) -> Entry:
    """Draw and judge an item in all its columns, execute its notebook if all runs are stored, and keep both.

    Parameters
    ----------
    kind : type of Item
        The item.
    store : Store
        Where runs are looked up. Nothing is run.
    folder : Path
        The entry's directory. It is emptied first.
    made_with : str
        Digest of the entry's inputs; see `stamp`.
    execute : bool
        Whether to execute the notebook.

    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    item_claims = claims.paper(kind.paper).item(kind.id)
    first, *others = kind.columns()
    book, reason, failed, seen = "", "not executed", "", None
    try:
        if execute:
            book, reason, seen = _executed(kind, store, folder, first.id)
    except RunError as error:
        reason, failed = "which failed", str(error)
    columns = [seen or _column(kind, store, first.id, folder)]
    columns += [_column(kind, store, column.id, folder) for column in others]
    entry = Entry(
        kind.paper, kind.id, item_claims.title, item_claims.says, item_claims.own, columns, book, reason, failed
    )
    # last and by a rename, so that an interrupted entry is made again
    part = folder / f".{_FILE}"
    part.write_text(json.dumps({**asdict(entry), "stamp": made_with}), encoding="utf-8")
    part.rename(folder / _FILE)
    return entry


def _column(kind: type[Item], store: Store, column: str, folder: Path) -> Shown:
    item, runs = best(kind, store, column)
    return shown.from_runs(item, runs, store, folder)


def _executed(kind: type[Item], store: Store, folder: Path, column: str) -> tuple[str, str, Shown | None]:
    """Execute the notebook in a column.

    Returns
    -------
    tuple of str, str, Shown or None
        The notebook's name, or an empty text and why it was not executed; and the item as the notebook shows it, so
        that it need not be drawn and judged twice.
    """
    item, runs = best(kind, store, column)
    if runs is None:
        return "", "not run: no profile of this item has all its runs stored", None
    # in the quick profile missing experiments stay missing
    if item.profile == "paper" and explaining_runs(item, store) is None:
        return "", "not executed: the runs of the experiments on causes are not stored", None
    name = f"{kind.id}.ipynb"
    # a notebook whose item has one column has no such parameter
    parameters = {"profile": item.profile} | ({"column": item.column} if len(kind.columns()) > 1 else {})
    notebooks.execute(notebooks.path(kind), folder / name, parameters, [shown.reading_cell()])
    seen = shown.from_notebook(item, folder / name, store, folder) or shown.from_runs(item, runs, store, folder)
    executed.prepare(folder / name, dict.fromkeys(_drawing(kind), seen.alt))
    return name, "", seen


def _drawing(kind: type[Item]) -> list[str]:
    """Return the ids of the cells that draw the item's figure."""
    cells = json.loads(notebooks.path(kind).read_text(encoding="utf-8"))["cells"]
    return [cell["id"] for cell in cells if "item.plot(" in "".join(cell["source"])]


def _identities(runs: Runs) -> Iterable[str]:
    for run in runs:
        yield run.id
        yield from (f"{name}={digest}" for name, digest in sorted(run.digests.items()))
        yield str(run.shipped)


def package() -> str:
    """Return a digest of all code: what a notebook that makes its own runs may depend on."""
    return _digest(path for folder in folders.code() for path in sorted(folder.rglob("*.py")))


@functools.cache
def code(paper: str) -> str:
    """Return a digest of the code that the pages of a paper depend on."""
    root, papers, *_ = folders.code()
    layers = [root / layer for layer in _LAYERS] + [papers / layer for layer in _LAYERS_OF_PAPERS]
    sources = [path for layer in layers for path in sorted(layer.rglob("*.py"))]
    sources += sorted(folders.package(paper).glob("*.py"))
    sources += [Path(__file__), Path(stored.__file__), Path(executed.__file__), Path(shown.__file__)]
    sources += sorted((root / "networks").glob("*.yaml"))
    return _digest(sources)


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def by_paper(entries: Iterable[Entry]) -> Mapping[str, list[Entry]]:
    """Return entries by paper, the paper's claims before our own goals."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.paper, []).append(entry)
    return {paper: sorted(group, key=lambda member: member.own) for paper, group in groups.items()}
