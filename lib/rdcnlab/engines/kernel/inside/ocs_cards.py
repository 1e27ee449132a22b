# SPDX-License-Identifier: Apache-2.0
"""Cards of hosts: lines below the queueing disciplines of their devices, by the kernel's family ``ocs``.

A card belongs to no switch. The caller is in the network namespace of the host.
"""

from __future__ import annotations

import socket

from ocs_connection import Connection
from ocs_netlink import decode, encode

_SET, _GET = 13, 14


class Cards(Connection):
    """The cards of one network namespace."""

    def card_set(self, ifname: str, rate: int, overhead: int | None = None, buffer: int | None = None) -> None:
        """Put a line below the disciplines of a device, or change it.

        Parameters
        ----------
        ifname : str
            A device with one queue.
        rate : int
            bit/s; 0: the device has no card any more, and frames that are in it are lost.
        overhead : int, optional
            Bytes of a frame on the line in addition to its Ethernet header and payload; 24 by default.
        buffer : int, optional
            Bytes of frames on the line that the card holds besides the one that it sends; 0 by default.
        """
        index = socket.if_nametoindex(ifname)
        card = {"ifindex": index, "rate": rate, "overhead": overhead, "buffer": buffer}
        self._request(_SET, {"card": card}, "card_set")

    def card(self, ifname: str) -> dict[str, int]:
        """Return the settings of a card and its counters: ``packets`` and ``bytes`` in it, what has left, ``drops``."""
        body = encode("message", {"card": {"ifindex": socket.if_nametoindex(ifname)}}, self.ifname)
        message = self._message(self._family, _GET, 0, body)
        self._sock.send(message)
        (data,) = self._replies({self._seq: ("card_get", message)})
        card: dict[str, int] = decode("message", data[4:])["card"]  # type: ignore[assignment]
        return card
