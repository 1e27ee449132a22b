# SPDX-License-Identifier: Apache-2.0
"""Schedules that flows share, ways back, ranges, weeks, and notifications of hosts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.kernel import plan
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import NS_PER_US
from rdcnlab.scenario import Scenario, dilation
from rdcnlab.scenario.dilation import dilate
from rdcnlab.scenario.presets import preset
from rdcnlab.scenario.rotor import week
from tests.conftest import TWO_FLOWS
from tests.hybrid import hybrid

HYBRID = Scenario.from_dict(hybrid())
US = NS_PER_US
GROWING = week(day=180 * US, night=20 * US, queue="16 packets", grown="1 MB", ahead=9000)


def test_the_preset_fills_in_sixteen_flows() -> None:
    made = Scenario.from_dict({"network": "tdtcp", "flows": [{"name": "flow-[1-16]", "size": "100 GiB"}]})
    assert [(flow.src, flow.dst) for flow in made.flows] == [(f"a{n}", f"b{n}") for n in range(1, 17)]
    assert {(flow.path, flow.back, flow.connect) for flow in made.flows} == {("forward", "reverse", "ahead")}
    assert made.transport.rto_min_us == 10_000
    assert made.limit == 2 * 10**9


@pytest.mark.parametrize("name", ["tdtcp", "tdtcp-artefact"])
@pytest.mark.parametrize(("link", "rtt_us"), [("packet", 100), ("circuit", 40)])
def test_the_presets_have_the_rtts_that_they_state(name: str, link: str, rtt_us: int) -> None:
    rtt = preset(name).network.rtt_ns("a1", "b1", 9000, 52, link=link, link_back=link)
    assert rtt == pytest.approx(rtt_us * US, abs=1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"network.schedules.forward.queue": "50 packets", "network.schedules.reverse.phase": "600 us"},
        {
            "network.schedules.forward.slots": week(
                day=180 * US, night=20 * US, queue="16 packets", grown="1 MB", ahead=9000
            )
        },
        {"notify": {"delay": "5 us", "model": "push", "each": "1 us", "hosts": [{"name": "a1", "delay": "7 us"}]}},
        {"probes": {"bin": "20 us", "acks": True, "fold": "4.2 ms", "fold_from": "140 ms"}},
        {"flows.flow-1.back": [["1 ms", "bypass"], ["1 ms", "dark"]]},
    ],
)
def test_text_gives_the_scenario_back(tmp_path: Path, changes: dict[str, object]) -> None:
    scenario = HYBRID.with_(**changes)
    (tmp_path / "x.yaml").write_text(scenario.dump())
    assert Scenario.load(tmp_path / "x.yaml") == scenario
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    assert scenario.with_(seed=scenario.seed) == scenario


def test_scenarios_without_them_do_not_know_of_them() -> None:
    data = Scenario.from_dict(TWO_FLOWS).to_dict()
    assert not {"notify"} & set(data)
    assert "schedules" not in data["network"]
    assert "back" not in data["flows"][0]
    assert set(data["probes"]) == {"bin", "tcp", "packets"}
    assert "tdtcp" not in data["transport"]
    assert set(data["flows"][1]["path"][0]) == {"duration", "link"}


SCHEDULE = "network.schedules.forward"


@pytest.mark.parametrize(
    ("changes", "field", "allowed"),
    [
        ({f"{SCHEDULE}.name": "packet"}, "network.schedules.packet.name", "no link"),
        ({f"{SCHEDULE}.name": "dark"}, "network.schedules[0].name", "other than"),
        ({f"{SCHEDULE}.slots": [["1 ms", "green"]]}, "network.schedules.forward.slots[0].link", "packet, circuit"),
        ({f"{SCHEDULE}.slots": [["1 ms", "dark"]]}, "network.schedules.forward.slots", "not dark"),
        ({f"{SCHEDULE}.slots": [["1 ms", "bypass"]]}, "network.schedules.forward.slots", "links and dark"),
        ({f"{SCHEDULE}.queue": "0 packets"}, "network.schedules.forward.queue.packets", "from 1"),
        ({f"{SCHEDULE}.queue": None}, "network.schedules.forward.ecn_threshold", "without a queue"),
        (
            {f"{SCHEDULE}.slots": [{"duration": "1 ms", "link": "packet", "tdn": 255}]},
            "network.schedules.forward.slots[0].tdn",
            "to 254",
        ),
        (
            {f"{SCHEDULE}.queue": None, f"{SCHEDULE}.ecn_threshold": None, f"{SCHEDULE}.dark": "drop"},
            "network.schedules.forward.slots[0].link",
            "buffer",
        ),
        ({"flows.flow-1.path": "packet"}, "flows.flow-1.path", "schedule with a queue"),
        ({"flows.flow-1.path": "foreward"}, "flows.flow-1.path", "dark, bypass, forward, reverse"),
        ({"flows.flow-1.back": "foreward"}, "flows.flow-1.back", "forward, reverse"),
        ({"flows.flow-1.back": [["1 ms", "forward"]]}, "flows.flow-1.back", "packet, circuit, dark, bypass"),
        ({"flows.flow-1.phase": "1 ms"}, "flows.flow-1.phase", "of its own"),
        ({"notify": {"hosts": [{"name": "c1", "delay": "1 us"}]}}, "notify.hosts.c1.name", "a1"),
        ({"notify": {"each": "1 us"}}, "notify.each", "pull"),
        ({"notify": {}, "flows.flow-1.path": "reverse", "flows.flow-2.src": "a1"}, "notify", "one schedule"),
        ({"transport.tdtcp": True}, "transport.tdtcp", "notify"),
        ({"probes.fold": "1.5 ms"}, "probes.fold", "whole number of bins"),
        ({"probes.fold": "3 s"}, "limit", "at least one span"),
        ({"probes.acks": True, "probes.tcp": "none"}, "probes.acks", "false"),
    ],
)
def test_errors_name_field_and_what_is_allowed(changes: dict[str, object], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        HYBRID.with_(**changes)
    problems = [problem for problem in caught.value.problems if problem.field == field]
    assert problems, str(caught.value)
    assert allowed in problems[0].allowed


@pytest.mark.parametrize("src", ["a[1-2]", "a[2-1]"])
def test_ranges_have_one_length(src: str) -> None:
    with pytest.raises(InputError, match="equally long"):
        Scenario.from_dict({"network": "tdtcp", "flows": [{"name": "flow-[1-3]", "size": "1 MB", "src": src}]})


def test_a_week_has_a_circuit_and_nights_that_block_the_pair() -> None:
    def links(**options: object) -> list[tuple[int, str]]:
        slots = week(day=180 * US, night=20 * US, **options)  # type: ignore[arg-type]
        return [(slot["duration"] // US, slot["link"]) for slot in slots]

    assert links() == [(1180, "packet"), (20, "dark"), (180, "circuit"), (20, "packet")]
    assert links(blocked="around")[-1] == (20, "dark")
    assert links(blocked="none") == [(1200, "packet"), (180, "circuit"), (20, "packet")]
    assert sum(1 for _, link in links(blocked="all") if link == "dark") == 7
    assert sum(duration for duration, _ in links(blocked="all", days=5)) == 1000


def test_a_queue_that_grows_ahead_of_the_circuit_shrinks_after_it() -> None:
    slots = week(day=180 * US, night=20 * US, queue="16 packets", grown="50 packets", ahead=150 * US)
    assert [(slot["duration"] // US, slot.get("queue")) for slot in slots] == [
        (1050, None), (130, "50 packets"), (20, None), (180, None), (20, "16 packets"),
    ]  # fmt: skip
    with pytest.raises(InputError, match="ahead"):
        week(day=180 * US, night=20 * US, queue="16 packets", grown="50 packets", ahead=1201 * US)
    with pytest.raises(InputError, match="grown"):
        week(day=180 * US, night=20 * US, queue="16 packets")


def test_the_plan_has_one_class_for_all_flows_of_a_schedule() -> None:
    switch = plan.compile_plan(compile_network(HYBRID))["switches"][0]
    assert [entry["id"] for entry in switch["classes"]] == [17, 18]
    forward = switch["classes"][0]
    assert forward["voq"] == {"limit_bytes": 0, "limit_packets": 16, "ecn": 10 * 9014}
    assert forward["hold"]
    assert [slot.get("tdn", 0) for slot in forward["slots"]] == [0, 0, 1, 0]
    there = [rule for rule in switch["rules"] if rule["class_id"] == 17]
    back = [rule for rule in switch["rules"] if rule["class_id"] == 18]
    assert [rule["dport"] for rule in there] == [rule["sport"] for rule in back] == [*range(5001, 5017)]
    assert (there[0]["in_if"], back[0]["in_if"]) == ("sw-a1", "sw-b1")
    mixed = HYBRID.with_(**{"network.links.packet.buffer": "1 MB", "flows.flow-3.path": "packet"})
    classes = plan.compile_plan(compile_network(mixed.with_(**{"flows.flow-2.back": "packet"})))["switches"][0][
        "classes"
    ]
    assert [entry["id"] for entry in classes] == [3, 17, 18, 19]


def test_each_host_is_told_of_the_schedule_it_listens_to() -> None:
    told = HYBRID.with_(notify={"delay": "5 us", "hosts": [{"name": "b2", "delay": 0}]})
    asked = plan.compile_plan(compile_network(told))
    assert asked["sysctls"]["net.ipv4.tdn_count"] == "2"
    by_host = {each["host"]: (each["class"], each["delay"], each["dst"]) for each in asked["switches"][0]["notify"]}
    assert by_host["a1"] == (17, 5000, "10.0.0.1")
    assert by_host["b2"] == (18, 0, "10.0.0.18")
    assert not plan.compile_plan(compile_network(HYBRID))["switches"][0]["notify"]
    assert "net.ipv4.tdn_count" not in plan.compile_plan(compile_network(HYBRID))["sysctls"]


def test_pushing_takes_its_time_for_each_flow() -> None:
    pushed = HYBRID.with_(notify={"model": "push", "each": "2 us"}, **{"transport.tdtcp": True})
    asked = plan.compile_plan(compile_network(pushed))
    assert asked["sysctls"]["net.ipv4.tcp_tdtcp_push"] == "1"
    delays = {each["host"]: each["delay"] for each in asked["switches"][0]["notify"]}
    assert [delays[name] for name in ("a1", "a2", "a16", "b1")] == [2000, 4000, 32_000, 2000]


def test_echoes_name_a_schedule_that_is_followed() -> None:
    echo = "network.schedules.reverse.echo"
    marked = HYBRID.with_(**{echo: {"of": "forward", "in_advance": "150 us"}})
    entry = plan.compile_plan(compile_network(marked))["switches"][0]["classes"][1]
    assert entry["echo"] == {"class": 17, "tdn": 1, "in_advance": 150_000}
    with pytest.raises(InputError, match=r"echo\.of"):
        plan.compile_plan(compile_network(HYBRID.with_(**{echo: {"of": "nowhere"}})))


def test_what_only_our_switch_can_do_is_refused_elsewhere() -> None:
    with pytest.raises(InputError, match="tdtcp"):
        HYBRID.with_(**{"transport.tdtcp": True})
    with pytest.raises(InputError, match="another switch"):
        plan.check(compile_network(HYBRID.with_(**{"switch.kind": "bmv2"})))
    with pytest.raises(InputError, match="another switch"):
        plan.check(compile_network(HYBRID.with_(notify={}, **{"switch.kind": "linux"})))


def test_tdtcp_without_a_schedule_is_refused() -> None:
    flow = {"name": "main", "size": "1 MB", "path": [["1 ms", "green"], ["1 ms", "blue"]]}
    told = {"network": "aykurt", "flows": [flow], "notify": {}}
    Scenario.from_dict(told)
    with pytest.raises(InputError, match=r"transport\.tdtcp.*follows a schedule"):
        Scenario.from_dict({**told, "transport": {"tdtcp": True}})


def test_dilation_is_the_same_network_for_slower_hosts() -> None:
    slow = dilate(HYBRID, 20)
    assert slow.network.hosts[0].rate == 40 * 10**9
    durations = [slot.duration // 20 for slot in slow.network.schedules[0].slots]
    assert durations == [slot.duration for slot in HYBRID.network.schedules[0].slots]
    assert slow.limit == 40 * 10**9
    packet = {"link": "packet", "link_back": "packet"}
    rtt = [each.network.rtt_ns("a1", "b1", 9000, 52, **packet) for each in (HYBRID, slow)]
    assert rtt[1] == pytest.approx(20 * rtt[0])
    assert dilate(HYBRID, 1) == HYBRID
    with pytest.raises(InputError, match="multiple"):
        dilate(HYBRID, 7)
    moved = dilate(Scenario.from_dict(TWO_FLOWS), 2)
    assert moved.flows[1].period == 100_000_000


def test_every_time_of_a_scenario_is_dilated() -> None:
    schema = Scenario.model_json_schema()

    def times(part: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
        if "$ref" in part:
            part = schema["$defs"][part["$ref"].rsplit("/", 1)[1]]
        if part.get("x-unit") == "ns" or (path and path[-1].endswith("_us")):
            yield ".".join(path)
            return
        for name, field in part.get("properties", {}).items():
            yield from times(field, (*path, name))
        for key in ("anyOf", "allOf", "oneOf"):
            for choice in part.get(key, ()):
                yield from times(choice, path)
        if isinstance(part.get("items"), dict):
            yield from times(part["items"], (*path, "*"))
        for item in part.get("prefixItems", ()):
            yield from times(item, (*path, "*"))
        if isinstance(part.get("additionalProperties"), dict):
            yield from times(part["additionalProperties"], (*path, "*"))

    assert {*times(schema, ())} == {*dilation._TIMES}
