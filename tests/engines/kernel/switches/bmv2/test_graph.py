# SPDX-License-Identifier: Apache-2.0
"""Programs of users on several P4 switches, and the depth of queues that they read.

::

    h1 -- s1 ===100 Mb/s=== s2 -- h2
            \\             /
             \\=== s3 ===/
                  |
                  h3
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rdcnlab.engines.kernel import plan
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.kernel.switches.bmv2.entries import filled
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.campaign import HintWarning, campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from tests.engines.conftest import RunGuest, Seen
from tests.engines.kernel.switches.bmv2 import p4_programs

without_bmv2 = pytest.mark.skipif(
    bool(bmv2_install.missing()), reason=f"{', '.join(bmv2_install.missing())} is missing. {bmv2_install.WHERE}"
)
needs_bmv2 = [pytest.mark.guest, pytest.mark.bmv2, pytest.mark.slow, without_bmv2]
EXAMPLE = places.p4() / "examples" / "triangle.yaml"
FRAME = 1514


def example(**changes: Any) -> Scenario:
    return Scenario.load(EXAMPLE).with_(**{"probes.packets": True, **changes})


def routes(**ports: str) -> list[str]:
    """Return entries that send packets for each host to a port."""
    entry = "table_add ForwardIngress.routes forward {{ip:{0}}}/32 => {{mac:{0}}} {{{1}}}"
    return [entry.format(host, port) for host, port in ports.items()]


def two(tmp_path: Path, record: str, **link: Any) -> Scenario:
    """Return two senders at one switch and a receiver at another; the first switch writes a field into packets."""
    (tmp_path / "records.json").write_text(p4_programs.text(("standard_metadata", record)))
    host = {"rate": "1 Gb/s"}
    return Scenario.from_dict(
        {
            "network": {
                "name": "pair",
                "switches": [
                    {
                        "name": "s1",
                        "program": str(tmp_path / "records.json"),
                        "entries": routes(a="a", b="b", c="l"),
                    },
                    {"name": "s2", "entries": routes(a="l", b="l", c="c")},
                ],
                # cables differ, so that no two packets meet at one ns
                "hosts": [
                    {**host, "name": "a", "at": "s1", "delay": "5 us"},
                    {**host, "name": "b", "at": "s1", "delay": "7123 ns"},
                    {**host, "name": "c", "at": "s2", "delay": "5 us"},
                ],
                "links": [{"name": "l", "between": ["s1", "s2"], "rate": "100 Mb/s", "delay": "100 us", **link}],
            },
            "flows": [
                {"name": "f", "src": "a", "dst": "c", "size": "600 kB", "cc": "cubic"},
                {"name": "g", "src": "b", "dst": "c", "size": "600 kB", "cc": "reno"},
            ],
            "switch": {"kind": "bmv2", "program": str(p4_programs.PATH)},
            "probes": {"packets": True, "capture": ["c"]},
        }
    )


def recorded(seen: Seen, host: str) -> np.ndarray[Any, Any]:
    """Return what the program wrote into the packets that a host received, in their order."""
    scapy = pytest.importorskip("scapy.all")
    packets = [packet for packet in scapy.rdpcap(str(seen.directory / f"{host}.pcapng")) if scapy.TCP in packet]
    return np.array([packet[scapy.IP].id for packet in packets if packet[scapy.TCP].dport in (5001, 5002)])


def queue(seen: Seen, line: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return when packets came to a line's queue and when they left it, in ns."""
    events = seen.tables["events"]
    events = events[events["link"] == line]
    arrivals, departures = (events[events["event"] == name]["t_ns"].to_numpy() for name in ("enqueue", "dequeue"))
    return arrivals, departures


def depths(arrivals: np.ndarray[Any, Any], departures: np.ndarray[Any, Any], later: int = 0) -> np.ndarray[Any, Any]:
    """Return how many earlier packets wait when each packet comes, or so many ns later."""
    before = np.arange(len(arrivals))
    return before - np.minimum(np.searchsorted(departures, arrivals + later, side="right"), before)


