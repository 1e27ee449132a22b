# SPDX-License-Identifier: Apache-2.0
"""Results that come with the package: many runs in a few files.

``data/results/<paper>/<item>/`` holds ``runs.parquet``, one row a run, and the tables of all these runs, one after the
other: of each the part that figures look at. A run's digests are those of its whole tables. What another item's
directory holds already is not held again, so that items share runs; shipping an item writes its own directory only.
Files are read when a table is asked for, and no more of them than the rows around it.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rdcnlab.engines import SCHEMAS
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.scenario import canonical_json
from rdcnlab.system import places

if TYPE_CHECKING:
    from rdcnlab.runs.store import Run

#: ``tables`` says of each table where its rows are, ``[first, count]``, and which part of it they are.
_COLUMNS = ("run", "hash", "scenario", "provenance", "digests", "tables")
_RUNS = pa.schema([(name, pa.string()) for name in _COLUMNS])
#: Columns that rise within a run: their differences take a fraction of the room.
_RISING = ("bin", "t_ns")
#: Columns with few values, each of them often.
_REPEATED = ("where", "link", "flow", "event", "src", "dst", "cc", "bytes", "packets", "size_B")
#: Rows that are read together. Those of a run are next to each other, and so are those of runs that are read in order.
_GROUP = 2**16


@dataclass(frozen=True)
class Copy:
    """Where a part of a run's table is: `count` rows of a `file` from row `first` on."""

    file: Path
    part: Part
    first: int
    count: int

    def follows(self, other: Copy) -> bool:
        """Say whether the rows come right after those of another copy of the same part."""
        return self.file == other.file and self.part == other.part and self.first == other.first + other.count

    def joined(self, other: Copy) -> Copy:
        """Return the rows of both, of which the other's come right after."""
        return replace(self, count=self.count + other.count)

    def read(self) -> pa.Table:
        """Read the rows; text comes as dictionaries."""
        ends = _ends(self.file)
        if not self.count:
            return _file(self.file).schema_arrow.empty_table()
        low, high = np.searchsorted(ends, [self.first, self.first + self.count - 1], side="right")
        begin = int(ends[low - 1]) if low else 0
        groups = [_group(self.file, group) for group in range(low, high + 1)]
        return pa.concat_tables(groups).slice(self.first - begin, self.count)


@dataclass(frozen=True)
class Row:
    """One shipped run: how it came about, and where the parts of its tables are."""

    id: str
    hash: str
    scenario: str
    provenance: Mapping[str, Any]
    digests: Mapping[str, str]
    copies: Mapping[str, tuple[Copy, ...]]

    @property
    def data(self) -> dict[str, Any]:
        """The scenario as plain data."""
        data: dict[str, Any] = json.loads(self.scenario)
        return data

    def copy(self, name: str, part: Part = WHOLE) -> Copy | None:
        """Return the copy that a part of a table can be taken from, or None."""
        return next((copy for copy in self.copies.get(name, ()) if copy.part.covers(part)), None)

    def table(self, name: str, part: Part = WHOLE) -> pa.Table:
        """Read a part of a table.

        Raises
        ------
        RunError
            It was not shipped.
        """
        taken = part.of(self.holding(name, part).read())
        return taken.cast(pa.schema([SCHEMAS[name].field(column) for column in taken.column_names]))

    def holding(self, name: str, part: Part = WHOLE) -> Copy:
        """Return the copy that a part of a table can be taken from.

        Raises
        ------
        RunError
            It was not shipped.
        """
        copy = self.copy(name, part)
        if copy is None:
            what = f"the table '{name}'" if part == WHOLE else f"this part of the table '{name}', {part.data()},"
            raise RunError(
                f"the shipped results do not hold {what} of run {self.id[:12]}; "
                "with the environment's RDCNLAB_RESULTS=none it is run here"
            )
        return copy


