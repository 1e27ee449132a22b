# SPDX-License-Identifier: Apache-2.0
"""Circuits and time-flow tables of OpenOptics.

OpenOptics itself is not installed: `TimeFlowEntry`, `TimeFlowHop` and `Path` are stand-ins with the attributes that its
public tutorials 2 to 4 and its help texts document. `test_openoptics_package` has the objects of the package itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from rdcnlab import InputError, Scenario
from rdcnlab.engines.network import compile_network
from rdcnlab.openoptics import COLUMNS, entries_of, network


@dataclass
class TimeFlowHop:
    """A stand-in with the documented attributes."""

    send_port: int
    send_ts: int | None = None


@dataclass
class TimeFlowEntry:
    """A stand-in with the documented attributes."""

    dst: int
    hops: TimeFlowHop | list[TimeFlowHop]
    arrival_ts: int | None = None


#: As one would write ``net.connect(time_slice=0, node1=0, node2=1)`` and so on: four nodes meet in three slices.
CIRCUITS = [(0, 0, 1), (0, 2, 3), (1, 0, 2), (1, 1, 3), (2, 0, 3), (2, 1, 2)]


def made(found: dict[str, Any], src: str = "h1", dst: str = "h2") -> Scenario:
    flow = {"name": "f", "src": src, "dst": dst, "size": 10_000, "cc": "reno"}
    return Scenario.from_dict({"network": found, "flows": [flow], "limit": 1_000_000_000})


def targets(scenario: Scenario, rack: str, last: str) -> tuple[str | None, ...]:
    queues = {(queue.rack, queue.last): queue.step.targets for queue in compile_network(scenario).waiting}
    return queues[rack, last]


def every_entry() -> dict[int, list[TimeFlowEntry]]:
    """Return entries by which packets wait for the direct circuit, for each slice in which they may arrive."""
    slice_of = {frozenset((a, b)): number for number, a, b in CIRCUITS}
    return {
        a: [TimeFlowEntry(b, TimeFlowHop(0, slice_of[frozenset((a, b))]), arrival) for b in range(4) if b != a
            for arrival in range(3)]
        for a in range(4)
    }  # fmt: skip


def test_circuits_become_slots_with_nights() -> None:
    optics = made(network(CIRCUITS)).network.optics
    assert optics is not None
    assert [slot.duration for slot in optics.slots] == [180_000, 20_000] * 3
    assert optics.slots[2].circuits == (("up1-0", "up3-0"), ("up2-0", "up4-0"))


def test_columns_may_be_in_another_order_and_have_ports() -> None:
    rows = [(0, 1, 1, 0, 0), (2, 0, 3, 1, 0)]
    optics = made(
        network(rows, columns=("node1", "port1", "node2", "port2", "time_slice"), routing="shortest"), "h1", "h2"
    )
    assert optics.network.optics is not None
    assert optics.network.optics.slots[0].circuits == (("up1-1", "up2-0"), ("up3-0", "up4-1"))


def test_entries_for_direct_circuits_are_the_routing_direct() -> None:
    by_entries, by_name = made(network(CIRCUITS, every_entry())), made(network(CIRCUITS, routing="direct"))
    for a in range(1, 5):
        for b in range(1, 5):
            if a != b:
                pair = (f"rack{a}", f"rack{b}")
                assert targets(by_entries, *pair) == targets(by_name, *pair)


def test_hops_of_an_entry_are_followed_from_node_to_node() -> None:
    """From node 0 to node 3 in slice 0 by node 1, which has its circuit to node 3 in slice 1 (source routing)."""
    entries: dict[int, list[TimeFlowEntry]] = every_entry()
    entries[0] = [entry for entry in entries[0] if entry.dst != 3]
    entries[0].append(TimeFlowEntry(3, [TimeFlowHop(0, 0), TimeFlowHop(0, 1)], arrival_ts=0))
    scenario = made(network(CIRCUITS, entries), dst="h4")
    assert targets(scenario, "rack1", "rack4")[0] == "up1-0"
    assert targets(scenario, "rack2", "rack4") == (None, "up2-0", None)


def test_an_entry_without_times_sends_whenever_there_is_a_circuit() -> None:
    entries = {node: [TimeFlowEntry(last, TimeFlowHop(0)) for last in range(4) if last != node] for node in range(4)}
    scenario = made(network(CIRCUITS, entries))
    assert targets(scenario, "rack1", "rack2") == ("up1-0", None) * 3


@pytest.mark.parametrize(
    ("circuits", "columns", "message"),
    [
        ([(0, 1)], None, r"circuits\[0\]: .*3 numbers: time_slice, node1, node2"),
        ([(0, 0, 1), (0, 0, 2)], None, "one circuit for a port in a slice"),
        ([(0, 0, 1)], ("slice", "node1", "node2"), "columns: .*time_slice, node1, node2, each once"),
    ],
)
def test_wrong_circuits_are_refused_in_words(circuits: Any, columns: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        network(circuits, **({} if columns is None else {"columns": columns}))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([TimeFlowEntry(1, TimeFlowHop(0, 7), 0)], "a slice in which this port has a circuit: 0, 1, 2"),
        ([TimeFlowEntry(1, TimeFlowHop(0, 2), 0), TimeFlowEntry(1, TimeFlowHop(0, 1), 1)], "no slice between"),
    ],
)
def test_entries_that_one_queue_cannot_follow_are_refused(entries: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        network(CIRCUITS, {0: entries})


def test_a_circuit_from_a_port_to_itself_is_left_out_and_its_slice_stays() -> None:
    rows = [(0, 0, 1, 0, 0), (1, 0, 0, 0, 0), (1, 1, 1, 0, 0)]
    optics = made(network(rows, columns=COLUMNS, routing="direct")).network.optics
    assert optics is not None
    assert [len(slot.circuits) for slot in optics.slots] == [1, 0, 0, 0]


@dataclass
class Path:
    """A stand-in with the documented attributes."""

    src: int
    arrival_ts: int
    dst: int
    steps: list[TimeFlowHop]


def test_paths_become_entries_of_their_first_steps() -> None:
    paths = [Path(node, entry.arrival_ts or 0, entry.dst, [entry.hops])  # type: ignore[list-item]
             for node, entries in every_entry().items() for entry in entries]  # fmt: skip
    by_paths, by_entries = (made(network(CIRCUITS, entries)) for entries in (entries_of(paths), every_entry()))
    assert by_paths.hash == by_entries.hash
    with pytest.raises(InputError, match=r"paths\[0\].*a first step with a port"):
        entries_of([Path(0, 0, 1, [TimeFlowHop(None)])])  # type: ignore[arg-type]
