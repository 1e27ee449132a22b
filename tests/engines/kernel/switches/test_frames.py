# SPDX-License-Identifier: Apache-2.0
"""Frames that are not IP, and frames whose address no switch knows, over switches of every kind.

::

    s1 --| a |-- ab --| b |-- r1
           \\           /
            ca        bc
              \\       /
                | c |-- r2
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.kernel.switches import circles
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.kernel.switches.ovs import install as ovs_install
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[3] / "docs" / "controller.md"
with_ovs = [
    pytest.mark.guest,
    pytest.mark.ovs,
    pytest.mark.skipif(
        bool(ovs_install.missing()) or not ovs_install.has_controller(), reason=f"{ovs_install.REMEDY}; make sdn"
    ),
]
with_bmv2 = [
    pytest.mark.guest,
    pytest.mark.bmv2,
    pytest.mark.skipif(bool(bmv2_install.missing()), reason=f"BMv2 is missing. {bmv2_install.WHERE}"),
]


def on_ovs(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that needs Open vSwitch."""
    for mark in with_ovs:
        test = mark(test)
    return test


TRIANGLE: dict[str, Any] = {
    "name": "triangle",
    "switches": [{"name": name} for name in "abc"],
    "hosts": [
        {"name": "s1", "at": "a", "rate": "1 Gb/s", "delay": "1 us"},
        {"name": "r1", "at": "b", "rate": "1 Gb/s", "delay": "2 us"},
        {"name": "r2", "at": "c", "rate": "1 Gb/s", "delay": "3 us"},
    ],
    "links": [
        {"name": "ab", "between": ["a", "b"], "rate": "1 Gb/s", "delay": "10 us", "buffer": "1 MB"},
        {"name": "bc", "between": ["b", "c"], "rate": "1 Gb/s", "delay": "20 us", "buffer": "1 MB"},
        {"name": "ca", "between": ["c", "a"], "rate": "1 Gb/s", "delay": "30 us", "buffer": "1 MB"},
    ],
}
#: EtherType, number of the tag, and destination of the frames that every host must hear.
FOR_ALL = ["0806 0 ffffffffffff", "86dd 0 333300000001", "88b5 0 020000009999", "88b5 7 ffffffffffff"]
#: The same for the host whose address is known, and for the neighbour, which hosts at other switches are not.
KNOWN, LLDP = "88b5 0 020000000002", "88cc 0 0180c200000e"


def triangle(network: dict[str, Any] = TRIANGLE, **settings: Any) -> Scenario:
    flows = [{"name": f"f{index}", "src": "s1", "dst": f"r{index}", "size": "200 kB"} for index in (1, 2)]
    plain = Scenario.from_dict({"network": network, "flows": flows, "limit": "2 s"})
    return plain.with_(**{f"switch.{name}": value for name, value in settings.items()})


@pytest.mark.guest
@pytest.mark.parametrize(
    "kind",
    ["ocs", "linux", pytest.param("ovs", marks=with_ovs), pytest.param("bmv2", marks=with_bmv2)],
)
def test_frames_reach_every_host_once(run_guest: RunGuest, kind: str) -> None:
    """ARP, IPv6, an experimental EtherType and a tagged frame go along a tree; a known address gets its own frame."""
    hear = "python3 /run/rdcnlab/frames.py hear {0}-eth0 /run/{0} >/dev/null 2>&1 &"
    hear += " until grep -q r /run/{0}; do sleep 0.1; done"
    before = [(host, hear.format(host)) for host in ("r1", "r2")]
    send = "python3 /run/rdcnlab/frames.py send s1-eth0 02:00:00:00:00:02; sleep 0.1"
    commands = [("s1", send), ("r1", "cat /run/r1"), ("r2", "cat /run/r2")]
    seen = run_guest(triangle(kind=kind), before=before, commands=commands, files=[HERE / "frames.py"])
    assert seen.tables["flows"]["finished"].all()
    heard = [sorted(answer.split("\n")[1:]) for answer in (each.strip().replace("\r", "") for each in seen.answers[1:])]
    assert heard == [sorted([*FOR_ALL, KNOWN]), FOR_ALL]


def test_the_tree_has_the_least_sum_of_weights() -> None:
    """Without weights, the first links of the list; an optical switch takes no part."""

    def links(scenario: Scenario) -> set[str]:
        network = compile_network(scenario)
        return {line.link.name for line in network.lines if line.number in network.tree}

    assert links(triangle()) == {"ab", "bc"}
    assert links(triangle().with_(**{"network.links.ab.weight": 9})) == {"bc", "ca"}
    link = {"rate": "1 Gb/s", "delay": "1 us", "buffer": "1 MB"}
    light = [{"name": f"o{end}", "between": ["o", end], **link} for end in "ab"]
    switches = [*TRIANGLE["switches"], {"name": "o", "optical": True}]
    optical = {**TRIANGLE, "switches": switches, "links": [*light, *TRIANGLE["links"]]}
    assert links(triangle(optical)) == {"ab", "bc"}


