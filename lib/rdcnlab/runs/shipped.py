# SPDX-License-Identifier: Apache-2.0
"""Results that come with the package: many runs in a few files.

``data/results/<paper>/<item>/`` holds ``runs.parquet``, with one row for each run. It also holds one file for each
table, with the rows of all these runs, one run after the other. Of each table it holds only the part that figures use.
The digests of a run are those of its whole tables. Items share runs: a part that the directory of another item holds is
not stored again. Shipping an item writes only the item's own directory, or, for the runs of a campaign that is not
complete yet, a new one beside it (``<item>.2``). A file is read when one of its tables is needed, and only the needed
row groups are read. Before that, its bytes are compared with `rdcnlab.runs.manifest`.
"""

from __future__ import annotations

import functools
import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rdcnlab.engines import SCHEMAS
from rdcnlab.fields.errors import RunError
from rdcnlab.runs import manifest
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.runs.sums import Identity, identity
from rdcnlab.scenario import canonical_json
from rdcnlab.system import places

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from rdcnlab.runs.run import Run

#: ``tables`` gives for each table the position of its rows, ``[first, count]``, and the part of the table they are.
_COLUMNS = ("run", "hash", "scenario", "provenance", "digests", "tables")
_RUNS = pa.schema([(name, pa.string()) for name in _COLUMNS])
#: Columns whose values rise within a run. Their differences take much less space than the values.
_RISING = ("bin", "t_ns")
#: Columns with few different values, which repeat often.
_REPEATED = ("where", "link", "flow", "event", "src", "dst", "cc", "bytes", "packets", "size_B")
#: Provenance that is not shipped: the result does not depend on the kernel of the host machine, and the counters of all
#: classes of all switches take 100 kB for a run of eight racks, which is ten times as much as all else.
_LOCAL = ("host", "switch")
#: Number of rows that are read together. The rows of a run are adjacent; the rows of runs that are read in order too.
_GROUP = 2**16
#: Values of an identity that differ if a file was replaced. The last one changes with links to the file, too.
_CHANGES = 4


