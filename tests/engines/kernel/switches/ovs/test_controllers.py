# SPDX-License-Identifier: Apache-2.0
"""Applications of public kind as controllers: threads of the hub, spanning trees, ports that go down, LLDP.

::

    s1 --| a |-- ab --| b |-- r1
           \\           /
            ca        bc
              \\       /
                | c |-- r2

An application reports by the error with which it ends the run: `REPORT` at the end of its text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.kernel.switches.ovs import install
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.kernel.switches.test_frames import TRIANGLE

pytestmark = [
    pytest.mark.guest,
    pytest.mark.ovs,
    pytest.mark.skipif(bool(install.missing()) or not install.has_controller(), reason=f"{install.REMEDY}; make sdn"),
]

#: First instant of an application: 47.99 s before the scenario, which begins at 0.
BEGUN = -47.99
HEAD = """\
import json

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import MAIN_DISPATCHER, set_ev_cls
from ryu.lib import hub
from sdn import testbed


def now():
    return testbed.now() / 1e9


class Reports:
    def begin(self):
        self.seen = []
        hub.spawn_after({end} - now(), self.report)

    def note(self, *words):
        self.seen.append([now(), *words])

    def report(self):
        raise RuntimeError("SEEN" + json.dumps(self.seen) + "END")

    def place(self, dpid, number):
        bridge = next(one for one in testbed.switches.values() if one.plan["dpid"] == dpid)
        return bridge.name + "-" + next(name for name, port in bridge.ports.items() if port == number)
"""


def scenario(directory: Path, text: str, *, link: dict[str, Any] | None = None, **more: Any) -> Scenario:
    """Return the triangle under an application; `link` are fields of the link ab."""
    (directory / "mine.py").write_text(text)
    links = [{**one, **(link or {})} if one["name"] == "ab" else one for one in TRIANGLE["links"]]
    start = more.pop("start", "0 s")
    flows = [{"name": f"f{n}", "src": "s1", "dst": f"r{n}", "size": "200 kB", "start": start} for n in (1, 2)]
    switch = {"kind": "ovs", "controller": "mine.py", **more.pop("switch", {})}
    data = {"network": {**TRIANGLE, "links": links}, "flows": flows, "switch": switch, "limit": "2 s", **more}
    return Scenario.from_dict(data, directory=directory)


def seen(run_guest: RunGuest, directory: Path, text: str, *, end: float, **settings: Any) -> list[Any]:
    """Run an application until it reports; return what it noted: the second, and words."""
    settings = {"start": f"{end + 1:g} s", "limit": f"{end + 3:g} s", **settings}
    with pytest.raises(RunError) as caught:
        run_guest(scenario(directory, HEAD.replace("{end}", str(end)) + text, **settings))
    found = re.search(r"SEEN(.*)END", str(caught.value))
    assert found, str(caught.value)
    return list(json.loads(found[1]))


HUB = """
import queue
import threading
import time


