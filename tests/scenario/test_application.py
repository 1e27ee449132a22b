# SPDX-License-Identifier: Apache-2.0
"""What applications of flows do, as data: totals by arithmetic, which fields exclude each other, and what waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.application import sending_ns

NETWORK = {"fabric": "dumbbell", "pairs": 2}
MS = 1_000_000


def scenario(*given: dict[str, Any], workloads: list[dict[str, Any]] | None = None) -> Scenario:
    named = [{"name": f"f{n}", "src": "s1", "dst": "r1", **flow} for n, flow in enumerate(given)]
    data = {"network": NETWORK, "flows": named, "workloads": workloads or [], "limit": "1 s"}
    return Scenario.from_dict({name: value for name, value in data.items() if value}, text=True)


@pytest.mark.parametrize(
    ("flow", "total"),
    [
        ({"size": "10 kB", "rounds": 7}, 70_000),
        # a datagram of 1472 B each ms, the first at once
        ({"protocol": "udp", "rate": "11.776 Mb/s", "until": "10 ms"}, 10 * 1472),
        ({"protocol": "udp", "rate": "11.776 Mb/s", "start": "5 ms", "until": "10.1 ms"}, 6 * 1472),
        ({"protocol": "udp", "rate": "11.776 Mb/s", "until": "10 ms", "size": "2 kB"}, 2000),
        ({"protocol": "udp", "rate": "11.776 Mb/s", "until": "25 ms", "on": "4 ms", "off": "6 ms"}, 12 * 1472),
        ({"protocol": "udp", "burst": 3, "interval": "5 ms", "until": "11 ms"}, 9 * 1472),
        # segments of 1448 B each 115.84 us; at 1 Gb/s nine of them each 104.256 us
        ({"rate": "100 Mb/s", "until": "1 ms"}, 9 * 1448),
        ({"rate": "1 Gb/s", "until": "1 ms"}, 10 * 9 * 1448),
    ],
)
def test_the_total_of_a_flow_is_arithmetic(flow: dict[str, Any], total: int) -> None:
    made = scenario(flow)
    assert made.total_B(made.flows[0]) == total
    assert Scenario.from_dict(made.to_dict()) == made


def test_the_time_of_sending_ends_with_the_last_interval() -> None:
    rate = {"protocol": "udp", "rate": "11.776 Mb/s"}
    made = scenario(
        {**rate, "until": "10 ms"},
        {**rate, "until": "25 ms", "on": "4 ms", "off": "6 ms"},
        {"protocol": "udp", "size": "4 kB", "burst": 2, "interval": "5 ms"},
    )
    assert [sending_ns(made, flow) / MS for flow in made.flows] == [10, 24, 10]


def test_rounds_are_asked_for_by_the_receiver() -> None:
    web = {"name": "w", "sizes": "10 kB", "arrivals": "once", "rounds": 3, "think": "1 ms"}
    made = scenario({"size": "1 kB", "rounds": 2}, workloads=[web])
    assert {flow.initiator for flow in made.flows} == {"dst"}
    assert [flow.rounds for flow in made.flows] == [2, 3]
    # a load counts all rounds
    loaded = {"name": "w", "sizes": "1 MB", "arrivals": {"load": "50 %"}}
    counts = [len(scenario(workloads=[{**loaded, "rounds": n}]).flows) for n in (1, 4)]
    assert counts[0] == pytest.approx(4 * counts[1], rel=0.1)


def test_on_and_off_are_names_and_no_booleans(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "network: {fabric: dumbbell}\nflows:\n  - {name: f, src: s1, dst: r1, size: 1 MB, on: 2 ms, off: 3 ms}\n"
    )
    made = Scenario.load(path)
    assert (made.flows[0].on, made.flows[0].off) == (2 * MS, 3 * MS)
    path.write_text(made.dump())
    assert Scenario.load(path) == made
    path.write_text(path.read_text().replace("3 ms", "3"))
    with pytest.raises(InputError, match=r"flows\.f\.off"):
        Scenario.load(path)


def test_fields_of_applications_do_not_change_older_scenarios() -> None:
    plain = scenario({"size": "1 kB"})
    assert not {"rate", "on", "off", "until", "rounds", "think", "after"} & plain.to_dict()["flows"][0].keys()


@pytest.mark.parametrize(
    ("flow", "field", "words"),
    [
        ({"rounds": 2, "initiator": "src"}, "initiator", "dst, with rounds"),
        ({"rounds": 2, "rate": "1 Mb/s"}, "rate", "with rounds"),
        ({"rounds": 0}, "rounds", "1 to 1000000"),
        ({"think": "1 ms"}, "think", "without rounds"),
        ({"on": "1 ms"}, "off", "together with on"),
        ({"off": "1 ms"}, "on", "together with off"),
        ({"protocol": "quic", "rate": "1 Mb/s"}, "rate", "only tcp and udp"),
        ({"protocol": "udp", "rate": "1 Mb/s", "rounds": 3}, "rounds", "only tcp"),
        ({"protocol": "udp", "burst": 1, "interval": "1 ms", "on": "1 ms", "off": "1 ms"}, "rate", "10 Mb/s"),
        ({"protocol": "udp", "burst": 1, "interval": "1 ms", "rate": "1 Mb/s"}, "burst", "with rate"),
        ({"protocol": "udp"}, "rate", "burst and interval"),
        ({"until": "1 ms"}, "until", "without a rate"),
        ({"until": "1 ms", "rate": "1 Mb/s", "start": "2 ms"}, "until", "later than start"),
        ({"after": "f1"}, "after", "f1"),
        ({"after": "f0"}, "after", "another flow or workload"),
        ({"after": "w", "connect": "ahead"}, "connect", "start, with after"),
    ],
)
def test_errors_name_field_and_what_is_allowed(flow: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        scenario({"size": "1 kB", **flow})
    (problem,) = caught.value.problems
    assert problem.field.split(".")[-1] == field
    assert words in str(caught.value)


def test_what_waits_in_a_circle_is_refused() -> None:
    with pytest.raises(InputError, match="f0 after f1 after f0: none of them can begin"):
        scenario({"size": "1 kB", "after": "f1"}, {"size": "1 kB", "after": "f0"})
    stage = {"sizes": "1 kB", "arrivals": "once"}
    with pytest.raises(InputError, match=r"workloads\.w\.after.*a flow and a workload have the name f0"):
        scenario({"size": "1 kB"}, workloads=[{**stage, "name": "f0"}, {**stage, "name": "w", "after": "f0"}])
    with pytest.raises(InputError, match="w2"):
        scenario(workloads=[{**stage, "name": "w", "after": "w2"}, {**stage, "name": "v"}])
