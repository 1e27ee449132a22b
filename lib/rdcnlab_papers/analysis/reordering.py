# SPDX-License-Identifier: Apache-2.0
"""Reordering that the kernel detected, and reductions that it undid, from its counters (``probes.counters``).

Linux counts each kind: a recovery is undone because of time stamps (Eifel, RFC 3522: ``TCPFullUndo``,
``TCPPartialUndo``), because of duplicates that the receiver reports (DSACK, RFC 3708: ``TCPDSACKUndo``), or after a
spurious timeout (``TCPLossUndo``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rdcnlab.runs.frame import Runs

#: Counters of reductions that were undone, of segments that arrived out of order, and of recoveries.
UNDONE = ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo")
SHOWN = (*UNDONE, "TCPSACKReorder", "TCPTSReorder", "TCPSackRecovery", "TCPFastRetrans", "TCPTimeouts")
_PREFIX = "counter "


def counters(runs: Runs, selection: Sequence[str] = SHOWN) -> pd.DataFrame:
    """Return the sum of each counter over the hosts of each run; the index is the run, the columns are the counters."""
    events = runs.rows("events")
    names = events["event"].cat.categories.str.removeprefix(_PREFIX)
    is_counter = events["event"].cat.categories.str.startswith(_PREFIX)
    # the last element belongs to code -1: a row without a name
    counter = np.append(np.where(is_counter, pd.Index(selection).get_indexer(names), -1), -1)
    number = counter[events["event"].cat.codes]
    chosen = number >= 0
    cells = events["run"].to_numpy()[chosen] * len(selection) + number[chosen]
    sums = np.bincount(cells, events["value"].to_numpy(dtype=float)[chosen], minlength=len(runs) * len(selection))
    table = sums.astype(int).reshape(len(runs), len(selection))
    return pd.DataFrame(table, index=pd.RangeIndex(len(runs), name="run"), columns=pd.Index(selection, name="name"))


def undone(runs: Runs) -> pd.DataFrame:
    """Return for each run how many reductions were undone: ``run``, ``undone``."""
    return counters(runs)[list(UNDONE)].sum(axis=1).rename("undone").rename_axis("run").reset_index()


def words(runs: Runs) -> str:
    """Return the means of the counters over the runs, in words."""
    means = counters(runs).mean()
    return ", ".join(f"{name} {value:.4g}" for name, value in means.items() if value)
