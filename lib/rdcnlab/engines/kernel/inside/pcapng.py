# SPDX-License-Identifier: Apache-2.0
"""Capture the packets at hosts while the flows run, and write them as pcapng files, which Wireshark opens.

The format is that of draft-ietf-opsawg-pcapng: a section header, the description of one interface, and a block for each
packet. Times are those of the simulated clock in ns. Equal runs give equal bytes.
"""

from __future__ import annotations

import os
import struct
from typing import Any

from capture import SNAP, Ring

_CLONE_NEWNET = 0x40000000
_ETHERNET = 1
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
#: epb_flags: direction of a packet, in the two lowest bits
_INBOUND, _OUTBOUND = 1, 2


class Capture:
    """The capture at one host.

    Parameters
    ----------
    plan : dict
        ``host``, ``in`` (the host whose line it is, if it is a further one), ``interface``, ``packets`` (room in
        packets), ``epoch_ns`` (CLOCK_MONOTONIC at the start of the scenario) and ``date_ns`` (what the file gives as
        the date of the start, in ns since 1970).
    testbed : Testbed
        The network with the host.
    """

    def __init__(self, plan: dict[str, Any], testbed: Any) -> None:
        self.plan = plan
        self.ring = _within(testbed.pid(plan.get("in", plan["host"])), plan)

    def store(self, directory: str) -> None:
        """Write ``<host>.pcapng`` into a directory."""
        later = self.plan["date_ns"] - self.plan["epoch_ns"]
        with open(os.path.join(directory, f"{self.plan['host']}.pcapng"), "wb") as file:
            file.write(_block(_SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
            options = _option(2, self.ring.interface.encode()) + _option(9, b"\x09") + _option(0, b"")
            file.write(_block(_INTERFACE, struct.pack("<HHI", _ETHERNET, 0, SNAP) + options))
            for time, leaves, length, packet in self.ring.packets():
                stamp = time + later
                head = struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(packet), length)
                flags = _option(2, struct.pack("<I", _OUTBOUND if leaves else _INBOUND)) + _option(0, b"")
                file.write(_block(_PACKET, head + _padded(packet) + flags))


def _within(pid: int, capture: dict[str, Any]) -> Ring:
    """Start a capture in the network namespace of a process."""
    import ctypes  # most runs have no captures, and imports are slow

    libc = ctypes.CDLL(None, use_errno=True)

    def enter(namespace: int) -> None:
        if libc.setns(namespace, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    home, away = (os.open(f"/proc/{which}/ns/net", os.O_RDONLY) for which in ("self", pid))
    try:
        enter(away)
        try:
            return Ring(capture["interface"], "both", capture["packets"])
        finally:
            enter(home)
    finally:
        os.close(home)
        os.close(away)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)
