# SPDX-License-Identifier: Apache-2.0
"""Networks of several switches: ways, the timetable of each switch, fabrics, and refused input."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines import get_engine
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Queue, Scenario
from rdcnlab.scenario.fabrics.rotor import matchings
from rdcnlab.scenario.forwarding import depend_on_seed, route_of, timetable
from rdcnlab.scenario.routes import Hop

SWAPPED = {
    "network": "two-switches",
    "flows": [
        {"name": "fn", "size": "1 GiB", "path": [["1 s", "l_n"], ["1 s", "l_m"]]},
        {"name": "fm", "size": "1 GiB", "path": [["1 s", "l_m"], ["1 s", "l_n"]]},
    ],
}


def flow(name: str, src: str, dst: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "src": src, "dst": dst, "size": "1 MB", **more}


def leaf_spine(*flows: dict[str, Any], seed: int = 0, **more: Any) -> Scenario:
    fabric = {"fabric": "leaf-spine", "leaves": 4, "spines": 3, "hosts": 2, **more}
    return Scenario.from_dict({"network": fabric, "flows": list(flows), "seed": seed})


def test_both_switches_follow_one_timetable() -> None:
    scenario = Scenario.from_dict(SWAPPED)
    there, back = (route_of(scenario, scenario.flows[0], back=way) for way in (False, True))
    assert there.ways == ((Hop("left", "l_n"),), (Hop("left", "l_m"),))
    # the preset has ``back: same``
    assert back.ways == ((Hop("right", "l_n"),), (Hop("right", "l_m"),))
    assert timetable(scenario, there, "left").targets == ("l_n", "l_m")


def test_a_late_switch_changes_later_by_that() -> None:
    late = Scenario.from_dict(SWAPPED).with_(**{"network.switches.right.late": "100 ms"})
    there, back = (route_of(late, late.flows[0], back=way) for way in (False, True))
    assert timetable(late, there, "left").phase == 0
    assert timetable(late, back, "right").phase == 100_000_000


def test_jitter_draws_each_update_and_flows_share_it() -> None:
    shaken = Scenario.from_dict({**SWAPPED, "limit": "20 s"}).with_(**{"network.switches.left.jitter": "1 ms"})
    routes = [route_of(shaken, each) for each in shaken.flows]
    one, other = (timetable(shaken, route, "left") for route in routes)
    assert one.durations == other.durations
    assert one.targets[:2] == ("l_n", "l_m")
    instant, drawn = 0, []
    for number, duration in enumerate(one.durations[:15], 1):
        instant += duration
        drawn.append(instant - number * 1_000_000_000)
    assert all(0 <= each <= 1_000_000 for each in drawn)
    assert len(set(drawn)) > 10
    # another seed draws other instants; without jitter the switch acts at the exact instant
    again = shaken.with_(seed=1)
    assert timetable(again, route_of(again, again.flows[0]), "left").durations != one.durations
    back = route_of(shaken, shaken.flows[0], back=True)
    assert set(timetable(shaken, back, "right").durations) == {1_000_000_000}


def test_more_changes_than_a_switch_keeps_are_refused() -> None:
    with pytest.raises(InputError, match=r"flows\.fn\.path: .* at most 1024 changes"):
        Scenario.from_dict({**SWAPPED, "limit": "60 s"}).with_(
            **{"period": "10 ms", "network.switches.left.jitter": "1 ms"}
        )


def test_the_shortest_way_is_hashed_and_the_hash_depends_on_flow_and_seed() -> None:
    flows = [flow(f"f{n}", "h1", "h8") for n in range(40)]
    scenario = leaf_spine(*flows)
    spines = [route_of(scenario, each).ways[0][0].link for each in scenario.flows]  # type: ignore[index]
    assert {spines.count(f"leaf1-spine{n}") > 5 for n in (1, 2, 3)} == {True}
    other = leaf_spine(*flows, seed=1)
    assert spines != [route_of(other, each).ways[0][0].link for each in other.flows]  # type: ignore[index]


def test_seeds_share_a_graph_unless_the_seed_decides_a_way_or_a_slot() -> None:
    named = leaf_spine(flow("a", "h1", "h8", path="spine2", back="spine2"))
    assert not depend_on_seed(named)
    other = named.with_(seed=7)
    made = Scenario.from_dict({**named.to_dict(), "seed": 7})
    assert (other.hash, other.json()) == (made.hash, made.json())
    assert other.network is named.network
    assert other._family is named._family
    # one way is enough, forward or back
    for path, back in (("ecmp", "spine2"), ("spine2", "ecmp")):
        hashed = leaf_spine(flow("a", "h1", "h8", path=path, back=back))
        assert depend_on_seed(hashed)
        assert hashed.with_(seed=7)._family is not hashed._family  # it is checked again
    swapped = Scenario.from_dict(SWAPPED)
    assert not depend_on_seed(swapped)
    assert depend_on_seed(swapped.with_(**{"network.switches.left.jitter": "1 ms"}))


@pytest.mark.parametrize(
    "path", ["spine2", "leaf1-spine2", "leaf4-spine2", "leaf1-spine2+leaf4-spine2", "spine2+leaf4"]
)
def test_a_path_names_links_or_switches_where_there_is_a_choice(path: str) -> None:
    scenario = leaf_spine(flow("a", "h1", "h8", path=path))
    way = (Hop("leaf1", "leaf1-spine2"), Hop("spine2", "leaf4-spine2"))
    assert route_of(scenario, scenario.flows[0]).ways == (way,)


@pytest.mark.parametrize("turned", [False, True])
def test_links_are_passed_in_the_direction_in_which_the_rest_is_shortest(turned: bool) -> None:
    """From x, both ends of the first link are equally near; only one leads to the next without turning back."""
    ends = {"xp": "xp", "xq": "xq", "qp": "qp", "ps": "ps", "sq": "qs" if turned else "sq", "sr": "sr"}
    links = [{**WRITTEN["links"][0], "name": name, "between": list(pair)} for name, pair in ends.items()]
    hosts = [{"name": "h1", "at": "x", "rate": "1 Gb/s"}, {"name": "h2", "at": "r", "rate": "1 Gb/s"}]
    network = {"name": "n", "switches": [{"name": name} for name in "xpqsr"], "hosts": hosts, "links": links}
    scenario = Scenario.from_dict({"network": network, "flows": [flow("f", "h1", "h2", path="qp+sq")]})
    way = (Hop("x", "xp"), Hop("p", "qp"), Hop("q", "sq"), Hop("s", "sr"))
    assert route_of(scenario, scenario.flows[0]).ways == (way,)


def test_within_a_switch_there_is_no_way() -> None:
    scenario = leaf_spine(flow("a", "h1", "h2"))
    assert route_of(scenario, scenario.flows[0]).ways == ((),)


def test_a_switch_keeps_its_rule_where_a_way_leaves_it_out() -> None:
    scenario = leaf_spine(flow("a", "h1", "h8", path=[["1 ms", "spine1"], ["1 ms", "spine2"]]))
    route = route_of(scenario, scenario.flows[0])
    assert route.switches == ("leaf1", "spine1", "spine2", "leaf4")
    assert timetable(scenario, route, "spine1").static
    assert timetable(scenario, route, "leaf1").targets == ("leaf1-spine1", "leaf1-spine2")


@pytest.mark.parametrize(
    ("network", "flows", "field", "allowed"),
    [
        ({"fabric": "ring"}, [], "network.fabric", "dumbbell, leaf-spine, rotor"),
        ({"fabric": "rotor", "rack": 4}, [], "network.rack", "racks"),
        ({"fabric": "rotor", "racks": 129}, [], "network.racks", "from 2 to 128"),
        ({"fabric": "rotor", "racks": 8, "hosts": 126}, [], "network.hosts", "from 1 to 125"),
        ({"fabric": "rotor", "uplinks": 8}, [], "network.uplinks", "less than the racks"),
        ({"fabric": "rotor", "night": "5 us"}, [], "network.night", "more than"),
        ({"fabric": "leaf-spine", "leaves": 32, "spines": 17, "hosts": 1}, [], "network.spines", "at most 16"),
        ("leaf-spine", [flow("a", "h1", "h4", path="spine9")], "flows.a.path", "leaf1-spine1"),
        ("leaf-spine", [flow("a", "h1", "h4", path="same")], "flows.a.path", "for the way back only"),
        ("leaf-spine", [flow("a", "h1", "h4", path="leaf2+spine1")], "flows.a.path", "no switch twice"),
        ("leaf-spine", [flow("a", "h1", "h4", path="leaf1+leaf2")], "flows.a.path", "each is joined to the next"),
        ("leaf-spine", [flow("a", "h1", "h4", path=[["1 ms", "dark"]])], "flows.a.path", "not dark"),
        ("leaf-spine", [flow("a", "h1", "h4", protocol="mptcp")], "flows.a.path", "a schedule whose slots"),
    ],
)
def test_what_cannot_be_is_named(network: Any, flows: list[Any], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as error:
        Scenario.from_dict({"network": network, "flows": flows or [flow("a", "h1", "h2")]})
    assert any(problem.field == field and allowed in problem.allowed for problem in error.value.problems), error.value


WRITTEN = {
    "name": "mine",
    "switches": [{"name": "a"}, {"name": "b"}],
    "hosts": [{"name": "h1", "at": "a", "rate": "1 Gb/s"}, {"name": "h2", "at": "b", "rate": "1 Gb/s"}],
    "links": [{"name": "l", "between": ["a", "b"], "rate": "1 Gb/s", "buffer": "1 MB"}],
}


def schedule(name: str, link: str, pair: list[str] | None = None) -> dict[str, Any]:
    return {"name": name, "slots": [["1 ms", "dark"], ["1 ms", link]], "pair": pair}


@pytest.mark.parametrize(
    ("changed", "field", "allowed"),
    [
        ({"hosts": [{"name": "h1", "rate": "1 Gb/s"}, WRITTEN["hosts"][1]]}, "hosts.h1.at", "one of the switches a, b"),
        ({"links": [{"name": "l", "rate": "1 Gb/s", "buffer": "1 MB"}]}, "links.l.between", "two of the switches a, b"),
        ({"switches": []}, "hosts.h1.at", "nothing, in a network without switches"),
        ({"switches": [*WRITTEN["switches"], {"name": "c", "guard": "1 us"}]}, "guard", "not optical"),
        ({"switches": [{"name": "a"}, {"name": "b", "optical": True}]}, "hosts.h2.at", "not optical"),
        ({"links": []}, "links", "join all switches"),
        ({"switches": [{"name": "same"}, {"name": "b"}]}, "switches.same.name", "a name that no other"),
        ({"schedules": [schedule("s", "nothing")]}, "schedules.s.slots[1].link", "one of a, b, l"),
        ({"schedules": [schedule("s", "l", ["a", "c"])]}, "schedules.s.pair", "one of a, b"),
        ({"schedules": [schedule("s", "l", ["a", "b"]), schedule("t", "l", ["a", "b"])]}, "schedules.t.pair", "of s"),
        (
            {
                "switches": [*WRITTEN["switches"], {"name": "o", "optical": True}],
                "schedules": [schedule("s", "l", ["a", "o"])],
            },
            "schedules.s.pair",
            "one of a, b",
        ),
    ],
)
def test_networks_that_do_not_hold_together_are_refused(changed: dict[str, Any], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as error:
        Scenario.from_dict({"network": {**WRITTEN, **changed}, "flows": [flow("f", "h1", "h2")]})
    assert any(problem.field.endswith(field) and allowed in problem.allowed for problem in error.value.problems)


def test_a_link_that_nothing_queues_for_is_refused_where_a_flow_takes_it() -> None:
    bare = {**WRITTEN, "links": [{"name": "l", "between": ["a", "b"], "rate": "1 Gb/s"}]}
    with pytest.raises(InputError, match=r"network\.links\.l\.buffer: it is not set; .* flow f takes it from a"):
        Scenario.from_dict({"network": bare, "flows": [flow("f", "h1", "h2")]})


def triangle(*flows: dict[str, Any], **direct: Any) -> Scenario:
    """Three switches: one link of 250 ms from a to c, and two of 24 ms by way of b."""
    line = {"rate": "1 Gb/s", "buffer": "1 MB"}
    links = [
        {"name": "direct", "between": ["a", "c"], "delay": "250 ms", **line, **direct},
        {"name": "ab", "between": ["a", "b"], "delay": "24 ms", **line},
        {"name": "bc", "between": ["b", "c"], "delay": "24 ms", **line},
    ]
    hosts = [{"name": f"h{n}", "at": at, "rate": "1 Gb/s"} for n, at in ((1, "a"), (2, "c"))]
    network = {"name": "n", "switches": [{"name": name} for name in "abc"], "hosts": hosts, "links": links}
    return Scenario.from_dict({"network": network, "flows": list(flows) or [flow("f", "h1", "h2")]})


@pytest.mark.parametrize(("weight", "links"), [(1, ["direct"]), (3, ["ab", "bc"]), (1_000_000, ["ab", "bc"])])
def test_the_shortest_way_has_the_smallest_sum_of_weights(weight: int, links: list[str]) -> None:
    scenario = triangle(weight=weight)
    [way] = route_of(scenario, scenario.flows[0]).ways
    assert way is not None
    assert [hop.link for hop in way] == links
    [back] = route_of(scenario, scenario.flows[0], back=True).ways
    assert back is not None
    assert [hop.link for hop in back] == links[::-1]


def test_ways_of_equal_sums_are_equally_short() -> None:
    flows = [flow(f"f{n}", "h1", "h2") for n in range(40)]
    scenario = triangle(*flows, weight=2)
    assert scenario.network.graph.choices("a", "c") == ["direct", "ab"]
    ways = [route_of(scenario, each).ways[0] for each in scenario.flows]
    assert {len(way or ()) for way in ways} == {1, 2}


def test_a_way_that_names_a_link_takes_it_whatever_it_weighs_and_the_rest_is_the_smallest_sum() -> None:
    named = triangle(flow("f", "h1", "h2", path="direct"), weight=1000)
    assert route_of(named, named.flows[0]).ways == ((Hop("a", "direct"),),)
    # to b there are two ways: the link of weight 9, and two links of weight 1; the second would pass c twice
    with pytest.raises(InputError, match="passes c twice"):
        triangle(flow("f", "h1", "h2", path="bc")).with_(**{"network.links.ab.weight": 9})
    rest = triangle(flow("f", "h1", "h2", path="bc"), weight=9).with_(**{"network.links.ab.weight": 9})
    assert route_of(rest, rest.flows[0]).ways == ((Hop("a", "ab"), Hop("b", "bc")),)


def test_weights_count_as_settings_of_the_network_and_not_where_they_are_one() -> None:
    assert triangle(weight=1).hash == triangle().hash
    assert "weight" not in triangle().json()
    assert triangle(weight=2).hash != triangle().hash
    # equal networks share a graph, but not with other weights
    assert triangle(weight=2).network.graph is triangle(weight=2).network.graph
    assert triangle(weight=2).network.graph is not triangle().network.graph


@pytest.mark.parametrize("weight", [0, 1_000_001, 1.5, "2", True])
def test_a_weight_is_a_positive_whole_number(weight: Any) -> None:
    with pytest.raises(InputError, match=r"network\.links\.[a-z]+\.weight"):
        triangle(weight=weight)


def test_packets_of_no_flow_follow_the_weights_in_the_plan_of_each_kind_of_switch() -> None:
    for weight, ports in ((1, ["direct", "direct"]), (3, ["ab", "bc"])):
        network = compile_network(triangle(weight=weight))
        for (switch, last), link in zip(((0, 2), (2, 0)), ports, strict=True):
            lines = [line for station, line in network.reached(switch) if station.switch == last]
            assert {line.link.name for line in lines if line is not None} == {link}


def test_a_link_that_joins_no_two_switches_has_no_weight() -> None:
    flows = [{"name": "f", "src": "s1", "dst": "r1", "size": "1 MB", "path": "green"}]
    with pytest.raises(InputError, match=r"links\.green\.weight: 2 is not possible; it must be 1, in a"):
        Scenario.from_dict({"network": "aykurt", "flows": flows}).with_(**{"network.links.green.weight": 2})
    loop = {"name": "loop", "at": "b", "rate": "1 Gb/s", "buffer": "1 MB", "weight": 2}
    with pytest.raises(InputError, match=r"links\.loop\.weight: 2 .* 1, for a link inside a switch"):
        Scenario.from_dict(
            {"network": {**WRITTEN, "links": [*WRITTEN["links"], loop]}, "flows": [flow("f", "h1", "h2")]}
        )


def test_a_buffer_in_packets_is_a_limit_in_packets_at_both_ends_of_the_link() -> None:
    scenario = triangle(buffer="100 packets")
    lines = {
        line["id"]: line["queue"]
        for switch in compile_plan(compile_network(scenario))["switches"]
        for line in switch["links"]
    }
    assert list(lines.values()).count({"limit_packets": 100}) == 2
    assert list(lines.values()).count({"limit_bytes": 10**6}) == 4


def test_fabrics_have_buffers_in_packets() -> None:
    scenario = leaf_spine(flow("a", "h1", "h8"), buffer="50 packets")
    assert {link.buffer for link in scenario.network.links} == {Queue(packets=50)}
    assert {host.port.buffer for host in scenario.network.hosts} == {Queue(packets=50)}


@pytest.mark.parametrize("count", [2, 5, 8, 9])
def test_each_pair_of_racks_meets_once_a_week(count: int) -> None:
    pairs = [pair for turn in matchings(count) for pair in turn]
    assert sorted(pairs) == sorted(combinations(range(count), 2))
    for turn in matchings(count):
        busy = [rack for pair in turn for rack in pair]
        assert len(busy) == len(set(busy))


@pytest.mark.parametrize(("racks", "uplinks"), [(4, 1), (8, 1), (8, 2), (5, 3), (64, 8)])
def test_no_uplink_of_a_rotor_has_two_circuits_at_once(racks: int, uplinks: int) -> None:
    network = {"fabric": "rotor", "racks": racks, "hosts": 1, "uplinks": uplinks}
    scenario = Scenario.from_dict({"network": network, "flows": [flow("f", "h1", "h2")]})
    circuits: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for schedule in scenario.network.schedules:
        assert schedule.pair is not None
        at, days = 0, 0
        for slot in schedule.slots:
            if slot.link != "dark":
                days += 1
                rotor = scenario.network.graph.other(slot.link, schedule.pair[0])
                # the light goes up on the line of one rack, and down on the line of the other rack
                for key in ((slot.link, "up"), (f"{rotor} {schedule.pair[1]}", "down")):
                    circuits.setdefault(key, []).append((at, at + slot.duration))
            at += slot.duration
        assert days == 1
        assert at == schedule.cycle
    assert len({schedule.cycle for schedule in scenario.network.schedules}) == 1
    for spans in circuits.values():
        ordered = sorted(spans)
        assert all(before[1] < after[0] for before, after in pairwise(ordered))


def test_scenarios_of_graphs_survive_being_written() -> None:
    for scenario in (
        Scenario.from_dict(SWAPPED),
        leaf_spine(flow("a", "h1", "h8", path="spine2", back="same")),
        Scenario.from_dict({"network": "rotor", "flows": [flow("a", "h1", "h16")]}),
    ):
        assert Scenario.from_dict(scenario.to_dict()) == scenario


def test_a_fabric_in_a_file_has_units(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    text = "network: {{fabric: rotor, racks: 8, hosts: 8, day: {}}}\n"
    text += 'flows: [{{name: "f[1-8]", src: "h[1-8]", dst: "h[57-64]", size: 10 MB, cc: dctcp}}]\n'
    file.write_text(text.format("100 us"))
    scenario = Scenario.load(file)
    assert (scenario.flows[7].src, scenario.flows[7].dst) == ("h8", "h64")
    assert {slot.duration for slot in scenario.network.schedules[0].slots if slot.link != "dark"} == {100_000}
    file.write_text(text.format("100"))
    with pytest.raises(InputError, match=r"network\.day: 100 .* with its unit"):
        Scenario.load(file)


@pytest.mark.parametrize(("late", "phase"), [("0 s", "2 s"), ("2 s", "0 s")])
def test_jitter_goes_with_a_timetable_that_begins_after_the_limit(late: str, phase: str) -> None:
    slots = [["1 ms", "l_n"], ["1 ms", "l_m"]]
    flows = [flow("f", "s1", "r1", path=slots, phase=phase)]
    plain = Scenario.from_dict({"network": "two-switches", "flows": flows, "limit": "1 s"})
    shaken = plain.with_(**{"network.switches.left.jitter": "10 us", "network.switches.left.late": late})
    assert timetable(shaken, route_of(shaken, shaken.flows[0]), "left").targets == ("l_n", "l_m")


@pytest.mark.parametrize("jitter", ["5 ms", "1 ms", "999901 ns"])
def test_jitter_leaves_something_of_each_slot(jitter: str) -> None:
    slots = [["1 ms", "l_n"], ["1 ms", "l_m"]]
    scenario = Scenario.from_dict(
        {"network": "two-switches", "flows": [flow("f", "s1", "r1", path=slots)], "limit": "20 ms"}
    )
    with pytest.raises(InputError, match=r"flows\.f\.path: .* 100 ns longer than the jitter of left"):
        scenario.with_(**{"network.switches.left.jitter": jitter})


def test_a_guard_is_compared_with_all_of_the_dark_and_leaves_what_a_switch_can_keep() -> None:
    def through(*dark: str) -> Scenario:
        slots = [["100 us", "up"], *([each, "dark"] for each in dark), ["100 us", "up"], ["100 us", "dark"]]
        network = {
            **WRITTEN,
            "switches": [*WRITTEN["switches"], {"name": "o", "optical": True, "guard": "10 us"}],
            "links": [
                {"name": "up", "between": ["a", "o"], "rate": "1 Gb/s", "buffer": "1 MB"},
                {"name": "down", "between": ["o", "b"], "rate": "1 Gb/s", "buffer": "1 MB"},
            ],
        }
        return Scenario.from_dict({"network": network, "flows": [flow("f", "h1", "h2", path=slots)]})

    scenario = through("5 us", "50 us")
    found = timetable(scenario, route_of(scenario, scenario.flows[0]), "o")
    assert found.durations == (110_000, 45_000, 110_000, 90_000)
    with pytest.raises(InputError, match="100 ns longer than the guard of 10000 ns"):
        through("10050 ns")
    # a frame takes 7232 ns: what is left of the night would be shorter than any slot
    with pytest.raises(InputError, match=r"network\.night: .* at least 7332 ns"):
        Scenario.from_dict({"network": {"fabric": "rotor", "night": "7300 ns"}, "flows": [flow("f", "h1", "h4")]})


def test_what_an_engine_refuses_is_said_when_a_store_asks_too() -> None:
    switch = {"kind": "linux"}
    flows = [flow("f", "h1", "h2", path=[["1 ms", "l"], ["1 ms", "dark"]])]
    scenario = Scenario.from_dict({"network": WRITTEN, "flows": flows, "switch": {**switch, "dark": "hold"}})
    with pytest.raises(InputError, match=r"switch\.dark: 'hold'"):
        get_engine(scenario).identity()


def test_only_where_a_schedule_begins_hosts_are_told_of_it() -> None:
    links = [{**WRITTEN["links"][0], "name": name} for name in ("l", "m")]
    slots = [["1 ms", "l"], {"duration": "1 ms", "link": "m", "tdn": 1}]
    ways = [{"name": one + other, "pair": [one, other], "slots": slots} for one, other in ("ab", "ba")]
    network = {**WRITTEN, "links": links, "schedules": ways}
    data = {"network": network, "flows": [flow("f", "h1", "h2")], "notify": {}, "transport": {"tdtcp": True}}
    assert [
        len(switch["notify"]) for switch in compile_plan(compile_network(Scenario.from_dict(data)))["switches"]
    ] == [1, 1]
    one_way = Scenario.from_dict({**data, "network": {**network, "schedules": ways[:1]}})
    with pytest.raises(InputError, match=r"notify: 'h2' .* hosts at the switch where ab chooses links"):
        compile_plan(compile_network(one_way))


def rotor(*flows: dict[str, Any], **more: Any) -> Scenario:
    """Return eight racks of two hosts, joined by a rotor and a packet switch, whose hosts are notified."""
    network = {"fabric": "rotor", "packet_rate": "10 Gb/s", **more}
    data = {"network": network, "flows": list(flows), "notify": {"delay": "3 us"}, "transport": {"tdtcp": True}}
    return Scenario.from_dict(data)


def told(scenario: Scenario) -> dict[str, list[tuple[str, str]]]:
    """Return by switch which hosts are notified, and of which prefix."""
    switches = compile_plan(compile_network(scenario))["switches"]
    found = {switch["name"]: [(one["host"], one["prefix"]) for one in switch["notify"]] for switch in switches}
    return {name: each for name, each in found.items() if each}


def test_all_hosts_of_a_rack_are_told_of_the_racks_that_flows_lead_to() -> None:
    scenario = rotor(flow("near", "h1", "h3"), flow("far", "h1", "h9"))
    assert told(scenario) == {
        "rack1": [("h1", "10.1.0.0/16"), ("h2", "10.1.0.0/16"), ("h1", "10.4.0.0/16"), ("h2", "10.4.0.0/16")],
        "rack2": [("h3", "10.0.0.0/16"), ("h4", "10.0.0.0/16")],
        "rack5": [("h9", "10.0.0.0/16"), ("h10", "10.0.0.0/16")],
    }
    plan = compile_plan(compile_network(scenario))
    assert plan["sysctls"]["net.ipv4.tdn_count"] == "2"
    assert [host["ip"] for host in plan["hosts"][:4]] == ["10.0.0.1", "10.0.0.2", "10.1.0.3", "10.1.0.4"]
    everyone = rotor(*(flow(f"f{a}-{b}", f"h{a}", f"h{b}") for a in range(1, 17, 2) for b in range(2, 18, 2)))
    assert {len(each) for each in told(everyone).values()} == {14}


def test_each_prefix_is_told_of_by_the_class_of_its_pair_of_racks() -> None:
    plan = compile_plan(compile_network(rotor(flow("near", "h1", "h3"), flow("far", "h1", "h9"))))
    switch = plan["switches"][0]
    classes = {each["id"]: each["slots"] for each in switch["classes"]}
    circuits = {}
    for each in switch["notify"]:
        assert (each["dst"], each["delay"]) == (f"10.0.0.{each['host'][1:]}", 3000)
        slots, at = classes[each["class"]], 0
        for slot in slots:
            if slot.get("tdn"):
                circuits[each["prefix"]] = at // 200_000
            at += slot["duration"]
    days = {frozenset(pair): day for day, pairs in enumerate(matchings(8)) for pair in pairs}
    assert circuits == {f"10.{other}.0.0/16": days[frozenset((0, other))] for other in (1, 4)}


def test_a_rotor_with_a_packet_switch_is_never_dark() -> None:
    network = rotor(flow("near", "h1", "h3")).network
    assert all(slot.link != "dark" for schedule in network.schedules for slot in schedule.slots)
    assert {schedule.tdns for schedule in network.schedules} == {(0, 1)}
    assert [link.rate for link in network.links if link.name == "packet8"] == [10_000_000_000]


def test_a_host_can_follow_one_schedule_to_each_rack() -> None:
    slots = [["1 ms", "packet"], {"duration": "1 ms", "link": "packet", "tdn": 1}]
    network = rotor(flow("f", "h1", "h3")).to_dict()["network"]
    network["schedules"] += [{"name": "own", "slots": slots}]
    flows = [flow("one", "h1", "h3", path="own"), flow("two", "h2", "h3")]
    data = {"network": network, "flows": flows, "notify": {}, "transport": {"tdtcp": True}}
    with pytest.raises(InputError, match=r"notify: 'h1' .* whose flows to rack2 all follow one schedule"):
        Scenario.from_dict(data)
    elsewhere = {**data, "flows": [flows[0], flow("two", "h1", "h9")]}
    assert told(Scenario.from_dict(elsewhere))["rack1"] == [
        ("h1", "10.1.0.0/16"), ("h1", "10.4.0.0/16"), ("h2", "10.4.0.0/16"),
    ]  # fmt: skip


def test_ranges_go_along_in_lists() -> None:
    links = [{**WRITTEN["links"][0], "name": "up[1-3]", "between": ["leaf[1-3]", "core"]}]
    network = {
        "name": "star",
        "switches": [{"name": "leaf[1-3]"}, {"name": "core"}],
        "hosts": [{"name": "h[1-3]", "at": "leaf[1-3]", "rate": "1 Gb/s"}],
        "links": links,
    }
    flows = [flow("f[1-2]", "h[1-2]", "h3", path=[["1 ms", "up[1-2]"], ["1 ms", "dark"]])]
    scenario = Scenario.from_dict({"network": network, "flows": flows})
    assert [link.between for link in scenario.network.links] == [(f"leaf{n}", "core") for n in (1, 2, 3)]
    assert [each.targets for each in scenario.flows] == [("up1", "dark"), ("up2", "dark")]
    wrong = [{**links[0], "between": ["leaf[1-2]", "core"]}]
    with pytest.raises(InputError, match=r"links\.up\[1-3\]: .* equally long"):
        Scenario.from_dict({"network": {**network, "links": wrong}, "flows": flows})


def test_an_echo_is_set_where_the_schedule_begins_that_it_is_about() -> None:
    """Elsewhere nobody knows of its networks. ACKs pass that switch, the sender's, and other schedules may not."""
    loop = {"name": "o", "at": "b", "rate": "1 Gb/s", "buffer": "1 MB"}
    data = {"name": "s", "pair": ["a", "b"], "slots": [["1 ms", "l"], {"duration": "1 ms", "link": "o", "tdn": 1}]}
    acks = {"name": "r", "pair": ["b", "a"], "slots": [["1 ms", "l"], ["1 ms", "dark"]], "echo": {"of": "s"}}
    network = {**WRITTEN, "links": [*WRITTEN["links"], loop], "schedules": [data, acks]}
    scenario = Scenario.from_dict({"network": network, "flows": [flow("f", "h1", "h2", cc="retcp")]})
    one, other = compile_plan(compile_network(scenario))["switches"]
    echoes = [entry for entry in one["classes"] if "echo" in entry]
    assert [entry["slots"] for entry in echoes] == [[{"duration": 0, "target": 0xFFFE}]]
    assert echoes[0]["echo"]["class"] in {entry["id"] for entry in one["classes"]}
    assert [rule["sport"] for rule in one["rules"] if rule["class_id"] == echoes[0]["id"]] == [5001]
    assert not any("echo" in entry for entry in other["classes"])
    with pytest.raises(InputError, match=r"schedules\.r\.echo\.of: 't' .* begins at a switch on this way: s, r"):
        compile_plan(compile_network(scenario.with_(**{"network.schedules.r.echo": {"of": "t"}})))
