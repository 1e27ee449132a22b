# SPDX-License-Identifier: Apache-2.0
"""Tables that are computed for each run: computed once for all runs, and selected for some of them.

A verdict is judged on all runs, and again on each half of the seeds. The rows of a run are the same in all three. So
such a table is kept with the runs that it was computed for, and a selection of these runs takes its rows from there.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd

    from rdcnlab.runs.frame import Runs

#: Positions of runs among those that they were selected from, in rising order.
Indices = npt.NDArray[np.int64]
Options = ParamSpec("Options")

#: Bytes of tables that are kept for one set of runs. A table that would exceed them is computed each time.
MOST_BYTES = 128 * 2**20
#: Bytes of rows that are kept as they were read. Larger tables are used once as a rule.
MOST_ROW_BYTES = 32 * 2**20


class RunCache:
    """Tables that were computed for runs. They are kept as long as the runs exist.

    Parameters
    ----------
    most_bytes : int
        Size of all tables together above which no more tables are kept.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._free = most_bytes
        self._tables: dict[Hashable, list[tuple[Indices, pd.DataFrame]]] = defaultdict(list)

    def find(self, key: Hashable, indices: Indices) -> pd.DataFrame | None:
        """Return the rows of the runs at some places, with the runs numbered from 0 on; None if they are not kept."""
        for kept_indices, table in self._tables[key]:
            positions = _positions(indices, kept_indices)
            if positions is not None:
                is_all = len(kept_indices) == len(indices)
                return table.copy(deep=False) if is_all else _selected(table, positions, len(kept_indices))
        return None

    def keep(self, key: Hashable, indices: Indices, table: pd.DataFrame) -> None:
        """Keep the table of the runs at some places, if there is room."""
        size = int(table.memory_usage(index=True).sum())
        if size <= self._free:
            self._free -= size
            # a copy does not see what is written into the table later; it shares the table's memory until then
            self._tables[key].append((indices, table.copy(deep=False)))


class RowCache:
    """Rows that were read for runs. Selections of these runs take their rows from there.

    Parameters
    ----------
    most_bytes : int
        Size of all rows together above which no more are kept.
    """

    def __init__(self, most_bytes: int = MOST_ROW_BYTES) -> None:
        self._free = most_bytes
        self._rows: dict[str, list[tuple[Indices, pa.Table, Indices]]] = defaultdict(list)

    def find(self, name: str, indices: Indices) -> tuple[pa.Table, Indices] | None:
        """Return the rows of a table of the runs at some places, and for each row the position of its run among these.

        None if they are not kept.
        """
        for kept_indices, table, of_rows in self._rows[name]:
            positions = _positions(indices, kept_indices)
            if positions is not None:
                return (table, of_rows) if len(kept_indices) == len(indices) else _chosen(table, of_rows, positions)
        return None

    def keep(self, name: str, indices: Indices, table: pa.Table, of_rows: Indices) -> None:
        """Keep the rows of the runs at some places, if there is room; `of_rows` has the position of each row's run."""
        size = table.nbytes + of_rows.nbytes
        if size <= self._free:
            self._free -= size
            self._rows[name].append((indices, table, of_rows))


def _positions(indices: Indices, kept: Indices) -> Indices | None:
    """Return the positions of some indices among others, both in rising order; None if one is not among them."""
    positions = np.searchsorted(kept, indices)
    if not len(kept) or not np.array_equal(kept[np.minimum(positions, len(kept) - 1)], indices):
        return None
    return positions


def _chosen(table: pa.Table, of_rows: Indices, positions: Indices) -> tuple[pa.Table, Indices]:
    """Return the rows of the runs at some positions; the rows of a run are adjacent, and runs are in order."""
    first, last = (np.searchsorted(of_rows, positions, side=side) for side in ("left", "right"))
    of_chosen = np.repeat(np.arange(len(positions)), last - first)
    if np.array_equal(first[1:], last[:-1]):  # one piece, which is not copied
        return table.slice(first[0], last[-1] - first[0]) if len(first) else table.slice(0, 0), of_chosen
    mask = np.zeros(len(of_rows), dtype=bool)
    for begin, end in zip(first, last, strict=True):
        mask[begin:end] = True
    return table.filter(pa.array(mask)), of_chosen


def _selected(table: pd.DataFrame, positions: Indices, count: int) -> pd.DataFrame:
    """Return the rows of the runs at some positions among `count` runs; these runs are numbered from 0 on."""
    number = np.full(count, -1, dtype=np.int64)
    number[positions] = np.arange(len(positions))
    runs = number[table["run"].to_numpy(dtype=np.int64)]
    mask = runs >= 0
    selected: pd.DataFrame = table[mask].assign(run=runs[mask].astype(table["run"].dtype))
    return selected


def for_each_run(
    compute: Callable[Concatenate[Runs, Options], pd.DataFrame],
) -> Callable[Concatenate[Runs, Options], pd.DataFrame]:
    """Decorate a function of `Runs` so that its table is computed once, also for selections by `Runs.select`.

    The function returns a data frame with a column ``run``. The rows of a run must depend on this run alone (and on the
    options), and their order must not depend on the other runs. Options are hashable. A selection may have categories
    without rows, and it keeps the labels of the index.

    Examples
    --------
    >>> @for_each_run
    ... def completed(runs, flow):
    ...     return runs.flows.loc[runs.flows["flow"] == flow, ["run", "fct_s"]]
    """

    @functools.wraps(compute)
    def computed(runs: Runs, /, *options: Options.args, **keywords: Options.kwargs) -> pd.DataFrame:
        key = (compute, options, tuple(sorted(keywords.items())))
        table = runs.cache.find(key, runs.indices)
        if table is None:
            table = compute(runs, *options, **keywords)
            runs.cache.keep(key, runs.indices, table)
        return table

    return computed
