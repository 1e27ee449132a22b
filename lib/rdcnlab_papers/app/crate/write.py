# SPDX-License-Identifier: Apache-2.0
"""Write an item as a crate: one ZIP file, whose bytes depend on its content only."""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

from rdcnlab.fields.errors import RunError
from rdcnlab.runs import sums
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part, unite
from rdcnlab.runs.run import Run
from rdcnlab.runs.shipped import ship
from rdcnlab.runs.store import Store
from rdcnlab.scenario import canonical_json
from rdcnlab.system import places
from rdcnlab_papers.app.crate import layout
from rdcnlab_papers.app.crate.described import describe
from rdcnlab_papers.items import judged
from rdcnlab_papers.items.item import Item

#: What is said of an engine.
ENGINE = ("engine", "kernel", "kernel_id", "kernel_source", "compiler", "version")
#: The first instant that ZIP can state, for every file.
_TIME = (1980, 1, 1, 0, 0, 0)


def write(kind: type[Item], store: Store, folder: Path) -> Path:
    """Write ``<paper>-<item>.crate.zip``, with each column of an item whose runs are all stored.

    Parameters
    ----------
    kind : type of Item
        The item.
    store : Store
        The store with its runs; shipped runs count, too.
    folder : Path
        Directory of the archive.

    Returns
    -------
    Path
        The archive.

    Raises
    ------
    RunError
        No column has all its runs.
    """
    name = f"{kind.paper}/{kind.id}"
    columns = _complete(kind, store)
    if not columns:
        raise RunError(f"no column of {name} has all its runs here; make them with: rdcnlab reproduce {name}")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind.paper}-{kind.id}.crate.zip"
    with tempfile.TemporaryDirectory(prefix="rdcnlab-crate-") as scratch:
        root = Path(scratch)
        _fill(root, columns)
        _pack(root, path)
    return path


def _complete(kind: type[Item], store: Store) -> list[tuple[Item, Runs]]:
    """Return the item in each column whose runs are stored: those of the paper profile, otherwise the quick ones."""
    complete = []
    for column in kind.columns():
        for profile in ("paper", "quick"):
            item = kind(profile=profile, column=column.id)
            runs = item.stored_runs(store)
            if runs is not None:
                complete.append((item, runs))
                break
    return complete


def _fill(root: Path, columns: list[tuple[Item, Runs]]) -> None:
    first, _ = columns[0]
    parts: dict[Run, list[dict[str, Part]]] = {}
    for item, runs in columns:
        for run in runs:
            parts.setdefault(run, []).append(item.parts_of(run.scenario))
    ship({run: unite(asked) for run, asked in parts.items()}, root / layout.RESULTS / first.paper / first.id)
    figures = root / layout.FIGURES
    figures.mkdir()
    for item, runs in columns:
        for ending in ("png", "pdf"):
            item.save(runs, figures / f"{item.id}-{item.column}.{ending}")
    verdicts = [
        {"column": item.column, "profile": item.profile, "rows": judged.to_data(item.rows(runs))}
        for item, runs in columns
    ]
    scenarios = {run.scenario.hash: json.loads(run.scenario.json()) for run in parts}
    for name, data in (
        (layout.VERDICTS, verdicts),
        (layout.SCENARIOS, scenarios),
        (layout.VERSIONS, versions([*parts])),
    ):
        (root / name).write_text(json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    for source in (places.tree() / name for name in ("LICENSE", "CITATION.cff", layout.LOCK)):
        if source.is_file():
            shutil.copyfile(source, root / source.name)
    describe(root, [item for item, _ in columns], [*parts])
    listed = {path.relative_to(root).as_posix(): sums.sha256(path) for path in _files(root)}
    (root / sums.NAME).write_bytes(sums.listing(listed))


def versions(runs: list[Run]) -> dict[str, Any]:
    """Return the kernels and simulators that made runs, with their numbers of runs, and the software that judges."""
    engines: dict[str, dict[str, Any]] = {}
    for run in runs:
        kept = {key: run.provenance[key] for key in ENGINE if key in run.provenance}
        one = engines.setdefault(canonical_json(kept), {**kept, "runs": 0})
        one["runs"] += 1
    packages = {one.name: one.version for one in metadata.distributions()}
    return {
        "engines": [engines[key] for key in sorted(engines)],
        "rdcnlab": metadata.version("rdcnlab"),
        "python": platform.python_version(),
        "packages": dict(sorted(packages.items())),
    }


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def _pack(root: Path, path: Path) -> None:
    """Pack a directory; an interruption leaves no half of an archive."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "w") as archive:
            for file in _files(root):
                entry = zipfile.ZipInfo(file.relative_to(root).as_posix(), _TIME)
                # pictures and tables are compressed already
                packed = file.suffix in (".parquet", ".png", ".pdf")
                entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, file.read_bytes())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
