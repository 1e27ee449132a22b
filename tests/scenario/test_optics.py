# SPDX-License-Identifier: Apache-2.0
"""Circuits as data: rows, files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab import InputError, Scenario
from rdcnlab.engines.network import compile_network

FLOW = {"name": "f", "src": "h1", "dst": "h2", "size": "1 MB", "cc": "reno"}
ROWS = [[1, 1, 1, 2, 1], [1, 3, 1, 4, 1], [2, 1, 1, 3, 1], [2, 2, 1, 4, 1]]


def made(network: dict[str, Any], **flow: Any) -> Scenario:
    return Scenario.from_dict({"network": network, "flows": [{**FLOW, "size": 1_000_000, **flow}]})


def test_rows_become_slots_with_nights() -> None:
    optics = made({"fabric": "circuits", "racks": 4, "circuits": ROWS}).network.optics
    assert optics is not None
    assert [slot.duration for slot in optics.slots] == [180_000, 20_000] * 2
    assert [slot.circuits for slot in optics.slots] == [
        (("up1", "up2"), ("up3", "up4")),
        (),
        (("up1", "up3"), ("up2", "up4")),
        (),
    ]


def test_a_file_of_rows_is_the_same_scenario(tmp_path: Path) -> None:
    lines = ["slot,rack,uplink,rack,uplink", *(",".join(map(str, row)) for row in ROWS)]
    (tmp_path / "circuits.csv").write_text("\n".join(lines) + "\n")
    path = tmp_path / "own.yaml"
    path.write_text(
        "network: {fabric: circuits, racks: 4, circuits: circuits.csv}\n"
        "flows: [{name: f, src: h1, dst: h2, size: 1 MB, cc: reno}]\n"
    )
    assert Scenario.load(path).hash == made({"fabric": "circuits", "racks": 4, "circuits": ROWS}).hash


def test_a_scenario_with_circuits_is_read_back_as_it_was() -> None:
    for name in ("opera", "sirius", "shale"):
        scenario = made({"fabric": name})
        assert Scenario.from_dict(scenario.to_dict()).hash == scenario.hash


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"circuits": [[1, 1, 1, 9, 1]]}, "two different racks of 1 to 4"),
        ({"circuits": [[1, 1, 2, 2, 2]]}, "an uplink of 1 to 1"),
        ({"circuits": [[1, 1, 1, 2, 1], [1, 1, 1, 3, 1]]}, "links that are in one pair of a slot"),
        ({"circuits": "nowhere.csv"}, "there is no file '.*nowhere.csv'"),
        ({"circuits": ROWS, "night": 500}, "at least"),
        ({"circuits": ROWS, "routing": "table"}, "at least one row"),
        ({"circuits": ROWS, "routing": "shortes"}, "shortest"),
    ],
)
def test_wrong_circuits_are_refused_in_words(network: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made({"fabric": "circuits", "racks": 4, **network})


def test_circuits_that_follow_each_other_need_a_dark_slot_between() -> None:
    data = made({"fabric": "circuits", "racks": 4, "circuits": ROWS}).to_dict()
    del data["network"]["optics"]["slots"][1]
    with pytest.raises(InputError, match="dark slot between"):
        compile_network(Scenario.from_dict(data))


def test_a_path_is_refused_where_a_routing_decides() -> None:
    with pytest.raises(InputError, match=r"routing of network\.optics"):
        made({"fabric": "rotornet"}, path="up1-1")


def test_unknown_links_of_circuits_have_a_proposal() -> None:
    data = made({"fabric": "circuits", "racks": 4, "circuits": ROWS}).to_dict()
    data["network"]["optics"]["slots"][0]["circuits"][0][0] = "upp1"
    with pytest.raises(InputError, match="up1"):
        Scenario.from_dict(data)


def test_thirty_two_racks_of_eight_hosts_have_addresses_of_their_own() -> None:
    stations = compile_network(made({"fabric": "rotornet", "racks": 32, "hosts": 8})).stations
    assert len({station.ip for station in stations.values()}) == 256
    assert stations["h256"].ip == "10.31.1.0"
    with pytest.raises(InputError, match="at most 31, so that 32 switches have no more than 1000"):
        made({"fabric": "rotornet", "racks": 32, "hosts": 32})


def test_the_last_of_256_hosts_has_no_address_for_subflows() -> None:
    network = {"fabric": "rotor", "racks": 32, "hosts": 8, "packet_rate": 10**10}
    flow = {"name": "f", "src": "h1", "size": 1_000_000, "cc": "reno", "protocol": "mptcp"}
    data = {"network": network, "flows": [{**flow, "dst": "h255"}], "notify": {}}
    assert Scenario.from_dict(data).flows[0].dst == "h255"
    with pytest.raises(InputError, match="one of the first 255 hosts, with mptcp"):
        Scenario.from_dict({**data, "flows": [{**flow, "dst": "h256"}]})
