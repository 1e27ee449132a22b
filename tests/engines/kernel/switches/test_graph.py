# SPDX-License-Identifier: Apache-2.0
"""Networks of several switches in a guest: equal bytes if only names change, instants, and the count of packets."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

MS = 1_000_000


def flow(name: str, src: str, dst: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "src": src, "dst": dst, "size": "1 MB", **more}


def joined(delay: str = "0 ns", *, several: bool) -> Scenario:
    """Return two hosts of 10 Gb/s with a link of 1 Gb/s between them: inside one switch, or between two switches."""
    link = {"name": "l", "rate": "1 Gb/s", "delay": delay, "buffer": "1 MB"}
    hosts = [{"name": name, "rate": "10 Gb/s", "delay": "1 us"} for name in ("h1", "h2")]
    network: dict[str, Any] = {"name": "n", "hosts": hosts, "links": [link]}
    if several:
        hosts[0]["at"], hosts[1]["at"] = "left", "right"
        link["between"] = ["left", "right"]
        network["switches"] = [{"name": "left"}, {"name": "right"}]
    return Scenario.from_dict({"network": network, "flows": [flow("f", "h1", "h2", size="1 kB", path="l")]})


def test_a_graph_that_only_renames_gives_the_same_bytes(run_guest: RunGuest, two_flows: Scenario) -> None:
    data = two_flows.with_(period="5 ms", size="8 MiB").to_dict()
    network = data["network"]
    network["switches"] = [{"name": "only"}]
    for host in network["hosts"]:
        host["at"] = "only"
    for link in network["links"]:
        link["at"] = "only"
    one, other = run_guest(two_flows.with_(period="5 ms", size="8 MiB")), run_guest(Scenario.from_dict(data))
    assert one.digest == other.digest


@pytest.mark.parametrize("delay_ns", [0, 70_000])
def test_between_two_switches_answers_take_the_line_too(run_guest: RunGuest, delay_ns: int) -> None:
    """Only data take a loop. The answer to a SYN takes a duplex link, too, and this is the only difference."""
    seen = [run_guest(joined(f"{delay_ns} ns", several=several)).tables for several in (False, True)]
    loop, pair = (tables["flows"]["fct_s"].iloc[0] for tables in seen)
    # a SYN-ACK with MSS, SACK, time stamps and window scale has 20 B of IP, 40 of TCP and 38 of Ethernet
    answer_ns = (20 + 40 + 38) * 8
    assert round((pair - loop) * 1e9) == answer_ns + delay_ns


def test_every_switch_applies_its_own_part_and_its_own_lateness(run_guest: RunGuest) -> None:
    scenario = Scenario.from_dict(
        {
            "network": "two-switches",
            "flows": [
                {"name": "fn", "size": "32 MB", "path": [["10 ms", "l_n"], ["10 ms", "l_m"]]},
                {"name": "fm", "size": "32 MB", "path": [["10 ms", "l_m"], ["10 ms", "l_n"]]},
            ],
        }
    ).with_(**{"network.switches.right.late": "3 ms"})
    tables = run_guest(scenario).tables
    slots = tables["events"].query("event == 'slot'")
    assert set(slots["link"]) == {"l_n@left", "l_m@left", "l_n@right", "l_m@right"}
    for place, late in (("left", 0), ("right", 3 * MS)):
        here = slots[slots["link"].str.endswith(f"@{place}")]
        assert set(here["t_ns"] % (10 * MS)) == {late}
    carried = tables["throughput"].groupby(["where", "flow"], observed=True)["packets"].sum()
    for name in ("fn", "fm"):
        lines = [carried["l_n@left", name], carried["l_m@left", name]]
        assert min(lines) > 0
        assert sum(lines) == carried["receiver", name]


def test_equal_ways_share_the_load_and_named_ones_are_taken(run_guest: RunGuest) -> None:
    network = {"fabric": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 4}
    flows = [flow(f"f{n}", f"h{n}", f"h{n + 4}") for n in (1, 2, 3)] + [flow("f4", "h4", "h8", path="spine2")]
    flows.append(flow("local", "h1", "h2", start="5 ms"))
    tables = run_guest(Scenario.from_dict({"network": network, "flows": flows})).tables
    assert tables["flows"]["finished"].all()
    where = tables["throughput"].groupby("flow", observed=True)["where"].unique().map(set)
    assert where["f4"] == {"leaf1-spine2@leaf1", "leaf2-spine2@spine2", "receiver"}
    assert where["local"] == {"receiver"}
    for name in ("f1", "f2", "f3"):
        spine = next(place for place in where[name] if place.endswith("@leaf1")).split("@")[0].removeprefix("leaf1-")
        assert where[name] == {f"leaf1-{spine}@leaf1", f"leaf2-{spine}@{spine}", "receiver"}


def test_an_unknown_way_is_the_shortest(run_guest: RunGuest) -> None:
    """Packets that belong to no flow arrive, too. They also take the lines."""
    scenario = joined("50 us", several=True)
    seen = run_guest(scenario, commands=[("h1", "ping -c 1 -W 1 10.1.0.2 || true")])
    assert "1 received" in seen.answers[0]
    # a frame of 98 B has 24 B more on the wire; it crosses lines of 10 and 1 Gb/s, plus propagation, in both directions
    frame = (98 + 24) * 8
    expected_us = 2 * (1 + 50 + 1 + (2 * frame / 10 + frame) / 1000)
    assert float(seen.answers[0].split("time=")[1].split()[0]) * 1000 == pytest.approx(expected_us, abs=3)


def test_in_a_rotor_fabric_nothing_is_lost_uncounted(run_guest: RunGuest) -> None:
    network = {"fabric": "rotor", "racks": 4, "hosts": 2, "queue": "20 packets"}
    flows = [flow(f"f{n}", f"h{n}", f"h{9 - n}", cc="dctcp", size="2 MB") for n in range(1, 9)]
    # starts long after the others, when there is no other traffic; connections close when the run ends
    flows.append(flow("last", "h1", "h2", size="1 kB", start="100 ms"))
    seen = run_guest(Scenario.from_dict({"network": network, "flows": flows, "limit": "2 s"}))
    assert seen.tables["flows"]["finished"].all()
    switches = json.loads((seen.directory / "switch.json").read_text())
    assert set(switches) == {"rack1", "rack2", "rack3", "rack4", "rotor"}
    for name, switch in switches.items():
        ports = switch["ports"].values()
        arrivals, departures = (
            sum(port["rx_packets"] for port in ports),
            sum(port["link"]["tx_packets"] for port in ports),
        )
        queues = [each["queue"] for each in switch["links"].values()]
        queues += [each["voq"] for each in switch["classes"].values() if "voq" in each]
        lost = sum(queue[kind] for queue in queues for kind in ("drops_tail", "drops_pool", "drops_red"))
        lost += sum(each["drops_dark"] for each in switch["classes"].values())
        lost += sum(port["drops"] + port["tx_drops"] for port in ports)
        assert not any(queue["packets"] for queue in queues)
        assert arrivals > 500
        # two hosts each send and receive, so the last frames of four ends of connections may be on their way
        assert 0 <= arrivals - departures - lost <= (0 if name == "rotor" else 4), name
    # no light is lost if it arrives at an allowed time, because the guard is long enough
    assert not any(each["drops_dark"] for each in switches["rotor"]["classes"].values())
    # each pair has one circuit per week, and no other slots
    slots = seen.tables["events"].query("event == 'slot' and flow == 'r1-r4' and link.str.startswith('up1@')")
    assert set(slots["t_ns"].diff().dropna()) == {3 * 200_000}


def test_a_detour_may_lead_away_from_the_receiver(run_guest: RunGuest) -> None:
    """On a ring of four switches, the longer way passes switches from which the shortest way leads back."""
    switches = ["a", "b", "c", "d"]
    ring = [*pairwise(switches), ("d", "a")]
    links = [{"name": one + other, "between": [one, other], "rate": "1 Gb/s", "buffer": "1 MB"} for one, other in ring]
    hosts = [{"name": f"h{name}", "at": name, "rate": "1 Gb/s"} for name in switches]
    network = {"name": "ring", "switches": [{"name": name} for name in switches], "hosts": hosts, "links": links}
    flows = [flow("f", "ha", "hb", path="d+c", back="same")]
    tables = run_guest(Scenario.from_dict({"network": network, "flows": flows})).tables
    assert tables["flows"]["finished"].all()
    assert set(tables["throughput"]["where"]) == {"da@a", "cd@d", "bc@c", "receiver"}


@pytest.mark.parametrize("farther", ["a", "b"])
def test_of_two_packets_that_arrive_at_one_instant_the_one_that_was_sent_first_goes_first(
    run_guest: RunGuest, farther: str
) -> None:
    """The order of the switches in the network does not matter: timers of one instant fire in the order of setting."""
    delays = {name: 20_000 if name == farther else 10_000 for name in "ab"}
    link = {"rate": "1 Gb/s", "buffer": "1 MB"}
    network = {
        "name": "star",
        "switches": [{"name": name} for name in ("a", "b", "middle")],
        "hosts": [
            {"name": f"h{name}", "at": at, "rate": "1 Gb/s"}
            for name, at in zip("abc", ("a", "b", "middle"), strict=True)
        ],
        "links": [{**link, "name": f"l{name}", "between": [name, "middle"], "delay": delays[name]} for name in "ab"],
    }
    flows = [flow(f"f{name}", f"h{name}", "hc", size="1 kB", start=30_000 - delays[name]) for name in "ab"]
    events = run_guest(Scenario.from_dict({"network": network, "flows": flows, "probes": {"packets": True}})).tables[
        "events"
    ]
    sent = events[events["event"] == "dequeue"].groupby(["flow", "link"], observed=True)["t_ns"].min()
    # a SYN has 98 B on the wire
    arrived = {name: sent[f"f{name}", f"l{name}@{name}"] + 98 * 8 + delays[name] for name in "ab"}
    assert arrived["a"] == arrived["b"]
    nearer = "b" if farther == "a" else "a"
    assert sent[f"f{farther}", "receiver"] == arrived[farther]
    assert sent[f"f{nearer}", "receiver"] == arrived[nearer] + 98 * 8