class Mine(app_manager.RyuApp, Reports):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.begin()
        hub.spawn(self.work)

    def took(self, name, call, *args):
        begun = now()
        try:
            answer = call(*args)
        except BaseException as error:
            answer = type(error).__name__
        self.seen.append([name, round(now() - begun, 5), answer])

    def work(self):
        self.took("event that nobody sets", hub.Event().wait, 2.5)
        event = hub.Event()
        hub.spawn_after(1.5, event.set)
        self.took("event that is set", event.wait, 9)
        self.took("event that is set already", event.wait)
        self.took("empty queue", lambda: hub.Queue().get(timeout=0.25))
        channel = hub.Queue(1)
        hub.spawn_after(0.75, channel.put, "x")
        self.took("queue", channel.get)
        channel.put("y")
        self.took("full queue", lambda: channel.put("z", timeout=0.5))
        held = hub.Semaphore(0)
        hub.spawn_after(0.125, held.release)
        self.took("semaphore", held.acquire)
        self.took("sleep", hub.sleep, 3)
        self.took("sleep of Python", time.sleep, 0.001)
        self.took("sleep of nothing", hub.sleep)
        self.took("timeout", self.limited, hub.Timeout, None)
        self.took("silent timeout", self.limited, hub.Timeout, False)
        self.took("timeout with an exception", self.limited, hub.Timeout, KeyError("late"))
        self.took("timeout of a lock of Python", self.python)
        self.took("the outer timeout", self.nested)
        self.took("no timeout after its end", self.over)
        victim = hub.spawn(self.endless, order := [])
        hub.sleep(1)
        self.took("kill", hub.kill, victim)
        self.took("join of a killed one", hub.joinall, [victim])
        self.seen.append(["what it did", 0, order])
        never = hub.spawn_after(5, order.append, "never")
        self.took("cancel", never.cancel)
        self.took("kill twice", hub.kill, victim)
        self.took("join of three", hub.joinall, [hub.spawn(hub.sleep, 1), hub.spawn(hub.sleep, 2), hub.spawn(int)])
        self.took("result", hub.spawn(lambda: 42).wait)
        self.took("error", hub.spawn(self.fails, raise_error=True).wait)
        lines = []
        first = hub.spawn(lines.append, "child")
        lines.append("parent")
        hub.sleep(0)
        self.seen.append(["who runs first", 0, lines])
        self.took("kill of what is no thread of the hub", hub.kill, threading.Timer(1, print))
        self.took("queue of size 0", hub.Queue, 0)
        self.took("nothing was left", hub.sleep, 6)
        self.seen.append(["after all", 0, order])

    def limited(self, kind, exception):
        with kind(0.5, exception):
            hub.Event().wait()
        return "went on"

    def python(self):
        with hub.Timeout(0.5):
            threading.Event().wait(8)

    def nested(self):
        with hub.Timeout(0.5) as outer:
            try:
                with hub.Timeout(1):
                    queue.Queue().get()
            except hub.Timeout as error:
                return error is outer

    def over(self):
        with hub.Timeout(0.5):
            hub.sleep(0.25)
        hub.sleep(1)
        return "undisturbed"

    def endless(self, order):
        try:
            while True:
                try:
                    hub.sleep(0.4)
                    order.append("slept")
                except Exception:
                    order.append("no exception")
        finally:
            order.append("ended")

    def fails(self):
        raise ValueError("no such thing")
"""
#: What it must see: name, seconds it took, and the answer or the name of the exception.
EXPECTED = [
    ["event that nobody sets", 2.5, False],
    ["event that is set", 1.5, True],
    ["event that is set already", 0, True],
    ["empty queue", 0.25, "Empty"],
    ["queue", 0.75, "x"],
    ["full queue", 0.5, "Full"],
    ["semaphore", 0.125, True],
    ["sleep", 3, None],
    ["sleep of Python", 0.001, None],
    ["sleep of nothing", 0, None],
    ["timeout", 0.5, "Timeout"],
    ["silent timeout", 0.5, "went on"],
    ["timeout with an exception", 0.5, "KeyError"],
    ["timeout of a lock of Python", 0.5, "Timeout"],
    ["the outer timeout", 0.5, True],
    ["no timeout after its end", 1.25, "undisturbed"],
    ["kill", 0, None],
    ["join of a killed one", 0, None],
    ["what it did", 0, ["slept", "slept", "ended"]],
    ["cancel", 0, None],
    ["kill twice", 0, None],
    ["join of three", 2, None],
    ["result", 0, 42],
    ["error", 0, "ValueError"],
    ["who runs first", 0, ["parent", "child"]],
    ["kill of what is no thread of the hub", 0, "TypeError"],
    ["queue of size 0", 0, "ValueError"],
    ["nothing was left", 6, None],
    ["after all", 0, ["slept", "slept", "ended"]],
]


def test_the_hub_waits_ends_and_times_out_in_virtual_time(run_guest: RunGuest, tmp_path: Path) -> None:
    """Each wait takes the seconds that are asked for, to 10 us."""
    assert seen(run_guest, tmp_path, HUB, end=0.5) == EXPECTED


SOCKETS = """
import socket


class Mine(app_manager.RyuApp):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        here, self.there = socket.socketpair()
        hub.spawn({0})
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "lambda: (thread := hub.spawn(here.recv, 1), hub.sleep(1), hub.kill(thread))",
            r"hub\.kill: a thread waits in socket\.recv, where it cannot be interrupted",
        ),
        (
            "lambda: (hub.Timeout(2), here.recv(1))",
            r"hub\.Timeout\(2\): a thread waits in <lambda> \(mine\.py, line 36\), where it cannot be interrupted",
        ),
        ("lambda: {}['no']", r"the controller mine\.py raised KeyError: 'no' \(mine\.py, line 36\)"),
    ],
)
def test_what_cannot_be_interrupted_and_what_fails_ends_the_run(
    run_guest: RunGuest, tmp_path: Path, body: str, reason: str
) -> None:
    with pytest.raises(RunError, match=reason):
        run_guest(scenario(tmp_path, HEAD + SOCKETS.format(body)), wall_limit_s=120)