def test_there_is_a_limit_only_where_a_program_decides_and_no_switch_is_late(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("")
    own = triangle(kind="ovs", controller=str(tmp_path / "own.py"))
    late = own.with_(**{"network.switches.a.late": "1 ms"})
    found = [circles.settings(compile_network(each)) for each in (own, late, triangle(kind="ovs"))]
    assert found == [{"hops_max": 16}, {}, {}]


def blocks() -> dict[str, str]:
    """Return the files that the document shows, by the names in their first lines."""
    found = re.findall(r"```(?:yaml|python)\n(# (\S+): .*?)```", DOCUMENT.read_text(), re.DOTALL)
    return {name: text for text, name in found}


def controlled(directory: Path, text: str, **more: Any) -> Scenario:
    """Return the document's triangle under a controller with this text."""
    (directory / "discover.py").write_text(text)
    (directory / "triangle.yaml").write_text(blocks()["triangle.yaml"])
    return Scenario.load(directory / "triangle.yaml").with_(**more)


@on_ovs
def test_a_controller_hears_every_neighbour_and_floods_along_a_tree(run_guest: RunGuest, tmp_path: Path) -> None:
    """Its tables are empty but for the tree, so the transfers complete only along it."""
    seen = run_guest(controlled(tmp_path, blocks()["discover.py"]))
    assert seen.tables["flows"]["finished"].all()


@on_ovs
def test_every_switch_hears_both_neighbours(run_guest: RunGuest, tmp_path: Path) -> None:
    text = blocks()["discover.py"].replace("!= 6", "!= 7")
    with pytest.raises(RunError) as caught:
        run_guest(controlled(tmp_path, text))
    heard = set(re.findall(r"\('(\w)', \d+\): \('(\w)', \d+\)", str(caught.value)))
    assert heard == {(one, other) for one in "abc" for other in "abc" if one != other}


HUB = """
from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls


class Hub(OSKenApp):
    @set_ev_cls(ofp_event.EventOFPStateChange, MAIN_DISPATCHER)
    def connected(self, event):
        path, make = event.datapath, event.datapath.ofproto_parser
        doing = [make.OFPInstructionActions(path.ofproto.OFPIT_APPLY_ACTIONS, [make.OFPActionOutput({port})])]
        path.send_msg(make.OFPFlowMod(path, priority=0, match=make.OFPMatch(), instructions=doing))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def came(self, event):
        path, make = event.msg.datapath, event.msg.datapath.ofproto_parser
        out, port = [make.OFPActionOutput(path.ofproto.OFPP_FLOOD)], event.msg.match["in_port"]
        path.send_msg(make.OFPPacketOut(path, path.ofproto.OFP_NO_BUFFER, port, out, event.msg.data))
"""


@pytest.mark.parametrize(
    "port",
    [
        pytest.param("path.ofproto.OFPP_FLOOD", id="the table floods", marks=with_ovs),
        pytest.param(
            "path.ofproto.OFPP_CONTROLLER, 65535", id="the controller floods", marks=[*with_ovs, pytest.mark.slow]
        ),
    ],
)
def test_a_frame_that_circles_ends_the_run(run_guest: RunGuest, tmp_path: Path, port: str) -> None:
    """Without a tree, frames go round; the error names the switches of the circle, the first of them twice."""
    with pytest.raises(RunError, match=r"frames circle: .*; one frame has passed 17 switches\.") as caught:
        run_guest(controlled(tmp_path, HUB.replace("{port}", port)))
    found = re.search(r"circle: (\w) -> (\w) -> (\w) -> (\w);", str(caught.value))
    assert found is not None
    assert set(found.groups()) == set("abc")
    assert found[1] == found[4]


@pytest.mark.guest
def test_frames_that_circle_for_a_while_are_all_recorded(run_guest: RunGuest) -> None:
    """For 300 ms, b still sends to c, and c already to b; each round of 4.4 us and more makes two records."""
    pairs, link = ["ab", "bc", "ca", "bd", "cd"], {"rate": "10 Gb/s", "delay": "1 us", "buffer": "1 MB"}
    network = {
        "name": "late",
        "switches": [{"name": "a"}, {"name": "b", "late": "300 ms"}, {"name": "c"}, {"name": "d"}],
        "hosts": [{"name": "s", "at": "a", "rate": "1 Gb/s"}, {"name": "r", "at": "d", "rate": "1 Gb/s"}],
        "links": [{"name": pair, "between": list(pair), **link} for pair in pairs],
    }
    flow = {"name": "f", "src": "s", "dst": "r", "size": "1 MB", "path": [["1 ms", "b+c"], ["1 s", "c+b"]]}
    seen = run_guest(Scenario.from_dict({"network": network, "flows": [flow], "limit": "500 ms"}))
    assert seen.tables["flows"]["finished"].all()
    passed = seen.tables["throughput"].groupby("where")["bytes"].sum()
    assert passed["bc@b"] > 20 * passed["receiver"], passed