class TestExample:
    pytestmark = needs_bmv2

    def test_every_switch_has_its_own_entries(self, run_guest: RunGuest) -> None:
        """The packets for h3 go over s2, as the entries of s1 say, and its ACKs take the link from s3 to s1."""
        seen = run_guest(example(size="1 MB"), core=0).tables
        assert seen["flows"]["finished"].all()
        assert (seen["flows"]["retransmits"] == 0).all()
        arrivals = seen["events"][seen["events"]["event"] == "enqueue"]
        over = {
            name: set(one["link"]) - {"receiver"} for name, one in arrivals[arrivals["value"] > 1000].groupby("flow")
        }
        assert over == {"direct": {"s1-s2@s1"}, "around": {"s1-s2@s1", "s2-s3@s2"}}

    def test_marks_by_the_depth_bound_the_queue(self, run_guest: RunGuest) -> None:
        """DCTCP keeps the queue near the threshold of 20 packets. Without it, the queue of 100 packets fills."""
        marking = example(size="2 MB")
        silent = marking.with_(
            **{f"network.switches.{name}.entries": entries(marking, name)[:3] for name in ("s1", "s2")}
        )
        deepest = {}
        for name, scenario in (("marking", marking), ("silent", silent)):
            seen = run_guest(scenario, core=0)
            arrivals, departures = queue(seen, "s1-s2@s1")
            # the first 50 ms are slow start
            deepest[name] = depths(arrivals, departures)[arrivals > 50_000_000].max()
        assert 20 <= deepest["marking"] < 50
        assert deepest["silent"] == 99

    def test_is_reproducible(self, run_guest: RunGuest) -> None:
        scenario = example(size="300 kB")
        assert run_guest(scenario, core=0).digest == run_guest(scenario, core=0).digest

    @pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason=f"p4c-bm2-ss is missing. {bmv2_install.WHERE}")
    def test_the_source_compiles_to_a_program_that_does_the_same(self, run_guest: RunGuest, tmp_path: Path) -> None:
        """``forward.json`` is written without the compiler, so its names of parts differ."""
        shutil.copy(EXAMPLE.parent / "forward.p4", tmp_path / "forward.p4")
        subprocess.run([places.p4() / "compile", tmp_path / "forward.p4"], check=True)
        scenario = example(size="300 kB")
        compiled = scenario.with_(**{"switch.program": str(tmp_path / "forward.json")})
        assert run_guest(scenario, core=0).digest == run_guest(compiled, core=0).digest


def entries(scenario: Scenario, switch: str) -> list[str]:
    return list(scenario.entries_at(switch)[1])


class TestDepth:
    pytestmark = needs_bmv2

    def test_it_is_that_of_the_lines_queue(self, run_guest: RunGuest, tmp_path: Path) -> None:
        """BMv2's clock has microseconds: the depth is that of an instant at most 1 us before or after."""
        seen = run_guest(two(tmp_path, "enq_qdepth", buffer="400 packets"), core=0)
        found, (arrivals, departures) = recorded(seen, "c"), queue(seen, "l@s1")
        most, least = (
            depths(arrivals, departures, -1000)[: len(found)],
            depths(arrivals, departures, 1000)[: len(found)],
        )
        assert len(found) > 800
        assert found.max() > 100
        assert ((least <= found) & (found <= most)).all()
        assert (found == depths(arrivals, departures)[: len(found)]).mean() > 0.95

    def test_a_packet_that_the_queue_drops_does_not_count(self, run_guest: RunGuest, tmp_path: Path) -> None:
        """At the limit, 1 us can decide whether a packet fits; the next packet at the limit makes up for it."""
        seen = run_guest(two(tmp_path, "enq_qdepth", buffer="60 kB"), core=0)
        assert (seen.tables["events"]["event"] == "drop_tail").sum() > 10
        found, (arrivals, departures) = recorded(seen, "c"), queue(seen, "l@s1")
        assert np.abs(found - depths(arrivals, departures)[: len(found)]).max() <= 1
        assert found.max() == 60_000 // FRAME - 1  # the packet itself must fit, too

    def test_the_time_in_the_queue_is_known_when_a_packet_comes(self, run_guest: RunGuest, tmp_path: Path) -> None:
        seen = run_guest(two(tmp_path, "deq_timedelta", buffer="400 packets"), core=0)
        found, (arrivals, departures) = recorded(seen, "c"), queue(seen, "l@s1")
        waited = (departures[: len(found)] - arrivals[: len(found)]) / 1000
        assert waited.max() > 10_000
        assert np.abs(found - waited).max() < 2

    def test_a_port_to_a_host_has_a_depth_too(self, run_guest: RunGuest, tmp_path: Path) -> None:
        """At an only switch, two senders meet at the port to the receiver."""
        (tmp_path / "records.json").write_text(p4_programs.text(("standard_metadata", "enq_qdepth")))
        data = two(tmp_path, "enq_qdepth", buffer="400 packets").to_dict()
        hosts = [{key: value for key, value in host.items() if key != "at"} for host in data["network"]["hosts"]]
        alone = Scenario.from_dict(
            {
                "network": {"name": "alone", "hosts": hosts},
                "flows": [{**flow, "path": "bypass", "back": "bypass"} for flow in data["flows"]],
                "switch": {
                    "kind": "bmv2",
                    "program": str(tmp_path / "records.json"),
                    "entries": routes(a="a", b="b", c="c"),
                },
                "probes": data["probes"] | {"ports": True},
            }
        )
        seen = run_guest(alone, core=0)
        found = recorded(seen, "c")
        table = seen.tables["queues"]
        assert found.max() * FRAME == pytest.approx(table[table["link"] == "c@sw"]["max_B"].max(), abs=2 * FRAME)
        assert found.max() > 20


