# SPDX-License-Identifier: Apache-2.0
"""Switches of several kinds in one network: lines are the kernel's, so every mix of kinds gives the same tables.

::

    s1 --|      |-- l_n --|       |-- r1
         | left |         | right |
    s2 --|      |-- l_m --|       |-- r2
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.kernel.switches.ovs import install as ovs_install
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

with_bmv2 = [
    pytest.mark.bmv2,
    pytest.mark.skipif(
        bool(bmv2_install.missing()), reason=f"{', '.join(bmv2_install.missing())} is missing. {bmv2_install.WHERE}"
    ),
]
with_ovs = [
    pytest.mark.ovs,
    pytest.mark.skipif(
        bool(ovs_install.missing()) or not ovs_install.has_controller(), reason=f"{ovs_install.REMEDY}; make sdn"
    ),
]
MIXES = [
    pytest.param(("ovs", "ovs"), id="ovs-ovs", marks=with_ovs),
    pytest.param(("ocs", "ovs"), id="ocs-ovs", marks=[*with_ovs, pytest.mark.slow]),
    pytest.param(("linux", "linux"), id="linux-linux"),
    pytest.param(("linux", "ocs"), id="linux-ocs"),
    pytest.param(("ocs", "bmv2"), id="ocs-bmv2", marks=with_bmv2),
    pytest.param(("bmv2", "bmv2"), id="bmv2-bmv2", marks=[*with_bmv2, pytest.mark.slow]),
]
Tables = dict[str, pd.DataFrame]


def flow(name: str, src: str, dst: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "src": src, "dst": dst, "size": "600 kB", "back": "same", **more}


def two(*flows: dict[str, Any], late: str = "0 s", **link: Any) -> Scenario:
    """Return two switches with two links.

    All cables differ in length, so that no two packets meet at one ns. The receive buffer has its full size from the
    start: how fast it grows depends on the memory that packets take, which is another if BMv2 has sent them anew.
    """
    hosts = [
        {"name": name, "at": "left" if name[0] == "s" else "right", "rate": "10 Gb/s", "delay": f"{1000 + 37 * n} ns"}
        for n, name in enumerate(("s1", "s2", "r1", "r2"))
    ]
    given = {"rate": "10 Gb/s", "delay": "5 us", "buffer": "200 kB", **link}
    network = {
        "name": "two",
        "switches": [{"name": "left"}, {"name": "right", "late": late}],
        "hosts": hosts,
        "links": [{"name": name, "between": ["left", "right"], **given} for name in ("l_n", "l_m")],
    }
    transport = {"rmem": ["4 KiB", "6 MiB", "6 MiB"]}
    data = {"network": network, "flows": list(flows), "limit": "1 s", "transport": transport}
    return Scenario.from_dict({**data, "probes": {"packets": True}})


#: Ways that two flows swap every 500 us, with a dark time between.
SWAP = {
    name: [["500 us", one], ["100 us", "dark"], ["500 us", other], ["100 us", "dark"]]
    for name, one, other in (("fn", "l_n", "l_m"), ("fm", "l_m", "l_n"))
}
CASES = {
    "static": two(flow("fn", "s1", "r1", path="l_n"), flow("fm", "s2", "r2", path="l_m")),
    "timetable": two(flow("fn", "s1", "r1", path=SWAP["fn"]), flow("fm", "s2", "r2", path=SWAP["fm"]), late="30 us"),
    "marks": two(
        flow("fn", "s1", "r1", path="l_n", cc="dctcp"),
        flow("fm", "s2", "r2", path="l_n", cc="dctcp"),
        rate="1 Gb/s",
        ecn_threshold="30 kB",
    ),
    "early drop": two(
        flow("fn", "s1", "r1", path="l_n"),
        flow("fm", "s2", "r2", path="l_n"),
        rate="1 Gb/s",
        red={"min": "20 kB", "max": "60 kB", "probability": "10 %"},
    ),
}
#: What a case is there to see, in the table of events.
SEEN = {"static": {"dequeue"}, "timetable": {"slot", "drop_dark"}, "marks": {"mark"}, "early drop": {"drop_red"}}


def of_kinds(scenario: Scenario, left: str, right: str) -> Scenario:
    return scenario.with_(**{"network.switches.left.kind": left, "network.switches.right.kind": right})


@pytest.fixture(scope="module")
def reference() -> dict[str, Tables]:
    """The tables of each case with two switches ``ocs``, which are run when they are needed."""
    return {}


@pytest.mark.parametrize("kinds", MIXES)
@pytest.mark.parametrize("case", CASES)
def test_every_mix_of_kinds_gives_equal_tables(
    run_guest: RunGuest, reference: dict[str, Tables], case: str, kinds: tuple[str, str]
) -> None:
    """Packets, instants, marks and losses are equal to the nanosecond, and so are the changes that switches report."""
    expected = with_ocs(run_guest, reference, case)
    tables = run_guest(of_kinds(CASES[case], *kinds)).tables
    assert set(tables["events"]["event"]) >= SEEN[case]
    assert_equal(tables, expected)


def with_ocs(run_guest: RunGuest, reference: dict[str, Tables], case: str) -> Tables:
    """Return the tables of a case with two switches ``ocs``; it is run once."""
    if case not in reference:
        reference[case] = run_guest(of_kinds(CASES[case], "ocs", "ocs")).tables
    return reference[case]


def assert_equal(tables: Tables, expected: Tables) -> None:
    """Compare all tables; events until the last flow has ended, as the guest and its timetables go on for a moment.

    Only controllers decide, and only their switches confirm.
    """
    last_ns = expected["flows"]["end_s"].max() * 1e9

    def until_the_end(events: pd.DataFrame) -> pd.DataFrame:
        return events[(events["t_ns"] <= last_ns) & ~events["event"].isin(["decision", "barrier"])]

    for name in expected:
        one, other = (
            (until_the_end(table) if name == "events" else table).reset_index(drop=True)
            for table in (tables[name], expected[name])
        )
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.bmv2
@pytest.mark.slow
@with_bmv2[1]
def test_managers_in_the_control_planes_of_two_switches_do_the_same(
    run_guest: RunGuest, reference: dict[str, Tables]
) -> None:
    """Before its time comes, the first slot is in force, also at the switch that is late."""
    both = of_kinds(CASES["timetable"], "bmv2", "bmv2")
    managed = both.with_(**{"switch.kind": "bmv2", "switch.control": "control-plane"})
    assert_equal(run_guest(managed).tables, with_ocs(run_guest, reference, "timetable"))


@pytest.mark.bmv2
@pytest.mark.parametrize("control", ["data-plane", pytest.param("control-plane", marks=pytest.mark.slow)])
@with_bmv2[1]
def test_a_p4_switch_writes_the_versions_that_ocs_writes(run_guest: RunGuest, control: str) -> None:
    """The receiver sees each change of way once, and holds the duplicate ACKs of what the longer link delays."""
    steps = [["500 us", "l_n"], ["500 us", "l_m"]]
    moved = two(
        flow("fn", "s1", "r1", path=steps, cc="nuftcp", size="3 MB"), flow("fm", "s2", "r2", path="l_m"), late="30 us"
    )
    scenario = moved.with_(**{"network.links.l_m.delay": "40 us", "probes.counters": True})
    expected = run_guest(of_kinds(scenario, "ocs", "ocs")).tables
    seen = expected["events"].groupby("event")["value"].sum()
    assert seen["counter TCPVersionChange"] >= 2
    assert seen["counter TCPHeldAcks"] >= 1
    there = of_kinds(scenario, "bmv2", "bmv2").with_(**{"switch.kind": "bmv2", "switch.control": control})
    assert_equal(run_guest(there).tables, expected)


@pytest.mark.bmv2
@with_bmv2[1]
def test_any_of_several_switches_that_dies_ends_the_run(run_guest: RunGuest) -> None:
    scenario = of_kinds(two(flow("f", "s1", "r1", size="1 GB")), "bmv2", "bmv2")
    line = "(sleep $(awk '{print 60.02 - $1}' /proc/uptime) && kill -9 $(pgrep -n simple_switch)) >/dev/null 2>&1 &"
    with pytest.raises(RunError, match="simple_switch was ended by SIGKILL"):
        run_guest(scenario, before=[("s1", line)])


@pytest.mark.parametrize("kind", ["linux", pytest.param("bmv2", marks=with_bmv2), pytest.param("ovs", marks=with_ovs)])
def test_packets_of_no_flow_take_the_shortest_way_through_any_kind(run_guest: RunGuest, kind: str) -> None:
    """A switch in the middle has no host; pings cross it, and what enters it leaves it."""
    switches = [{"name": "a"}, {"name": "middle", "kind": kind}, {"name": "b"}]
    ends = [("a", "middle"), ("middle", "b")]
    links = [{"name": f"l{n}", "between": pair, "rate": "1 Gb/s", "buffer": "1 MB"} for n, pair in enumerate(ends)]
    hosts = [{"name": f"h{name}", "at": name, "rate": "10 Gb/s"} for name in "ab"]
    network = {"name": "line", "switches": switches, "hosts": hosts, "links": links}
    scenario = Scenario.from_dict({"network": network, "flows": [flow("f", "ha", "hb", size="100 kB")]})
    there = compile_network(scenario).stations["hb"].ip
    seen = run_guest(scenario, commands=[("ha", f"ping -c 1 -W 1 {there} || true")])
    assert "1 received" in seen.answers[0]
    assert set(seen.tables["throughput"]["where"]) == {"l0@a", "l1@middle", "receiver"}
    counters = json.loads((seen.directory / "switch.json").read_text())["middle"]["panel"]
    outside = {name: port for name, port in counters["ports"].items() if name.startswith("t")}
    arrivals = sum(port["rx_packets"] for port in outside.values())
    departures = sum(port["link"]["tx_packets"] for port in outside.values())
    assert arrivals == departures > 100


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("ocs", "l_m@left"),
        pytest.param("bmv2", "l_m@left", marks=with_bmv2),
        ("linux", "l_n@left"),
        pytest.param("ovs", "l_n@left", marks=with_ovs),
    ],
)
def test_a_packet_at_the_instant_of_a_change_finds_the_new_slot_but_not_at_a_bridge(
    run_guest: RunGuest, kind: str, line: str
) -> None:
    """A process changes the filters of a bridge; the kernel handles packets of the same instant before processes."""
    # a flow begins 1 ns late; its first packet does not wait, and reaches the switch after 1000 ns
    swap = flow("f", "s1", "r1", size="1 kB", start="998999 ns", path=[["1 ms", "l_n"], ["1 ms", "l_m"]])
    events = run_guest(of_kinds(two(swap), kind, "ocs").with_(**{"network.ends": "bucket"})).tables["events"]
    first = events[events["event"] == "dequeue"].iloc[0]
    assert (first["t_ns"], first["link"]) == (1_000_000, line)
    assert 1_000_000 in set(events[events["event"] == "slot"]["t_ns"])
