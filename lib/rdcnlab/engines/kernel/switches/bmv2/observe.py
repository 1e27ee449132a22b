# SPDX-License-Identifier: Apache-2.0
"""Convert the reports of a P4 switch and the captured packets into the form of the kernel's trace records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdcnlab.engines.kernel.switches.bmv2.entries import FIRST_LINK, WAY_DARK, WAY_LINK
from rdcnlab.engines.kernel.trace import records
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import FIRST_PORT, START_NS, TARGET
from rdcnlab.scenario import BYPASS, DARK

#: Reason "no circuit" in the kernel's ``enum ocs_drop``.
_DROP_DARK = 3


def read(network: Network, directory: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return slot changes, packets that arrived in the dark, and packets that were marked.

    Parameters
    ----------
    network : Network
        A network whose only switch is ``bmv2``.
    directory : Path
        Directory of the run. This reads ``switch.json``.
    """
    seen = json.loads((directory / "switch.json").read_text())
    rows = []
    for since_us, number, _, way, port, index in seen["slots"]:
        target = (port - FIRST_LINK) // 2 if way == WAY_LINK else TARGET[DARK if way == WAY_DARK else BYPASS]
        rows.append((since_us * 1000, number, index, target))
    dark = [(*row, _DROP_DARK) for row in _packets(network, [(TARGET[DARK], row) for row in seen["dark"]])]
    names = list(network.links)
    marked = _packets(network, [(names.index(name), row) for name, packets in seen["marks"].items() for row in packets])
    return records.rows("ocs_slot", rows), records.rows("ocs_drop", dark), records.rows("ocs_mark", marked)


def slots(network: Network, number: int, counters: Mapping[str, Any]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the slot changes that the program of a switch behind a panel reported; see `Kind.slots`."""
    entries = network.entries[number]
    own = network.lines_at(number)
    for since_us, local, _, way, port, index in counters["slots"]:
        target = own[port - FIRST_LINK].number if way == WAY_LINK else TARGET[DARK if way == WAY_DARK else BYPASS]
        yield since_us * 1000, entries[local - 1].number, index, target


def joined(some: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return two arrays of dropped packets as one, ordered by time."""
    both = np.concatenate([some.astype(more.dtype), more])
    return both[np.argsort(both["time"], kind="stable")]


def _packets(network: Network, captured: list[tuple[int, list[int]]]) -> list[tuple[int, ...]]:
    """Return time, link, class (none), bytes and port of those captured packets that belong to the scenario's flows.

    Each item of `captured` is a link and (instant, port, length).
    """
    last = FIRST_PORT + len(network.ports)
    return [
        (instant - START_NS, link, 0, length, port)
        for link, (instant, port, length) in captured
        if FIRST_PORT <= port < last
    ]
