# SPDX-License-Identifier: Apache-2.0
"""Which flow a record is of, where flows that begin later have the ports of earlier ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import FIRST_PORT, PORTS


def numbered(network: Network, rows: NDArray[Any], flows: pd.DataFrame) -> NDArray[Any]:
    """Return records in which ``dport`` is what it would be if there were a port for each flow.

    A record is of the last flow with its port that had begun. `flows` is the table of that name.
    """
    if "dport" not in (rows.dtype.names or ()):
        return rows
    order = np.array(network.traffic.turns)
    begins = (flows["start_s"].to_numpy() * 1e9)[order]  # NaN: it never began
    first = rows["dport"].astype(np.int64) - FIRST_PORT
    ours = (first >= 0) & (first < PORTS)
    turn = np.where(ours, first, 0)
    for later in range(PORTS, len(order), PORTS):
        candidate = np.where(ours, first, 0) + later
        there = candidate < len(order)
        begun = np.where(there, begins[np.where(there, candidate, 0)], np.inf) <= rows["time"]
        turn = np.where(begun, candidate, turn)
    wide = [(name, "<i8" if name == "dport" else rows.dtype[name]) for name in rows.dtype.names or ()]
    numbered = np.empty(len(rows), wide)
    for name in rows.dtype.names or ():
        numbered[name] = rows[name]
    # a port that is no flow's stays none
    numbered["dport"] = np.where(ours, FIRST_PORT + order[turn], 0)
    return numbered
