# SPDX-License-Identifier: Apache-2.0
"""Runs on disk: they are written once, atomically, and never changed.

A store is a directory::

    <root>/<id>/            one run: one parquet file for each table, scenario.json, provenance.json, digest.json,
                            the run's files, such as captures, and SHA256SUMS; see `rdcnlab.runs.stored`
    <root>/.work/<id>.*/    a run in progress, with a lock held by the process that works on it
    <root>/.failed/<id>/    the files that a failed run left, until the run is tried again
    <root>/.damaged/<id>/   a run with files that are not what was written; it counts as missing

A process may be killed at any time. So one rename makes a complete run appear, and the next process removes work whose
lock nobody holds. The id of a run is the hash of its scenario and of the identity of the engine. So a run by one kernel
is never taken for a run by another kernel.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import re
import secrets
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

from rdcnlab.engines import Outcome
from rdcnlab.fields.errors import HintWarning, InputError, RunError
from rdcnlab.runs import disk, stored, sums
from rdcnlab.runs.digest import digests
from rdcnlab.runs.run import Run
from rdcnlab.runs.shipped import Shipped, installed
from rdcnlab.runs.stored import id_of, write_table
from rdcnlab.scenario import Scenario, canonical_json, hash_of
from rdcnlab.system import places
from rdcnlab.system.locks import locked

_ID = re.compile("[0-9a-f]{64}")


def run_id(scenario: Scenario, identity: str) -> str:
    """Return the id of the run of a scenario by an engine."""
    return id_of(scenario.hash, identity)


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
        ids = self.ids()
        for identifier in ids:
            if identifier not in self._hashes:
                # a damaged run, which must not keep others from being found
                with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                    text = (self.root / identifier / stored.SCENARIO).read_bytes()
                    self._hashes[identifier] = hash_of(json.loads(text))
        return frozenset(self._hashes[identifier] for identifier in ids if identifier in self._hashes)

    def ids(self) -> list[str]:
        """Return the ids of all local runs in rising order, also of damaged ones.

        Raises
        ------
        RunError
            The store cannot be read.
        """
        try:
            return sorted(path.name for path in self.root.iterdir() if _ID.fullmatch(path.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise disk.error_of(error, self.root) from error

    def seeds(self, scenario: Scenario) -> list[int]:
        """Return the seeds of all local runs of a scenario, by whatever engine, in rising order."""
        seeds = set()
        paths = [path for path in self.root.iterdir() if path.name[0] != "."] if self.root.is_dir() else []
        for path in paths:
            # no run, or a damaged one, which must not keep others from being found
            with contextlib.suppress(OSError, ValueError, KeyError):
                data = json.loads((path / "scenario.json").read_bytes())
                if hash_of({**data, "seed": scenario.seed}) == scenario.hash:
                    seeds.add(int(data["seed"]))
        return sorted(seeds)

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
            A file of the run is not what was written. The run counts as missing, and is kept in ``.damaged``.
        """
        return self._local(identifier)

    def _local(self, identifier: str, scenario: Scenario | None = None) -> Run | None:
        """Return the local run of this id, or None. The scenario is read if it is not known."""
        path = self.root / identifier
        if not _ID.fullmatch(identifier) or not os.path.isdir(path):  # noqa: PTH112 - `Path.is_dir` raises some errors
            return None
        try:
            content = stored.read(path)
        except sums.Damaged as damage:
            with contextlib.suppress(OSError):  # where nothing can be moved, the run only counts as missing
                self._set_aside(path)
            warnings.warn(f"{damage}; the run is made again when it is needed", HintWarning, stacklevel=2)
            return None
        try:
            scenario = Scenario.from_dict(content.scenario) if scenario is None else scenario
        except InputError:
            return None  # of a version whose scenarios had other fields; it must not keep others from being found
        return Run(identifier, scenario, content.provenance, content.digests, path)

    def _set_aside(self, path: Path) -> None:
        """Keep a damaged run in ``.damaged``, out of the way of the run that takes its place.

        One process at a time does so, and looks again: another one may have made the run again meanwhile.
        """
        target = self.root / ".damaged" / path.name
        target.parent.mkdir(exist_ok=True)
        with locked(target.with_name("lock")):
            try:
                stored.read(path)
            except sums.Unreadable:
                return
            except sums.Damaged:
                shutil.rmtree(target, ignore_errors=True)
                path.rename(target)

    def __iter__(self) -> Iterator[Run]:
        """Iterate over the local runs, in the order of their ids."""
        for identifier in self.ids():
            run = self.get(identifier)
            if run is not None:
                yield run

    def check_writable(self) -> None:
        """Write to the store as a run does, and remove it.

        Raises
        ------
        RunError
            The store cannot be written to. The message has the cause and the cure.
        """
        with self.workspace("probe"):
            pass

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
            The store cannot be written to; the message has the cause and the cure.
        """
        work = self.root / ".work"
        directory = work / f"{identifier}.{secrets.token_hex(8)}"
        with contextlib.ExitStack() as stack:
            with disk.writing(self.root, only_there=True):
                work.mkdir(parents=True, exist_ok=True)
                sweep(work)
                # The lock is taken before the directory is made: a directory without a held lock counts as abandoned.
                stack.enter_context(locked(_lock_path(directory)))
                stack.callback(_remove, directory)
                directory.mkdir()
                _probe(directory)
            try:
                with disk.writing(self.root):
                    yield directory
            except RunError as error:
                # what a program says of a full disk is not that it is full
                full = disk.no_room(self.root)
                reason = error.reason if full is None or full in error.reason else f"{full} ({error.reason})"
                raise RunError(reason, self._keep(directory, identifier, error.log)) from error

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
            Tables and provenance. The date is added, which neither the id nor a digest depends on.
        directory : Path
            A directory from this store's `workspace`. A subdirectory of it becomes the run.
        """
        identifier = run_id(scenario, identity)
        part = directory / "run"
        part.mkdir()
        for name, table in outcome.tables.items():
            write_table(table, part / f"{name}.parquet")
        provenance = {**outcome.provenance, "identity": identity, "made_at": _now()}
        if outcome.files:
            provenance["files"] = {name: sums.sha256(path) for name, path in sorted(outcome.files.items())}
            for name, path in outcome.files.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, part / name)
        (part / stored.SCENARIO).write_text(scenario.json() + "\n")
        (part / stored.PROVENANCE).write_text(canonical_json(provenance) + "\n")
        (part / stored.DIGEST).write_text(canonical_json(digests(outcome.tables)) + "\n")
        stored.seal(part)
        for path in [*part.rglob("*"), part]:
            _sync(path)
        target = self.root / identifier
        why, failed = "", None
        # rename() refuses a target that is not empty: if two processes finish the same run, the first result stays.
        try:
            if os.path.lexists(target):
                self._set_aside(target)  # if it is damaged
            part.rename(target)
            _sync(self.root)
        except OSError as error:
            why, failed = f": {disk.error_of(error, self.root).reason}", error
        run = self.get(identifier)
        if run is None:
            raise RunError(f"the run could not be stored in {self.root}{why}") from failed
        return run


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def sweep(work: Path) -> None:
    """Remove the work of processes that have ended."""
    for path in work.glob("*.lock"):
        with contextlib.suppress(OSError), path.open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path.with_suffix(""))


def _remove(directory: Path) -> None:
    """Remove a directory of work and its probe, then its lock. What could not be removed keeps it until it is swept."""
    paths = (directory, _probe_path(directory))
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        if not any(map(os.path.lexists, paths)):
            _lock_path(directory).unlink()


def _probe(directory: Path) -> None:
    """Do with a small directory what `Store.put` does with a run, and undo it."""
    part, target = directory / "probe", _probe_path(directory)
    part.mkdir()
    (part / "file").write_bytes(bytes(4096))
    _sync(part / "file")
    part.rename(target)
    shutil.rmtree(target)


def _probe_path(directory: Path) -> Path:
    return directory.parent.with_name(f".probe.{directory.name}")


def _lock_path(directory: Path) -> Path:
    return directory.with_name(directory.name + ".lock")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
