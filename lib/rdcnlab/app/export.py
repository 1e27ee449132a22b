# SPDX-License-Identifier: Apache-2.0
"""Export a run: its tables, its captures, a trace for Perfetto, or an animated picture."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from rdcnlab.analysis.perfetto import trace
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.run import Run


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
        raise InputError.unknown("--format", kind, FORMATS, "format")
    folder.mkdir(parents=True, exist_ok=True)
    return FORMATS[kind](run, folder)
