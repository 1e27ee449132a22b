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

if TYPE_CHECKING:
    import pandas as pd

    from rdcnlab.runs.frame import Runs

#: Positions of runs among those that they were selected from, in rising order.
Indices = npt.NDArray[np.int64]
Options = ParamSpec("Options")

#: Bytes of tables that are kept for one set of runs. A table that would exceed them is computed each time.
MOST_BYTES = 128 * 2**20


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
            positions = np.searchsorted(kept_indices, indices)
            if len(kept_indices) and np.array_equal(
                kept_indices[np.minimum(positions, len(kept_indices) - 1)], indices
            ):
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
