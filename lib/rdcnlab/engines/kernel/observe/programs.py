# SPDX-License-Identifier: Apache-2.0
"""What programs in hosts printed, wrote and returned, from the files that ``inside/programs.py`` left."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from rdcnlab.engines.kernel.traffic.programs import RECORDS
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.engines.schema import schema_of
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario.program import Program

#: Directory of a run with the files that programs wrote, by host, and of what they printed, by program.
KEPT = "programs"


def _records(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / RECORDS).read_text().splitlines()]


def end_ns(directory: Path) -> int:
    """Return the instant at which the run ended, in ns since the start of the scenario.

    Raises
    ------
    RunError
        The programs were not ended, so the run is not complete.
    """
    ends = [row["end_ns"] for row in _records(directory) if "limit" in row]
    if not ends:
        raise RunError("the programs of the run were not ended")
    return int(ends[-1]) - START_NS


def files(programs: Sequence[Program], directory: Path) -> dict[str, Path]:
    """Return what programs printed and wrote, by their names in the run: ``programs/h1.out``, ``programs/h1/log``."""
    if not programs:
        return {}
    root = directory / KEPT
    return {f"{KEPT}/{path.relative_to(root)}": path for path in sorted(root.rglob("*")) if path.is_file()}


def table(programs: Sequence[Program], directory: Path) -> pa.Table:
    """Return the table ``programs``."""
    records = _records(directory)
    ends = {row["program"]: row for row in records if "status" in row}
    at_limit = any(row.get("limit") for row in records)
    rows = []
    for number, program in enumerate(programs):
        end = ends.get(number)
        by_itself = end is not None and not end["ended"]
        printed = [directory / KEPT / f"{program.name}.{kind}" for kind in ("out", "err")]
        written = _written(directory, program.host)
        rows.append(
            {
                "program": program.name,
                "host": program.host,
                "command": program.run,
                "start_s": program.start / 1e9,
                "end_s": (end["end_ns"] - START_NS) / 1e9 if end is not None and by_itself else None,
                "ended": _cause(end) if end is not None and by_itself else _ended(at_limit),
                "status": end["status"] if end is not None and by_itself and end["status"] >= 0 else None,
                "stdout_B": _size(printed[0]),
                "stderr_B": _size(printed[1]),
                "files_B": sum(map(_size, written)),
                "sha256": _digest([*printed, *written]),
            }
        )
    return pa.Table.from_pylist(rows, schema_of("programs"))


def _ended(at_limit: bool) -> str:
    return "the limit" if at_limit else "the end of the run"


def _cause(end: dict[str, Any]) -> str:
    return signal.Signals(end["signal"]).name if end["signal"] else "itself"


def _written(directory: Path, host: str) -> list[Path]:
    return sorted(path for path in (directory / KEPT / host).rglob("*") if path.is_file())


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _digest(paths: list[Path]) -> str:
    """Return the SHA-256 of the names and contents of files."""
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes() if path.exists() else b""
        digest.update(os.fsencode(f"{path.name} {len(content)}\n") + content)
    return digest.hexdigest()


def hint(programs: Sequence[Program], ended: pa.Table) -> str | None:
    """Return a sentence about programs that failed or did not end before the limit; None if all did well."""
    background = {program.name for program in programs if program.background}
    words = []
    for row in ended.to_pylist():
        if row["status"]:
            words.append(f"the program {row['program']} ended with status {row['status']}")
        elif row["ended"].startswith("SIG"):
            words.append(f"the program {row['program']} was ended by {row['ended']}")
        elif row["ended"] == "the limit" and row["program"] not in background:
            words.append(
                f"the program {row['program']} had not ended at the limit; `background: true` marks one that the run "
                "does not wait for"
            )
    more = f"; and {len(words) - 3} more" if len(words) > 3 else ""
    return "; ".join(words[:3]) + more if words else None
