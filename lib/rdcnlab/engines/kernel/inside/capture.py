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
from collections.abc import Iterator
from typing import Any

_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_RX_RING, _PACKET_STATISTICS, _PACKET_VERSION, _TPACKET_V2 = 263, 5, 6, 10, 1
_SO_ATTACH_FILTER = 26
#: Bytes of one captured frame in the ring: the kernel's header, link-layer address, and first bytes of the packet.
_FRAME, _BLOCK = 256, 1 << 16
SNAP = 96

# struct tpacket2_hdr: status, len, snaplen, mac, net, sec, nsec
_HEADER = struct.Struct("=IIIHHII")
#: Place of sll_pkttype in a frame: struct sockaddr_ll follows the header, which is padded to 16 bytes.
_TYPE = 32 + 10
#: PACKET_OUTGOING: the packet leaves from the interface.
OUTGOING = 4


def _program(which: str) -> list[tuple[int, int, int, int]]:
    """Return a classic BPF program that accepts IPv4 packets: all, those that arrive, or those that arrive with CE."""
    load_half, load_byte, equal, mask, give = 0x28, 0x30, 0x15, 0x54, 0x06
    lines: list[tuple[int, int | None, int | None, int]] = []
    if which != "both":
        # SKF_AD_OFF + SKF_AD_PKTTYPE: exclude packets that this host sends from the interface
        lines += [(load_byte, 0, 0, 0xFFFFF004), (equal, None, 0, OUTGOING)]
    lines += [(load_half, 0, 0, 12), (equal, 0, None, 0x0800)]
    if which == "ce":
        lines += [(load_byte, 0, 0, 15), (mask, 0, 0, 3), (equal, 0, None, 3)]
    lines.append((give, 0, 0, SNAP))
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
        Name of the interface.
    which : {'all', 'ce', 'both'}
        All IPv4 packets that arrive, those of them that carry CE, or all that arrive or leave.
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
        """Return CLOCK_MONOTONIC (ns), destination port and bytes of each packet; errors are those of `packets`."""
        return [[time, int.from_bytes(packet[36:38], "big"), length] for time, _, length, packet in self.packets()]

    def packets(self) -> Iterator[tuple[int, bool, int, bytes]]:
        """Yield CLOCK_MONOTONIC (ns), whether it leaves, bytes of the frame, and first bytes of each packet.

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
        for place in range(0, self.size, _FRAME):
            status, length, kept, mac, _, seconds, nanoseconds = _HEADER.unpack_from(self.ring, place)
            if not status & 1:
                break
            packet = self.ring[place + mac : place + mac + kept]
            yield seconds * 10**9 + nanoseconds - apart, self.ring[place + _TYPE] == OUTGOING, length, packet
