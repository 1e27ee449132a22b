# SPDX-License-Identifier: Apache-2.0
"""The controller's records: its decisions, the switches' confirmations, and when the data plane followed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rdcnlab.engines.kernel.switches import panel
from rdcnlab.engines.network import Network
from rdcnlab.scenario import BYPASS, DARK


def reports(
    network: Network, switch: int, rows: Sequence[Sequence[Any]]
) -> Iterator[tuple[int, str, str | None, str | None, int]]:
    """Yield the rows of the table ``events`` for one switch; see `Kind.reports`.

    Parameters
    ----------
    rows : sequence of (str, int, int, int, str)
        Event, ns since the start, entry, slot and port.
    """
    entries = network.entries[switch]
    lines = {panel.line_port(line.number): line.name for line in network.lines_at(switch)}
    lines[panel.dark_port(switch)] = DARK
    for event, since, entry, index, port in rows:
        way = entries[entry].way
        if way.schedule is not None:
            flow: str | None = way.schedule.name
        else:
            number, back = way.flows[0]
            flow = None if back else network.traffic.flows[number].name
        yield since, event, lines.get(port, BYPASS), flow, index
