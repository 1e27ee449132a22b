# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rdcnlab.engines.kernel.build import patches
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import EVERY
from rdcnlab.scenario import VARIANTS, Queue, Scenario, change_all, preset, presets
from tests.conftest import TWO_FLOWS
from tests.scenario.originals import FILES, place

BASE = Scenario.from_dict(TWO_FLOWS)


def test_is_frozen() -> None:
    with pytest.raises(pydantic.ValidationError):
        BASE.seed = 2  # type: ignore[misc]


def test_canonical_json_holds_integers_only() -> None:
    data = json.loads(BASE.json())
    assert data["flows"][1]["path"] == [
        {"duration": 50_000_000, "link": "blue"},
        {"duration": 50_000_000, "link": "green"},
    ]
    assert data["flows"][0]["size"] == 2**31
    assert data["transport"]["ecn"] is None
    assert not any(isinstance(value, float) for value in _leaves(data))


def _leaves(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def test_hash_is_that_of_the_meaning(tmp_path: Path) -> None:
    assert Scenario.from_dict(json.loads(BASE.json())).hash == BASE.hash
    assert Scenario.from_dict({**TWO_FLOWS, "limit": "60 s"}).hash == BASE.hash
    assert BASE.with_(**{"network.name": "mine"}).hash == BASE.hash
    assert BASE.with_(seed=1).hash != BASE.hash
    # the same in another process with any hash seed
    (tmp_path / "x.yaml").write_text(BASE.dump())
    code = "import sys; from rdcnlab.scenario import Scenario; print(Scenario.load(sys.argv[1]).hash)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "x.yaml"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == BASE.hash


@pytest.mark.parametrize("text", FILES)
def test_canonical_data_are_written_as_pydantic_writes_them(text: str, tmp_path: Path) -> None:
    """They are put together from parts that scenarios share."""
    (place(tmp_path) / "x.yaml").write_text(text)
    scenario = Scenario.load(tmp_path / "x.yaml")
    assert json.dumps(scenario.to_dict()) == json.dumps(scenario.model_dump(mode="json"))
    every = scenario.model_dump(mode="json", context={EVERY: True})
    assert scenario._every_field == {name: json.dumps(value) for name, value in every.items()}


@given(
    period=st.one_of(st.none(), st.integers(1000, 10**9)),
    cc=st.sampled_from(VARIANTS),
    size=st.integers(1, 2**40),
    seed=st.integers(0, 2**32 - 1),
    threshold=st.one_of(st.none(), st.integers(0, 10**6)),
    jitter=st.integers(0, 10**9),
)
def test_text_gives_the_scenario_back(
    tmp_path_factory: pytest.TempPathFactory,
    period: int | None,
    cc: str,
    size: int,
    seed: int,
    threshold: int | None,
    jitter: int,
) -> None:
    changes = {"switch.ecn_threshold": threshold, "jitter.start": jitter}
    scenario = BASE.with_(period=period, cc=cc, size=size, seed=seed, **changes)
    path = tmp_path_factory.mktemp("yaml") / "scenario.yaml"
    path.write_text(scenario.dump())
    assert Scenario.load(path).hash == scenario.hash


def test_with_changes_by_name() -> None:
    assert [slot.duration for slot in BASE.with_(period="10 ms").flows[1].slots] == [10_000_000] * 2
    assert BASE.with_(period=None).flows[1].path == "blue"
    assert BASE.with_(**{"flows.migrated.cc": "bbr"}).flows[1].cc == "bbr"
    assert BASE.with_(switch__ecn_threshold="5 kB").switch.ecn_threshold == 5000
    assert BASE.with_(**{"network.links.green.buffer": "1 MB"}).network.links[0].buffer == Queue(bytes=10**6)
    assert [link.jitter for link in BASE.with_(**{"network.links.*.jitter": "2 us"}).network.links] == [2000, 2000]
    assert BASE.with_(seed=np.int64(7)).seed == 7


def _bursts(**changes: object) -> dict[str, object]:
    """Return bursts of datagrams as plain data."""
    flow: dict[str, object] = {
        "name": "main", "protocol": "udp", "size": 2 * 128 * 8972, "burst": 128, "interval": 25_000_000,
        "src": "s1", "dst": "r1", "path": "green",
    }  # fmt: skip
    return flow | changes


@pytest.mark.parametrize(
    ("changes", "field", "allowed"),
    [
        ({"cc": "vega"}, "flows.main.cc", "westwood"),
        ({"foo": 1}, "foo", "seed"),
        ({"switch.dusk": 1}, "switch.dusk", "dark"),
        ({"flows.other.cc": "bbr"}, "flows.other.cc", "main, migrated"),
        ({"switch.*": 1}, "switch.*", "dark"),
        ({"network.links.*.jiter": 1}, "network.links.*.jiter", "jitter"),
        ({"seed": -1}, "seed", "4294967295"),
        ({"seed": True}, "seed", "whole number"),
        ({"seed": "3"}, "seed", "whole number"),
        ({"seed": float("nan")}, "seed", "whole number"),
        ({"limit": object()}, "limit", "numbers"),
        ({"period": "0 ms"}, "period", "from 1 us"),
        ({"period": "1.5 ns"}, "period", "whole number"),
        ({"flows.main.path": "red"}, "flows.main.path", "green, blue, dark, bypass"),
        ({"flows.main.path": "dark"}, "flows.main.path", "not dark"),
        ({"flows.main.path": []}, "flows.main.path", "at least 1 item"),
        ({"flows.main.path": [["1 ms"]]}, "flows.main.path[0]", "[50 ms, blue]"),
        ({"flows.main.path": [3]}, "flows.main.path", "[[50 ms, blue]]"),
        ({"flows.main.path": ["1 ms", "green"] * 9}, "flows.main.path", "[[1 ms, green], [1 ms, green], ...]"),
        ({"flows.main.src": "s9"}, "flows.main.src", "s1, s2, r1, r2"),
        ({"flows.main.dst": "s1"}, "flows.main.dst", "another host"),
        ({"flows.main.start": "60 s"}, "flows.main.start", "limit"),
        ({"flows.main.name": "migrated"}, "flows[1].name", "occurs only once"),
        ({"network": "paris"}, "network", "aykurt"),
        ({"network.mtu": 100}, "network.mtu", "576 B"),
        ({"network.links.green.name": "dark"}, "network.links[0].name", "bypass"),
        ({"network.links.green.name": "Grün"}, "network.links[0].name", "this one contains 'ü'"),
        ({"network.links.green.name": "Dark"}, "network.links[0].name", "a name other than dark and bypass"),
        ({"network.hosts.s1.name": "sender-one"}, "network.hosts[0].name", "at most 14 letters, digits or _"),
        ({"network.hosts.s1.name": "sender-one"}, "network.hosts[0].name", "this one contains '-'"),
        (
            {"network.hosts.s1.name": "Server_Frankfurt"},
            "network.hosts[0].name",
            "has 16 characters, and 15 is the most",
        ),
        ({"network.hosts.s1.name": "1st"}, "network.hosts[0].name", "begins with '1'"),
        ({"network.hosts.s1.name": "_1"}, "network.hosts[0].name", "begins with '_'"),
        ({"network.hosts.s1.name": ""}, "network.hosts[0].name", "is empty"),
        ({"flows.main.name": "7th"}, "flows[0].name", "a letter followed by at most 31"),
        ({"quic.name": ""}, "quic.name", "1 to 32 letters"),
        ({"network.links.green.pool": "p"}, "network.links.green.pool", "buffer is given"),
        ({"network.hosts.s1.queue": "3"}, "network.hosts.s1.queue", "1000 packets"),
        ({"transport.rmem": [3, 2, 1]}, "transport.rmem", "rising"),
        ({"transport.ecn": False, "cc": "dctcp"}, "transport.ecn", "auto"),
        ({"engine.hz": 60}, "engine.hz", "1000"),
        ({"flows.main.protocol": "udp"}, "flows.main.cc", "no congestion control"),
        ({"flows.main": _bursts(burst=0)}, "flows.main.burst", "from 1 to 65535"),
        ({"flows.main": _bursts(interval=None)}, "flows.main.interval", "25 ms"),
        ({"flows.main": _bursts(packet="9100 B")}, "flows.main.packet", "mtu"),
        ({"flows.main": _bursts(initiator="dst")}, "flows.main.initiator", "no connection"),
        ({"flows.main": _bursts(burst=None, interval=None)}, "flows.main.rate", "10 Mb/s"),
        ({"flows.main": _bursts(rate="1 Mb/s")}, "flows.main.burst", "with rate"),
        ({"flows.main.burst": 3}, "flows.main.burst", "only udp"),
        ({"flows.main.protocol": "quic", "cc": "dctcp"}, "flows.main.cc", "cubic, reno, bbr"),
        ({"flows.main.protocol": "quic", "network.mtu": "1000 B"}, "network.mtu", "1228 B"),
        ({"quic.client": "get {port} {host}"}, "quic.client", "{address}"),
        ({"quic.client": "get {port:>6}"}, "quic.client", "{address}"),
        ({"quic.client": "get {port} {cc:{x}}"}, "quic.client", "{address}"),
        ({"quic.client": "get {port} :: and"}, "quic.client", "{address}"),
        ({"quic.client": "{cc} {port}"}, "quic.client", "first word is the name of a program"),
        ({"quic.client": "get"}, "quic.client", "{port}"),
        ({"flows": []}, "flows", "at least 1 item"),
        ({"flows": [{"name": "main"}]}, "flows.main.path", "no default"),
        ({"switch": {"colour": 1}}, "switch.colour", "kind, ecn_threshold, dark"),
    ],
)
def test_errors_name_field_and_what_is_allowed(changes: dict[str, object], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        BASE.with_(**changes)
    problems = [problem for problem in caught.value.problems if problem.field == field]
    assert problems, str(caught.value)
    assert allowed in problems[0].allowed


def test_a_network_of_ones_own_has_ranges() -> None:
    network = {
        "name": "star",
        "hosts": [{"name": "h[1-6]", "rate": "10 Gb/s"}],
        "links": [{"name": "link[1-2]", "rate": "10 Gb/s", "buffer": "1 MB"}],
    }
    flows = [{"name": "flow[1-2]", "size": "1 MiB", "src": "h[1-2]", "dst": "h[5-6]", "path": "link[1-2]"}]
    scenario = Scenario.from_dict({"network": network, "flows": flows})
    assert [host.name for host in scenario.network.hosts] == ["h1", "h2", "h3", "h4", "h5", "h6"]
    assert [(flow.src, flow.dst, flow.path) for flow in scenario.flows] == [
        ("h1", "h5", "link1"),
        ("h2", "h6", "link2"),
    ]
    with pytest.raises(InputError, match=r"hosts.h\[6-1\].*ranges that rise"):
        Scenario.from_dict({"network": {**network, "hosts": [{"name": "h[6-1]", "rate": "1 Gb/s"}]}, "flows": flows})


def test_no_error_shows_a_regular_expression() -> None:
    for field in ("network.hosts.s1.name", "network.links.green.name", "flows.main.name", "quic.name", "quic.version"):
        with pytest.raises(InputError) as caught:
            BASE.with_(**{field: "*" * 2000})
        assert "^" not in str(caught.value)
        assert "{0," not in str(caught.value)


def test_period_without_a_timetable_is_refused() -> None:
    with pytest.raises(InputError, match="timetable"):
        BASE.with_(period=None).with_(period="10 ms")


def test_a_number_in_code_that_is_too_small_for_its_unit_is_refused_with_the_unit() -> None:
    path = [["50 ms", "blue"], ["50 ms", "green"]]
    flow = {"name": "f", "src": "s1", "dst": "r1", "size": "1 MB", "path": path}
    with pytest.raises(InputError, match="a number alone counts ns, so write its unit: '10 ms'"):
        Scenario.from_dict({"network": "aykurt", "flows": [flow]}).with_(period=10)


def test_files_want_units(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("network: aykurt\nflows: [{name: main, size: 100, path: green, start: 0}]\n")
    with pytest.raises(InputError, match=r"flows\.main\.size: 100 is not possible; it must be a size with its unit"):
        Scenario.load(path)


def test_jitter_comes_from_the_seed_alone() -> None:
    times = BASE.with_(seed=1).start_times()
    assert times == BASE.with_(seed=1, cc="bbr").start_times()
    assert times != BASE.with_(seed=2).start_times()
    assert all(0 <= time <= 1_000_000 for time in times)
    assert times[0] != times[1]
    # one clock shifts all timetables by the same time
    shifted = BASE.with_(jitter__phase="10 ms", seed=5).phases()
    assert shifted[0] == shifted[1] > 0
    assert BASE.with_(jitter__start=0).start_times() == (0, 0)


@pytest.mark.parametrize("name", presets())
def test_presets_are_valid_and_give_their_sources(name: str) -> None:
    assert preset(name).network.hosts


def test_aykurt_has_the_rtt_and_buffer_that_it_states() -> None:
    network = BASE.network
    frame_ns = (network.mtu + network.overhead) * 8  # at 10 Gb/s a byte takes 0.8 ns
    frame_ns = frame_ns // 10
    ack_ns = (52 + network.overhead) * 8 // 10
    delays = sum(4 * host.delay for host in network.hosts) // len(network.hosts) + network.links[0].delay
    assert 3 * frame_ns + 2 * ack_ns + delays == pytest.approx(170_000, rel=1e-3)  # see the preset
    assert network.links[0].buffer_bytes(network.mtu) + 212_500 == 3_000_000  # Sec. V-B


def _one_link(buffer: Any, **more: Any) -> dict[str, Any]:
    hosts = [{"name": name, "rate": "1 Gbps"} for name in ("a", "b")]
    links = [{"name": "l", "rate": "10Mbps", "delay": "5ms", "buffer": buffer, **more}]
    flows = [{"name": "f", "src": "a", "dst": "b", "size": "1.5 MB", "path": "l"}]
    return {"network": {"name": "n", "hosts": hosts, "links": links}, "flows": flows}


def test_a_buffer_of_a_link_is_bytes_or_packets() -> None:
    in_packets, in_bytes = (Scenario.from_dict(_one_link(text), text=True) for text in ("100 packets", "100 kB"))
    assert in_packets.network.links[0].buffer == Queue(packets=100)
    assert in_packets.network.links[0].buffer_bytes(1500) == 100 * 1514
    assert in_bytes.network.links[0].buffer == Queue(bytes=100_000)
    # bytes are a plain integer, as they were before packets were possible
    assert in_bytes.to_dict()["network"]["links"][0]["buffer"] == 100_000
    assert in_packets.to_dict()["network"]["links"][0]["buffer"] == {"bytes": None, "packets": 100}
    assert in_packets.hash != in_bytes.hash
    for scenario, text in ((in_packets, "buffer: 100 packets"), (in_bytes, "buffer: 100 kB")):
        assert text in scenario.dump()
        assert Scenario.from_dict(yaml.safe_load(scenario.dump()), text=True) == scenario
        assert Scenario.from_dict(scenario.to_dict()) == scenario
        assert scenario.with_(seed=3, limit="9 s").network.links[0].buffer == scenario.network.links[0].buffer
        thresholds = scenario.with_thresholds("l", 5000, None)
        assert thresholds == scenario.with_(**{"network.links.l.ecn_threshold": 5000})
    changed = in_bytes.with_(**{"network.links.l.buffer": "100 packets"})
    assert changed == in_packets


@pytest.mark.parametrize(
    ("buffer", "allowed"),
    [
        (100_000, "a size with its unit, such as '2 MB', or a count such as '1000 packets'"),
        ("0 B", "from 1 B to 4294967295 B such as '2 MB', or a count"),
        ("5 GB", "from 1 B to 4294967295 B such as '2 MB', or a count"),
        ("10 KB", "write kB for 1000 B, KiB for 1024 B"),
        ("many", "a size such as '2 MB' or a count such as '1000 packets'"),
        (1.5, "a size with its unit"),
        ([], "bytes, packets"),
    ],
)
def test_a_buffer_that_is_neither_is_refused(buffer: Any, allowed: str) -> None:
    with pytest.raises(InputError) as error:
        Scenario.from_dict(_one_link(buffer), text=True)
    [problem] = error.value.problems
    assert problem.field == "network.links.l.buffer"
    assert allowed in problem.allowed


def test_units_are_read_as_people_write_them() -> None:
    scenario = Scenario.from_dict(_one_link("1.5 MB"), text=True)
    link = scenario.network.links[0]
    assert (link.rate, link.delay, link.buffer) == (10**7, 5_000_000, Queue(bytes=1_500_000))
    assert scenario.network.hosts[0].rate == 10**9
    assert "10 Mb/s" in scenario.dump()


def test_fields_that_came_later_do_not_change_hashes(tmp_path: Path) -> None:
    """Results that were shipped before a field was added are still found by the same hash."""
    assert set(BASE.to_dict()["switch"]) == {"kind", "ecn_threshold", "dark"}
    assert BASE.with_(**{"switch.entries": []}).hash == BASE.hash
    p4 = BASE.with_(**{"switch.kind": "bmv2"})
    managed = p4.with_(**{"switch.control": "control-plane"})
    assert managed.to_dict()["switch"]["control"] == "control-plane"
    assert len({BASE.hash, p4.hash, managed.hash}) == 3
    assert Scenario.from_dict(managed.to_dict()) == managed


def test_a_p4_program_is_known_by_its_bytes(tmp_path: Path) -> None:
    program = '{"parsers": [], "deparsers": [], "pipelines": [], "actions": []}'
    for name in ("one.json", "two.json"):
        (tmp_path / name).write_text(program)
    one, two = (
        BASE.with_(**{"switch.kind": "bmv2"}).with_(**{"switch.program": str(tmp_path / name)})
        for name in ("one.json", "two.json")
    )
    assert one == two
    (tmp_path / "two.json").write_text(program + " ")
    assert one != BASE.with_(**{"switch.kind": "bmv2"}).with_(**{"switch.program": str(tmp_path / "two.json")})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"switch.entries": ["table_add"]}, "switch.entries"),
        ({"switch.control": "control-plane"}, "switch.control"),
        ({"switch.kind": "bmv2", "switch.program": "missing.json"}, "switch.program"),
        ({"switch.kind": "bmv2", "switch.program": "source.p4"}, "switch.program"),
        ({"switch.kind": "bmv2", "switch.control": "elsewhere"}, "switch.control"),
    ],
)
def test_settings_of_a_p4_switch_are_checked(changes: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as caught:
        BASE.with_(**changes)
    assert [problem.field for problem in caught.value.problems] == [field]


def test_new_flows_take_what_they_lack_from_the_preset_and_the_rest_is_shared() -> None:
    changed = BASE.with_(flows=[{"name": "main", "size": "1 MB", "path": "green"}])
    assert (changed.flows[0].src, changed.flows[0].dst) == (BASE.flows[0].src, BASE.flows[0].dst)
    assert changed.transport is BASE.transport
    longer = BASE.with_(limit="50 s")
    assert longer.network is BASE.network
    assert longer.flows == BASE.flows
    assert longer == Scenario.from_dict({**BASE.to_dict(), "limit": 50 * 10**9})


def test_another_seed_shares_the_rest_and_is_what_plain_data_give() -> None:
    other = BASE.with_(seed=7)
    made = Scenario.from_dict({**BASE.to_dict(), "seed": 7})
    assert (other.hash, other.json(), other.to_dict()) == (made.hash, made.json(), made.to_dict())
    assert other.network is BASE.network
    assert BASE.with_() is BASE
    other.to_dict()["network"]["name"] = "changed"
    assert other.hash == made.hash
    for wrong in (-1, 2**32, True):
        with pytest.raises(InputError, match="seed"):
            BASE.with_(seed=wrong)


def test_a_scenario_can_be_sent_to_another_process_and_copied(two_flows: Scenario) -> None:
    two_flows.with_(seed=5)  # what seeds share is computed now
    two_flows.with_thresholds(two_flows.network.links[0].name, 5000, None)
    assert two_flows.hash
    assert two_flows.json()
    for copied in (pickle.loads(pickle.dumps(two_flows)), copy.deepcopy(two_flows)):
        assert copied == two_flows
        assert copied.with_(seed=5) == two_flows.with_(seed=5)


def test_what_is_kept_of_a_scenario_is_not_that_of_another(two_flows: Scenario) -> None:
    """A copy with another seed, or with other thresholds, shares parts; what depends on all fields is its own."""
    changed = two_flows.with_(limit="30 s")  # everything that a scenario keeps is computed now
    seeded = two_flows.with_(seed=5)
    assert seeded.with_(limit="30 s") == changed.with_(seed=5)
    assert seeded.with_(limit="30 s").seed == 5
    assert Scenario.from_dict(seeded.to_dict()).hash == seeded.hash
    link = two_flows.network.links[0].name
    assert two_flows.network.link(link).ecn_threshold is None
    marking = two_flows.with_thresholds(link, 5000, None)
    assert marking.network.link(link).ecn_threshold == marking.network.links[0].ecn_threshold == 5000
    assert marking.with_(limit="30 s").network.link(link).ecn_threshold == 5000
    assert Scenario.from_dict(marking.to_dict()).hash == marking.hash
    assert marking.with_(seed=5) == seeded.with_thresholds(link, 5000, None)


def test_scenarios_are_changed_together_as_each_by_itself(two_flows: Scenario) -> None:
    originals = [two_flows.with_(seed=seed) for seed in range(3)] + [two_flows.with_(cc="bbr")]
    for changes in ({}, {"limit": "30 s"}, {"seed": 7}, {"period": "10 ms", "transport.sack": False}):
        assert change_all(originals, changes) == [scenario.with_(**changes) for scenario in originals]


def test_a_file_of_the_users_own_is_read_again(tmp_path: Path, two_flows: Scenario) -> None:
    """Equal changes name a file that is not the same any more."""
    file = tmp_path / "tcp_mine.c"
    example = (patches.root() / "examples" / "tcp_gentle.c").read_text()
    hashes = set()
    for factor in ("3", "2"):
        file.write_text(example.replace("PAUSE_FACTOR\t3", f"PAUSE_FACTOR\t{factor}"))
        hashes.add(two_flows.with_(**{"engine.algorithm": str(file)}).hash)
    assert len(hashes) == 2
