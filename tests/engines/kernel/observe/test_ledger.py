# SPDX-License-Identifier: Apache-2.0
"""Every frame is accounted for. Each place is broken on purpose; the run must say where, and how many frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rdcnlab.engines.kernel.observe import counted, ledger
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.observation.ledger import Account, faults, table
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.ledger import by_place
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

#: Bytes of 1000 datagrams of 1472 B.
SIZE = 1000 * 1472
UDP = ("Udp.InErrors",)


def pair(**changes: object) -> Scenario:
    """1000 datagrams at 1 Gb/s through a link of 1 Gb/s, and nothing else."""
    data = {
        "network": {
            "name": "pair",
            "mtu": 1500,
            "hosts": [{"name": name, "rate": "1 Gb/s", "delay": "5 us"} for name in ("a", "b")],
            "links": [{"name": "link", "rate": "1 Gb/s", "buffer": "1 MB"}],
        },
        "flows": [
            {"name": "f", "size": SIZE, "path": "link", "src": "a", "dst": "b", "protocol": "udp", "rate": "800 Mb/s"}
        ],
        "limit": "50 ms",
    }
    return Scenario.from_dict(data).with_(**changes)


def accounts(scenario: Scenario, directory: Path) -> dict[tuple[str, str], Account]:
    return {(one.place, one.part): one for one in ledger.accounts(compile_network(scenario), directory)}


def test_what_came_is_what_left_was_dropped_or_waits() -> None:
    account = Account("green", "line", entered=10, made=2, delivered=8, ended=1, waiting=1, dropped={"tail": 2})
    assert account.missing == 0
    assert faults([account]) == []


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (Account("green", "line", entered=3, delivered=2), "green (line): 1 frame came and are nowhere"),
        (Account("green", "line", entered=1, delivered=3), "green (line): 2 frames left that never came"),
        (
            Account(
                "r1", "sockets", entered=5, delivered=2, dropped={"Udp.InErrors": 3}, unexplained=("Udp.InErrors",)
            ),
            "r1 (sockets) dropped 3 frames: Udp.InErrors, which no field of the scenario explains",
        ),
    ],
)
def test_a_fault_names_place_and_count(account: Account, said: str) -> None:
    assert faults([account]) == [said]


@pytest.mark.guest
def test_what_waits_in_a_card_that_moderates_interrupts_is_there(run_guest: RunGuest) -> None:
    """The run ends while datagrams come, one in 14.72 us: at most 7 wait for an interrupt that is 100 us late."""
    scenario = pair(limit="10 ms", offload={"gro": True, "coalesce": "100 us"})
    seen = accounts(scenario, run_guest(scenario).directory)
    port, socket = seen["b@sw", "hand-over"], seen["b", "host"]
    assert 0 < port.waiting <= 7
    assert port.entered == port.delivered + port.waiting
    assert socket.entered == port.delivered


def test_the_table_has_a_row_for_each_fate_and_reason() -> None:
    account = Account("green", "line", entered=10, delivered=7, waiting=1, dropped={"tail": 2, "red": 0})
    (row,) = by_place(table([account])).to_dict(orient="records")
    assert row == {
        "place": "green", "part": "line", "entered": 10, "made": 0, "delivered": 7, "ended": 0, "dropped": 2,
        "waiting": 1, "reasons": "2 tail",
    }  # fmt: skip


def test_all_frames_of_a_run_are_delivered(run_guest: Callable) -> None:
    scenario = pair()
    seen = run_guest(scenario)
    found = accounts(scenario, seen.directory)
    assert faults(found.values()) == []
    for place in (("a@a", "queue"), ("a@a", "line"), ("link", "line"), ("b@sw", "line"), ("b", "host")):
        assert (found[place].entered, found[place].delivered) == (1000, 1000), place
    assert found["b", "sockets"].delivered == 1000


def test_a_full_buffer_is_a_rule_of_the_scenario(run_guest: Callable) -> None:
    # 800 Mb/s into 100 Mb/s: a queue of 10 packets and one under way are all that is not lost while frames come
    scenario = pair(**{"network.links.link.rate": "100 Mb/s", "network.links.link.buffer": "10 packets"})
    seen = run_guest(scenario)
    found = accounts(scenario, seen.directory)
    assert faults(found.values()) == []
    line = found["link", "line"]
    drops = seen.tables["events"].query("event == 'drop_tail'")
    assert line.dropped == {"tail": len(drops)}
    assert line.delivered == 1000 - len(drops) == seen.tables["flows"]["received_B"].iloc[0] // 1472


def test_what_is_under_way_at_the_end_waits(run_guest: Callable) -> None:
    # after 5 ms of 50 ms delay nothing has arrived
    scenario = pair(**{"network.links.link.delay": "50 ms", "limit": "5 ms"})
    found = accounts(scenario, run_guest(scenario).directory)
    assert faults(found.values()) == []
    line = found["link", "line"]
    assert line.delivered == 0
    assert line.waiting == line.entered > 100


INGRESS = "tc qdisc add dev b-eth0 clsact && tc filter add dev b-eth0 ingress"
#: Where frames are lost: commands on hosts that make it so, and what the run says.
BROKEN = {
    "a filter before IP": (
        [("b", f"{INGRESS} matchall action drop")],
        r"b \(hand-over\): 1000 frames came and are nowhere",
    ),
    "another filter, that makes the port one at which nobody listens": (
        [("b", f"{INGRESS} protocol ip matchall action pedit munge offset 22 u16 set 9")],
        r"b \(sockets\) dropped 1000 frames: Udp.NoPorts",
    ),
    "a check of IP that nobody counts": (
        [("b", "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter; ip route del 10.0.0.0/8")],
        r"b \(host\) dropped 1000 frames: TcpExt.IPReversePathFilter",
    ),
    "a neighbour who does not answer": (
        [
            ("a", "ip neigh flush all nud permanent"),
            ("b", "echo 8 > /proc/sys/net/ipv4/conf/all/arp_ignore"),
        ],
        r"frames?: neighbour unknown|1 frame came and are nowhere",
    ),
    "a neighbour with another address": (
        [("a", "ip neigh replace 10.0.0.2 lladdr 02:00:00:00:99:99 nud permanent dev a-eth0")],
        r"b \(hand-over\) dropped 1000 frames: rx_otherhost_dropped",
    ),
    "a card that is down": (
        [("b", "ip link set b-eth0 down")],
        r"sw \(switch\) dropped 1000 frames: device",
    ),
}


@pytest.mark.parametrize("place", BROKEN)
def test_frames_that_are_lost_without_a_rule_are_an_error(place: str, run_guest: Callable) -> None:
    commands, said = BROKEN[place]
    scenario = pair()
    seen = run_guest(scenario, before=commands)
    with pytest.raises(RunError, match=said):
        ledger.table(compile_network(scenario), seen.directory)


def test_the_ledger_of_any_memory_is_the_same(run_guest: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = pair(**{"network.links.link.buffer": "10 packets", "network.links.link.rate": "100 Mb/s"})
    found = []
    for memory in ("600", "1800"):
        monkeypatch.setenv("RDCNLAB_GUEST_MEMORY", memory)
        found.append((run_guest(scenario).directory / counted.FILE).read_text())
    assert found[0] == found[1]
