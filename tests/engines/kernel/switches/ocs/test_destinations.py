# SPDX-License-Identifier: Apache-2.0
"""Eight racks behind a rotor: a host has another active network towards each rack, and TDTCP follows all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.fabrics.rotor import matchings
from tests.engines.conftest import RunGuest, Seen

pytestmark = pytest.mark.guest

RACKS, DAY, NIGHT = 8, 2_000_000, 20_000
WEEK = (RACKS - 1) * (DAY + NIGHT)
#: Racks that h1, in rack 0, sends to, and the day of the week on which each has its circuit.
PEERS = (1, 4)
DAYS = {pair: day for day, pairs in enumerate(matchings(RACKS)) for pair in pairs}
SEEN = Path(__file__).parent / "networks_seen.py"


def scenario(**more: Any) -> Scenario:
    network = {
        "fabric": "rotor",
        "racks": RACKS,
        "hosts": 1,
        "day": DAY,
        "night": NIGHT,
        "rate": "40 Gb/s",
        "host_rate": "40 Gb/s",
        "packet_rate": "10 Gb/s",
    }
    flows = [
        {"name": f"to{rack + 1}", "src": "h1", "dst": f"h{rack + 1}", "size": "10 GB", "cc": "cubic"} for rack in PEERS
    ]
    data = {"network": network, "flows": flows, "limit": 4 * WEEK, "probes": {"bin": DAY + NIGHT}, **more}
    return Scenario.from_dict(data)


def run(run_guest: RunGuest, asked: Scenario, instants: list[int]) -> Seen:
    words = " ".join(str(START_NS + instant) for instant in instants)
    begin = f"python3 -s /run/rdcnlab/{SEEN.name} {words} > /run/rdcnlab/seen 2>&1 &"
    return run_guest(asked, before=[("h1", begin)], commands=[("h1", "cat /run/rdcnlab/seen")], files=[SEEN])


@pytest.mark.parametrize("model", ["pull", "push"])
def test_two_active_networks_at_one_host(run_guest: RunGuest, model: str) -> None:
    """In the middle of each day, host and connections see the circuit towards one rack at most."""
    days = list(range(RACKS - 1, 4 * (RACKS - 1) - 1))
    middles = [day * (DAY + NIGHT) + DAY // 2 for day in days]
    asked = scenario(notify={"model": model}, transport={"tdtcp": True})
    seen = run(run_guest, asked, middles)
    found = [json.loads(line) for line in seen.answers[0].splitlines()]
    circuit = [{rack: int(day % (RACKS - 1) == DAYS[0, rack]) for rack in PEERS} for day in days]
    # otherwise the two would always see the same network
    assert len({tuple(each.values()) for each in circuit}) == 3
    assert [each["table"] for each in found] == [
        {**{f"10.{rack}.0.0/16": tdn for rack, tdn in each.items()}, "0.0.0.0/0": 0} for each in circuit
    ]
    assert [each["sockets"] for each in found] == [
        {f"10.{rack}.0.{rack + 1}": tdn for rack, tdn in each.items()} for each in circuit
    ]
    _check_lines(seen)


def _check_lines(seen: Seen) -> None:
    """Each flow uses the circuit on its day only, and the packet network on all other days."""
    carried = seen.tables["throughput"].groupby(["where", "flow", "bin"], observed=True)["bytes"].sum()
    for rack in PEERS:
        # what a day's last frames take on the line is counted when they have passed it
        days = {day % (RACKS - 1) for day, count in carried["up1@rack1", f"to{rack + 1}"].items() if count}
        assert DAYS[0, rack] in days
        assert days <= {DAYS[0, rack], (DAYS[0, rack] + 1) % (RACKS - 1)}
        packet = carried["packet1@rack1", f"to{rack + 1}"]
        assert (packet > 0).sum() >= 3 * (RACKS - 2)
