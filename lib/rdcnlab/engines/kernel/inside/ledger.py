# SPDX-License-Identifier: Apache-2.0
"""What the kernel has counted of frames by the end of a run: in each host, and in each circuit switch.

All is read at one instant of virtual time: nothing here sleeps or reads a clock. So a frame is counted in one place,
and `rdcnlab.engines.kernel.observe.ledger` can say of each place that what came is what left, was dropped, or is still
there.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any

from nodes import inside
from ocs import Ocs
from ocs_cards import Cards
from ocs_netlink import attr, walk
from topology import label, lines

#: Counters of a device, with their places in ``struct rtnl_link_stats64``.
DEVICE = {
    "rx_packets": 0, "tx_packets": 1, "rx_dropped": 6, "tx_dropped": 7, "rx_nohandler": 23, "rx_otherhost_dropped": 24,
}  # fmt: skip
_GET_LINK, _GET_QDISC = 18, 38
_ROOT = 0xFFFFFFFF
#: Fields of ``/proc/net/softnet_stat``: frames that found the backlog of a processor full, and those that wait in it.
_DROPPED, _WAITING = 1, 11


def store(testbed: Any, directory: str) -> None:
    """Write all counters to ``ledger.json``; see `backlog`, `namespace` and `ocs.Ocs.accounts`."""
    found: dict[str, Any] = {"backlog": backlog(), "devices": {}, "hosts": {}}
    for name in circuit_switches():
        accounts = Ocs(name).accounts()
        # keys of JSON are text
        accounts["links"] = {
            key if isinstance(key, int) else "|".join(key): one for key, one in accounts["links"].items()
        }
        found["devices"][name] = accounts
    for spec in testbed.plan["hosts"]:
        name = spec["name"]
        with inside(testbed.hosts[name]):
            counted = namespace(f"/proc/{testbed.pid(name)}/net")
            if spec["ends"] == "exact":
                for device in (f"{label(line)}-eth0" for line in lines(spec)):
                    counted["devices"][device]["card"] = Cards(device).card(device)
        found["hosts"][name] = counted
    with open(os.path.join(directory, "ledger.json"), "w") as file:
        json.dump(found, file)


def circuit_switches() -> list[str]:
    """Return the names of the circuit switches, and of the panels of other kinds of switches."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, 0))
        kind = attr(18 | 0x8000, attr(1, b"ocs\0"))  # IFLA_LINKINFO, IFLA_INFO_KIND: devices of this kind only
        messages = list(dumped(kernel, _GET_LINK, struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0) + kind))
    return [name for name, device in map(described, messages) if device["kind"] == "ocs"]


def backlog() -> dict[str, int]:
    """Return the frames that wait between devices, and those for which there was no room, on all processors."""
    rows = [[int(word, 16) for word in line] for line in words("/proc/net/softnet_stat")]
    names, *values = words("/proc/net/stat/arp_cache")
    place = names.index("unresolved_discards")
    return {
        "dropped": sum(row[_DROPPED] for row in rows),
        "waiting": sum(row[_WAITING] for row in rows),
        "unresolved": sum(int(row[place], 16) for row in values),
    }


def words(path: str) -> list[list[str]]:
    """Return the words of each line of a file of the kernel.

    `open` makes system calls that fail, and only the first thousand of them at one instant take no virtual time.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    parts = []
    while part := os.read(file, 1 << 16):
        parts.append(part)
    os.close(file)
    return [line.split() for line in b"".join(parts).decode().splitlines()]


def namespace(net: str) -> dict[str, Any]:
    """Return the counters of the caller's network namespace that are not zero.

    Parameters
    ----------
    net : str
        Directory of the namespace's files, such as ``/proc/self/net``.

    Returns
    -------
    dict
        ``devices`` by name, with ``kind``, their counters, and ``qdisc`` with those of their root discipline;
        ``counters`` of protocols by their names, such as ``Ip.InReceives``; ``sockets``: bytes that wait in sockets.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, 0))
        devices, names = {}, {}
        for body in dumped(kernel, _GET_LINK, struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0)):
            (index,) = struct.unpack_from("=i", body, 4)
            names[index], device = described(body)
            devices[names[index]] = device
        for body in dumped(kernel, _GET_QDISC, struct.pack("=BBHiIII", 0, 0, 0, 0, 0, 0, 0)):
            index, _, parent = struct.unpack_from("=iII", body, 4)
            if parent == _ROOT and index in names:
                devices[names[index]]["qdisc"] = discipline(body)
    return {"devices": devices, "counters": protocols(net), "sockets": waiting(net)}


