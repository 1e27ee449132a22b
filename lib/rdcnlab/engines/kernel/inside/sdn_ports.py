# SPDX-License-Identifier: Apache-2.0
"""The ports of switches as a controller of the user's own sees them: their addresses, and when they are down.

While a line is ``down``, its ports are in the state "dormant" of RFC 2863. Open vSwitch takes them for down, and tells
its controller so. The kernel still lets frames pass to the line, which keeps or drops them as the scenario says.
Without a carrier, the kernel would drop them in front of the line, and nobody would count them.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
from typing import Any

from clock import be_exact, sleep_until
from ocs_netlink import attr

#: Of ``linux/rtnetlink.h``, ``linux/netlink.h`` and ``linux/if_link.h``: message, flags and attribute.
_SET_LINK, _REQUEST, _ACK, _OPERSTATE = 19, 1, 4, 16
#: States of ``linux/if.h``.
_DORMANT, _UP = 5, 6


def mac(dpid: int, port: int) -> str:
    """Return the address of a port of a switch; 0 is the switch itself. No host, and no probe, has such an address.

    Examples
    --------
    >>> mac(1, 3), mac(2, 0)
    ('02:01:00:01:00:03', '02:01:00:02:00:00')
    """
    return f"02:01:{dpid >> 8:02x}:{dpid & 255:02x}:{port >> 8:02x}:{port & 255:02x}"


def addresses(plan: dict[str, Any]) -> list[str]:
    """Return commands of ``ip`` that give the ports of a switch their addresses.

    Those that the kernel draws depend on what happened before, so spanning trees would, too.
    """
    return [f"link set {port} address {mac(plan['dpid'], number)}" for port, number in plan["interfaces"].items()]


class Ports(threading.Thread):
    """Brings ports down and up when the scenario does so with their lines.

    Parameters
    ----------
    switches : list of dict
        Plans of switches; ``down`` has the spans of each port in ns since the start.
    epoch_ns : int
        Start of the scenario in ns of CLOCK_MONOTONIC.
    """

    def __init__(self, switches: list[dict[str, Any]], epoch_ns: int) -> None:
        super().__init__(daemon=True)
        spans = [(port, span) for each in switches for port, own in each.get("down", {}).items() for span in own]
        self.changes = sorted(
            (epoch_ns + instant, state, port)
            for port, span in spans
            for instant, state in zip(span, (_DORMANT, _UP), strict=True)
        )
        self.kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.kernel.bind((0, 0))

    def run(self) -> None:
        """Change the state of each port at its instant."""
        be_exact()
        for instant, state, port in self.changes:
            sleep_until(instant)
            body = struct.pack("=BBHiII", 0, 0, 0, socket.if_nametoindex(port), 0, 0)
            body += attr(_OPERSTATE, bytes([state]))
            self.kernel.send(struct.pack("=IHHII", 16 + len(body), _SET_LINK, _REQUEST | _ACK, 0, 0) + body)
            (code,) = struct.unpack_from("=i", self.kernel.recv(4096), 16)
            if code:
                raise RuntimeError(f"the state of the port {port}: {errno.errorcode.get(-code)}, {os.strerror(-code)}")
