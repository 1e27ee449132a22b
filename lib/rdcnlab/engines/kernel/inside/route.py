# SPDX-License-Identifier: Apache-2.0
"""Settings of a host's network over routing netlink: as ``ip`` and ``tc`` do, without processes.

A process costs User-Mode Linux many ms, and a network may have hundreds of hosts. Numbers are those of
``linux/rtnetlink.h``, ``linux/if_addr.h``, ``linux/neighbour.h`` and ``linux/pkt_sched.h``.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable
from typing import Any

from ocs_netlink import attr

_LINK, _ADDRESS, _NEIGHBOUR, _QDISC = 16, 20, 28, 36
_REQUEST, _ACK, _REPLACE, _EXCLUSIVE, _CREATE = 1, 4, 0x100, 0x200, 0x400
_LOOPBACK, _UP, _PERMANENT, _ROOT, _ETHERNET = 1, 1, 0x80, 0xFFFFFFFF, 1
_NESTED = 0x8000
#: Bytes of messages that are sent together: they fit in the default send buffer.
_TOGETHER = 60_000


class Route:
    """The settings of one network namespace, that of the caller at this time; they are made by `commit`."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def up(self, index: int = _LOOPBACK) -> None:
        """Bring a device up, by its number."""
        self._add(_LINK, 0, struct.pack("=BBHiII", 0, 0, 0, index, _UP, _UP))

    def address(self, index: int, ip: str, prefix: int) -> None:
        """Give a device an address, with the broadcast address of its prefix."""
        own = socket.inet_aton(ip)
        everyone = (int.from_bytes(own, "big") | ((1 << (32 - prefix)) - 1)).to_bytes(4, "big")
        attributes = attr(2, own) + attr(1, own) + attr(4, everyone)
        self._add(
            _ADDRESS, _CREATE | _EXCLUSIVE, struct.pack("=BBBBi", socket.AF_INET, prefix, 0, 0, index) + attributes
        )

    def neighbours(self, index: int, known: Iterable[bytes]) -> None:
        """Let a device know addresses for good; each is the result of `neighbour`."""
        head = struct.pack("=BBHiHBB", socket.AF_INET, 0, 0, index, _PERMANENT, 0, 0)
        for one in known:
            self._add(_NEIGHBOUR, _CREATE | _REPLACE, head + one)

    def token_bucket(self, index: int, bucket: dict[str, int]) -> None:
        """Let a device send by a token bucket, ``tbf``.

        Parameters
        ----------
        index : int
            Number of the device.
        bucket : dict
            ``rate`` in bit/s; ``burst`` and ``limit`` in bytes; ``overhead``, bytes of a frame that the kernel does not
            count.
        """
        rate = bucket["rate"] // 8
        # the kernel computes with the exact rate and burst, so the tables of older kernels are left out
        spec = struct.pack("=BBHhHI", 3, _ETHERNET, bucket["overhead"], -1, 0, min(rate, 0xFFFFFFFF))
        options = attr(1, spec + bytes(12) + struct.pack("=III", bucket["limit"], 0, 0))
        options += attr(6, struct.pack("=I", bucket["burst"]))
        if rate > 0xFFFFFFFF:
            options += attr(4, struct.pack("=Q", rate))
        body = struct.pack("=BBHiIII", 0, 0, 0, index, 0, _ROOT, 0) + attr(1, b"tbf\0") + attr(2 | _NESTED, options)
        self._add(_QDISC, _CREATE | _REPLACE, body)

    def fifo(self, index: int, packets: int | None, size: int | None) -> None:
        """Let packets of a device wait in one queue, with a limit in packets or in bytes."""
        kind, limit = (b"bfifo\0", size) if packets is None else (b"pfifo\0", packets)
        body = struct.pack("=BBHiIII", 0, 0, 0, index, 0, _ROOT, 0) + attr(1, kind) + attr(2, struct.pack("=I", limit))
        self._add(_QDISC, _CREATE | _REPLACE, body)

    def commit(self) -> None:
        """Make all settings; raise OSError if the kernel refuses one."""
        parts, self._parts = self._parts, []
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
            kernel.bind((0, 0))
            while parts:
                batch, size = [], 0
                while parts and size < _TOGETHER:
                    batch.append(parts.pop(0))
                    size += len(batch[-1])
                kernel.send(b"".join(batch[:-1]) + _acknowledged(batch[-1]))
                _answer(kernel)

    def _add(self, kind: int, flags: int, body: bytes) -> None:
        self._parts.append(struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | flags, 0, 0) + body)


def neighbour(ip: str, mac: str) -> bytes:
    """Return an address and its MAC address for `Route.neighbours`."""
    return attr(1, socket.inet_aton(ip)) + attr(2, bytes.fromhex(mac.replace(":", "")))


def _acknowledged(message: bytes) -> bytes:
    """Return a message whose success is reported, too; a failure always is."""
    size, kind, flags, _, sender = struct.unpack_from("=IHHII", message)
    return struct.pack("=IHHII", size, kind, flags | _ACK, 1, sender) + message[16:]


def _answer(kernel: socket.socket) -> None:
    """Read answers until that of the last message."""
    while True:
        data, at = kernel.recv(1 << 16), 0
        while at < len(data):
            size, _, _, sequence, _ = struct.unpack_from("=IHHII", data, at)
            (code,) = struct.unpack_from("=i", data, at + 16)
            if code:
                raise OSError(-code, f"routing netlink: {os.strerror(-code)}")
            if sequence:
                return
            at += (size + 3) & ~3


def host(spec: dict[str, Any], index: int, bucket: dict[str, int] | None, known: Iterable[bytes]) -> None:
    """Set up the network of a host, whose namespace the caller is in; `bucket` is its line if that is a discipline."""
    route = Route()
    route.up()
    for ip in (spec["ip"], *spec.get("aliases", ())):
        route.address(index, ip, spec["prefix"])
    route.up(index)
    route.neighbours(index, known)
    if bucket is not None:
        route.token_bucket(index, bucket)
    else:
        route.fifo(index, spec["queue_packets"], spec["queue_bytes"])
    route.commit()
