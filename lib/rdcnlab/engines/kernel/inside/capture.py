# SPDX-License-Identifier: Apache-2.0
"""Capture the packets of an interface: the kernel writes them into a ring, which is read afterwards.

No program in userspace runs while packets arrive, so a capture costs no virtual time and little wall clock.
"""

from __future__ import annotations

import array
import mmap
import socket
import struct
import time
from typing import Any

_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_RX_RING, _PACKET_STATISTICS, _PACKET_VERSION, _TPACKET_V2 = 263, 5, 6, 10, 1
_SO_ATTACH_FILTER = 26
#: Bytes of one captured frame in the ring: the kernel's header, link-layer address, and first bytes of the packet.
_FRAME, _BLOCK = 256, 1 << 16
_SNAP = 96

# struct tpacket2_hdr: status, len, snaplen, mac, net, sec, nsec
_HEADER = struct.Struct("=IIIHHII")


def _program(which: str) -> list[tuple[int, int, int, int]]:
    """Return a classic BPF program: it accepts all IPv4 packets that arrive, or only those that are marked CE."""
    load_half, load_byte, equal, mask, give = 0x28, 0x30, 0x15, 0x54, 0x06
    # SKF_AD_OFF + SKF_AD_PKTTYPE: exclude packets that this host sends from the interface
    lines: list[tuple[int, int | None, int | None, int]]
    lines = [(load_byte, 0, 0, 0xFFFFF004), (equal, None, 0, 4), (load_half, 0, 0, 12), (equal, 0, None, 0x0800)]
    if which == "ce":
        lines += [(load_byte, 0, 0, 15), (mask, 0, 0, 3), (equal, 0, None, 3)]
    lines.append((give, 0, 0, _SNAP))
    refuse = len(lines)
    program = []
    for place, (code, yes, no, value) in enumerate(lines):
        away = refuse - place - 1
        program.append((code, away if yes is None else yes, away if no is None else no, value))
    return [*program, (give, 0, 0, 0)]


class Ring:
    """A capture on one interface.

    Parameters
    ----------
    interface : str
        Name of the interface. The capture has the packets that arrive there, not those that leave.
    which : {'all', 'ce'}
        All IPv4 packets, or those that carry CE.
    packets : int
        Room in packets; the run fails if more arrive.
    """

    def __init__(self, interface: str, which: str, packets: int) -> None:
        self.interface = interface
        self.size = -(-packets * _FRAME // _BLOCK) * _BLOCK
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        words = array.array("B", b"".join(struct.pack("=HBBI", *line) for line in _program(which)))
        address, length = words.buffer_info()
        self.socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", length // 8, address))
        self.socket.setsockopt(_SOL_PACKET, _PACKET_VERSION, _TPACKET_V2)
        sizes = struct.pack("IIII", _BLOCK, self.size // _BLOCK, _FRAME, self.size // _FRAME)
        self.socket.setsockopt(_SOL_PACKET, _PACKET_RX_RING, sizes)
        self.ring = mmap.mmap(self.socket.fileno(), self.size)
        self.socket.bind((interface, _ETH_P_ALL))

    def records(self) -> list[list[Any]]:
        """Return CLOCK_MONOTONIC (ns), destination port and bytes of each packet.

        Raises
        ------
        RuntimeError
            More packets arrived than the ring has room for.
        """
        statistics = self.socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        _, lost = struct.unpack("=II", statistics)
        if lost:
            raise RuntimeError(f"the capture on {self.interface} was too small by {lost} packets")
        # The ring has times of the wall clock. In virtual time it differs from CLOCK_MONOTONIC by a constant.
        apart = time.time_ns() - time.monotonic_ns()
        found = []
        for place in range(0, self.size, _FRAME):
            status, length, _, mac, _, seconds, nanoseconds = _HEADER.unpack_from(self.ring, place)
            if not status & 1:
                break
            packet = self.ring[place + mac : place + mac + _SNAP]
            port = int.from_bytes(packet[36:38], "big")
            found.append([seconds * 10**9 + nanoseconds - apart, port, length])
        return found
