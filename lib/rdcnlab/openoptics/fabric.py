# SPDX-License-Identifier: Apache-2.0
"""The network of circuits and time-flow tables, as plain data of a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rdcnlab.openoptics.circuits import COLUMNS, read
from rdcnlab.openoptics.table import rows


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
    >>> four = network([(0, 0, 1), (0, 2, 3), (1, 0, 2), (1, 1, 3)], routing="earliest")
    >>> flow = {"name": "f", "src": "h1", "dst": "h4", "size": 100_000, "cc": "cubic"}
    >>> optics = Scenario.from_dict({"network": four, "flows": [flow]}).network.optics
    >>> [slot.circuits for slot in optics.slots if slot.circuits]
    [(('up1-0', 'up2-0'), ('up3-0', 'up4-0')), (('up1-0', 'up3-0'), ('up2-0', 'up4-0'))]
    """
    every = read(circuits, tuple(columns))
    frame = -(-(mtu + 38) * 8 * 10**9 // rate) + 1
    slots = []
    for number in range(every.slices):
        pairs = [[_link(*one), _link(*other)] for one, other in every.pairs(number)]
        slots.append({"duration": time_slice, "circuits": pairs})
        if night:
            slots.append({"duration": night, "circuits": []})
    table: dict[str, Any] = {}
    if entries is not None:
        chosen = [
            {"rack": f"rack{node + 1}", "slot": slot, "to": f"rack{last + 1}", "link": _link(node, port)}
            for slot, node, last, port in rows(every, entries, 2 if night else 1)
        ]
        table = {"routing": "table", "table": chosen}
    cable = {"rate": rate, "delay": delay}
    return {
        "name": "openoptics",
        "mtu": mtu,
        "switches": [
            *({"name": f"rack{node + 1}"} for node in range(every.nodes)),
            {"name": "optics", "optical": True, "late": delay, "guard": frame if night else 0},
        ],
        "hosts": [
            {"name": f"h{node * hosts + host + 1}", "at": f"rack{node + 1}", **cable}
            for node in range(every.nodes)
            for host in range(hosts)
        ],
        "links": [
            {"name": _link(node, port), "between": [f"rack{node + 1}", "optics"], **cable} for node, port in every.ends
        ],
        "optics": {"slots": slots, "queue": {"bytes": 1_000_000, "packets": None}, **table, **optics},
    }


def _link(node: int, port: int) -> str:
    return f"up{node + 1}-{port}"
