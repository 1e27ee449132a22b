# SPDX-License-Identifier: Apache-2.0
"""Export a run: its tables, its captures, a trace for Perfetto, or an animated picture."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from rdcnlab.analysis.perfetto import trace
from rdcnlab.engines import SCHEMAS
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.parts import WHOLE
from rdcnlab.runs.store import Run, Store
from rdcnlab.scenario import Scenario

#: Shortest begin of an id that names a run.
_SHORTEST = 6


def find(name: str, store: Store) -> Run:
    """Return a stored run by its id or the begin of its id, or the run of a scenario file.

    A scenario is run if it has no stored run, or only a shipped one, which lacks some tables.

    Parameters
    ----------
    name : str
        At least six hexadecimal digits of an id, or the path of a scenario file.
    store : Store
        The store with local and shipped runs.

    Raises
    ------
    CampaignError
        The scenario could not be run.
    InputError
        There is no such run, or several; or the file has no valid scenario.
    """
    if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},64}}", name):
        (run,) = campaign([Scenario.load(name)], store=store, needs=lambda _: dict.fromkeys(SCHEMAS, WHOLE))
        return run
    local = sorted(path.name for path in store.root.glob(f"{name}*")) if store.root.is_dir() else []
    runs = [run for run in map(store.get, local) if run is not None]
    ids = {run.id for run in runs}
    rows = [row for row in store.shipped if row.id.startswith(name) and row.id not in ids] if not runs else []
    runs += [Run(row.id, Scenario.from_dict(row.data), row.provenance, row.digests, row) for row in rows]
    if len(runs) != 1:
        allowed = f"more digits, because {len(runs)} runs begin so" if runs else "the id of a stored run"
        raise InputError.of("RUN", name, allowed)
    return runs[0]


def _trace(run: Run, folder: Path) -> list[Path]:
    path = folder / f"{run.id[:12]}.trace.json"
    text = json.dumps(trace(run))
    path.write_text(text, encoding="utf-8")
    return [path]


def _film(run: Run, folder: Path) -> list[Path]:
    # imported here because only pictures need matplotlib
    from rdcnlab.analysis.film import film

    path = folder / f"{run.id[:12]}.film.png"
    path.write_bytes(film(run))
    return [path]


def _captures(run: Run, folder: Path) -> list[Path]:
    names = [name for name in run.provenance.get("files", {}) if name.endswith(".pcapng")]
    if not names:
        raise RunError(f"run {run.id[:12]} has no captures; the field probes.capture of its scenario names hosts")
    return [Path(shutil.copy(run.file(name), folder / f"{run.id[:12]}-{name}")) for name in names]


def _tables(suffix: str) -> Callable[[Run, Path], list[Path]]:
    def write(run: Run, folder: Path) -> list[Path]:
        paths = []
        for name in run.digests:
            path = folder / f"{run.id[:12]}-{name}.{suffix}"
            frame = run.table(name).to_pandas()
            if suffix == "csv":
                frame.to_csv(path, index=False)
            else:
                frame.to_parquet(path)
            paths.append(path)
        return paths

    return write


#: What `export` can write, by name.
FORMATS: dict[str, Callable[[Run, Path], list[Path]]] = {
    "csv": _tables("csv"),
    "film": _film,
    "parquet": _tables("parquet"),
    "pcapng": _captures,
    "trace": _trace,
}


def export(run: Run, kind: str, folder: Path) -> list[Path]:
    """Write a run in another format, and return the files.

    Parameters
    ----------
    run : Run
        A stored run.
    kind : {'csv', 'film', 'parquet', 'pcapng', 'trace'}
        Tables; the captures of `Probes.capture`; a trace of timetables, windows and queues for Perfetto and Chrome; or
        an animated picture of the same.
    folder : Path
        Directory of the files.

    Raises
    ------
    InputError
        There is no such format.
    RunError
        The run has no captures, or shipped results lack a table.
    """
    if kind not in FORMATS:
        raise InputError.of("--format", kind, ", ".join(FORMATS))
    folder.mkdir(parents=True, exist_ok=True)
    return FORMATS[kind](run, folder)
