# SPDX-License-Identifier: Apache-2.0
"""`Entry`: the report's content about one item, with the files that it shows. It is made again if an input changed."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import rdcnlab
from rdcnlab.analysis import drawn, figures
from rdcnlab.app import notebooks
from rdcnlab.app.site import executed, stored
from rdcnlab.app.site.stored import best, explaining_runs
from rdcnlab.fields.errors import RunError
from rdcnlab.papers import claims
from rdcnlab.papers.item import Item
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab.system import places

#: Layers of the package that pages depend on. The other layers make runs, and the runs' digests are in the stamp.
_LAYERS = ("fields", "scenario", "runs", "analysis", "models")
_FILE = "entry.json"
#: Width and height of small pictures, at most; twice what is shown, for screens with small pixels.
_SMALL_PX = (560, 400)
#: Largest ratio of their width to their height.
_WIDEST = 2.2


@dataclass(frozen=True)
class Shown:
    """An item in one column.

    Parameters
    ----------
    column, title : str
        Id of the column, and the testbed in words.
    profile : str
        Profile of the runs.
    rows : list of dict
        The scorecard, as `Item.rows` returns it.
    runs, shipped, wall_s : int, int, float
        Number of runs, how many of them came with the package, and the time that they took on one core, in s.
    engines : list of str
        Identities of the engines that made the runs.
    figure, data : str
        Names of the picture and of the table of drawn numbers, in the entry's directory; empty if there are no runs.
    size : list of int
        Width and height of the picture in pixels.
    alt : str
        The picture in words.
    explained : list of dict
        The experiments on causes, as `Item.explain` returns them: ``claim``, ``because``, ``there``.
    """

    column: str
    title: str
    profile: str
    rows: list[dict[str, Any]]
    runs: int = 0
    shipped: int = 0
    wall_s: float = 0.0
    engines: list[str] = field(default_factory=list)
    figure: str = ""
    data: str = ""
    size: list[int] = field(default_factory=lambda: [0, 0])
    alt: str = ""
    explained: list[dict[str, str]] = field(default_factory=list)


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
    return Entry(**{**data, "columns": [Shown(**column) for column in data["columns"]]})


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
    columns = [_column(kind, store, column, folder) for column in kind.columns()]
    book, reason, failed = "", "not executed", ""
    try:
        if execute:
            book, reason = _executed(kind, store, folder, columns[0])
    except RunError as error:
        reason, failed = "which failed", str(error)
    entry = Entry(
        kind.paper, kind.id, item_claims.title, item_claims.says, item_claims.own, columns, book, reason, failed
    )
    # last and by a rename, so that an interrupted entry is made again
    part = folder / f".{_FILE}"
    part.write_text(json.dumps({**asdict(entry), "stamp": made_with}), encoding="utf-8")
    part.rename(folder / _FILE)
    return entry


def _column(kind: type[Item], store: Store, column: claims.Column, folder: Path) -> Shown:
    item, runs = best(kind, store, column.id)
    shown: dict[str, Any] = {
        "column": column.id, "title": column.title, "profile": item.profile, "rows": item.rows(runs)
    }  # fmt: skip
    if runs is None:
        return Shown(**shown)
    figure = item.plot(runs)
    numbers = drawn.table(figure)
    name = f"{kind.paper}-{kind.id}-{column.id}"
    with figures.style():
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    _small(folder / f"{name}.png")
    size = [round(edge * figure.get_dpi()) for edge in figure.get_size_inches()]
    numbers.to_csv(folder / f"{name}.csv", index=False, float_format="%.9g")
    provenance = _provenance(runs)
    words = drawn.describe(numbers)
    alt = f"{item.claims.title} ({column.title}){f': {words}' if words else ''}"
    data = f"{name}.csv" if len(numbers) else ""
    if explaining_runs(item, store) is not None:
        shown["explained"] = item.explain(store=store, progress=False).frame.reset_index().to_dict("records")
    return Shown(**shown, **provenance, figure=f"{name}.png", data=data, size=size, alt=alt)


def thumb_name(figure: str) -> str:
    """Return the name of the small picture of a figure."""
    return f"small-{figure}"


def _small(path: Path) -> None:
    """Write a small copy of a picture beside it, for a grid of many."""
    from PIL import Image

    with Image.open(path) as picture:
        # of many panels in a row only the first can be recognised at this size
        width = min(picture.width, round(_WIDEST * picture.height))
        small = picture.convert("RGB").crop((0, 0, width, picture.height))
    small.thumbnail(_SMALL_PX)
    small.quantize(64).save(path.with_name(thumb_name(path.name)), optimize=True)


def _provenance(runs: Runs) -> dict[str, Any]:
    return {
        "runs": len(runs),
        "shipped": sum(run.shipped for run in runs),
        "wall_s": sum(float(run.provenance.get("wall_s", 0.0)) for run in runs),
        "engines": sorted({str(run.provenance.get("identity", "?"))[:12] for run in runs}),
    }


def _executed(kind: type[Item], store: Store, folder: Path, first: Shown) -> tuple[str, str]:
    """Execute the notebook; return its name and an empty text, or an empty text and why it was not executed."""
    if not first.figure:
        return "", "not run: no profile of this item has all its runs stored"
    item = kind(profile=first.profile, column=first.column)
    # in the quick profile missing experiments stay missing
    if item.profile == "paper" and explaining_runs(item, store) is None:
        return "", "not executed: the runs of the experiments on causes are not stored"
    parameters = {"profile": first.profile, "column": first.column}
    alts = dict.fromkeys(_drawing(kind), first.alt)
    executed.execute(notebooks.path(kind), folder / f"{kind.id}.ipynb", parameters, alts)
    return f"{kind.id}.ipynb", ""


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
    return _digest(sorted(Path(rdcnlab.__file__).parent.rglob("*.py")))


@functools.cache
def code(paper: str) -> str:
    """Return a digest of the code that the pages of a paper depend on."""
    root = Path(rdcnlab.__file__).parent
    sources = [path for layer in _LAYERS for path in sorted((root / layer).rglob("*.py"))]
    sources += sorted((root / "papers").glob("*.py")) + sorted((root / "papers" / paper).glob("*.py"))
    sources += [Path(__file__), Path(stored.__file__), Path(executed.__file__)]
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
