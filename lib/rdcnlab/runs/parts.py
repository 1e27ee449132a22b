# SPDX-License-Identifier: Apache-2.0
"""`Part`: the columns and rows of a table that a figure uses. Only these are shipped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

#: Values of the column ``where`` of the table ``throughput``: payload when it arrives, payload when an ACK acknowledges
#: it. All other values are names of links.
RECEIVER, SENDER, LINKS = "receiver", "sender", "links"

#: What distinguishes rows of the table ``throughput``.
_KEYS = ("bin", "where", "flow")


@dataclass(frozen=True)
class Part:
    """A part of a table of `rdcnlab.engines.schema`.

    Parameters
    ----------
    columns : tuple of str or None
        Names of the columns; None for all columns.
    place : {'links', 'receiver', 'sender'} or None
        Only rows with this value in the column ``where``. ``links`` selects the rows of all links, None all rows.
    tick : int
        Resolution of the column ``t_ns`` in ns: each time is moved to the last ns of its tick. 1 changes nothing.
    grouped : bool
        Whether rows of a bin and a place are added up for all flows of a group. A group are the flows whose names are
        the same before their first digit: ``c1-1`` and ``c10-7`` become ``c``.
    sort : bool
        Whether rows are sorted by their columns, from the first to the last. Rows of one tick then follow no order of
        time, but equal rows follow each other, which takes a fraction of the space.

    Examples
    --------
    >>> table = pa.table({"where": ["green", "receiver"], "bytes": [9038, 8948], "packets": [1, 1]})
    >>> Part(columns=("bytes",), place="links").of(table).to_pylist()
    [{'bytes': 9038}]
    """

    columns: tuple[str, ...] | None = None
    place: str | None = None
    tick: int = 1
    grouped: bool = False
    sort: bool = False

    @property
    def needed_columns(self) -> frozenset[str] | None:
        """The columns of a table that the part is made of; None for all."""
        if self.columns is None:
            return None
        return frozenset((*self.columns, *(() if self.place is None else ("where",)), *(_KEYS if self.grouped else ())))

    @property
    def rowwise(self) -> bool:
        """Whether each row of the part is made of one row, in the order of the table's rows."""
        return not (self.grouped or self.sort)

    def of(self, table: pa.Table) -> pa.Table:
        """Return this part of a table. A table that is already this part is returned unchanged."""
        mask = self.rows(table)
        if mask is not None:
            table = table.filter(pa.array(mask))
        if self.grouped:
            table = _added_up(table)
        if self.columns is not None:
            table = table.select(list(self.columns))
        if self.tick > 1 and "t_ns" in table.column_names:
            import pyarrow.compute as pc

            number = table.column_names.index("t_ns")
            rounded = pc.subtract(pc.multiply(pc.add(pc.divide(table["t_ns"], self.tick), 1), self.tick), 1)
            table = table.set_column(number, table.schema.field(number), rounded)
        if self.sort:
            table = table.sort_by([(name, "ascending") for name in table.column_names])
        return table

    def rows(self, table: pa.Table) -> npt.NDArray[np.bool_] | None:
        """Return a mask of the rows that belong to the part; None if all rows do."""
        if self.place is None or "where" not in table.column_names:
            return None
        return _at(table["where"], self.place)

    def covers(self, other: Part) -> bool:
        """Return whether `other` can be taken from this part."""
        columns = self.columns is None or (other.columns is not None and set(other.columns) <= set(self.columns))
        # rows can be selected only if the column ``where`` is in this part
        selectable = self.columns is None or "where" in self.columns
        rows = self.place == other.place or (self.place is None and selectable)
        # rows can be grouped only if this part has the columns of bin, place and flow
        keys = self.columns is None or set(_KEYS) <= set(self.columns)
        groups = self.grouped == other.grouped or (other.grouped and keys)
        order = other.sort or not self.sort
        return columns and rows and groups and order and other.tick % self.tick == 0

    def unite(self, other: Part) -> Part:
        """Return a small part that covers both parts."""
        if self.covers(other):
            return self
        if other.covers(self):
            return other
        place = self.place if self.place == other.place else None
        columns = None
        if self.columns is not None and other.columns is not None:
            names = (
                *self.columns,
                *other.columns,
                *(_KEYS if self.grouped != other.grouped else ()),
                *(("where",) if place != self.place or place != other.place else ()),
            )
            columns = tuple(dict.fromkeys(names))
        both = (self.grouped and other.grouped, self.sort and other.sort)
        return Part(columns, place, math.gcd(self.tick, other.tick), *both)

    def data(self) -> dict[str, Any]:
        """Return the part as plain data for JSON, without fields that have their default."""
        columns = {} if self.columns is None else {"columns": list(self.columns)}
        place = {} if self.place is None else {"place": self.place}
        flags = {name: True for name in ("grouped", "sort") if getattr(self, name)}
        return columns | place | ({} if self.tick == 1 else {"tick": self.tick}) | flags

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Part:
        """Return the part from the plain data that the method `data` returned."""
        columns = tuple(data["columns"]) if "columns" in data else None
        flags = (data.get(name, False) for name in ("grouped", "sort"))
        return cls(columns, data.get("place"), data.get("tick", 1), *flags)


#: Bytes on links of each group of flows.
GROUPS = Part(("bin", "where", "flow", "bytes"), LINKS, grouped=True)
#: The whole table.
WHOLE = Part()
#: Bytes on links, and acknowledged payload.
CARRIED = Part(("bin", "where", "flow", "bytes"), LINKS)
ACKNOWLEDGED = Part(("bin", "where", "flow", "bytes"), SENDER)
#: Windows and RTTs, with a resolution of 1 us.
WINDOWS = Part(("t_ns", "flow", "cwnd_B", "srtt_us"), tick=1000)


def _added_up(table: pa.Table) -> pa.Table:
    """Return a table of bins with one row for each bin, place and group of flows; the order is that of first rows."""
    import pyarrow.compute as pc  # few parts need it

    number = table.column_names.index("flow")
    names = pc.replace_substring_regex(table["flow"], "[0-9].*", "")
    table = table.set_column(number, table.schema.field(number), names)
    sums = [name for name in table.column_names if name not in _KEYS]
    added = table.group_by(list(_KEYS), use_threads=False).aggregate([(name, "sum") for name in sums])
    added = added.rename_columns([name.removesuffix("_sum") for name in added.column_names])
    return added.select(table.column_names).cast(table.schema)


def _at(where: pa.ChunkedArray, place: str) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows of a place."""
    chunks = [chunk.dictionary_encode() if pa.types.is_string(where.type) else chunk for chunk in where.chunks]
    parts = [np.empty(0, dtype=bool)]
    for chunk in chunks:
        names = chunk.dictionary.to_pylist()
        mask = np.array([name not in (RECEIVER, SENDER) if place == LINKS else name == place for name in names], bool)
        parts.append(mask[chunk.indices.to_numpy()])
    return np.concatenate(parts)


def unite(parts: Iterable[Mapping[str, Part]]) -> dict[str, Part]:
    """Return for each table one part that covers all its requested parts."""
    union: dict[str, Part] = {}
    for request in parts:
        for name, part in request.items():
            union[name] = union[name].unite(part) if name in union else part
    return union
