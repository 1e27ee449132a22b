# SPDX-License-Identifier: Apache-2.0
"""The queues behind the ports of a P4 switch, for a program that reads how many packets wait there.

Lines and their queues are the kernel's, so BMv2's own queues are always empty. The guest adds to such a program the
computation of the depth (``inside/bmv2_depths.py``). It needs a constant rate, and a limit of the queue's own.
"""

from __future__ import annotations

import json
from typing import Any

from rdcnlab.engines.kernel.switches.bmv2.entries import FIRST_LINK
from rdcnlab.engines.network import Network, lines
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Host, Link
from rdcnlab.scenario.queue import Queue

#: Fields of v1model that depend on the depth of a queue, as BMv2 calls them.
FIELDS = ("enq_qdepth", "deq_qdepth", "deq_timedelta")
#: Most packets of a queue that are counted. A frame has at least 60 bytes, which bounds a limit in bytes.
MOST, SMALLEST = 2**17, 60
#: Fields of a queue that decide about packets in a way that the computation does not know.
_UNKNOWN = ("pool", "red", "aqm")


def reads_depth(program: bytes) -> bool:
    """Return whether a compiled program uses a field that depends on the depth of a queue."""
    content = json.loads(program)
    aliases = dict(content.pop("field_aliases", []))
    fields = [aliases.get(f"queueing_metadata.{name}", ["standard_metadata", name]) for name in FIELDS]
    return any(_uses(content, field) for field in fields)


def _uses(data: Any, field: list[str]) -> bool:
    if isinstance(data, dict):
        return any(_uses(value, field) for value in data.values())
    return isinstance(data, list) and (data == field or any(_uses(value, field) for value in data))


def queues(network: Network, number: int, program: str) -> list[dict[str, int]]:
    """Return the queue behind each port of a switch whose program reads depths.

    Parameters
    ----------
    network : Network
        The network.
    number : int
        Number of the switch.
    program : str
        Name of the program, for messages.

    Returns
    -------
    list of dict
        ``port``; ``rate`` in bit/s; ``overhead``, the bytes on the wire beyond what BMv2 counts; the limits ``packets``
        and ``bytes`` of the queue, of which one is 0; ``room``, the most packets that can wait.

    Raises
    ------
    InputError
        The depth of a queue cannot be computed.
    """
    queues = [
        _queue(station.host, index, program, network) for index, station in enumerate(network.stations_at(number), 1)
    ]
    ports = 1 if network.is_named else 2  # an only switch sees both ends of a link
    queues += [
        _queue(line.link, FIRST_LINK + ports * index, program, network)
        for index, line in enumerate(network.lines_at(number))
    ]
    return queues


def _queue(end: Host | Link, port: int, program: str, network: Network) -> dict[str, int]:
    queue = end if isinstance(end, Link) else end.port
    field = f"network.links.{end.name}" if isinstance(end, Link) else f"network.hosts.{end.name}.port"
    because = f"because {program} reads the depth of this queue, which is computed from"
    if isinstance(end, Link) and end.changes:
        raise InputError.of(f"{field}.rate", "a rate that changes", f"one rate, {because} a constant rate")
    for name in _UNKNOWN:
        if getattr(queue, name) is not None:
            raise InputError.left_out(f"{field}.{name}", "given", f"{because} the limit buffer alone")
    limit: Queue | None = queue.buffer
    packets, size = (limit.packets or 0, limit.bytes or 0) if limit is not None else (0, 0)
    if not (packets or size) or packets > MOST:
        value = "unlimited" if limit is None else f"{packets} packets"
        raise InputError.of(f"{field}.buffer", value, f"at most {MOST} packets, {because} a limit")
    return {
        "port": port,
        "rate": end.rate,
        "overhead": lines.overhead(network),
        "packets": packets,
        "bytes": size,
        "room": packets or min(MOST, size // SMALLEST + 1),
    }