TREE = '''
from ryu.app import simple_switch_13
from ryu.lib import stplib
from ryu.lib.packet import ethernet, packet
from ryu.ofproto import ofproto_v1_3

STATES = ["disable", "block", "listen", "learn", "forward"]


class Tree(simple_switch_13.SimpleSwitch13, Reports):
    """Learns along a spanning tree, and forgets what it learnt when the tree changes."""

    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]
    _CONTEXTS = {"stplib": stplib.Stp}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = []
        kwargs["stplib"].set_config({1: {"bridge": {"priority": 0x8000}}})

    @set_ev_cls(stplib.EventPacketIn, MAIN_DISPATCHER)
    def _packet_in_handler(self, ev):
        msg, path = ev.msg, ev.msg.datapath
        make, known, port = path.ofproto_parser, path.ofproto, msg.match["in_port"]
        frame = packet.Packet(msg.data).get_protocol(ethernet.ethernet)
        learnt = self.mac_to_port.setdefault(path.id, {})
        learnt[frame.src] = port
        actions = [make.OFPActionOutput(learnt.get(frame.dst, known.OFPP_FLOOD))]
        if frame.dst in learnt:
            self.add_flow(path, 1, make.OFPMatch(in_port=port, eth_dst=frame.dst), actions)
        path.send_msg(make.OFPPacketOut(path, msg.buffer_id, port, actions, msg.data))

    @set_ev_cls(stplib.EventTopologyChange, MAIN_DISPATCHER)
    def _changed(self, ev):
        path, make, known = ev.dp, ev.dp.ofproto_parser, ev.dp.ofproto
        for address in self.mac_to_port.pop(path.id, {}):
            match = make.OFPMatch(eth_dst=address)
            path.send_msg(make.OFPFlowMod(path, command=known.OFPFC_DELETE, out_port=known.OFPP_ANY,
                                          out_group=known.OFPG_ANY, priority=1, match=match))

    @set_ev_cls(stplib.EventPortStateChange, MAIN_DISPATCHER)
    def _state(self, ev):
        self.note(self.place(ev.dp.id, ev.port_no), STATES[ev.port_state])
'''
REPORTING = TREE.replace("self.seen = []", "self.begin()")


def last(found: list[Any], before: float = 1e9) -> dict[str, tuple[str, float]]:
    """Return the last state of each port and when it began."""
    return {port: (state, instant) for instant, port, state in found if instant < before and "dark" not in port}


def test_a_spanning_tree_is_complete_when_the_scenario_begins(run_guest: RunGuest, tmp_path: Path) -> None:
    """A port listens for 15 s and learns for 15 s; the last of three equal switches blocks the link to the second."""
    found = seen(run_guest, tmp_path, REPORTING, end=-1.0, start="0 s", limit="1 s")
    ends = last(found)
    assert {port for port, (state, _) in ends.items() if state == "block"} == {"c-bc"}
    assert {state for state, _ in ends.values()} == {"block", "forward"}
    begun = {port: max(t for t, name, state in found if name == port and state == "listen") for port in ends}
    learns = {port: max(t for t, name, state in found if name == port and state == "learn") for port in ends}
    for port, (_, instant) in ends.items():
        assert learns[port] - begun[port] == pytest.approx(15, abs=1e-5), port
        assert instant - learns[port] == pytest.approx(15, abs=1e-5), port
    assert BEGUN + 30 < max(instant for _, instant in ends.values()) < BEGUN + 32


def test_traffic_passes_a_spanning_tree_and_repeats(run_guest: RunGuest, tmp_path: Path) -> None:
    """Both transfers take less than 10 ms: 200 kB at 1 Gb/s take 1.6 ms, and 40 us each way at most."""
    first = run_guest(scenario(tmp_path, HEAD + TREE))
    assert first.tables["flows"]["finished"].all()
    assert (first.tables["flows"]["fct_s"] < 0.01).all()
    assert run_guest(scenario(tmp_path, HEAD + TREE)).digest == first.digest