@pytest.mark.guest
@pytest.mark.bmv2
@pytest.mark.slow
@without_bmv2
def test_a_run_that_delivers_nothing_says_which_ports_packets_took(store: Store) -> None:
    scenario = example(limit="100 ms", size="100 kB")
    silent = scenario.with_(**{"network.switches.s2.entries": ["register_write ForwardEgress.threshold 0 20"]})
    with pytest.warns(HintWarning, match="no flow received a byte through forward.json") as caught:
        campaign([silent], store=store, workers=1, progress=False)
    message = str(caught[0].message)
    for words in ("came into the switch s1:", "at 1 (h1)", "at 256 (s1-s2)", "came into the switch s2:", "{mac:s1}"):
        assert words in message


def _asked(scenario: Scenario) -> None:
    plan.check(compile_network(scenario))
    plan.compile_plan(compile_network(scenario))


def refused(scenario: Scenario) -> tuple[str, str]:
    """Return field and allowed words of the error that a scenario meets before it runs."""
    with pytest.raises(InputError) as caught:
        _asked(scenario)
    (problem,) = caught.value.problems
    return problem.field, problem.allowed


def test_names_are_those_of_the_switch() -> None:
    network = compile_network(Scenario.load(EXAMPLE))
    early, late = filled(network, 1)
    assert not late
    assert early[0] == "table_add ForwardIngress.routes forward 10.0.0.1/32 => 02:00:00:00:00:01 256"
    assert early[2] == "table_add ForwardIngress.routes forward 10.2.0.3/32 => 02:00:00:00:00:03 257"


def test_a_name_of_another_switch_is_refused_with_those_there_are() -> None:
    wrong = example(**{"network.switches.s1.entries": ["table_add t a 1 => {s2-s3}"]})
    field, allowed = refused(wrong)
    assert field == "network.switches.s1.entries[0]"
    for words in ("{h1}", "{s1-s2}", "{s1-s3}", "(not {s2-s3})"):
        assert words in allowed


def test_a_timetable_cannot_lead_through_a_program() -> None:
    wrong = example(**{"flows.direct.path": [["10 ms", "s1-s2"], ["10 ms", "s3"]]})
    field, allowed = refused(wrong)
    assert field == "flows.direct.path"
    assert "forward.json moves flows at s1" in allowed


@without_bmv2
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"buffer": None, "aqm": "fq_codel"}, "network.links.s1-s2.aqm"),
        ({"red": {"min": 1, "max": 2, "probability": 3}}, "network.links.s1-s2.red"),
        ({"down": [[1, 2]]}, "network.links.s1-s2.rate"),
    ],
)
def test_a_depth_that_cannot_be_computed_is_refused(changes: dict[str, Any], field: str) -> None:
    wrong = example(**{f"network.links.s1-s2.{name}": value for name, value in changes.items()})
    found, allowed = refused(wrong)
    assert found == field
    assert "forward.json reads the depth of this queue" in allowed


@without_bmv2
def test_a_program_that_reads_no_depth_is_left_as_it_is(tmp_path: Path) -> None:
    program = p4_programs.forward()
    (egress,) = (one for one in program["pipelines"] if one["name"] == "egress")
    egress.update(init_table=None, conditionals=[], tables=[])
    (tmp_path / "plain.json").write_text(json.dumps(program))
    discipline = {"network.links.s1-s2.buffer": None, "network.links.s1-s2.aqm": "fq_codel"}
    scenario = example(**{"switch.program": str(tmp_path / "plain.json"), **discipline})
    assert all("depths" not in switch for switch in plan.compile_plan(compile_network(scenario))["switches"])


def test_a_switch_without_its_own_program_runs_ours(tmp_path: Path) -> None:
    data = example().to_dict()
    data["network"]["switches"][0]["program"] = str(p4_programs.PATH)
    del data["switch"]["program"]
    for node in data["network"]["switches"][1:]:
        node.pop("entries")
    mixed = Scenario.from_dict(data)
    assert [mixed.program_at(name) is None for name in ("s1", "s2", "s3")] == [False, True, True]
    if not bmv2_install.missing():
        switches = plan.compile_plan(compile_network(mixed))["switches"]
        assert [Path(switch["program"]).name for switch in switches] == ["forward.json", "ocs.json", "ocs.json"]
        assert not any("Ocs" in line for line in switches[0]["commands"])
        assert any("Ocs" in line for line in switches[1]["commands"])
