# SPDX-License-Identifier: Apache-2.0
"""The tables of many runs as one data frame, made in one piece: no frame a run, and text as categories.

A figure looks at hundreds of runs and millions of rows, in which names of links and flows are there over and over. So
rows that lie next to each other in a shipped file are read at once, and a name takes a byte or two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rdcnlab.runs.parts import Part
from rdcnlab.runs.shipped import Copy, Row

if TYPE_CHECKING:
    import pandas as pd

    from rdcnlab.runs.store import Run

Places = npt.NDArray[np.int64]


def joined(runs: Sequence[Run], name: str, part: Part) -> tuple[pa.Table, Places]:
    """Read a part of a table of several runs.

    Parameters
    ----------
    runs : sequence of Run
        At least one.
    name : str
        Of the table.
    part : Part
        What of it.

    Returns
    -------
    Table, ndarray of int
        The rows of all runs in their order, text as dictionaries, and the place of each row's run among the runs.
    """
    tables, places = [], []
    for first, table, counts in _pieces(runs, name, part):
        kept = part.rows(table)
        place = np.repeat(np.arange(first, first + len(counts)), counts)
        places.append(place if kept is None else place[kept])
        tables.append(_encoded(part.of(table)))
    # whoever has a table's rows already, in one piece, needs no copy of them
    whole = tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()
    return whole.combine_chunks(), np.concatenate(places)


def _pieces(runs: Sequence[Run], name: str, part: Part) -> Iterator[tuple[int, pa.Table, list[int]]]:
    """Go through the runs' rows, as many at once as are next to each other: first run, rows, and how many of each."""
    first, counts = 0, [0]
    span: Copy | None = None
    for place, run in enumerate(runs):
        copy = run.source.holding(name, part) if isinstance(run.source, Row) else None
        if copy is not None and span is not None and copy.follows(span):
            span, counts = span.joined(copy), [*counts, copy.count]
            continue
        if span is not None:
            yield first, span.read(), counts
        first, span = place, copy
        if copy is not None:
            counts = [copy.count]
        else:
            table = run.table(name, part)
            yield place, table, [len(table)]
    if span is not None:
        yield first, span.read(), counts


def _encoded(table: pa.Table) -> pa.Table:
    """Return a table with text as dictionaries."""
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(number, field.name, table.column(number).dictionary_encode())
    return table


def frame(table: pa.Table, *, categories: bool) -> pd.DataFrame:
    """Return a data frame; text as categories, in the order of the alphabet, or as strings."""
    import pandas as pd  # takes a second, which workers and the command line's help need not wait for

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
    """Return categories in the order of the alphabet, as grouping by strings has it; code -1 is missing."""
    import pandas as pd

    known = sorted(set(names))
    number = {name: place for place, name in enumerate(known)}
    small = np.int8 if len(known) < 128 else np.int32
    # the last entry is that of -1
    anew = np.array([*(number[name] for name in names), -1], dtype=small)
    return pd.Categorical.from_codes(anew[codes], pd.Index(known, dtype="str"))


def repeated(values: Sequence[Any], places: Places, *, categories: bool) -> Any:
    """Return a column that has the value of each row's run.

    Parameters
    ----------
    values : sequence
        One a run.
    places : ndarray of int
        The run of each row.
    categories : bool
        Text as categories.
    """
    import pandas as pd

    kinds = {type(value) for value in values}
    if kinds == {str} and categories:
        return sorted_categories(values, np.arange(len(values))).take(places)
    if kinds == {str}:
        return pd.array(values, dtype="str").take(places)
    if kinds <= {int, float} or kinds == {bool}:
        return np.array(values)[places]
    mixed = np.empty(len(values), dtype=object)
    mixed[:] = values
    return mixed[places]


def looked_up(flows: pd.Categorical, places: Places, known: Sequence[Mapping[str, str | None]]) -> Any:
    """Return what each run knows of each row's flow, such as its variant; missing where it knows nothing.

    Parameters
    ----------
    flows : Categorical
        Of the rows.
    places : ndarray of int
        The run of each row.
    known : sequence of dict
        For each run by the name of the flow.
    """
    values = sorted({value for of_run in known for value in of_run.values() if value is not None})
    number = {value: place for place, value in enumerate(values)}
    # a column more, for rows of no flow: the last one is that of code -1
    codes = np.full((len(known), len(flows.categories) + 1), -1, dtype=np.int32)
    column = {name: place for place, name in enumerate(flows.categories)}
    for row, of_run in zip(codes, known, strict=True):
        for name, value in of_run.items():
            if name in column and value is not None:
                row[column[name]] = number[value]
    return sorted_categories(values, codes[places, flows.codes])
