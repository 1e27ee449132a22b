# SPDX-License-Identifier: Apache-2.0
"""Results that come with the package: many runs in a few files.

``data/results/<paper>/`` holds ``runs.parquet`` with one row a run (id, scenario, provenance, digests, and which tables
are there) and the tables of all of them, each with a leading column ``run`` and sorted by it. A run need not have all
its tables here; its digests are those of all.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rdcnlab import places
from rdcnlab.engines import SCHEMAS
from rdcnlab.errors import RunError
from rdcnlab.scenario import canonical_json

if TYPE_CHECKING:
    from rdcnlab.store import Run

_COLUMNS = ("run", "hash", "scenario", "provenance", "digests", "tables")
_RUNS = pa.schema([(name, pa.string()) for name in _COLUMNS])
#: Columns that rise within a run: their differences take a fraction of the room.
_RISING = ("bin", "t_ns")
#: Columns with few values, each of them often.
_REPEATED = ("run", "where", "link", "flow", "event", "src", "dst", "cc", "bytes", "packets", "size_B")


@dataclass(frozen=True)
class Row:
    """One shipped run: where its tables are, and how they came about."""

    id: str
    folder: Path
    scenario: str
    provenance: Mapping[str, Any]
    digests: Mapping[str, str]
    tables: tuple[str, ...]

    @property
    def data(self) -> dict[str, Any]:
        """The scenario as plain data."""
        data: dict[str, Any] = json.loads(self.scenario)
        return data

    def table(self, name: str) -> pa.Table:
        """Read one table.

        Raises
        ------
        RunError
            It was not shipped.
        """
        if name not in self.tables:
            raise RunError(
                f"the shipped results do not hold the table '{name}' of run {self.id[:12]}; "
                "with the environment's RDCNLAB_RESULTS=none it is run here"
            )
        table, first = _load(self.folder / f"{name}.parquet")
        start, length = first.get(self.id, (0, 0))
        return table.slice(start, length).cast(SCHEMAS[name])


class Shipped:
    """The shipped runs below a directory, which need not be there.

    Parameters
    ----------
    root : Path, optional
        See `rdcnlab.places.results`.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = Path(root) if root is not None else places.results()

    @functools.cached_property
    def rows(self) -> dict[str, Row]:
        """Every shipped run by the hash of its scenario."""
        rows: dict[str, Row] = {}
        for path in sorted(self.root.glob("*/runs.parquet")):
            for entry in pq.read_table(path, schema=_RUNS).to_pylist():
                rows[entry["hash"]] = Row(
                    entry["run"],
                    path.parent,
                    entry["scenario"],
                    json.loads(entry["provenance"]),
                    json.loads(entry["digests"]),
                    tuple(json.loads(entry["tables"])),
                )
        return rows

    def row(self, scenario_hash: str) -> Row | None:
        """Return the run of a scenario by its hash, or None."""
        return self.rows.get(scenario_hash)


@functools.lru_cache(maxsize=8)
def _load(path: Path) -> tuple[pa.Table, dict[str, tuple[int, int]]]:
    """Read a file, and where each run's rows begin and how many they are."""
    table = pq.read_table(path)
    encoded = table["run"].combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy()
    starts = np.flatnonzero(np.diff(codes, prepend=-1)) if len(codes) else np.empty(0, dtype=int)
    lengths = np.diff(starts, append=len(codes))
    names = encoded.dictionary.take(pa.array(codes[starts])).to_pylist()
    return table.drop_columns(["run"]), dict(
        zip(names, zip(starts.tolist(), lengths.tolist(), strict=True), strict=True)
    )


def ship(runs: Iterable[Run], folder: Path, needs: Callable[[Run], Iterable[str]] = lambda _: SCHEMAS) -> None:
    """Write runs as shipped results; what the folder held before is replaced.

    Parameters
    ----------
    runs : iterable of Run
        Which; each scenario once.
    folder : Path
        ``data/results/<paper>``.
    needs : callable
        Gives the names of the tables to ship of a run.
    """
    chosen = sorted(runs, key=lambda run: run.id)
    wanted = {run.id: sorted(set(needs(run))) for run in chosen}
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in SCHEMAS.items():
        parts = [
            run.table(name).add_column(0, "run", pa.array([run.id] * len(run.table(name)), pa.string()))
            for run in chosen
            if name in wanted[run.id]
        ]
        empty = pa.schema([("run", pa.string()), *schema]).empty_table()
        _write(pa.concat_tables([empty, *parts]), folder / f"{name}.parquet")
    rows = [
        {
            "run": run.id,
            "hash": run.scenario.hash,
            "scenario": run.scenario.json(),
            # the machine's own kernel says nothing about the result
            "provenance": canonical_json({k: v for k, v in run.provenance.items() if k != "host"}),
            "digests": canonical_json(dict(run.digests)),
            "tables": canonical_json(wanted[run.id]),
        }
        for run in chosen
    ]
    _write(pa.Table.from_pylist(rows, _RUNS), folder / "runs.parquet")
    _load.cache_clear()


def _write(table: pa.Table, path: Path) -> None:
    part = path.with_suffix(".part")
    pq.write_table(
        table.combine_chunks(),
        part,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in table.column_names if name in _REPEATED],
        column_encoding={name: "DELTA_BINARY_PACKED" for name in table.column_names if name in _RISING},
    )
    part.rename(path)
