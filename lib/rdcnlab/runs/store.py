# SPDX-License-Identifier: Apache-2.0
"""Runs on disk: written once, atomically, and never changed.

A store is a directory::

    <root>/<id>/            one run: a parquet file a table, scenario.json, provenance.json, digest.json
    <root>/.work/<id>.*/    a run in progress, with a lock held by the process that works on it
    <root>/.failed/<id>/    what a failed run left, until it is tried again

A process may be killed at any instant: a run appears by one rename, and work nobody holds the lock of is removed by the
next process. The id of a run is the hash of its scenario and of the identity of the engine, so that a changed kernel
never passes for the one that made a result.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rdcnlab.engines import SCHEMAS, Outcome
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.digest import digests
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.runs.shipped import Row, Shipped
from rdcnlab.scenario import Scenario, canonical_json
from rdcnlab.system import places
from rdcnlab.system.locks import locked


@dataclass(frozen=True)
class Run:
    """What happened.

    Parameters
    ----------
    id : str
        64 hexadecimal digits.
    scenario : Scenario
        What was asked.
    provenance : dict
        How it came about.
    digests : dict of str to str
        sha256 of each table's content.
    source : Path or Row
        Directory of the run, or its row in the shipped results.
    """

    id: str
    scenario: Scenario
    provenance: Mapping[str, Any]
    digests: Mapping[str, str]
    source: Path | Row

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def shipped(self) -> bool:
        """Whether it came with the package instead of being run here."""
        return isinstance(self.source, Row)

    def holds(self, needs: Mapping[str, Part]) -> bool:
        """Say whether these parts of tables are there; shipped results hold only some."""
        return not isinstance(self.source, Row) or all(self.source.copy(*need) is not None for need in needs.items())

    def table(self, name: str, part: Part = WHOLE) -> pa.Table:
        """Return a part of a table, with the columns of `rdcnlab.engines.SCHEMAS`.

        Raises
        ------
        RunError
            Shipped results do not hold this table; the scenario has to be run for it.
        """
        if isinstance(self.source, Row):
            return self.source.table(name, part)
        return part.of(pq.read_table(self.source / f"{name}.parquet", schema=SCHEMAS[name]))

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {name: self.table(name) for name in self.digests}


def run_id(scenario: Scenario, identity: str) -> str:
    """Return the id of the run of a scenario by an engine."""
    return hashlib.sha256(f"{scenario.hash} {identity}".encode()).hexdigest()


class Store:
    """The runs of this machine, and behind them the shipped ones.

    Parameters
    ----------
    root : Path, optional
        Directory; made when first written to. See `rdcnlab.system.places.store`.
    shipped : Shipped, optional
        The shipped runs behind it; by default those of the source tree.
    """

    def __init__(self, root: str | Path | None = None, *, shipped: Shipped | None = None) -> None:
        self.root = Path(root) if root is not None else places.store()
        self.shipped = Shipped() if shipped is None else shipped

    @property
    def empty(self) -> bool:
        """Whether there are no local runs."""
        return not self.root.is_dir() or not any(not path.name.startswith(".") for path in self.root.iterdir())

    def find(self, scenario: Scenario, identity: str | None) -> Run | None:
        """Return the run of a scenario, or None.

        Parameters
        ----------
        scenario : Scenario
            What was asked.
        identity : str or None
            Identity of the engine. Only local runs of this very engine count; None looks among shipped runs only.

        Returns
        -------
        Run or None
            The local run if there is one, else the shipped one, whichever engine made it.
        """
        if identity is not None:
            local = self.get(run_id(scenario, identity))
            if local is not None:
                return local
        row = self.shipped.row(scenario.hash)
        if row is None:
            return None
        return Run(row.id, scenario, row.provenance, row.digests, row)

    def get(self, identifier: str) -> Run | None:
        """Return the local run of this id, or None."""
        path = self.root / identifier
        try:
            digest = json.loads((path / "digest.json").read_text())
            provenance = json.loads((path / "provenance.json").read_text())
            scenario = Scenario.load(path / "scenario.json")
        except FileNotFoundError:
            return None
        return Run(identifier, scenario, provenance, digest, path)

    def __iter__(self) -> Iterator[Run]:
        """Go through the local runs, in order of their ids."""
        if self.root.is_dir():
            for path in sorted(self.root.iterdir()):
                run = None if path.name.startswith(".") else self.get(path.name)
                if run is not None:
                    yield run

    @contextlib.contextmanager
    def workspace(self, identifier: str) -> Iterator[Path]:
        """Give an empty directory to work in, which goes when the block ends.

        When the block raises `RunError`, the directory is kept as ``.failed/<id>`` and the error's log points there.
        """
        work = self.root / ".work"
        work.mkdir(parents=True, exist_ok=True)
        sweep(work)
        directory = work / f"{identifier}.{secrets.token_hex(8)}"
        # The lock comes before the directory, so that there is never one that looks abandoned while it is not.
        with locked(_lock_path(directory)):
            directory.mkdir()
            try:
                yield directory
            except RunError as error:
                raise RunError(error.reason, self._keep(directory, identifier, error.log)) from error
            finally:
                shutil.rmtree(directory, ignore_errors=True)
                _lock_path(directory).unlink(missing_ok=True)

    def _keep(self, directory: Path, identifier: str, log: Path | None) -> Path | None:
        kept = self.root / ".failed" / identifier
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(exist_ok=True)
        directory.rename(kept)
        if log is not None and log.is_relative_to(directory):
            return kept / log.relative_to(directory)
        return log

    def put(self, scenario: Scenario, identity: str, outcome: Outcome, directory: Path) -> Run:
        """Store an outcome; where the run is already there, leave it as it is.

        Parameters
        ----------
        scenario, identity
            Give the id.
        outcome : Outcome
            Tables and provenance.
        directory : Path
            A directory in this store's `workspace`; parts of it become the run.
        """
        identifier = run_id(scenario, identity)
        part = directory / "run"
        part.mkdir()
        for name, table in outcome.tables.items():
            write_table(table, part / f"{name}.parquet")
        provenance = {**outcome.provenance, "identity": identity}
        (part / "scenario.json").write_text(scenario.json() + "\n")
        (part / "provenance.json").write_text(canonical_json(provenance) + "\n")
        (part / "digest.json").write_text(canonical_json(digests(outcome.tables)) + "\n")
        for path in [*part.iterdir(), part]:
            _sync(path)
        # rename() refuses a target that is not empty: of two that finish the same run, the first one stays.
        with contextlib.suppress(OSError):
            part.rename(self.root / identifier)
            _sync(self.root)
        run = self.get(identifier)
        if run is None:
            raise RunError(f"the run could not be stored in {self.root}")
        return run


def write_table(table: pa.Table, path: Path, *, row_group_size: int | None = None) -> None:
    """Write a table as parquet, the same bytes for the same content and version of pyarrow."""
    pq.write_table(
        table.combine_chunks(),
        path,
        compression="zstd",
        compression_level=9,
        use_dictionary=True,
        row_group_size=row_group_size,
    )


def sweep(work: Path) -> None:
    """Remove the work of processes that no longer live."""
    for path in work.glob("*.lock"):
        with contextlib.suppress(OSError), path.open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            path.unlink(missing_ok=True)


def _lock_path(directory: Path) -> Path:
    return directory.with_name(directory.name + ".lock")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
