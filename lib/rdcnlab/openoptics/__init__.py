# SPDX-License-Identifier: Apache-2.0
"""Networks from circuits and time-flow tables that a user computed with OpenOptics (NSDI 2026) in an own environment.

Nothing of OpenOptics is needed or contained here. Its objects are read by the attributes that its tutorials and help
texts document: ``connect(time_slice, node1, node2)``, ``TimeFlowEntry(dst, arrival_ts, hops)``,
``TimeFlowHop(send_port, send_ts)``, ``Path(src, arrival_ts, dst, steps)``. A test compares with the package where it is
installed.
"""

from __future__ import annotations

from rdcnlab.openoptics.circuits import COLUMNS
from rdcnlab.openoptics.fabric import network
from rdcnlab.openoptics.table import entries_of

__all__ = ["COLUMNS", "entries_of", "network"]
