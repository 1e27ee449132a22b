# SPDX-License-Identifier: Apache-2.0
"""Capture files: the packets of pcap and pcapng, of either byte order, with times in ns.

The formats are those of draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_BYTE_ORDER = 0x1A2B3C4D
#: Magic numbers of pcap, with the ns of a unit of the second half of a time.
_UNITS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
_RESOLUTION, _OFFSET, _FLAGS = 9, 14, 2
#: Bytes before the IP packet by link type, with the bytes that say whether one follows.
_LINKS = {1: (14, 12), 113: (16, 14), 276: (20, 0)}
#: Link types of bare IP packets.
_BARE = (12, 14, 101, 228, 229)
_IPV4, _IPV6 = 0x0800, 0x86DD
_INBOUND, _OUTBOUND = 1, 2


class Captured(NamedTuple):
    """A packet of a capture file.

    Parameters
    ----------
    time : int
        ns since 1970.
    length : int
        Bytes on the line, of which a capture may keep the first only.
    at, kept : int
        Place of the kept bytes in the file, and how many they are.
    link : int
        Link type, such as 1 for Ethernet.
    leaves : bool or None
        Whether the host sent it; None if the file does not say so.
    """

    time: int
    length: int
    at: int
    kept: int
    link: int
    leaves: bool | None


def packets(data: bytes) -> Iterator[Captured]:
    """Yield the packets of a capture, in the order of the file.

    Raises
    ------
    ValueError
        This is no capture, or it ends within a packet. The message completes "it must be ...".
    """
    for order in "<", ">":
        if len(data) >= 24 and struct.unpack_from(f"{order}I", data)[0] in _UNITS:
            yield from _of_pcap(data, order)
            return
    if data[:4] != struct.pack("<I", _SECTION):
        raise ValueError("a capture in the format pcap or pcapng")
    yield from _of_pcapng(data)


def _of_pcap(data: bytes, order: str) -> Iterator[Captured]:
    unit = _UNITS[struct.unpack_from(f"{order}I", data)[0]]
    link = struct.unpack_from(f"{order}I", data, 20)[0] & 0xFFFF
    at = 24
    while at < len(data):
        if at + 16 > len(data):
            raise ValueError("a whole capture; this one ends within a packet")
        seconds, rest, kept, length = struct.unpack_from(f"{order}IIII", data, at)
        if at + 16 + kept > len(data):
            raise ValueError("a whole capture; this one ends within a packet")
        yield Captured(seconds * 10**9 + rest * unit, length, at + 16, kept, link, None)
        at += 16 + kept


def _of_pcapng(data: bytes) -> Iterator[Captured]:
    at, order = 0, "<"
    interfaces: list[tuple[int, int, int, int]] = []
    while at < len(data):
        if at + 12 > len(data):
            raise ValueError("a whole capture; this one ends within a block")
        if data[at : at + 4] == struct.pack("<I", _SECTION):  # the same in both byte orders
            order = "<" if struct.unpack_from("<I", data, at + 8)[0] == _BYTE_ORDER else ">"
            interfaces = []
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if not 12 <= size <= len(data) - at:
            raise ValueError("a whole capture; this one ends within a block")
        if kind == _INTERFACE:
            interfaces.append(_interface(data, at, size, order))
        elif kind == _PACKET:
            number, high, low, kept, length = struct.unpack_from(f"{order}IIIII", data, at + 8)
            if number >= len(interfaces) or 28 + kept > size:
                raise ValueError("a capture whose packets have an interface and fit into their blocks")
            link, times, divisor, offset = interfaces[number]
            flags = _options(data, at + 28 + (kept + 3) // 4 * 4, at + size - 4, order).get(_FLAGS, bytes(4))
            direction = struct.unpack(f"{order}I", flags)[0] & 3
            leaves = None if direction not in (_INBOUND, _OUTBOUND) else direction == _OUTBOUND
            yield Captured((high << 32 | low) * times // divisor + offset, length, at + 28, kept, link, leaves)
        at += size


def _interface(data: bytes, at: int, size: int, order: str) -> tuple[int, int, int, int]:
    """Return an interface's link type, and what makes ns since 1970 of its times: factor, divisor and offset."""
    options = _options(data, at + 16, at + size - 4, order)
    resolution = options.get(_RESOLUTION, b"\x06")[0]
    units = 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    offset = struct.unpack(f"{order}q", options[_OFFSET])[0] if _OFFSET in options else 0
    return struct.unpack_from(f"{order}H", data, at + 8)[0], 10**9, units, offset * 10**9


def _options(data: bytes, at: int, end: int, order: str) -> dict[int, bytes]:
    options = {}
    while at + 4 <= end:
        code, size = struct.unpack_from(f"{order}HH", data, at)
        if not code:
            break
        options[code] = data[at + 4 : at + 4 + size]
        at += 4 + (size + 3) // 4 * 4
    return options


def ip_size(data: bytes, packet: Captured) -> int | None:
    """Return the bytes of the IP packet in a captured one, without the padding of short frames; None if it is no IP."""
    head = data[packet.at : packet.at + packet.kept]
    before = 0
    if packet.link in _LINKS:
        before, place = _LINKS[packet.link]
        protocol = int.from_bytes(head[place : place + 2], "big")
        while packet.link == 1 and protocol in (0x8100, 0x88A8):  # VLANs
            before += 4
            protocol = int.from_bytes(head[before - 2 : before], "big")
        if protocol not in (_IPV4, _IPV6):
            return None
    elif packet.link not in _BARE:
        return None
    version = head[before] >> 4 if len(head) > before else 0
    if version == 4 and len(head) >= before + 4:
        return int.from_bytes(head[before + 2 : before + 4], "big") or packet.length - before
    if version == 6 and len(head) >= before + 6:
        return 40 + int.from_bytes(head[before + 4 : before + 6], "big")
    return None