def dumped(kernel: socket.socket, kind: int, body: bytes) -> Iterator[bytes]:
    """Yield the messages of a dump of routing netlink, without their headers."""
    kernel.send(struct.pack("=IHHII", 16 + len(body), kind, 0x301, 1, 0) + body)  # NLM_F_REQUEST, NLM_F_DUMP
    while True:
        data, at = kernel.recv(1 << 18), 0
        while at < len(data):
            size, answer = struct.unpack_from("=IH", data, at)
            if answer in (2, 3):  # NLMSG_ERROR, NLMSG_DONE
                (code,) = struct.unpack_from("=i", data, at + 16)
                if code:
                    raise OSError(-code, f"routing netlink: {os.strerror(-code)}")
                return
            yield data[at + 16 : at + size]
            at += (size + 3) & ~3


def described(body: bytes) -> tuple[str, dict[str, Any]]:
    """Return the name of a device, and its kind and counters, from the message that describes it."""
    name, device = "", {"kind": ""}
    for _, number, payload in walk(body, 16, len(body)):
        if number == 3:  # IFLA_IFNAME
            name = payload.rstrip(b"\0").decode()
        elif number == 23:  # IFLA_STATS64
            values = struct.unpack(f"={len(payload) // 8}Q", payload)
            device |= {key: values[place] for key, place in DEVICE.items() if values[place]}
        elif number == 18:  # IFLA_LINKINFO
            kinds = [text for _, inner, text in walk(payload, 0, len(payload)) if inner == 1]  # IFLA_INFO_KIND
            device["kind"] = kinds[0].rstrip(b"\0").decode() if kinds else ""
    return name, device


def discipline(body: bytes) -> dict[str, Any]:
    """Return the kind of a discipline, the frames it has let go, those it has dropped, and those in it."""
    found: dict[str, Any] = {}
    for _, number, payload in walk(body, 20, len(body)):
        if number == 1:  # TCA_KIND
            found["kind"] = payload.rstrip(b"\0").decode()
        elif number == 7:  # TCA_STATS2
            parts = {inner: data for _, inner, data in walk(payload, 0, len(payload))}
            if 1 in parts:  # TCA_STATS_BASIC
                (found["sent"],) = struct.unpack_from("=I", parts[1], 8)
            if 8 in parts:  # TCA_STATS_PKT64
                (found["sent"],) = struct.unpack_from("=Q", parts[8])
            if 3 in parts:  # TCA_STATS_QUEUE
                found["waiting"], _, found["dropped"] = struct.unpack_from("=III", parts[3])
    return found


def protocols(net: str) -> dict[str, int]:
    """Return the counters of IP, ICMP, UDP and TCP that are not zero."""
    found: dict[str, int] = {}
    for name in ("snmp", "netstat"):
        lines = words(f"{net}/{name}")
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group = names[0][:-1]
            found |= {f"{group}.{key}": int(value) for key, value in zip(names[1:], values[1:], strict=True)}
    return {name: value for name, value in found.items() if value}


def waiting(net: str) -> int:
    """Return the bytes of memory that datagrams take which no program has read."""
    total = 0
    for name in ("udp", "raw"):
        total += sum(int(row[4].partition(":")[2], 16) for row in words(f"{net}/{name}")[1:])
    return total
