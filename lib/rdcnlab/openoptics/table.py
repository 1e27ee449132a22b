# SPDX-License-Identifier: Apache-2.0
"""Time-flow tables of OpenOptics as rows of `Optics.table`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.openoptics.circuits import Circuits


@dataclass(frozen=True)
class Entry:
    """What `rows` reads of an entry of a time-flow table."""

    dst: int
    arrival_ts: int | None
    hops: Any


@dataclass(frozen=True)
class _Wait:
    """Packets to a node arrive at a rack in one slice and leave in another."""

    at: int
    last: int
    arrival: int
    sent: int


def entries_of(paths: Iterable[Any]) -> dict[int, list[Any]]:
    """Return the entries, by node, that paths of a routing function of OpenOptics stand for, hop by hop.

    Parameters
    ----------
    paths : iterable
        Objects with ``src``, ``arrival_ts``, ``dst`` and ``steps``. Only the first step is used, because the function
        gives a path from every node. It must have ``send_port`` and ``send_ts``.

    Raises
    ------
    InputError
        A first step has no port, as with a port that the switch draws.
    """
    entries: dict[int, list[Any]] = {}
    for place, path in enumerate(paths):
        first = path.steps[0]
        if first.send_port is None:
            raise InputError.of(f"paths[{place}]", "a step to a node", "a first step with a port")
        entries.setdefault(path.src, []).append(Entry(path.dst, path.arrival_ts, first))
    return entries


def rows(circuits: Circuits, entries: Mapping[int, Iterable[Any]], slots: int) -> Iterable[tuple[int, int, int, int]]:
    """Yield the slot, node, last node and port by which packets leave; packets wait in between.

    Parameters
    ----------
    circuits : Circuits
    entries : mapping of int to iterable
        Entries of the table of each node.
    slots : int
        Slots of a time slice.

    Raises
    ------
    InputError
        A port has no circuit when an entry sends, or entries ask for what one queue for each last rack cannot do.
    """
    chosen: dict[tuple[int, int], dict[int, int]] = {}
    waits: list[_Wait] = []
    for node, of_node in entries.items():
        for entry in of_node:
            waits += _choose(circuits, chosen, node, entry)
    for wait in waits:
        duration = (wait.sent - wait.arrival) % circuits.slices
        between = [
            number for number in chosen[wait.at, wait.last] if (number - wait.arrival) % circuits.slices < duration
        ]
        if between:
            value = (
                f"node {wait.at} to {wait.last}: packets of slice {wait.arrival} leave in slice {wait.sent}, others in "
                f"slice {between[0]}"
            )
            allowed = "no slice between: a rack has one queue for each receiver's rack, in order of arrival"
            raise InputError.of("entries", value, allowed)
    for (node, last), by_slice in sorted(chosen.items()):
        for number, port in sorted(by_slice.items()):
            yield number * slots + 1, node, last, port


def _choose(
    circuits: Circuits, chosen: dict[tuple[int, int], dict[int, int]], node: int, entry: Any
) -> Iterable[_Wait]:
    """Add the ports that an entry chooses, by node and last node, then by slice; yield what waits for them."""
    at, arrival = node, entry.arrival_ts
    for hop in entry.hops if isinstance(entry.hops, Iterable) else [entry.hops]:
        lit, sent = circuits.lit(at, hop.send_port), getattr(hop, "send_ts", None)
        if sent is not None and sent not in lit:
            value = f"node {at}, port {hop.send_port}, send_ts {sent}"
            allowed = f"a slice in which this port has a circuit: {', '.join(map(str, lit)) or 'there is none'}"
            raise InputError.of("entries", value, allowed)
        for number in lit if sent is None else [int(sent)]:
            before = chosen.setdefault((at, entry.dst), {}).setdefault(number, hop.send_port)
            if before != hop.send_port:
                value = f"node {at} to {entry.dst} in slice {number} by ports {before} and {hop.send_port}"
                raise InputError.of("entries", value, "one port: a rack has one queue for each receiver's rack")
        if sent is None or arrival is None:
            return
        yield _Wait(at, entry.dst, int(arrival), int(sent))
        at, arrival = circuits.far[sent, at, hop.send_port][0], sent
