# SPDX-License-Identifier: Apache-2.0
"""Runs on disk: they are written once, atomically, and never changed.

A store is a directory::

    <root>/<id>/            one run: one parquet file for each table, scenario.json, provenance.json, digest.json,
                            and the run's files, such as captures
    <root>/.work/<id>.*/    a run in progress, with a lock held by the process that works on it
    <root>/.failed/<id>/    the files that a failed run left, until the run is tried again

A process may be killed at any time. So one rename makes a complete run appear, and the next process removes work whose
lock nobody holds. The id of a run is the hash of its scenario and of the identity of the engine. So a run by one kernel
is never taken for a run by another kernel.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rdcnlab.engines import Outcome
from rdcnlab.fields.errors import HintWarning, InputError, RunError
from rdcnlab.runs import disk
from rdcnlab.runs.digest import digests
from rdcnlab.runs.run import Run
from rdcnlab.runs.shipped import Shipped, installed
from rdcnlab.scenario import Scenario, canonical_json, hash_of
from rdcnlab.system import places
from rdcnlab.system.locks import locked


def run_id(scenario: Scenario, identity: str) -> str:
    """Return the id of the run of a scenario by an engine."""
    return hashlib.sha256(f"{scenario.hash} {identity}".encode()).hexdigest()


class Store:
    """The runs that were made on this machine, and the shipped runs.

    Parameters
    ----------
    root : Path, optional
        Directory of the local runs. The first write creates it. See `rdcnlab.system.places.store`.
    shipped : Shipped, optional
        The shipped runs; by default those of the source tree.
    """

    def __init__(self, root: str | Path | None = None, *, shipped: Shipped | None = None) -> None:
        self.root = Path(root) if root is not None else places.store()
        self.shipped = installed(places.results()) if shipped is None else shipped
        #: by the name of a run's directory; a run is never changed
        self._hashes: dict[str, str] = {}

    def hashes(self) -> frozenset[str]:
        """Return the hashes of the scenarios of all local runs, by whatever engine.

        A scenario that is not among them has no local run, whatever the identity of the engine is.
        """
        paths = [path for path in self.root.iterdir() if path.name[0] != "."] if self.root.is_dir() else []
        for path in paths:
            if path.name not in self._hashes:
                # no run, or a damaged one, which must not keep others from being found
                with contextlib.suppress(OSError, ValueError, KeyError):
                    self._hashes[path.name] = hash_of(json.loads((path / "scenario.json").read_bytes()))
        return frozenset(self._hashes[path.name] for path in paths if path.name in self._hashes)

    def seeds(self, scenario: Scenario) -> list[int]:
        """Return the seeds of all local runs of a scenario, by whatever engine, in rising order."""
        found = set()
        paths = [path for path in self.root.iterdir() if path.name[0] != "."] if self.root.is_dir() else []
        for path in paths:
            # no run, or a damaged one, which must not keep others from being found
            with contextlib.suppress(OSError, ValueError, KeyError):
                data = json.loads((path / "scenario.json").read_bytes())
                if hash_of({**data, "seed": scenario.seed}) == scenario.hash:
                    found.add(int(data["seed"]))
        return sorted(found)

    def find(self, scenario: Scenario, identity: str | None) -> Run | None:
        """Return the run of a scenario, or None.

        Parameters
        ----------
        scenario : Scenario
            The scenario.
        identity : str or None
            Identity of the engine. Only local runs by this engine count. None searches only the shipped runs.

        Returns
        -------
        Run or None
            The local run if there is one, otherwise the shipped run by any engine.
        """
        if identity is not None:
            local = self._local(run_id(scenario, identity), scenario)
            if local is not None:
                return local
        row = self.shipped.row(scenario.hash)
        if row is None:
            return None
        return Run(row.id, scenario, row.provenance, row.digests, row)

    def get(self, identifier: str) -> Run | None:
        """Return the local run of this id, or None.

        Warns
        -----
        HintWarning
            A table of the run is missing or not complete, so the run counts as missing.
        """
        return self._local(identifier)

    def _local(self, identifier: str, scenario: Scenario | None = None) -> Run | None:
        """Return the local run of this id, or None. The scenario is read if it is not known."""
        path = self.root / identifier
        try:
            digest = json.loads((path / "digest.json").read_text())
            provenance = json.loads((path / "provenance.json").read_text())
            if scenario is None:
                scenario = Scenario.load(path / "scenario.json")
        except (OSError, ValueError, InputError):
            return None  # no run, or a damaged one, which must not keep others from being found
        damaged = disk.damaged_table(path, digest)
        if damaged is not None:
            state = "is damaged" if damaged.exists() else "is missing"
            warnings.warn(f"{damaged} {state}; the run is made again when it is needed", HintWarning, stacklevel=2)
            return None
        return Run(identifier, scenario, provenance, digest, path)

    def __iter__(self) -> Iterator[Run]:
        """Iterate over the local runs, in the order of their ids."""
        if self.root.is_dir():
            for path in sorted(self.root.iterdir()):
                run = None if path.name.startswith(".") else self.get(path.name)
                if run is not None:
                    yield run

    def delete(self, run: Run) -> None:
        """Delete a local run. It disappears at once, also for other processes.

        Raises
        ------
        InputError
            The run came with the package.
        """
        if not isinstance(run.source, Path):
            raise InputError.of("run", run.id[:12], reason=f"run {run.id[:12]} came with rdcnlab and stays")
        with self.workspace(run.id) as directory:
            run.source.rename(directory / "deleted")

    @contextlib.contextmanager
    def workspace(self, identifier: str) -> Iterator[Path]:
        """Yield an empty directory to work in. It is removed when the block ends.

        If the block raises `RunError`, the directory is kept as ``.failed/<id>``, and the error's log points there.

        Raises
        ------
        RunError
            There is no room, or no right to write there.
        """
        work = self.root / ".work"
        directory = work / f"{identifier}.{secrets.token_hex(8)}"
        with contextlib.ExitStack() as stack:
            with disk.writing(self.root):
                work.mkdir(parents=True, exist_ok=True)
                sweep(work)
                # The lock is taken before the directory is made: a directory without a held lock counts as abandoned.
                stack.enter_context(locked(_lock_path(directory)))
                directory.mkdir()
            try:
                with disk.writing(self.root):
                    yield directory
            except RunError as error:
                # what a program says of a full disk is not that it is full
                full = disk.no_room(self.root)
                reason = error.reason if full is None or full in error.reason else f"{full} ({error.reason})"
                raise RunError(reason, self._keep(directory, identifier, error.log)) from error
            finally:
                shutil.rmtree(directory, ignore_errors=True)
                _lock_path(directory).unlink(missing_ok=True)

    def _keep(self, directory: Path, identifier: str, log: Path | None) -> Path | None:
        target = self.root / ".failed" / identifier
        shutil.rmtree(target, ignore_errors=True)
        try:
            target.parent.mkdir(exist_ok=True)
            directory.rename(target)
        except OSError:
            return None  # without room not even this is possible, and the error's reason is what matters
        if log is not None and log.is_relative_to(directory):
            return target / log.relative_to(directory)
        return log

    def put(self, scenario: Scenario, identity: str, outcome: Outcome, directory: Path) -> Run:
        """Store an outcome. A run that is already stored is not changed.

        Parameters
        ----------
        scenario, identity
            They determine the id of the run.
        outcome : Outcome
            Tables and provenance.
        directory : Path
            A directory from this store's `workspace`. A subdirectory of it becomes the run.
        """
        identifier = run_id(scenario, identity)
        part = directory / "run"
        part.mkdir()
        for name, table in outcome.tables.items():
            write_table(table, part / f"{name}.parquet")
        provenance = {**outcome.provenance, "identity": identity}
        if outcome.files:
            provenance["files"] = {name: _digest(path) for name, path in sorted(outcome.files.items())}
            for name, path in outcome.files.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, part / name)
        (part / "scenario.json").write_text(scenario.json() + "\n")
        (part / "provenance.json").write_text(canonical_json(provenance) + "\n")
        (part / "digest.json").write_text(canonical_json(digests(outcome.tables)) + "\n")
        for path in [*part.rglob("*"), part]:
            _sync(path)
        target = self.root / identifier
        if target.exists() and self.get(identifier) is None:
            target.rename(directory / "damaged")
        # rename() refuses a target that is not empty: if two processes finish the same run, the first result stays.
        with contextlib.suppress(OSError):
            part.rename(target)
            _sync(self.root)
        run = self.get(identifier)
        if run is None:
            raise RunError(f"the run could not be stored in {self.root}")
        return run


def write_table(table: pa.Table, path: Path, *, row_group_size: int | None = None) -> None:
    """Write a table as parquet. The same content and version of pyarrow give the same bytes."""
    pq.write_table(
        table.combine_chunks(),
        path,
        compression="zstd",
        compression_level=9,
        use_dictionary=True,
        row_group_size=row_group_size,
    )


def sweep(work: Path) -> None:
    """Remove the work of processes that have ended."""
    for path in work.glob("*.lock"):
        with contextlib.suppress(OSError), path.open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            path.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lock_path(directory: Path) -> Path:
    return directory.with_name(directory.name + ".lock")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
