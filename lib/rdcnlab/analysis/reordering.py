# SPDX-License-Identifier: Apache-2.0
"""Reordering that the kernel detected, and reductions that it undid, from its counters (``probes.counters``).

Linux counts each kind: a recovery is undone because of time stamps (Eifel, RFC 3522: ``TCPFullUndo``,
``TCPPartialUndo``), because of duplicates that the receiver reports (DSACK, RFC 3708: ``TCPDSACKUndo``), or after a
spurious timeout (``TCPLossUndo``).
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from rdcnlab.runs.frame import Runs

#: Counters of reductions that were undone, of segments that arrived out of order, and of recoveries.
UNDONE = ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo")
SHOWN = (*UNDONE, "TCPSACKReorder", "TCPTSReorder", "TCPSackRecovery", "TCPFastRetrans", "TCPTimeouts")
_PREFIX = "counter "


def counters(runs: Runs, selection: Sequence[str] = SHOWN) -> pd.DataFrame:
    """Return the sum of each counter over the hosts of each run; the index is the run, the columns are the counters."""
    events = runs.events
    names = events["event"].astype(str)
    chosen = events[names.str.startswith(_PREFIX)].assign(name=names.str.removeprefix(_PREFIX))
    table = chosen.pivot_table(index="run", columns="name", values="value", aggfunc="sum", observed=True)
    return table.reindex(index=range(len(runs)), columns=list(selection)).fillna(0).astype(int)


def undone(runs: Runs) -> pd.DataFrame:
    """Return for each run how many reductions were undone: ``run``, ``undone``."""
    return counters(runs)[list(UNDONE)].sum(axis=1).rename("undone").rename_axis("run").reset_index()


def words(runs: Runs) -> str:
    """Return the means of the counters over the runs, in words."""
    means = counters(runs).mean()
    return ", ".join(f"{name} {value:.4g}" for name, value in means.items() if value)
