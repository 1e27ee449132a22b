# SPDX-License-Identifier: Apache-2.0
"""Messages with the results of runs, as a machine of a cluster sends them.

A worker puts its run in a store of its own and sends the content; the client puts it in the campaign's store. The
client writes the tables again, so that the bytes of the files do not depend on the worker's version of the library.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from rdcnlab.engines import Outcome, schema_of
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.digest import digests
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario

#: Bytes of each file of a failed run that are sent back, from its end: the end of a log has the cause.
_END_B = 2**22


@dataclass(frozen=True)
class RunMessage:
    """A run: its provenance as JSON, the digest of each table, and the bytes of tables and other files by name."""

    provenance: str
    digests: Mapping[str, str]
    tables: Mapping[str, bytes]
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class FailureMessage:
    """A failed run: why, the path of its log among the files that it left, and whether the engine is another one."""

    reason: str
    log: str | None
    left: Mapping[str, bytes]
    other_engine: bool


def of_run(run: Run) -> RunMessage:
    """Return a local run of a worker's store as a message, and remove the run."""
    assert isinstance(run.source, Path)
    provenance = dict(run.provenance)
    # the client's store writes both
    files, _ = provenance.pop("files", {}), provenance.pop("identity")
    message = RunMessage(
        json.dumps(provenance),
        dict(run.digests),
        {name: (run.source / f"{name}.parquet").read_bytes() for name in run.digests},
        {name: run.file(name).read_bytes() for name in files},
    )
    shutil.rmtree(run.source)
    return message


def of_failure(reason: str, log: Path | None, root: Path, *, other_engine: bool = False) -> FailureMessage:
    """Return a failed run of the store in `root` as a message, and remove the files that it left."""
    if log is None or not log.is_relative_to(root / ".failed"):
        return FailureMessage(reason, None, {}, other_engine)
    left = {}
    directory = root / ".failed" / log.relative_to(root / ".failed").parts[0]
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - _END_B))
                left[str(path.relative_to(directory))] = file.read()
    shutil.rmtree(directory, ignore_errors=True)
    return FailureMessage(reason, str(log.relative_to(directory)), left, other_engine)


def store_run(message: RunMessage | FailureMessage, scenario: Scenario, identity: str, store: Store) -> Run:
    """Store the run that a worker sent, and return it.

    Raises
    ------
    RunError
        The tables are not those that the worker made, or the run failed; then its log is kept as that of a local run.
    """
    with store.workspace(run_id(scenario, identity)) as directory:
        inner = directory / "engine"
        inner.mkdir()
        if isinstance(message, FailureMessage):
            raise _failure(message, directory)
        tables = {
            name: pq.read_table(io.BytesIO(content), schema=schema_of(name))
            for name, content in sorted(message.tables.items())
        }
        if digests(tables) != message.digests:
            raise RunError("the tables that came from the worker are not those that it made")
        files = {}
        for name, content in message.files.items():
            files[name] = inner / name
            files[name].parent.mkdir(parents=True, exist_ok=True)
            files[name].write_bytes(content)
        outcome = Outcome(tables, json.loads(message.provenance), files)
        return store.put(scenario, identity, outcome, directory)


def _failure(message: FailureMessage, directory: Path) -> RunError:
    for name, content in message.left.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return RunError(message.reason, directory / message.log if message.log else None)