class Shipped:
    """The shipped runs below a directory, which need not be there.

    Parameters
    ----------
    root : Path, optional
        See `rdcnlab.system.places.results`.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = Path(root) if root is not None else places.results()

    def __iter__(self) -> Iterator[Row]:
        """Go through the shipped runs, each once, in the order of papers and items."""
        for scenario_hash in self._places:
            row = self.row(scenario_hash)
            assert row is not None
            yield row

    def __len__(self) -> int:
        return len(self._places)

    def row(self, scenario_hash: str) -> Row | None:
        """Return the run of a scenario by its hash, or None. Of different results, the first item's is the one."""
        found = [_Entry(folder, place) for folder, place in self._places.get(scenario_hash, ())]
        if not found:
            return None
        digests = json.loads(found[0]["digests"])
        copies: dict[str, list[Copy]] = defaultdict(list)
        for entry in found:
            if json.loads(entry["digests"]) == digests:
                for name, where in json.loads(entry["tables"]).items():
                    file = entry.folder / f"{name}.parquet"
                    copies[name].append(Copy(file, Part.from_data(where["part"]), *where["rows"]))
        first = found[0]
        provenance = json.loads(first["provenance"])
        kept = {name: tuple(each) for name, each in copies.items()}
        return Row(first["run"], scenario_hash, first["scenario"], provenance, digests, kept)

    @functools.cached_property
    def _places(self) -> dict[str, list[tuple[Path, int]]]:
        """Folder and row of each run, by the hash of its scenario: all that is read before a run is asked for."""
        found: dict[str, list[tuple[Path, int]]] = defaultdict(list)
        for path in sorted(self.root.glob("*/*/runs.parquet")):
            for place, scenario_hash in enumerate(pq.read_table(path, columns=["hash"])["hash"].to_pylist()):
                found[scenario_hash].append((path.parent, place))
        return dict(found)


@dataclass(frozen=True)
class _Entry:
    """A row of a folder's ``runs.parquet``."""

    folder: Path
    place: int

    def __getitem__(self, name: str) -> str:
        return str(_runs(self.folder)[name][self.place].as_py())


@functools.lru_cache(maxsize=4)
def _runs(folder: Path) -> pa.Table:
    return pq.read_table(folder / "runs.parquet", schema=_RUNS)


@functools.lru_cache(maxsize=64)
def _file(path: Path) -> pq.ParquetFile:
    text = [field.name for field in pq.read_schema(path) if pa.types.is_string(field.type)]
    return pq.ParquetFile(path, read_dictionary=text)


@functools.lru_cache(maxsize=64)
def _ends(path: Path) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return after which row each group of rows ends."""
    metadata = _file(path).metadata
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return np.cumsum(sizes, dtype=np.int64)


@functools.lru_cache(maxsize=8)
def _group(path: Path, group: int) -> pa.Table:
    return _file(path).read_row_group(group)


def forget() -> None:
    """Read files anew that are asked for again."""
    for cached in (_runs, _file, _ends, _group):
        cached.cache_clear()


def ship(wanted: Mapping[Run, Mapping[str, Part]], folder: Path) -> None:
    """Write runs as the shipped results of an item; what the folder held before is replaced.

    Parameters
    ----------
    wanted : dict of Run to dict of str to Part
        The parts of tables to ship, in the order in which they will be read.
    folder : Path
        ``data/results/<paper>/<item>``.
    """
    names = [name for name in SCHEMAS if any(name in parts for parts in wanted.values())]
    tables: dict[str, list[pa.Table]] = {name: [] for name in names}
    rows = []
    for run, parts in wanted.items():
        where = {}
        for name, part in sorted(parts.items()):
            taken = run.table(name, part)
            where[name] = {"rows": [sum(map(len, tables[name])), len(taken)], "part": part.data()}
            tables[name].append(taken)
        rows.append(
            {
                "run": run.id,
                "hash": run.scenario.hash,
                "scenario": run.scenario.json(),
                # the machine's own kernel says nothing about the result
                "provenance": canonical_json({k: v for k, v in run.provenance.items() if k != "host"}),
                "digests": canonical_json(dict(run.digests)),
                "tables": canonical_json(where),
            }
        )
    part_folder = folder.with_name(f".{folder.name}.part")
    part_folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        _write(pa.concat_tables(tables[name], promote_options="default"), part_folder / f"{name}.parquet")
    _write(pa.Table.from_pylist(rows, _RUNS), part_folder / "runs.parquet")
    if folder.is_dir():
        for path in folder.glob("*.parquet"):
            path.unlink()
        folder.rmdir()
    part_folder.rename(folder)
    forget()


def _write(table: pa.Table, path: Path) -> None:
    pq.write_table(
        table.combine_chunks(),
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in table.column_names if name in _REPEATED],
        column_encoding={name: "DELTA_BINARY_PACKED" for name in table.column_names if name in _RISING},
        row_group_size=_GROUP,
    )
