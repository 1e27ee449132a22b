# SPDX-License-Identifier: Apache-2.0
"""Probes: packets that show by which port a switch sends the packets of a flow.

A probe enters the switch by the port of the flow, and has all that rules match: receiver, protocol, ports. So the data
plane treats it as a packet of the flow. Only its sender's address differs. By this address a filter of ``tc`` removes
it between the switch and its lines, so it takes no place on a line and appears in no table.
"""

from __future__ import annotations

import array
import itertools
import os
import select
import socket
import struct
import time
from collections.abc import Iterable
from typing import Any

from clock import sleep_until

#: Address that probes come from; hosts have addresses that begin with 02:00.
SOURCE = bytes.fromhex("02ff00000001")
#: Number of the first block of filters. Other switches use low numbers.
FIRST_BLOCK = 0x1000
#: Probes that are sent at one instant, so that the daemon can finish what takes no time; and ns between later ones.
AT_ONCE, STEP_NS = 32, 1000
#: ns after which a switch that still uses the old port, or loses probes, is an error.
PATIENCE_NS = 10**9

_ETH_P_ALL, _SO_ATTACH_FILTER = 3, 26
_IP = struct.Struct("!BBHHHBBH4s4s")
_TCP, _TCP_HEADER = 6, bytes([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0])


def kept_out(number: int, interfaces: Iterable[str]) -> list[str]:
    """Return commands of ``tc`` that remove probes which come out of a switch, before its lines.

    Parameters
    ----------
    number : int
        Number of the switch.
    interfaces : iterable of str
        The panel's ends of the cables to the switch.
    """
    block = FIRST_BLOCK + number
    blocks = [f"qdisc add dev {interface} ingress_block {block} ingress" for interface in interfaces]
    # the sender's address begins 8 bytes before the IP header
    mine = f"match u32 0x{SOURCE[:4].hex()} 0xffffffff at -8"
    return [*blocks, f"filter add block {block} protocol ip pref 1 u32 {mine} action drop"]


def frame(match: dict[str, Any]) -> bytes:
    """Return a packet of a flow that comes from `SOURCE`."""
    ports = {"sport": 1, "dport": 1, match["field"]: match["port"]}
    length = _IP.size + (20 if match["proto"] == _TCP else 8)
    nobody, receiver = bytes([10, 255, 255, 254]), socket.inet_aton(match["dst"])
    packet = _IP.pack(0x45, 0, length, 0, 0, 64, match["proto"], 0, nobody, receiver)
    packet += struct.pack("!HH", ports["sport"], ports["dport"])
    packet += _TCP_HEADER if match["proto"] == _TCP else struct.pack("!HH", 8, 0)
    header = bytes.fromhex(match["mac"].replace(":", "")) + SOURCE + b"\x08\x00"
    return (header + packet).ljust(60, b"\0")


class Taps:
    """Sockets at the panel's ends of cables, where probes come out.

    Parameters
    ----------
    ports : iterable of str
        Ports of the switch that are looked at.
    """

    def __init__(self, ports: Iterable[str]) -> None:
        self.sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.waiting = select.poll()
        self.sockets: dict[int, socket.socket] = {}
        self.ports: dict[int, str] = {}
        for port in sorted(ports):
            tap = _tap(f"{port}x")
            self.waiting.register(tap, select.POLLIN)
            self.sockets[tap.fileno()], self.ports[tap.fileno()] = tap, port

    def leaves(self, packet: bytes, port: str) -> str:
        """Send a probe, and return the port by which it leaves.

        Raises
        ------
        RuntimeError
            The switch loses the probe.
        """
        self.sender.sendto(packet, (f"{port}x", 0))
        # what the data plane knows has left already; a wait with a limit reads the clock, which must not be too often
        for wait in (0, PATIENCE_NS // 10**6):
            for descriptor, _ in self.waiting.poll(wait):
                self.sockets[descriptor].recv(64)
                return self.ports[descriptor]
        raise RuntimeError(f"a packet that came by {port} does not leave the switch")

    def follow(self, packet: bytes, port: str, target: str) -> int:
        """Send probes until one leaves by a port; return CLOCK_MONOTONIC (ns) when it did.

        Parameters
        ----------
        packet : bytes
            The probe.
        port, target : str
            Ports by which it enters the switch and by which it must leave.

        Raises
        ------
        RuntimeError
            The switch loses probes, or sends them elsewhere for too long.
        """
        begun: int | None = None
        for count in itertools.count():
            leaves_by = self.leaves(packet, port)
            now = time.monotonic_ns()
            if leaves_by == target:
                return now
            begun = begun or now
            if now - begun > PATIENCE_NS:
                raise RuntimeError(f"a packet that came by {port} leaves by {leaves_by} and not by {target}")
            if count < AT_ONCE:
                os.sched_yield()
            else:
                sleep_until(now + STEP_NS)
        raise AssertionError


def _tap(interface: str) -> socket.socket:
    """Return a socket that receives only probes that arrive at an interface."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    # exclude packets that this machine sends (SKF_AD_OFF + SKF_AD_PKTTYPE); then compare the sender's address
    lines = [
        (0x30, 0, 0, 0xFFFFF004),
        (0x15, 3, 0, 4),
        (0x20, 0, 0, 6),
        (0x15, 0, 1, int.from_bytes(SOURCE[:4], "big")),
    ]
    lines += [(0x06, 0, 0, 64), (0x06, 0, 0, 0)]
    words = array.array("B", b"".join(struct.pack("=HBBI", *line) for line in lines))
    address, size = words.buffer_info()
    tap.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", size // 8, address))
    tap.bind((interface, _ETH_P_ALL))
    return tap
