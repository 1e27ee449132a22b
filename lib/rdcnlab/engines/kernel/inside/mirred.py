# SPDX-License-Identifier: Apache-2.0
"""Filters of ``tc`` that send packets to another port at once, and a thread that changes the port by a timetable."""

from __future__ import annotations

import socket
import struct
import threading
import time
from typing import Any

from clock import be_exact, sleep_until
from instants import changes
from ocs_netlink import attr

PROTOCOL = {6: "tcp", 17: "udp"}
FIELD = {"sport": "src_port", "dport": "dst_port"}

_NEW_ACTION, _ERROR = 48, 2
_REQUEST_ACK_REPLACE_CREATE = 1 | 4 | 0x100 | 0x400
_NESTED = 0x8000
_STOLEN, _EGRESS_REDIRECT = 4, 1
_HEADER = struct.Struct("=IHHII")


def filter_line(block: int, index: int, entry: dict[str, Any]) -> str:
    """Return the command that redirects the packets of a flow to the first of its ports.

    Parameters
    ----------
    block : int
        The filters that all ports of a switch share.
    index : int
        Number of the action, with which it can be changed.
    entry : dict
        ``prio``, ``in_if``, ``dst``, ``proto``, ``field``, ``port`` and ``ports``.
    """
    keys = [
        f"dst_ip {entry['dst']}",
        f"ip_proto {PROTOCOL[entry['proto']]}",
        f"{FIELD[entry['field']]} {entry['port']}",
    ]
    if entry["in_if"] is not None:
        keys.append(f"indev {entry['in_if']}")
    action = f"action mirred egress redirect dev {entry['ports'][0]} index {index}"
    return f"filter add block {block} protocol ip pref {entry['prio']} flower {' '.join(keys)} {action}"


def replacement(index: int, port: str) -> bytes:
    """Return the netlink request that changes the port of an action, as ``tc actions replace`` sends it."""
    ifindex = socket.if_nametoindex(port)
    mirred = struct.pack("=IIiiiiI", index, 0, _STOLEN, 0, 0, _EGRESS_REDIRECT, ifindex)
    action = attr(1, b"mirred\0") + attr(2 | _NESTED, attr(2, mirred))
    body = bytes(4) + attr(1 | _NESTED, attr(1 | _NESTED, action))
    return _HEADER.pack(_HEADER.size + len(body), _NEW_ACTION, _REQUEST_ACK_REPLACE_CREATE, index, 0) + body


class Redirects(threading.Thread):
    """A thread that changes the ports of actions at the instants of their timetables.

    Parameters
    ----------
    entries : list of dict
        ``phase_ns``, ``durations``, and ``requests``: for each slot the netlink requests of its change.
    epoch_ns : int
        Start of all timetables in ns of CLOCK_MONOTONIC.

    Attributes
    ----------
    slots : list of [int, int, int]
        For each change: ns since the epoch, entry, and slot.
    """

    def __init__(self, entries: list[dict[str, Any]], epoch_ns: int) -> None:
        super().__init__(daemon=True)
        self.entries, self.epoch_ns = entries, epoch_ns
        self.slots: list[list[int]] = []
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.bind((0, 0))

    def run(self) -> None:
        """Wait for each change and make it; after `stop` this ends at the next change."""
        be_exact()
        timetables = {
            place: (self.epoch_ns + entry["phase_ns"], entry["durations"])
            for place, entry in enumerate(self.entries)
            if len(entry["durations"]) > 1
        }
        try:
            for instant, place, count in changes(timetables):
                sleep_until(instant)
                if self.ended.is_set():
                    return
                slot = count % len(self.entries[place]["durations"])
                for request in self.entries[place]["requests"][slot]:
                    self._change(request)
                self.slots.append([time.monotonic_ns() - self.epoch_ns, place, slot])
        except BaseException as error:  # noqa: BLE001  `stop` raises it in the main thread
            self.error = error

    def stop(self) -> None:
        """Make no more changes, and raise the thread's error if there is one."""
        self.ended.set()
        if self.error is not None:
            raise self.error

    def _change(self, request: bytes) -> None:
        self.socket.send(request)
        answer = self.socket.recv(4096)
        _, kind, _, index, _ = _HEADER.unpack_from(answer)
        (status,) = struct.unpack_from("=i", answer, _HEADER.size)
        if kind != _ERROR or status:
            raise RuntimeError(f"the kernel refuses to change action {index} of tc: error {-status}")