@dataclass(frozen=True)
class Copy:
    """The position of a part of a run's table: `count` rows of `file`, from row `first` on."""

    file: Path
    part: Part
    first: int
    count: int

    def follows(self, other: Copy) -> bool:
        """Return whether the rows come directly after those of another copy of the same part."""
        return self.file == other.file and self.part == other.part and self.first == other.first + other.count

    def join(self, other: Copy) -> Copy:
        """Return one copy with the rows of both; the rows of `other` must come directly after these."""
        return replace(self, count=self.count + other.count)

    def read(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Read some columns of the rows, in the order of the file, with text as dictionaries; by default all."""
        ends, names = _ends(self.file), _file(self.file).schema_arrow.names
        chosen = tuple(names if columns is None else [name for name in names if name in {*columns}])
        if not self.count:
            return _file(self.file).schema_arrow.empty_table().select(chosen)
        low, high = np.searchsorted(ends, [self.first, self.first + self.count - 1], side="right")
        begin = int(ends[low - 1]) if low else 0
        groups = [_group(self.file, group, chosen) for group in range(low, high + 1)]
        return pa.concat_tables(groups).slice(self.first - begin, self.count)


@dataclass(frozen=True)
class Row:
    """One shipped run: the positions of the parts of its tables. Other data are read when they are used."""

    id: str
    hash: str
    entry: _Entry
    copies: Mapping[str, tuple[Copy, ...]]

    @property
    def provenance(self) -> Mapping[str, Any]:
        """How the run was made."""
        return _Parsed(self.entry.text("provenance"))

    @property
    def digests(self) -> Mapping[str, str]:
        """The sha256 of each whole table's content."""
        return _Parsed(self.entry.text("digests"))

    @property
    def data(self) -> dict[str, Any]:
        """The scenario as plain data."""
        data: dict[str, Any] = json.loads(self.entry.text("scenario"))
        return data

    def copy(self, name: str, part: Part = WHOLE) -> Copy | None:
        """Return the copy that contains a part of a table, or None."""
        return next((copy for copy in self.copies.get(name, ()) if copy.part.covers(part)), None)

    def table(self, name: str, part: Part = WHOLE) -> pa.Table:
        """Read a part of a table.

        Raises
        ------
        RunError
            This part was not shipped.
        """
        table = self.holding(name, part).read(part.needed_columns)
        # text is a dictionary in the file, which cannot be added up
        table = table.cast(pa.schema([SCHEMAS[name].field(column) for column in table.column_names]))
        return part.of(table)

    def holding(self, name: str, part: Part = WHOLE) -> Copy:
        """Return the copy that contains a part of a table.

        Raises
        ------
        RunError
            This part was not shipped.
        """
        copy = self.copy(name, part)
        if copy is None:
            subject = f"the table '{name}'" if part == WHOLE else f"this part of the table '{name}', {part.data()},"
            raise RunError(
                f"the shipped results do not hold {subject} of run {self.id[:12]}; "
                "with the environment's RDCNLAB_RESULTS=none it is run here"
            )
        return copy


def agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether two runs of a scenario have the same tables; one may have a table more, such as the ledger."""
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def _agree(one: _Entry, other: _Entry) -> bool:
    texts = [entry.text("digests") for entry in (one, other)]
    # digests are canonical JSON: equal text is equal content
    return texts[0] == texts[1] or agree(*map(json.loads, texts))


class Shipped:
    """The shipped runs below a directory. The directory may be missing.

    Parameters
    ----------
    root : Path, optional
        See `rdcnlab.system.places.results`.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = Path(root) if root is not None else places.results()

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the shipped runs, each once, in the order of papers and items."""
        for scenario_hash in self._entries:
            row = self.row(scenario_hash)
            assert row is not None
            yield row

    def __len__(self) -> int:
        return len(self._entries)

    def row(self, scenario_hash: str) -> Row | None:
        """Return the run of a scenario by its hash, or None. If results differ, return the one of the first item."""
        entries = self._entries.get(scenario_hash, ())
        if not entries:
            return None
        first = entries[0]
        copies: dict[str, list[Copy]] = defaultdict(list)
        for entry in entries:
            if entry is first or _agree(entry, first):
                for name, part, begin, count in _positions(entry.text("tables")):
                    copies[name].append(Copy(entry.folder / f"{name}.parquet", part, begin, count))
        return Row(first.text("run"), scenario_hash, first, {name: tuple(held) for name, held in copies.items()})

    def size(self, paper: str, item: str) -> int:
        """Return the bytes of all that is shipped for an item, uncompressed: about what figures have to read."""
        size = 0
        for path in self.root.glob(f"{paper}/{item}/*.parquet"):
            metadata = _file(path).metadata
            size += sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
        return size

    @functools.cached_property
    def _entries(self) -> dict[str, list[_Entry]]:
        """The rows of each run, by the hash of its scenario. Other data are read only when a run is used."""
        by_hash: dict[str, list[_Entry]] = defaultdict(list)
        manifest.check_complete(self.root)
        # a hidden folder is one that another process is just writing
        for path in sorted(self.root.glob("[!.]*/[!.]*/runs.parquet")):
            folder = path.parent
            _identity(folder)
            for index, scenario_hash in enumerate(_column(folder, "hash")):
                by_hash[scenario_hash].append(_Entry(folder, index))
        return dict(by_hash)


@functools.lru_cache(maxsize=1)
def installed(root: Path) -> Shipped:
    """Return the shipped runs below a directory; reading which there are takes a third of a second, once a process."""
    return Shipped(root)


class _Parsed(Mapping[str, Any]):
    """Data of JSON text, which is parsed when they are read: of most runs nobody reads them."""

    def __init__(self, text: str) -> None:
        self._text = text

    @functools.cached_property
    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self._text)
        return data

    def __getitem__(self, name: str) -> Any:
        return self._data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return repr(self._data)


@dataclass(frozen=True)
class _Entry:
    """A row of a folder's ``runs.parquet``."""

    folder: Path
    index: int

    def text(self, name: str) -> str:
        """Return the text of a column."""
        return _column(self.folder, name)[self.index]


# few, because the scenarios of a large item take 20 MB
@functools.lru_cache(maxsize=16)
def _column(folder: Path, name: str) -> list[str]:
    texts = _texts(folder / "runs.parquet", name)
    _check_unchanged(folder)
    return texts


def _texts(path: Path, name: str) -> list[str]:
    """Read a column of text. ``pq.read_table`` would load the modules for data sets, which takes 0.4 s."""
    with _opened(path) as file:
        column: list[str] = file.read(columns=[name])[name].to_pylist()
    return column


def _opened(path: Path, *, dictionaries: bool = False) -> pq.ParquetFile:
    """Open a file whose bytes are those that were shipped; with `dictionaries`, text is read as dictionaries."""
    import pyarrow.parquet as pq  # takes as long as the models of a scenario

    _check_unchanged(path.parent)
    seen = manifest.verified(path)
    text = [field.name for field in pq.read_schema(path) if pa.types.is_string(field.type)] if dictionaries else None
    file = pq.ParquetFile(path, read_dictionary=text, page_checksum_verification=True)
    # now that the file is open, it stays what it is
    _check_unchanged(path.parent)
    if identity(path)[:_CHANGES] != seen[:_CHANGES]:
        raise _replaced(path.parent)
    return file


@functools.lru_cache(maxsize=4096)
def _positions(text: str) -> tuple[tuple[str, Part, int, int], ...]:
    """Return the name, part, first row and number of rows of each table of a run."""
    return tuple(
        (name, _part(canonical_json(position["part"])), *position["rows"])
        for name, position in json.loads(text).items()
    )


@functools.lru_cache(maxsize=256)
def _part(text: str) -> Part:
    return Part.from_data(json.loads(text))


@functools.lru_cache(maxsize=64)
def _file(path: Path) -> pq.ParquetFile:
    return _opened(path, dictionaries=True)


@functools.cache
def _identity(folder: Path) -> Identity:
    """Return what tells a folder's runs from those that replace them, as it was when it was asked for first."""
    return identity(folder / "runs.parquet")


def _check_unchanged(folder: Path) -> None:
    """Raise RunError if a folder was replaced since it was read first: rows would be those of other runs."""
    try:
        same = identity(folder / "runs.parquet")[:_CHANGES] == _identity(folder)[:_CHANGES]
    except FileNotFoundError:  # between the two renames of `ship`
        same = False
    if not same:
        raise _replaced(folder)


def _replaced(folder: Path) -> RunError:
    return RunError(f"the shipped results in {folder} were replaced while they were read; do it again")


@functools.lru_cache(maxsize=64)
def _ends(path: Path) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return for each row group the number of rows up to its end."""
    metadata = _file(path).metadata
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return np.cumsum(sizes, dtype=np.int64)


@functools.lru_cache(maxsize=8)
def _group(path: Path, group: int, columns: tuple[str, ...]) -> pa.Table:
    return _file(path).read_row_group(group, columns=[*columns])


def forget() -> None:
    """Empty the caches, so that files are read again."""
    for cached in (installed, _column, _file, _ends, _group, _identity):
        cached.cache_clear()
    manifest.forget()


def ship(parts_by_run: Mapping[Run, Mapping[str, Part]], folder: Path) -> None:
    """Write runs as the shipped results of an item. They replace the earlier content of the folder.

    Parameters
    ----------
    parts_by_run : dict of Run to dict of str to Part
        The parts of tables to ship for each run, in the order in which they will be read.
    folder : Path
        ``data/results/<paper>/<item>``.
    """
    names = [name for name in SCHEMAS if any(name in parts for parts in parts_by_run.values())]
    tables: dict[str, list[pa.Table]] = {name: [] for name in names}
    rows = []
    for run, parts in parts_by_run.items():
        positions = {}
        for name, part in sorted(parts.items()):
            table = run.table(name, part)
            positions[name] = {"rows": [sum(map(len, tables[name])), len(table)], "part": part.data()}
            tables[name].append(table)
        rows.append(
            {
                "run": run.id,
                "hash": run.scenario.hash,
                "scenario": run.scenario.json(),
                "provenance": canonical_json({k: v for k, v in run.provenance.items() if k not in _LOCAL}),
                "digests": canonical_json(dict(run.digests)),
                "tables": canonical_json(positions),
            }
        )
    root = folder.parents[1]
    manifest.finish(root)
    part_folder, old_folder = (folder.with_name(f".{folder.name}.{kind}") for kind in ("part", "old"))
    if old_folder.is_dir() and not folder.is_dir():  # a call was killed between the two renames below
        old_folder.rename(folder)
    shutil.rmtree(part_folder, ignore_errors=True)  # of an earlier call that was killed
    part_folder.mkdir(parents=True)
    for name in names:
        _write(pa.concat_tables(tables[name], promote_options="default"), part_folder / f"{name}.parquet")
    _write(pa.Table.from_pylist(rows, _RUNS), part_folder / "runs.parquet")
    list_them = manifest.prepare(root, folder, sorted(part_folder.iterdir()))
    if folder.is_dir():
        shutil.rmtree(old_folder, ignore_errors=True)
        folder.rename(old_folder)
        part_folder.rename(folder)
    else:
        part_folder.rename(folder)
    list_them()
    shutil.rmtree(old_folder, ignore_errors=True)
    forget()


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(
        table.combine_chunks(),
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in table.column_names if name in _REPEATED],
        column_encoding={name: "DELTA_BINARY_PACKED" for name in table.column_names if name in _RISING},
        row_group_size=_GROUP,
        write_page_checksum=True,
    )
