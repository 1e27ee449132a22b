# SPDX-License-Identifier: Apache-2.0
"""Captures of a run, the files ``<host>.pcapng`` that ``inside/pcapng.py`` wrote, as records of packets."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdcnlab.engines.network.numbers import DATE_NS
from rdcnlab.engines.observation.numbering import CAPTURED
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario

#: Type of the block of a packet, and the number of its bytes before the packet.
_PACKET, _HEAD = 6, 28
#: Place of the ports in a packet: Ethernet header, IPv4 header without options.
_PORTS = 14 + 20
#: epb_flags of a packet that leaves.
_OUTBOUND = 2


def files(scenario: Scenario, directory: Path) -> dict[str, Path]:
    """Return the files of the captures by their names in the run."""
    return {f"{host}.pcapng": directory / f"{host}.pcapng" for host in scenario.probes.capture}


def records(scenario: Scenario, directory: Path) -> NDArray[Any]:
    """Return the captured packets of all hosts, in the order of time.

    Raises
    ------
    RunError
        A file ends within a packet.
    """
    rows = [
        (time, host, ports, length, leaves)
        for host, path in enumerate(files(scenario, directory).values())
        for time, ports, length, leaves in _packets(path)
    ]
    found = np.array(
        [(time, host, *ports, length, leaves) for time, host, ports, length, leaves in rows], dtype=CAPTURED
    )
    return found[np.argsort(found["time"], kind="stable")]


def _packets(path: Path) -> Iterator[tuple[int, tuple[int, int], int, bool]]:
    """Yield time in ns since the start, ports, bytes of the frame, and whether it leaves, for each packet of a file."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if not 12 <= size <= len(data) - at:
            raise RunError(f"the capture {path.name} ends within a block")
        if kind == _PACKET:
            high, low, kept, length = struct.unpack_from("<IIII", data, at + 12)
            ports = struct.unpack_from("!HH", data, at + _HEAD + _PORTS)
            (flags,) = struct.unpack_from("<I", data, at + _HEAD + (kept + 3) // 4 * 4 + 4)
            yield (high << 32 | low) - DATE_NS, ports, length, flags == _OUTBOUND
        at += size
