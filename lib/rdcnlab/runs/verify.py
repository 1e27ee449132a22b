# SPDX-License-Identifier: Apache-2.0
"""Compare the stored bytes of runs with what was measured, then run the scenarios again, and compare bit by bit."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs import manifest, stored
from rdcnlab.runs.campaign import CampaignError, campaign
from rdcnlab.runs.digest import digest
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.runs.run import Run
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.runs.sums import Damaged
from rdcnlab.scenario import Scenario


@dataclass(frozen=True)
class DamagedRun:
    """A local run with a file that is not what was written."""

    id: str
    damage: Damaged

    @property
    def note(self) -> str:
        """What is wrong, in words."""
        path = self.damage.path
        subject = f"the stored table {path.stem}" if path.suffix == ".parquet" else f"the stored file {path.name}"
        # a table may also be missing
        how = "" if self.damage.what == "is damaged" else f": it {self.damage.what}"
        return f"{subject} is not what was {'measured' if path.suffix == '.parquet' else 'written'}{how}"


def sample(store: Store, count: int, seed: int) -> list[Run | DamagedRun]:
    """Choose stored runs: shipped ones first, then local ones.

    Parameters
    ----------
    store : Store
        The store to choose from.
    count : int
        Number of runs, at most.
    seed : int
        Seed of the random choice.
    """
    rng = random.Random(seed)
    shipped = sorted(store.shipped, key=lambda row: row.hash)
    rows = rng.sample(shipped, min(count, len(shipped)))
    # by the row, not by the scenario: a default that changed since must not hide a run
    runs = [Run(row.id, Scenario.from_dict(row.data), row.provenance, row.digests, row) for row in rows]
    local = store.ids() if len(runs) < count else []
    chosen = [_local(store, identifier) for identifier in rng.sample(local, len(local))]
    return [*runs, *(run for run in chosen if run is not None)][:count]


def _local(store: Store, identifier: str) -> Run | DamagedRun | None:
    """Return a local run as it is stored; None if its scenario is of another version."""
    path = store.root / identifier
    try:
        content = stored.read(path)
        return Run(identifier, Scenario.from_dict(content.scenario), content.provenance, content.digests, path)
    except Damaged as damage:
        return DamagedRun(identifier, damage)
    except InputError:
        return None


def damages(store: Store) -> Iterator[dict[str, Any]]:
    """Compare all files of all local and shipped runs with what was written; yield a row for each that differs."""
    for problem in manifest.problems(store.shipped.root):
        yield {"run": "", "source": "shipped", "damage": problem}
    for identifier in store.ids():
        try:
            stored.read(store.root / identifier)
        except Damaged as damage:
            cure = "the run is made again when it is needed"
            yield {"run": identifier[:12], "source": "local", "damage": f"{damage}; {cure}"}


def verify(
    runs: Sequence[Run | DamagedRun], *, workers: int | None = None, cluster: Any = None, progress: bool = True
) -> list[dict[str, Any]]:
    """Compare the stored tables with the digests of what was measured, then with those of a new run.

    The scenarios are run on this machine or a cluster, in a temporary store.

    Returns
    -------
    list of dict
        One row for each run: ``run``, ``seed``, ``source`` (shipped or local), ``same`` and ``note``. The note names
        the tables that differ, or says why there is nothing to compare.
    """
    notes = [_stored_note(run) for run in runs]
    whole = [run for run, note in zip(runs, notes, strict=True) if isinstance(run, Run) and not note]
    with tempfile.TemporaryDirectory(prefix="rdcnlab-verify-") as directory:
        fresh = Store(Path(directory) / "runs", shipped=Shipped(Path(directory) / "none"))
        failures: dict[str, str] = {}
        try:
            scenarios = [run.scenario for run in whole]
            rerun = campaign(scenarios, workers=workers, cluster=cluster, store=fresh, progress=progress, hints=False)
        except CampaignError as error:
            rerun = error.runs
            failures = {failure.scenario.hash: failure.error.reason for failure in error.failures}
        again = {run.scenario.hash: run for run in rerun}
        return [
            _row(run, *((False, note) if note or not isinstance(run, Run) else _compare(run, again, failures)))
            for run, note in zip(runs, notes, strict=True)
        ]


def _row(run: Run | DamagedRun, same: bool, note: str) -> dict[str, Any]:
    return {
        "run": run.id[:12],
        "seed": run.scenario.seed if isinstance(run, Run) else None,
        "source": "shipped" if isinstance(run, Run) and run.shipped else "local",
        "same": same,
        "note": note,
    }


def _stored_note(run: Run | DamagedRun) -> str:
    """Return what is wrong with the stored bytes of a run; empty if its tables are what was measured."""
    if isinstance(run, DamagedRun):
        return run.note
    for name, part in _stored(run):
        try:
            # the digest of a part was not measured; the list of the shipped files has it, and the new run will
            if part == WHOLE and digest(run.table(name)) != run.digests.get(name):
                return f"the stored table {name} is not what was measured"
            run.table(name, part)
        except RunError as error:
            return f"the stored table {name} is not what was measured: {error.reason}"
    return ""


def _stored(run: Run) -> list[tuple[str, Part]]:
    """Return the parts of tables that are stored of a run: whole tables, or those that were shipped."""
    if isinstance(run.source, Path):
        return [(name, WHOLE) for name in run.digests]
    return [(name, copy.part) for name, copies in sorted(run.source.copies.items()) for copy in copies]


def _compare(run: Run, again: Mapping[str, Run], failures: Mapping[str, str]) -> tuple[bool, str]:
    """Return whether what is stored of a run is the same in the new one, and words about it.

    A table that only the new run has is of a later version; one that was not shipped cannot be judged.
    """
    rerun = again.get(run.scenario.hash)
    if rerun is None:
        return False, f"could not be run: {failures.get(run.scenario.hash)}"
    parts = _stored(run)
    differing = {name for name, part in parts if name not in rerun.digests or not _equal(run, rerun, name, part)}
    notes = [f"differs in {', '.join(sorted(differing))}"] if differing else []
    changed = {name for name, measured in run.digests.items() if rerun.digests.get(name) != measured} - differing
    if changed:
        notes.append(f"not compared, because it is not shipped, and different now: {', '.join(sorted(changed))}")
    if run.provenance.get("identity") != rerun.provenance.get("identity"):
        notes.append("by another build of the engine")
    return not differing, "; ".join(notes)


def _equal(run: Run, rerun: Run, name: str, part: Part) -> bool:
    if part == WHOLE:
        return run.digests.get(name) == rerun.digests[name]
    return _content(run.table(name, part), part) == _content(part.of(rerun.table(name)), part)


def _content(table: pa.Table, part: Part) -> str:
    # sums have no order: some were shipped in the order in which threads had made them
    if part.grouped:
        table = table.sort_by([(name, "ascending") for name in table.column_names])
    # `Part.of` leaves dictionaries of text where there are some
    plain = [
        pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    return digest(table.cast(pa.schema(plain)))
