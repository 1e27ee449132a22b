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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rdcnlab.engines import SCHEMAS, Outcome
from rdcnlab.fields.errors import HintWarning, InputError, RunError
from rdcnlab.runs import disk, views
from rdcnlab.runs.digest import digests
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.runs.shipped import Row, Shipped, installed
from rdcnlab.scenario import Scenario, canonical_json, hash_of
from rdcnlab.system import places
from rdcnlab.system.locks import locked

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from rdcnlab.analysis.results.timeline import Timeline


@dataclass(frozen=True, repr=False)
class Run:
    """The result of running a scenario.

    Parameters
    ----------
    id : str
        64 hexadecimal digits.
    scenario : Scenario
        The scenario that was run.
    provenance : dict
        How the run was made: engine, versions, times.
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

    def __repr__(self) -> str:
        network, flows = self.scenario.network.name, len(self.scenario.flows)
        return f"<run {self.id[:12]}: {network}, {flows} flow{'s' * (flows != 1)}, seed {self.scenario.seed}>"

    @property
    def shipped(self) -> bool:
        """Whether the run came with the package, instead of being made on this machine."""
        return isinstance(self.source, Row)

    def holds(self, needs: Mapping[str, Part]) -> bool:
        """Return whether the run has these parts of tables. Shipped results have only some parts."""
        return not isinstance(self.source, Row) or all(self.source.copy(*need) is not None for need in needs.items())

    def table(self, name: str, part: Part = WHOLE) -> pa.Table:
        """Return a part of a table, with the columns of `rdcnlab.engines.SCHEMAS`.

        Raises
        ------
        RunError
            The shipped results do not have this part of the table. The scenario must be run to get it.
        """
        if isinstance(self.source, Row):
            return self.source.table(name, part)
        return part.of(pq.read_table(self.source / f"{name}.parquet", schema=SCHEMAS[name]))

    def file(self, name: str) -> Path:
        """Return the path of a file of the run, such as a capture; see ``probes.capture``.

        Raises
        ------
        RunError
            The run has no such file. Shipped results have none.
        """
        if isinstance(self.source, Row):
            raise RunError(
                f"the shipped results do not hold the file '{name}' of run {self.id[:12]}; "
                "with the environment's RDCNLAB_RESULTS=none it is run here"
            )
        path = self.source / name
        if name not in self.provenance.get("files", {}):
            names = ", ".join(self.provenance.get("files", {})) or "no files beside its tables"
            raise RunError(f"run {self.id[:12]} has {names}, not '{name}'")
        return path

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {name: self.table(name) for name in self.digests}

    def plot(self, *, span_ms: tuple[float, float] | None = None, sequence: bool = False) -> Figure:
        """Draw the run over time: timetables, goodput and window of each flow, queues, losses and ECN marks.

        Nights are shaded; without nights, the time that the first flow that moves spends on another link. Where bins
        are joined because there are more of them than pixels, a line is their mean, and a band reaches from the least
        to the largest.

        Parameters
        ----------
        span_ms : (float, float), optional
            Begin and end of the drawn time in ms; by default the whole run.
        sequence : bool
            Draw the bytes that were delivered in place of the rate: those that ACKs acknowledge, if `Probes.acks`
            records them, otherwise payload at the receiver.

        Raises
        ------
        InputError
            The span is not within the run.
        RunError
            A shipped run lacks the table ``throughput``.

        Examples
        --------
        >>> from rdcnlab.papers import aykurt
        >>> run = aykurt.fig4(profile="paper").stored_runs()[0]
        >>> figure = run.plot(span_ms=(0, 200))
        >>> [float(ms) for ms in figure.axes[0].get_xlim()]
        [0.0, 200.0]
        """
        figure: Figure = views.call("plot", self, span_ms=span_ms, sequence=sequence)
        return figure

    def timeline(self) -> Timeline:
        """Return the run as a page that can be zoomed; a notebook shows it, and ``save("run.html")`` writes it.

        The page has the timetables, rates, congestion windows, queues and round-trip times over one time axis, and each
        loss, mark and retransmission. It is one file that works without a network. Curves of more points than a screen
        can show keep their extremes.

        Raises
        ------
        RunError
            A shipped run lacks the table ``throughput``.

        Examples
        --------
        >>> from rdcnlab.papers import aykurt
        >>> run = aykurt.fig4(profile="paper").stored_runs()[0]
        >>> run.timeline().html.startswith("<!doctype html>")
        True
        """
        page: Timeline = views.call("timeline", self)
        return page

    def limits(self) -> pd.DataFrame:
        """Say what limited each flow, as far as the tables show it.

        Returns
        -------
        DataFrame
            ``flow``, ``goodput_Gbps``; ``line_busy``: share of the rate of the fullest line that it used, while it was
            there; ``dark``: share of its time in which its timetable is dark; ``lost``: packets; ``retransmits``,
            ``timeouts``; ``limited_by``: the reasons in words, the strongest first.

        Examples
        --------
        >>> from rdcnlab.papers import aykurt
        >>> run = aykurt.fig4(profile="paper").stored_runs()[0]
        >>> run.limits()["flow"].tolist()
        ['main', 'migrated']
        """
        table: pd.DataFrame = views.call("limits", self)
        return table


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
            local = self.get(run_id(scenario, identity))
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
        path = self.root / identifier
        try:
            digest = json.loads((path / "digest.json").read_text())
            provenance = json.loads((path / "provenance.json").read_text())
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
                shutil.move(path, part / name)
        (part / "scenario.json").write_text(scenario.json() + "\n")
        (part / "provenance.json").write_text(canonical_json(provenance) + "\n")
        (part / "digest.json").write_text(canonical_json(digests(outcome.tables)) + "\n")
        for path in [*part.iterdir(), part]:
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
