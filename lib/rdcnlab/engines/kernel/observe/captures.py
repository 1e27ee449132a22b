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
from rdcnlab.scenario import Probes
from rdcnlab.scenario.captures import packets

#: Place of the ports in a packet: Ethernet header, IPv4 header without options.
_PORTS = 14 + 20


def files(probes: Probes, directory: Path) -> dict[str, Path]:
    """Return the files of the captures by their names in the run."""
    return {f"{host}.pcapng": directory / f"{host}.pcapng" for host in probes.capture}


def records(probes: Probes, directory: Path) -> NDArray[Any]:
    """Return the captured packets of all hosts, in the order of time.

    Raises
    ------
    RunError
        A file ends within a packet.
    """
    rows = [
        (time, host, ports, length, leaves)
        for host, path in enumerate(files(probes, directory).values())
        for time, ports, length, leaves in _packets(path)
    ]
    seen = np.array(
        [(time, host, *ports, length, leaves) for time, host, ports, length, leaves in rows], dtype=CAPTURED
    )
    return seen[np.argsort(seen["time"], kind="stable")]


def _packets(path: Path) -> Iterator[tuple[int, tuple[int, int], int, bool]]:
    """Yield time in ns since the start, ports, bytes of the frame, and whether it leaves, for each packet of a file."""
    data = path.read_bytes()
    try:
        for packet in packets(data):
            ports = struct.unpack_from("!HH", data, packet.at + _PORTS)
            yield packet.time - DATE_NS, ports, packet.length, bool(packet.leaves)
    except ValueError as error:
        raise RunError(f"the capture {path.name} is not {error}") from None
