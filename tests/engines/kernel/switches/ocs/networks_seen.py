# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest: print, at given instants, what a host and its TDTCP connections say of active networks.

    networks_seen.py NS...      (ns of CLOCK_MONOTONIC, in ascending order)

For each instant it prints a line of JSON: the active network by prefix (``/proc/net/tdn``), and by the address of the
peer (sock_diag). Standard library only.
"""

import json
import socket
import struct
import sys
import time
from pathlib import Path

SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, NLM_F_DUMP, NLMSG_DONE = 20, 1, 0x300, 3
ESTABLISHED = 1 << 1
#: Ask for what a protocol adds: INET_DIAG_INFO, as a bit.
INFO = 1 << (2 - 1)
#: INET_DIAG_SOCKOPT is the last attribute of plain TCP. TDTCP's begins with two bytes: networks, and the active one.
LAST_OF_TCP = 22


def sockets() -> dict[str, int]:
    """Return the active network of each TDTCP connection by the address of its peer."""
    body = struct.pack("=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, INFO, ESTABLISHED)
    head = struct.pack("=IHHII", 16 + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0)
    found: dict[str, int] = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as sock:
        sock.send(head + body)
        while True:
            data, at = sock.recv(1 << 20), 0
            while at < len(data):
                size, kind = struct.unpack_from("=IH", data, at)
                if kind == NLMSG_DONE:
                    return found
                place = at + 16 + 72
                while place < at + size:
                    length, number = struct.unpack_from("=HH", data, place)
                    if number & 0x3FFF > LAST_OF_TCP:
                        # family, state, timer, retransmits; then ports and addresses
                        peer = socket.inet_ntoa(data[at + 16 + 24 : at + 16 + 28])
                        found[peer] = data[place + 5]
                    place += (length + 3) & ~3
                at += (size + 3) & ~3


def table() -> dict[str, int]:
    """Return the active network of each prefix."""
    lines = Path("/proc/thread-self/net/tdn").read_text().splitlines()[1:]
    return {line.split()[0]: int(line.split()[1]) for line in lines}


for instant in map(int, sys.argv[1:]):
    while (left := instant - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)
    print(json.dumps({"table": table(), "sockets": sockets()}), flush=True)
