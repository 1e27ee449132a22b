# SPDX-License-Identifier: Apache-2.0
"""Networks of the size that papers have: hundreds of hosts, and more classes than 4095."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.engines.kernel.plan import memory
from rdcnlab.engines.network.compiler import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest


def made(fabric: str, racks: int, hosts: int = 6, **more: Any) -> Scenario:
    """Return a scenario with a flow of 10 segments between the first hosts of two racks."""
    flow = {"name": "f", "src": "h1", "dst": f"h{racks * hosts}", "size": 14_480, "cc": "cubic", "connect": "ahead"}
    network = {"fabric": fabric, "racks": racks, "hosts": hosts, "uplinks": 6, **more}
    return Scenario.from_dict({"network": network, "flows": [flow], "limit": 10_000_000})


@pytest.mark.slow
def test_a_rotornet_of_108_racks_has_a_class_for_each_pair_of_racks_and_direction() -> None:
    """108 x 107 pairs, each with a queue for own packets and one for those on their way."""
    network = compile_network(made("rotornet", 108))
    assert len(network.classes.schedules) == 2 * 108 * 107
    assert max(network.classes.schedules) > 4095
    memory.check(network)


def test_more_slots_than_a_guest_reads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    network = compile_network(made("rotornet", 8, uplinks=4))
    memory.check(network)
    monkeypatch.setattr(memory, "MOST_SLOTS", 100)
    with pytest.raises(InputError, match=r"slots: '\d+ slots for 8 racks'.*at most 100 .*fewer racks"):
        memory.check(network)


@pytest.mark.guest
@pytest.mark.slow
@pytest.mark.parametrize(("fabric", "racks"), [("expander", 108), ("rotornet", 64)])
def test_a_flow_crosses_hundreds_of_hosts(run_guest: RunGuest, fabric: str, racks: int) -> None:
    """648 hosts on an expander, 384 on RotorNet; ten segments need at most one turn through all circuits."""
    (row,) = run_guest(made(fabric, racks)).tables["flows"].to_dict("records")
    assert row["finished"]
    turn = {"expander": 0.1e-3, "rotornet": 11 * 200e-6}[fabric]  # 63 pairings of six uplinks are 11 days
    assert row["fct_s"] < 2 * turn
