# SPDX-License-Identifier: Apache-2.0
"""Networks from circuits and time-flow tables that a user computed with OpenOptics (NSDI 2026) in an own environment.

Nothing of OpenOptics is needed or contained here. Its objects are read by the attributes that its tutorials and help
texts document: ``connect(time_slice, node1, node2)``, ``TimeFlowEntry(dst, arrival_ts, hops)``,
``TimeFlowHop(send_port, send_ts)``, ``Path(src, arrival_ts, dst, steps)``. A test compares with the package where it is
installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rdcnlab.fields.errors import InputError

#: Names of the columns of circuits.
COLUMNS = ("time_slice", "node1", "node2", "port1", "port2")
_Ends = dict[tuple[int, int, int], tuple[int, int]]


def network(
    circuits: Iterable[Sequence[int]],
    entries: Mapping[int, Iterable[Any]] | None = None,
    *,
    columns: Sequence[str] = COLUMNS[:3],
    time_slice: int = 180_000,
    night: int = 20_000,
    hosts: int = 1,
    rate: int = 10_000_000_000,
    delay: int = 1_000,
    mtu: int = 1500,
    **optics: Any,
) -> dict[str, Any]:
    """Return a network with these circuits, as plain data for `Scenario.from_dict`.

    Parameters
    ----------
    circuits : iterable of sequence of int
        Circuits, counted from 0 as in OpenOptics; each passes both directions.
    entries : mapping of int to iterable, optional
        Entries of the time-flow table of each node, objects with ``dst``, ``arrival_ts`` and ``hops``; ``hops`` is an
        object with ``send_port`` and ``send_ts``, or a sequence of them for the node and those after it. Without
        ``arrival_ts`` (None) packets leave whenever the port has a circuit. Default: a routing of rdcnlab.
    columns : sequence of str
        What the numbers of a circuit are: ``time_slice``, ``node1``, ``node2``, and ``port1`` and ``port2`` if nodes
        have several ports.
    time_slice, night : int
        ns of a slice with circuits, and of the dark time after it.
    hosts : int
        Hosts at each node; ``h1`` is the first of node 0, which is ``rack1``.
    rate, delay, mtu : int
        bit/s and ns of all lines, and bytes of the largest packet.
    **optics
        Further fields of `Optics`, such as ``routing="earliest"``, if there are no entries, or ``ecn_threshold``.

    Raises
    ------
    InputError
        A circuit has other columns, or entries ask for what one queue for each receiver's rack cannot do.

    Examples
    --------
    >>> from rdcnlab import Scenario
    >>> found = network([(0, 0, 1), (0, 2, 3), (1, 0, 2), (1, 1, 3)], routing="earliest")
    >>> flow = {"name": "f", "src": "h1", "dst": "h4", "size": 100_000, "cc": "cubic"}
    >>> optics = Scenario.from_dict({"network": found, "flows": [flow]}).network.optics
    >>> [slot.circuits for slot in optics.slots if slot.circuits]
    [(('up1-0', 'up2-0'), ('up3-0', 'up4-0')), (('up1-0', 'up3-0'), ('up2-0', 'up4-0'))]
    """
    ends, slices = _ends(circuits, tuple(columns))
    nodes = 1 + max((node for _, node, _ in ends), default=1)
    ports = sorted({(node, port) for _, node, port in ends})
    frame = -(-(mtu + 38) * 8 * 10**9 // rate) + 1
    slots = []
    for number in range(slices):
        pairs = sorted({tuple(sorted(((node, port), ends[number, node, port])))
                        for which, node, port in ends if which == number})  # fmt: skip
        slots.append({"duration": time_slice, "circuits": [[_link(*one), _link(*other)] for one, other in pairs]})
        if night:
            slots.append({"duration": night, "circuits": []})
    table = {} if entries is None else {"routing": "table", "table": _table(ends, slices, entries, 2 if night else 1)}
    cable = {"rate": rate, "delay": delay}
    return {
        "name": "openoptics",
        "mtu": mtu,
        "switches": [
            *({"name": f"rack{node + 1}"} for node in range(nodes)),
            {"name": "optics", "optical": True, "late": delay, "guard": frame if night else 0},
        ],
        "hosts": [
            {"name": f"h{node * hosts + host + 1}", "at": f"rack{node + 1}", **cable}
            for node in range(nodes)
            for host in range(hosts)
        ],
        "links": [
            {"name": _link(node, port), "between": [f"rack{node + 1}", "optics"], **cable} for node, port in ports
        ],
        "optics": {"slots": slots, "queue": {"bytes": 1_000_000, "packets": None}, **table, **optics},
    }


@dataclass(frozen=True)
class _Entry:
    """What `network` reads of an entry of a time-flow table."""

    dst: int
    arrival_ts: int | None
    hops: Any


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
    found: dict[int, list[Any]] = {}
    for place, path in enumerate(paths):
        first = path.steps[0]
        if first.send_port is None:
            raise InputError.of(f"paths[{place}]", "a step to a node", "a first step with a port")
        found.setdefault(path.src, []).append(_Entry(path.dst, path.arrival_ts, first))
    return found


def _link(node: int, port: int) -> str:
    return f"up{node + 1}-{port}"


def _ends(circuits: Iterable[Sequence[int]], columns: tuple[str, ...]) -> tuple[_Ends, int]:
    """Return the end that each (slice, node, port) leads to, and the number of slices.

    Circuits from a port to itself carry nothing and are left out; OpenOptics' topologies have them where a port idles.
    """
    if set(columns) not in ({*COLUMNS[:3]}, {*COLUMNS}) or len(columns) != len(set(columns)):
        allowed = f"{', '.join(COLUMNS[:3])}, each once, and with several ports {COLUMNS[3]}, {COLUMNS[4]}"
        raise InputError.of("columns", ", ".join(columns), allowed)
    found: _Ends = {}
    slices = 1
    for place, circuit in enumerate(circuits):
        if len(circuit) != len(columns):
            allowed = f"{len(columns)} numbers: {', '.join(columns)}"
            raise InputError.of(f"circuits[{place}]", ", ".join(map(str, circuit)), allowed)
        row = {"port1": 0, "port2": 0, **{name: int(value) for name, value in zip(columns, circuit, strict=True)}}
        one, other = (row["node1"], row["port1"]), (row["node2"], row["port2"])
        slices = max(slices, row["time_slice"] + 1)
        if one == other:
            continue
        for near, far in ((one, other), (other, one)):
            before = found.setdefault((row["time_slice"], *near), far)
            if before != far:
                value = f"node {near[0]}, port {near[1]} in slice {row['time_slice']}, twice"
                raise InputError.of(f"circuits[{place}]", value, "one circuit for a port in a slice")
    return found, slices


def _table(ends: _Ends, slices: int, entries: Mapping[int, Iterable[Any]], step: int) -> list[dict[str, str | int]]:
    """Return rows of `Optics.table`: entries with the slice in which packets leave; packets wait in between."""
    chosen: dict[tuple[int, int], dict[int, int]] = {}
    waits: list[tuple[int, int, int, int]] = []
    for node, of_node in entries.items():
        for entry in of_node:
            at, arrival = node, entry.arrival_ts
            for hop in entry.hops if isinstance(entry.hops, Iterable) else [entry.hops]:
                lit = [number for number in range(slices) if (number, at, hop.send_port) in ends]
                sent = getattr(hop, "send_ts", None)
                times = lit if sent is None else [int(sent)]
                if sent is not None and sent not in lit:
                    value = f"node {at}, port {hop.send_port}, send_ts {sent}"
                    allowed = f"a slice in which this port has a circuit: {', '.join(map(str, lit)) or 'there is none'}"
                    raise InputError.of("entries", value, allowed)
                for number in times:
                    before = chosen.setdefault((at, entry.dst), {}).setdefault(number, hop.send_port)
                    if before != hop.send_port:
                        value = f"node {at} to {entry.dst} in slice {number} by ports {before} and {hop.send_port}"
                        raise InputError.of("entries", value, "one port: a rack has one queue for each receiver's rack")
                if sent is None or arrival is None:
                    break
                waits.append((at, entry.dst, int(arrival), int(sent)))
                at, arrival = ends[sent, at, hop.send_port][0], sent
    for at, last, arrival, sent in waits:
        between = [number for number in chosen[at, last] if (number - arrival) % slices < (sent - arrival) % slices]
        if between:
            value = (
                f"node {at} to {last}: packets of slice {arrival} leave in slice {sent}, others in slice {between[0]}"
            )
            allowed = "no slice between: a rack has one queue for each receiver's rack, in order of arrival"
            raise InputError.of("entries", value, allowed)
    return [
        {"rack": f"rack{node + 1}", "slot": number * step + 1, "to": f"rack{last + 1}", "link": _link(node, port)}
        for (node, last), by_slice in sorted(chosen.items())
        for number, port in sorted(by_slice.items())
    ]
