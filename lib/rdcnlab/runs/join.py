# SPDX-License-Identifier: Apache-2.0
"""Join a table of many runs into one data frame, without a data frame for each run; text becomes categories.

A figure uses hundreds of runs and millions of rows, and the names of links and flows are repeated in them. So rows that
are adjacent in a shipped file are read together, and a repeated name takes one to four bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rdcnlab.runs.parts import Part
from rdcnlab.runs.shipped import Copy, Row

if TYPE_CHECKING:
    import pandas as pd

    from rdcnlab.runs.run import Run

Indices = npt.NDArray[np.int64]


def read_part(runs: Sequence[Run], name: str, part: Part) -> tuple[pa.Table, Indices]:
    """Read a part of a table of several runs.

    Parameters
    ----------
    runs : sequence of Run
        At least one.
    name : str
        Name of the table.
    part : Part
        The part of the table to read.

    Returns
    -------
    Table, ndarray of int
        The rows of all runs in the order of the runs, with text as dictionaries; and for each row the position of its
        run in `runs`.
    """
    tables, indices = [], []
    for table, index in _pieces(runs, name, part):
        tables.append(_encoded(table))
        indices.append(index)
    # a single table needs no concatenation, and so no copy of its rows
    rows = tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()
    return rows.combine_chunks(), np.concatenate(indices)


def event_times(runs: Sequence[Run], part: Part, names: Collection[str]) -> tuple[Indices, Indices]:
    """Read the times of some events, without a data frame: there are millions of rows, and a count needs no more.

    Parameters
    ----------
    runs : sequence of Run
        The runs.
    part : Part
        A part of the table ``events`` with the columns ``t_ns`` and ``event``.
    names : collection of str
        Names of events.

    Returns
    -------
    ndarray of int, ndarray of int
        For each event the position of its run in `runs`, in rising order, and its time in ns.
    """
    indices, times = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for table, index in _pieces(runs, "events", part, ("t_ns", "event")):
        is_chosen = _is_one_of(_encoded(table.select(["event"]))["event"], names)
        indices.append(index[is_chosen])
        times.append(table["t_ns"].to_numpy()[is_chosen])
    return np.concatenate(indices), np.concatenate(times)


def _is_one_of(column: pa.ChunkedArray, names: Collection[str]) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows of a dictionary-encoded column that have one of some names."""
    masks = [np.empty(0, dtype=bool)]
    for chunk in column.chunks:
        is_name = np.array([name in names for name in chunk.dictionary.to_pylist()], dtype=bool)
        masks.append(is_name[chunk.indices.to_numpy()])
    return np.concatenate(masks)


def _pieces(
    runs: Sequence[Run], name: str, part: Part, columns: Collection[str] | None = None
) -> Iterator[tuple[pa.Table, Indices]]:
    """Yield rows of the part, and the position of each row's run. Adjacent rows of a shipped file are read together.

    Only `columns` are needed; by default all columns of the part.
    """
    first, counts = 0, [0]
    span: Copy | None = None
    for index, run in enumerate(runs):
        copy = run.source.holding(name, part) if isinstance(run.source, Row) else None
        # rows that have yet to be sorted or added up must not be mixed with those of another run
        if copy is not None and not part.rowwise and copy.part != part:
            copy = None
        if copy is not None and span is not None and copy.follows(span):
            span = span.join(copy)
            counts.append(copy.count)
            continue
        if span is not None:
            yield _piece(span, part, first, counts, columns)
        first, span = index, copy
        if copy is not None:
            counts = [copy.count]
        else:
            table = run.table(name, part)
            yield table, np.full(len(table), index)
    if span is not None:
        yield _piece(span, part, first, counts, columns)


def _piece(
    span: Copy, part: Part, first: int, counts: Sequence[int], columns: Collection[str] | None
) -> tuple[pa.Table, Indices]:
    """Return the part of the rows of adjacent runs, with the position of each row's run."""
    is_part = span.part == part
    table = span.read(columns if is_part and columns is not None else part.needed_columns)
    indices = np.repeat(np.arange(first, first + len(counts)), counts)
    if is_part:
        return table, indices
    mask = part.rows(table)
    return part.of(table), indices if mask is None else indices[mask]


def _encoded(table: pa.Table) -> pa.Table:
    """Return a table with dictionary-encoded text columns."""
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(number, field.name, table.column(number).dictionary_encode())
    return table


def frame(table: pa.Table, *, categories: bool) -> pd.DataFrame:
    """Return a data frame. Text columns are categories in alphabetical order, or strings."""
    import pandas as pd  # the import takes a second; workers and the command line's help do not need it

    columns: dict[str, Any] = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        if not pa.types.is_dictionary(field.type):
            columns[field.name] = column.to_pandas().array
        elif categories:
            columns[field.name] = _categories(column)
        else:
            columns[field.name] = pd.array(column.cast(pa.string()).to_pandas(), dtype="str")
    return pd.DataFrame(columns, copy=False)


def _categories(column: pa.ChunkedArray) -> pd.Categorical:
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return sorted_categories(array.dictionary.to_pylist(), codes)


def sorted_categories(names: Sequence[str], codes: npt.NDArray[Any]) -> pd.Categorical:
    """Return categories in alphabetical order, which is also the order of groups of strings; code -1 is missing."""
    import pandas as pd

    categories = sorted(set(names))
    number = {name: index for index, name in enumerate(categories)}
    code_type = np.int8 if len(categories) < 128 else np.int32
    # the last entry is for code -1
    new_codes = np.array([*(number[name] for name in names), -1], dtype=code_type)
    return pd.Categorical.from_codes(new_codes[codes], pd.Index(categories, dtype="str"))


def repeat_by_run(values: Sequence[Any], indices: Indices, *, categories: bool) -> Any:
    """Return a column that gives each row the value of its run.

    Parameters
    ----------
    values : sequence
        One value for each run.
    indices : ndarray of int
        The position of each row's run.
    categories : bool
        Whether text becomes categories.
    """
    import pandas as pd

    kinds = {type(value) for value in values}
    if kinds == {str} and categories:
        return sorted_categories(values, np.arange(len(values))).take(indices)
    if kinds == {str}:
        return pd.array(values, dtype="str").take(indices)
    if kinds <= {int, float} or kinds == {bool}:
        return np.array(values)[indices]
    mixed = np.empty(len(values), dtype=object)
    mixed[:] = values
    return mixed[indices]


def looked_up(flows: pd.Categorical, indices: Indices, properties: Sequence[Mapping[str, str | None]]) -> Any:
    """Look up a property of each row's flow, such as its variant. It is missing if `properties` does not have it.

    Parameters
    ----------
    flows : Categorical
        The flow of each row.
    indices : ndarray of int
        The position of each row's run.
    properties : sequence of dict
        One dictionary for each run: the property by the name of the flow.
    """
    values = sorted({value for by_flow in properties for value in by_flow.values() if value is not None})
    number = {value: index for index, value in enumerate(values)}
    # one column more, for rows without a flow: they have code -1, which selects the last column
    codes = np.full((len(properties), len(flows.categories) + 1), -1, dtype=np.int32)
    column = {name: index for index, name in enumerate(flows.categories)}
    for row, by_flow in zip(codes, properties, strict=True):
        for name, value in by_flow.items():
            if name in column and value is not None:
                row[column[name]] = number[value]
    return sorted_categories(values, codes[indices, flows.codes])
