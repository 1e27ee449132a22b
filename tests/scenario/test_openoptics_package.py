# SPDX-License-Identifier: Apache-2.0
"""Circuits and paths of OpenOptics itself, beside ours. Skipped without the package, which rdcnlab does not install.

To run them: ``pip install 'openoptics-dcn[mininet]'`` into an environment of your own, and add its ``site-packages`` to
the end of Python's path. Only functions with a public help text are used, and no network is started.
"""

from __future__ import annotations

import contextlib
import io
from collections import defaultdict
from typing import Any

import pytest

from rdcnlab import Scenario
from rdcnlab.engines.network import compile_network, routing
from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.openoptics import COLUMNS, entries_of, network
from rdcnlab.scenario.fabrics.architectures import Shale
from rdcnlab.scenario.fabrics.rotor import matchings

pytest.importorskip("openoptics", reason="OpenOptics is not installed: its licence does not allow us to require it")

Rows = list[list[int]]


def topologies() -> dict[str, tuple[Rows, int, int]]:
    """Return circuits of OpenOptics with the numbers of nodes and ports."""
    from openoptics import OpticalTopo

    return {
        **{f"round_robin {n}": (OpticalTopo.round_robin(nb_node=n), n, 1) for n in (4, 8, 16)},
        **{f"opera {n}, {k}": (OpticalTopo.opera(n, k), n, k) for n, k in ((4, 2), (8, 4), (16, 4))},
        **{f"shale {n}": (OpticalTopo.shale(n, 2), n, 2) for n in (4, 9, 16)},
    }


NAMES = [*(f"round_robin {n}" for n in (4, 8, 16)), "opera 4, 2", "opera 8, 4", "opera 16, 4",
         *(f"shale {n}" for n in (4, 9, 16))]  # fmt: skip


def graphs(rows: Rows, nodes: int, ports: int) -> tuple[Any, Any]:
    """Return the topology of each slice as OpenOptics' routing functions take it, and the ports of a node."""
    from openoptics import Toolbox

    with contextlib.redirect_stdout(io.StringIO()):
        net = Toolbox.BaseNetwork(
            name="compared", nb_node=nodes, nb_link=ports, backend="Mininet", time_slice_duration_ms=64,
            use_webserver=False,
        )  # fmt: skip
        assert all(net.connect(*row) for row in rows)
    return net.get_topo(), net.tor_ocs_ports


def scenario(rows: Rows, **more: Any) -> Scenario:
    flow = {"name": "f", "src": "h1", "dst": "h2", "size": 1000, "cc": "reno"}
    made = network(rows, columns=COLUMNS, **{"night": 0, **more})
    return Scenario.from_dict({"network": made, "flows": [flow], "limit": 1_000_000_000})


def pairs_by_slice(rows: Rows) -> dict[int, set[frozenset[int]]]:
    found: dict[int, set[frozenset[int]]] = defaultdict(set)
    for number, one, other, *_ in rows:
        if one != other:
            found[number].add(frozenset((one, other)))
    return found


def way(circuits: Circuits, table: Any, src: int, slot: int, dst: int) -> tuple[int, int]:
    """Return the slots until the arrival, and the circuits, of a packet that follows our table."""
    rack, last = f"rack{src + 1}", f"rack{dst + 1}"
    count, waited, passed = len(circuits.durations), 0, 0
    while rack != last:
        link = table[rack, last][(slot + waited) % count]
        if link is None:
            waited += 1
        else:
            rack, passed = circuits.neighbours[(slot + waited) % count][rack][link], passed + 1
        assert waited <= 10 * count
    return waited, passed


def slots_of(path: Any, count: int) -> int:
    """Return the slots until the arrival on a path of OpenOptics."""
    total, slot = 0, path.arrival_ts
    for step in path.steps:
        total, slot = total + (step.send_ts - slot) % count, step.send_ts
    return total


@pytest.mark.parametrize("nodes", [4, 8, 16])
def test_a_round_robin_has_our_pairings_in_our_order(nodes: int) -> None:
    rows, _, _ = topologies()[f"round_robin {nodes}"]
    by_slice = pairs_by_slice(rows)
    assert [by_slice[number] for number in sorted(by_slice)] == [set(map(frozenset, turn)) for turn in matchings(nodes)]


