# SPDX-License-Identifier: Apache-2.0
"""Results that come with the package: many runs in a few files.

``data/results/<paper>/`` holds ``runs.parquet`` with one row a run (id, scenario, engine, provenance, digests) and the
tables of all of them, each with a leading column ``run`` and one row group a run, so that one run can be read alone.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rdcnlab import places
from rdcnlab.engines import SCHEMAS
from rdcnlab.scenario import canonical_json

if TYPE_CHECKING:
    from rdcnlab.store import Run

_RUNS = pa.schema(
    [
        ("run", pa.string()),
        ("hash", pa.string()),
        ("scenario", pa.string()),
        ("provenance", pa.string()),
        ("digests", pa.string()),
    ]
)


@dataclass(frozen=True)
class Row:
    """One shipped run: where its tables are, and how they came about."""

    id: str
    folder: Path
    scenario: str
    provenance: Mapping[str, Any]
    digests: Mapping[str, str]

    @property
    def data(self) -> dict[str, Any]:
        """The scenario as plain data."""
        data: dict[str, Any] = json.loads(self.scenario)
        return data


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
                provenance, digests = json.loads(entry["provenance"]), json.loads(entry["digests"])
                rows[entry["hash"]] = Row(entry["run"], path.parent, entry["scenario"], provenance, digests)
        return rows

    def row(self, scenario_hash: str) -> Row | None:
        """Return the run of a scenario by its hash, or None."""
        return self.rows.get(scenario_hash)


def ship(runs: Iterable[Run], folder: Path, *, tables: Iterable[str] = tuple(SCHEMAS)) -> None:
    """Write runs as shipped results; what the folder held before is replaced.

    Parameters
    ----------
    runs : iterable of Run
        Which; each scenario once.
    folder : Path
        ``data/results/<paper>``.
    tables : iterable of str
        Names of the tables to include.
    """
    chosen = sorted(runs, key=lambda run: run.id)
    names = list(tables)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        schema = pa.schema([pa.field("run", pa.string()), *SCHEMAS[name]])
        part = folder / f"{name}.part"
        with pq.ParquetWriter(part, schema, compression="zstd", compression_level=19) as writer:
            for run in chosen:
                table = run.table(name)
                column = pa.array([run.id] * len(table), pa.string())
                writer.write_table(table.add_column(0, pa.field("run", pa.string()), column).cast(schema))
        part.rename(folder / f"{name}.parquet")
    rows = [
        {
            "run": run.id,
            "hash": run.scenario.hash,
            "scenario": run.scenario.json(),
            "provenance": canonical_json(dict(run.provenance)),
            "digests": canonical_json({name: run.digests[name] for name in names}),
        }
        for run in chosen
    ]
    pq.write_table(pa.Table.from_pylist(rows, _RUNS), folder / "runs.part", compression="zstd", compression_level=19)
    (folder / "runs.part").rename(folder / "runs.parquet")
