# SPDX-License-Identifier: Apache-2.0
"""Workloads: the flows that a seed draws have the pattern, the sizes and the arrivals that the scenario states."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario, distributions
from rdcnlab.scenario.workloads.drawing import MOST_FLOWS
from rdcnlab.scenario.workloads.loads import wire_bytes
from rdcnlab.scenario.workloads.sizes import FINE, Point, Sizes

FABRIC = {"fabric": "leaf-spine", "leaves": 4, "spines": 4, "hosts": 4}
#: Standard errors that a mean may be away from its expectation; the seeds are fixed, so a test never varies.
SIGMAS = 3


def scenario(*, network: Any = FABRIC, seed: int = 1, limit: str = "1 s", **fields: Any) -> Scenario:
    """Return a scenario with one workload, `fields`, in text form."""
    workload = {"name": "w", "sizes": "10 kB", "arrivals": {"poisson": "1 ms"}, **fields}
    data = {"network": network, "workloads": [workload], "limit": limit, "seed": seed}
    return Scenario.from_dict(data, text=True)


def refusal(**fields: Any) -> str:
    with pytest.raises(InputError) as caught:
        scenario(**fields)
    return str(caught.value)


# Arrivals ------------------------------------------------------------------------------------------------------------


def test_the_rate_of_poisson_arrivals_is_within_its_interval() -> None:
    starts = [flow.start for flow in scenario(arrivals={"poisson": "250 us"}).flows]
    # the number of arrivals in 4000 mean times has the variance 4000
    assert abs(len(starts) - 4000) < SIGMAS * math.sqrt(4000)
    gaps = [later - one for one, later in zip([0, *starts], starts, strict=False)]
    # times of an exponential distribution are below their mean with a probability of 1 - 1/e
    share = sum(gap < 250_000 for gap in gaps) / len(gaps)
    assert abs(share - (1 - 1 / math.e)) < SIGMAS * math.sqrt(0.632 * 0.368 / len(gaps))


@pytest.mark.parametrize("of", ["hosts", "fabric", "leaf1-spine2", "h3"])
def test_a_load_is_that_of_what_it_names(of: str) -> None:
    found = scenario(sizes="web-search", arrivals={"load": "40 %", "of": of}, limit="2 s")
    flows, (workload,) = found.flows, found.workloads
    expected = wire_bytes(workload, found.network)
    # 16 hosts send with 10 Gb/s; 12 of a host's 15 partners are at another leaf, which has four lines of 10 Gb/s
    crossing = 12 / 15
    times = {"hosts": 1, "fabric": 1 / crossing, "leaf1-spine2": 1 / crossing, "h3": 1}[of]
    per_second = 0.4 * 16 * 10e9 / 8 / expected * times
    assert abs(len(flows) - 2 * per_second) < SIGMAS * math.sqrt(2 * per_second)


def test_arrivals_at_intervals_at_once_and_from_a_list() -> None:
    assert [flow.start for flow in scenario(arrivals={"interval": "250 ms"}).flows] == [0, 250e6, 500e6, 750e6]
    assert [flow.start for flow in scenario(arrivals="once", count=3, start="5 ms").flows] == [5e6] * 3
    listed = scenario(arrivals={"instants": ["1 ms", "1 ms", "7 ms"]}, start="1 ms", until="8 ms")
    assert [flow.start for flow in listed.flows] == [2e6, 2e6]


def test_a_file_has_arrivals_sizes_and_a_matrix(tmp_path: Path) -> None:
    (tmp_path / "when.csv").write_text("t_ms\n0.5\n2\n")
    (tmp_path / "sizes.txt").write_text("0 0\n1000 50\n3000 100\n")
    (tmp_path / "who.csv").write_text("src,dst,weight\nh1,h2,1\nh2,h3,9\n")
    workload = {
        "name": "w", "pattern": "matrix", "matrix": "who.csv", "sizes": "sizes.txt", "arrivals": {"file": "when.csv"},
    }  # fmt: skip
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump({"network": FABRIC, "workloads": [workload]}))
    found = Scenario.load(path)
    assert [flow.start for flow in found.flows] == [500_000, 2_000_000]
    assert found.workloads[0].sizes.mean == (500 + 2000) / 2
    # the scenario contains what the files had, so it can travel without them
    assert Scenario.from_dict(found.to_dict()).flows == found.flows
    many = found.with_(**{"workloads.w.arrivals": {"interval": "1 ms"}, "limit": "2 s"}).flows
    pairs = Counter((flow.src, flow.dst) for flow in many)
    assert set(pairs) == {("h1", "h2"), ("h2", "h3")}
    assert abs(pairs["h1", "h2"] - 200) < SIGMAS * math.sqrt(2000 * 0.1 * 0.9)


# Sizes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(distributions()))
def test_the_mean_of_a_distribution_is_within_its_interval(name: str) -> None:
    found = scenario(sizes=name, arrivals={"interval": "200 us"})
    sizes = [flow.size for flow in found.flows]
    assert len(sizes) == 5000
    (workload,) = found.workloads
    mean = sum(sizes) / len(sizes)
    second = sum(share * (low**2 + low * high + high**2) / 3 for low, high, share in workload.sizes.spans) / 1e6
    error = math.sqrt((second - workload.sizes.mean**2) / len(sizes))
    assert abs(mean - workload.sizes.mean) < SIGMAS * error
    for point in workload.sizes.points[:-1]:
        share = sum(size <= point.size for size in sizes) / len(sizes)
        expected = point.share / 1e6
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(sizes)) + 1e-4


def test_sizes_reach_both_ends_of_a_distribution() -> None:
    sizes = Sizes(points=(Point(size=100, share=400_000), Point(size=200, share=1_000_000)))
    assert (sizes.at(0), sizes.at(FINE - 1)) == (1, 200)
    assert Sizes(points=(Point(size=7, share=1_000_000),)).at(FINE // 3) == 7


def test_larger_flows_can_be_cut() -> None:
    assert max(flow.size for flow in scenario(sizes="data-mining", at_most="2 MB").flows) == 2_000_000


# Patterns ------------------------------------------------------------------------------------------------------------


def test_each_pattern_has_its_pairs() -> None:
    def pairs(**fields: Any) -> list[tuple[str, str]]:
        return [(flow.src, flow.dst) for flow in scenario(arrivals="once", hosts="h[1-8]", **fields).flows]

    hosts = {f"h{number}" for number in range(1, 9)}
    assert len(set(pairs(pattern="all-to-all"))) == 8 * 7
    ring = dict(pairs(pattern="permutation"))
    assert set(ring) == set(ring.values()) == hosts
    assert not any(src == dst for src, dst in ring.items())
    assert dict(pairs(pattern="stride", stride=3))["h7"] == "h2"
    assert sorted(pairs(pattern="incast", to="h5")) == sorted((host, "h5") for host in hosts - {"h5"})
    many = Counter(src for src, _ in pairs(pattern="incast", to="h5", fan=64))
    assert sum(many.values()) == 64
    assert set(many.values()) == {9, 10}
    random = pairs(pattern="random", count=500)
    assert {src for src, _ in random} == {dst for _, dst in random} == hosts
    # h1 to h4 are at one leaf, h5 to h8 at another
    assert all((int(src[1]) <= 4) != (int(dst[1]) <= 4) for src, dst in pairs(pattern="racks", count=100))


# The scenario --------------------------------------------------------------------------------------------------------


def test_the_seed_draws_and_nothing_else() -> None:
    one, other = scenario(seed=1), scenario(seed=2)
    assert one.flows != other.flows
    assert one.with_(seed=2).flows == other.flows
    assert scenario(seed=1).flows == one.flows
    # these are numbers of this machine, and of every other one
    drawn = [(flow.name, flow.src, flow.dst, flow.start) for flow in one.flows[:3]]
    assert drawn == DRAWN
    # a second workload leaves the first as it is, and a longer run only adds flows
    data = one.to_dict()
    longer = Scenario.from_dict({**data, "limit": 2 * data["limit"]})
    assert longer.flows[: len(one.flows)] == one.flows
    both = Scenario.from_dict({**data, "workloads": [*data["workloads"], {**data["workloads"][0], "name": "x"}]})
    assert both.flows[: len(one.flows)] == one.flows


@pytest.mark.parametrize(
    "more",
    [
        {"arrivals": {"load": "30 %"}, "sizes": "web-search"},
        {"pattern": "permutation", "arrivals": {"load": "30 %"}},
        {"pattern": "incast", "to": "h1", "fan": 3, "sizes": "1 MB", "arrivals": {"interval": "1 ms"}},
    ],
)
def test_another_seed_shares_what_was_checked_and_is_what_plain_data_give(more: dict[str, Any]) -> None:
    one = scenario(count=30, **more)
    assert one.numbers["w.1"] == 0
    for seed in (2, 3):
        other, made = one.with_(seed=seed), Scenario.from_dict({**one.to_dict(), "seed": seed})
        assert (other.hash, other.to_dict(), other.flows) == (made.hash, made.to_dict(), made.flows)
        assert (other.traffic, other.numbers) == (made.traffic, made.numbers)
        assert other.network is one.network
        assert other.with_(seed=1).flows == one.flows
    for wrong in (-1, 2**32, True):
        with pytest.raises(InputError, match="seed"):
            one.with_(seed=wrong)


def test_a_seed_whose_flows_are_refused_is_refused() -> None:
    # only some pairs are at two racks, between which MPTCP has networks
    workload = {"name": "w", "sizes": "10 kB", "arrivals": {"poisson": "1 ms"}, "count": 2, "protocol": "mptcp"}
    network = {"fabric": "rotor", "racks": 4, "packet_rate": "10 Gb/s"}
    data = {"network": network, "limit": "1 s", "notify": {}, "workloads": [workload]}
    made: dict[int, Scenario] = {}
    refused: dict[int, str] = {}
    for seed in range(40):
        try:
            made[seed] = Scenario.from_dict({**data, "seed": seed}, text=True)
        except InputError as error:
            refused[seed] = str(error)
    one = next(iter(made.values()))
    assert {seed: one.with_(seed=seed).flows for seed in made} == {seed: of.flows for seed, of in made.items()}
    assert refused
    for seed, words in refused.items():
        with pytest.raises(InputError) as caught:
            one.with_(seed=seed)
        assert str(caught.value) == words


DRAWN = [("w.1", "h1", "h3", 737610), ("w.2", "h3", "h14", 1336223), ("w.3", "h1", "h14", 3294770)]


def test_text_gives_the_scenario_back() -> None:
    workloads = [
        {"name": "web", "sizes": "web-search", "arrivals": {"load": "50 %", "of": "fabric"}, "cc": "dctcp"},
        {"name": "burst", "pattern": "incast", "fan": 8, "sizes": "20 kB", "arrivals": "once"},
        {"name": "own", "sizes": [["1 kB", "20 %"], ["9 kB", "100 %"]], "arrivals": {"interval": "10 ms"}},
    ]
    found = Scenario.from_dict({"network": FABRIC, "workloads": workloads, "limit": "10 ms"})
    text = found.dump()
    assert "sizes: web-search" in text
    assert "arrivals: once" in text
    again = Scenario.from_dict(yaml.safe_load(text), text=True)
    assert (again.hash, again.flows) == (found.hash, found.flows)
    # drawn flows are no part of the data; the workloads are
    assert again.to_dict()["flows"] == []


def test_changes_by_name_reach_workloads() -> None:
    base = scenario()
    assert {flow.cc for flow in base.with_(cc="bbr").flows} == {"bbr"}
    assert {flow.size for flow in base.with_(**{"workloads.w.sizes": "7 kB"}).flows} == {7000}
    assert len(base.with_(**{"workloads.w.count": 5}).flows) == 5


def test_flows_and_workloads_mix() -> None:
    data = scenario(count=3).to_dict()
    flow = {"name": "long", "src": "h1", "dst": "h16", "size": 10**6}
    mixed = Scenario.from_dict({**data, "flows": [flow]})
    assert [flow.name for flow in mixed.flows] == ["long", "w.1", "w.2", "w.3"]
    assert [flow.name for flow in mixed.stated] == ["long"]


def test_a_scenario_without_workloads_has_no_trace_of_them(two_flows: Scenario) -> None:
    assert "workload" not in two_flows.json()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sizes": "websearch"}, ["workloads.w.sizes", "no distribution 'websearch'", "mean 'web-search'?"]),
        ({"sizes": "none.csv"}, ["workloads.w.sizes", "no file"]),
        ({"sizes": [["10 kB", "20 %"]]}, ["sizes", "last share is 100 %"]),
        ({"sizes": [["10 kB", "20 %"], ["9 kB", "100 %"]]}, ["sizes", "larger than the point before"]),
        ({"arrivals": "now"}, ["arrivals", "once"]),
        ({"arrivals": {}}, ["arrivals", "nothing says when"]),
        ({"arrivals": {"load": "50 %", "poisson": "1 ms"}}, ["load and poisson exclude each other"]),
        ({"arrivals": {"load": "50 %", "of": "leaf1"}}, ["workloads.w.arrivals.of", "no link or host 'leaf1'"]),
        ({"arrivals": {"load": "50 %", "of": "h9"}, "hosts": "h[1-2]"}, ["arrivals.of", "not h9"]),
        ({"arrivals": {"poisson": "1 us"}}, ["workloads.w", str(MOST_FLOWS), "set count"]),
        ({"hosts": ["h1", "h99"]}, ["workloads.w.hosts[1]", "no host 'h99'"]),
        ({"hosts": ["h1", "h1"]}, ["workloads.w.hosts", "'h1' occurs twice"]),
        ({"hosts": ["h1"]}, ["workloads.w.hosts", "at least two"]),
        ({"pattern": "racks", "hosts": "h[1-4]"}, ["pattern", "one switch"]),
        ({"pattern": "incats"}, ["pattern", "mean 'incast'?"]),
        ({"fan": 3}, ["fan", "incast"]),
        ({"cc": "cubik"}, ["workloads", "no congestion control 'cubik'"]),
        ({"siez": "1 kB"}, ["workloads.w.siez", "mean 'sizes'?"]),
        ({"until": "1 ms", "start": "2 ms"}, ["until", "later than start"]),
    ],
)
def test_a_mistake_is_named(fields: dict[str, Any], words: list[str]) -> None:
    said = refusal(**fields)
    assert [word for word in words if word not in said] == []
    assert len(said) < 500


def test_only_workloads_draw_flows(two_flows: Scenario) -> None:
    flow = {**two_flows.to_dict()["flows"][0], "workload": "w"}
    with pytest.raises(InputError, match=r"flows\.main\.workload"):
        two_flows.with_(flows=[flow])


def test_an_error_about_a_long_list_has_its_length(two_flows: Scenario) -> None:
    flow = two_flows.to_dict()["flows"][0]
    with pytest.raises(InputError, match="flows: 100001 items is not possible; it must be at most 100000 items"):
        two_flows.with_(flows=[{**flow, "name": f"f{number}"} for number in range(MOST_FLOWS + 1)])


def test_buffers_by_name_are_sizes() -> None:
    base = scenario().to_dict()
    large = Scenario.from_dict({**base, "transport": {"buffers": "large", "sack": False}})
    assert large.transport.wmem[2] == large.transport.rmem[2] == 256 * 2**20
    assert not large.transport.sack
    own = Scenario.from_dict({**base, "transport": {"buffers": "large", "rmem": [4096, 65536, 65536]}})
    assert own.transport.rmem[2] == 65536
    assert Scenario.from_dict(yaml.safe_load(large.dump()), text=True).hash == large.hash
    with pytest.raises(
        InputError, match=r"transport\.buffers: there is no size of buffers 'larg'\. Did you mean 'large'"
    ):
        Scenario.from_dict({**base, "transport": {"buffers": "larg"}})


# Transports ----------------------------------------------------------------------------------------------------------


def test_a_rotor_sets_the_flag_of_retcp_for_each_pair_of_racks() -> None:
    network = {"fabric": "rotor", "racks": 4, "packet_rate": "10 Gb/s", "echo": "150 us"}
    schedules = {one.name: one.echo for one in scenario(network=network, cc="retcp", pattern="racks").network.schedules}
    assert len(schedules) == 4 * 3
    for name, echo in schedules.items():
        first, last = name.split("-")
        assert echo is not None
        assert (echo.of, echo.tdn, echo.in_advance) == (f"{last}-{first}", 1, 150_000)
    assert "with a packet_rate" in refusal(network={"fabric": "rotor", "echo": "0 ns"}, cc="retcp")
    assert "set no flags for reTCP" in refusal(network={"fabric": "rotornet"}, cc="retcp")


def test_mptcp_needs_pairs_at_two_switches() -> None:
    network = {"fabric": "rotor", "racks": 4, "packet_rate": "10 Gb/s"}
    data = {"network": network, "limit": "1 s", "notify": {}}
    workload = {"name": "w", "sizes": "10 kB", "arrivals": "once", "protocol": "mptcp"}
    with pytest.raises(InputError, match=r"are both at rack.*pattern: racks draws pairs at two switches"):
        Scenario.from_dict({**data, "workloads": [{**workload, "pattern": "all-to-all"}]}, text=True)
    assert len(Scenario.from_dict({**data, "workloads": [{**workload, "pattern": "racks"}]}, text=True).flows) == 1


def test_a_host_receives_one_flow_over_quic() -> None:
    once = scenario(protocol="quic", pattern="permutation", arrivals="once")
    assert {flow.protocol for flow in once.flows} == {"quic"}
    quic.check(compile_network(once).traffic)
    with pytest.raises(InputError) as caught:
        quic.check(compile_network(scenario(protocol="quic", pattern="all-to-all", arrivals="once")).traffic)
    assert "both go to h" in str(caught.value)
    assert "a permutation or stride, with arrivals: once" in str(caught.value)
    assert "quic has no dctcp" in refusal(protocol="quic", cc="dctcp")
    assert "with quic" in refusal(protocol="quic", rounds=3)
