# SPDX-License-Identifier: Apache-2.0
"""Read ``ledger.txt``, to which ``inside/ledger.py`` copies the kernel's own files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rdcnlab.fields.errors import RunError

FILE = "ledger.txt"
_DEVICE = ("rx_packets", "tx_packets", "rx_dropped", "tx_dropped", "rx_nohandler", "rx_otherhost_dropped")
_QDISC = ("sent", "waiting", "dropped")
_CARD = ("packets", "tx_packets", "drops")
#: Columns of an account that are no reasons of drops.
_PLACES = 6
#: Fields of ``/proc/net/softnet_stat``: frames that found the backlog of a processor full, and those that wait in it.
_DROPPED, _WAITING = 1, 11
_UNREAD = "Sockets.Unread"

#: Frames by place, and ``drops`` by reason; what is 0 is left out.
Counts = dict[str, Any]


@dataclasses.dataclass
class Network:
    """The counters of a network namespace.

    Parameters
    ----------
    devices : dict
        Counters of devices by name, with those of ``qdisc``, the root discipline, and of ``card`` if there are any.
    counters : dict
        Those of protocols that are not zero, by names such as ``Ip.InReceives``.
    """

    devices: dict[str, Any] = dataclasses.field(default_factory=dict)
    counters: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def unread(self) -> int:
        """Bytes of memory that datagrams take which no program has read."""
        return self.counters.get(_UNREAD, 0)

    def among(self, names: Iterable[str]) -> dict[str, int]:
        """Return those counters of some names that are not zero."""
        return {name: self.counters[name] for name in names if name in self.counters}


@dataclasses.dataclass
class Counted:
    """All counters of a guest.

    Parameters
    ----------
    backlog : dict
        Frames between devices that wait (``waiting``), found no room (``dropped``), or whose neighbour was unknown
        (``unresolved``), on all processors.
    accounts : dict
        By switch, part (``link``, ``class``, ``port``, ``egress``, ``ingress``, ``switch``) and name.
    networks : list of Network
        All namespaces, in the order in which they were made.
    """

    backlog: dict[str, int]
    accounts: dict[str, dict[str, dict[str, Counts]]]
    networks: list[Network]

    def by_device(self) -> dict[str, Network]:
        """Return the namespace of each device by its name; the first one, if several have a device of this name."""
        return {name: network for network in reversed(self.networks) for name in network.devices}


def read(directory: Path) -> Counted:
    """Return all counters from the directory of a run; raise RunError if the guest has written none."""
    try:
        text = (directory / FILE).read_text()
    except FileNotFoundError:
        raise RunError("the guest has told no counters of frames: its kernel has no /proc/net/ocs_ledger") from None
    files: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("file "):
            lines = files.setdefault(line[5:], [])
        else:
            lines.append(line)
    accounts, networks = _namespaces(files["ocs_ledger"])
    return Counted(_backlog(files["softnet_stat"], files["arp_cache"]), accounts, networks)


def _namespaces(lines: Iterable[str]) -> tuple[dict[str, dict[str, dict[str, Counts]]], list[Network]]:
    accounts: dict[str, dict[str, dict[str, Counts]]] = {}
    networks: list[Network] = []
    columns: list[str] = []
    for line in lines:
        kind, *words = line.split(" ")
        if kind == "account":
            switch, part, name, *values = words
            accounts.setdefault(switch, {}).setdefault(part, {})[name] = _account(columns, values)
        elif kind == "device":
            device: dict[str, Any] = dict(zip(_DEVICE, map(int, words[1:]), strict=True))
            networks[-1].devices[words[0]] = device
        elif kind == "counters":
            networks[-1].counters = dict(zip(words[::2], map(int, words[1::2]), strict=True))
        elif kind == "qdisc":
            device["qdisc"] = dict(zip(_QDISC, map(int, words), strict=True))
        elif kind == "card":
            device["card"] = dict(zip(_CARD, map(int, words), strict=True))
        elif kind == "network":
            networks.append(Network())
        elif kind == "columns":
            columns = words
        else:
            raise ValueError(f"{FILE}: unknown line: {line}")
    return accounts, networks


def _account(columns: list[str], values: list[str]) -> Counts:
    counts: Counts = {}
    drops: dict[str, int] = {}
    for place, value in enumerate(values):
        if value != "0":
            (drops if place >= _PLACES else counts)[columns[place]] = int(value)
    counts["drops"] = drops
    return counts


def _backlog(softnet: Iterable[str], neighbours: Iterable[str]) -> dict[str, int]:
    rows = [[int(word, 16) for word in line.split()] for line in softnet]
    names, *values = (line.split() for line in neighbours)
    place = names.index("unresolved_discards")
    return {
        "dropped": sum(row[_DROPPED] for row in rows),
        "waiting": sum(row[_WAITING] for row in rows),
        "unresolved": sum(int(row[place], 16) for row in values),
    }