def test_a_spanning_tree_heals_after_a_silent_loss(run_guest: RunGuest, tmp_path: Path) -> None:
    """The link to the root carries nothing from 1 s on, and its ports stay up.

    Messages of the root have the age of 1 s at the second switch, which chooses anew 20 - 1 s after the last one. The
    third switch hears of that, keeps what it knows of age 2 s for 20 - 2 s more, and lets its port go on 30 s later.
    Messages come every 2 s.
    """
    lost = {"rate": [["1 s", "1 Gb/s"], ["200 s", "0 b/s"]]}
    found = [one for one in seen(run_guest, tmp_path, REPORTING, end=70.0, link=lost) if one[0] > 1]
    second = min(instant for instant, port, state in found if port.startswith("b-"))
    third = min(instant for instant, port, state in found if port == "c-bc" and state == "listen")
    passes = min(instant for instant, port, state in found if port == "c-bc" and state == "forward")
    assert 1 - 2 + 19 < second < 1 + 19
    # messages of the second switch were sent until it chose anew, every 2 s
    assert second - 2 + 18 < third < second + 18
    assert passes - third == pytest.approx(30, abs=1e-3)
    assert last(found)["c-bc"][0] == last(found)["b-bc"][0] == "forward"


LINKS = """
from ryu.topology import event
from ryu.topology.api import get_link, get_switch


class Links(app_manager.RyuApp, Reports):
    OFP_VERSIONS = [4]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.begin()
        hub.spawn_after(-1 - now(), self.ask)

    def ask(self):
        self.note("asked", len(get_switch(self)), len(get_link(self)))

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)
    def port(self, ev):
        down = bool(ev.msg.desc.state & ev.msg.datapath.ofproto.OFPPS_LINK_DOWN)
        self.note("port", self.place(ev.msg.datapath.id, ev.msg.desc.port_no), down)

    @set_ev_cls(event.EventLinkAdd)
    def add(self, ev):
        self.note("add", self.place(ev.link.src.dpid, ev.link.src.port_no))

    @set_ev_cls(event.EventLinkDelete)
    def delete(self, ev):
        self.note("delete", self.place(ev.link.src.dpid, ev.link.src.port_no))
"""
ENDS = {"a-ab", "b-ab", "b-bc", "c-bc", "c-ca", "a-ca"}


def test_a_controller_hears_of_ports_and_links_when_a_line_goes_down(run_guest: RunGuest, tmp_path: Path) -> None:
    """Both ports change at the instants of the scenario. The link is lost at once, and found at once when it is up."""
    down = {"down": [["1 s", "20 s"]]}
    found = seen(run_guest, tmp_path, LINKS, end=30.0, link=down, switch={"observe_links": True})
    assert {name for _, what, name in (one[:3] for one in found if one[0] < -1) if what == "add"} == ENDS
    assert [one[1:] for one in found if one[1] == "asked"] == [["asked", 3, 6]]
    for what, instant in ((True, 1.0), (False, 20.0)):
        changed = {one[2]: one[3] for one in found if one[1] == "port" and one[0] == instant}
        assert changed == {"a-ab": what, "b-ab": what}
    assert {one[2] for one in found if one[1] == "delete" and one[0] == pytest.approx(1, abs=1e-6)} == {"a-ab", "b-ab"}
    assert {one[2] for one in found if one[1] == "add" and one[0] == pytest.approx(20, abs=1e-3)} == {"a-ab", "b-ab"}
    assert len([one for one in found if one[0] > 0]) == len([one for one in found if one[1] == "port"]) + 4


def test_a_link_that_loses_everything_is_deleted_after_ten_seconds(run_guest: RunGuest, tmp_path: Path) -> None:
    """os-ken looks every 5 s for links from which it has heard nothing for 10 s; messages come every 0.9 s at least."""
    lost = {"rate": [["1 s", "1 Gb/s"], ["200 s", "0 b/s"]]}
    found = seen(run_guest, tmp_path, LINKS, end=30.0, link=lost, switch={"observe_links": True})
    gone = {one[2]: one[0] for one in found if one[1] == "delete"}
    assert set(gone) == {"a-ab", "b-ab"}
    assert not [one for one in found if one[1] == "port"]
    for instant in gone.values():
        assert 10 < instant < 16
        assert (instant - BEGUN) % 5 == pytest.approx(0, abs=1e-3)


def test_without_the_field_nobody_looks_for_links(run_guest: RunGuest, tmp_path: Path) -> None:
    found = seen(run_guest, tmp_path, LINKS, end=0.0)
    assert [one[1:] for one in found] == [["asked", 3, 0]]