@pytest.mark.parametrize("nodes", [4, 9, 16])
def test_shale_joins_the_pairs_that_ours_joins(nodes: int) -> None:
    rows, _, _ = topologies()[f"shale {nodes}"]
    ours = {frozenset((one[0], other[0])) for slot in Shale(racks=nodes).slots() for one, other in slot.circuits}
    assert set().union(*pairs_by_slice(rows).values()) == ours


@pytest.mark.parametrize("nodes", [4, 8, 16])
def test_direct_paths_are_our_table(nodes: int) -> None:
    from openoptics import OpticalRouting

    rows, _, ports = topologies()[f"round_robin {nodes}"]
    paths = OpticalRouting.routing_direct(graphs(rows, nodes, ports)[0])
    assert len(paths) == nodes * (nodes - 1) * (nodes - 1)
    by_paths, by_name = (
        {(queue.rack, queue.last): queue.step.targets for queue in compile_network(made).waiting}
        for made in (
            scenario(rows, entries=entries_of(paths), night=20_000),
            scenario(rows, routing="direct", night=20_000),
        )
    )
    assert by_paths == by_name


@pytest.mark.parametrize("name", NAMES)
def test_hoho_arrives_in_the_slice_of_our_earliest_with_no_fewer_circuits(name: str) -> None:
    from openoptics import OpticalRouting

    rows, nodes, ports = topologies()[name]
    circuits = Circuits.of(scenario(rows).network)
    table, count = routing.earliest(circuits).every, len(circuits.durations)
    paths = OpticalRouting.routing_hoho(graphs(rows, nodes, ports)[0])
    assert len(paths) == nodes * (nodes - 1) * count
    for path in paths:
        waited, passed = way(circuits, table, path.src, path.arrival_ts, path.dst)
        assert slots_of(path, count) == waited, path
        assert len(path.steps) >= passed, path


@pytest.mark.parametrize("name", NAMES)
def test_the_shortest_paths_of_a_slice_are_as_long_as_ours_and_exist_where_ours_do(name: str) -> None:
    from openoptics import OpticalRouting

    rows, nodes, ports = topologies()[name]
    circuits = Circuits.of(scenario(rows).network)
    table, count = routing.shortest(circuits).every, len(circuits.durations)
    topology, _ = graphs(rows, nodes, ports)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints each pair without a way
        paths = OpticalRouting.routing_ksp(topology)
    for path in paths:
        assert way(circuits, table, path.src, path.arrival_ts, path.dst) == (0, len(path.steps)), path
    reached = {(f"rack{path.src + 1}", f"rack{path.dst + 1}", path.arrival_ts) for path in paths}
    ours = {(*pair, slot) for pair, links in table.items() for slot, link in enumerate(links) if link is not None}
    assert reached == {one for one in ours if one[0] != one[1]}
    assert all(slot < count for _, _, slot in reached)


@pytest.mark.parametrize("nodes", [4, 8, 16])
def test_vlb_takes_the_circuit_of_the_slice_first_as_ours(nodes: int) -> None:
    from openoptics import OpticalRouting

    rows, _, links = topologies()[f"round_robin {nodes}"]
    topology, ports = graphs(rows, nodes, links)
    circuits = Circuits.of(scenario(rows).network)
    first = routing.valiant(circuits).own
    assert first is not None
    paths = OpticalRouting.routing_vlb(topology, ports)
    assert len(paths) == nodes * (nodes - 1) * (nodes - 1)
    for path in paths:
        rack, last = f"rack{path.src + 1}", f"rack{path.dst + 1}"
        step = path.steps[0]
        assert first[rack, last][path.arrival_ts] == f"up{path.src + 1}-{step.send_port}"
        assert step.send_ts == path.arrival_ts
        meets = circuits.neighbours[path.arrival_ts][rack][f"up{path.src + 1}-{step.send_port}"] == last
        assert len(path.steps) == (1 if meets else 2)
