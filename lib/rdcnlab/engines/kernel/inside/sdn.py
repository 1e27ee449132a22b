# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow controller: an application of os-ken that installs the ways of flows, and moves them by a timetable.

A controller of your own is an application of os-ken, too. It may derive from `Controller`: then it begins with the ways
of the scenario, and changes them with `Controller.move`.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from queue import Queue
from typing import Any

from clock import be_exact, sleep_until
from instants import changes
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3
from sdn_switch import Bridge, DataPlane, Move

__all__ = ["Bridge", "Controller", "Refused", "testbed"]


class Refused(Exception):
    """A switch refused a message."""


class Testbed:
    """What the controller knows of the scenario; `testbed` is the only one.

    Attributes
    ----------
    switches : dict of str to Bridge
        Switches by name.
    flows : list of dict
        For each flow ``name``, ``src``, ``dst`` (hosts), ``src_ip``, ``dst_ip``, ``src_mac``, ``dst_mac``, ``proto``
        (number of IP) and ``port`` (of the receiver).
    epoch_ns : int
        Start of the scenario in ns of CLOCK_MONOTONIC.
    """

    def __init__(self) -> None:
        self.switches: dict[str, Bridge] = {}
        self.flows: list[dict[str, Any]] = []
        self.epoch_ns = 0
        self.plane: DataPlane

    def read(self, plan: dict[str, Any]) -> None:
        """Take what the plan of the run says."""
        self.epoch_ns, self.flows = plan["epoch_ns"], plan["flows"]
        self.plane = DataPlane(plan["control"])
        self.switches = {each["name"]: Bridge(each, self.epoch_ns) for each in plan["switches"]}

    def now(self) -> int:
        """Return the ns since the start of the scenario; they are negative before."""
        return time.monotonic_ns() - self.epoch_ns

    def of(self, datapath: Any) -> Bridge:
        """Return the switch of a connection."""
        return next(each for each in self.switches.values() if each.plan["dpid"] == datapath.id)


testbed = Testbed()


class Controller(app_manager.OSKenApp):
    """Installs the ways of all flows, and moves them by the timetables of the scenario.

    A class derived from it may define `begun`, which is called when all switches are ready, and handlers for events of
    OpenFlow, as every application of os-ken.
    """

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tasks: Queue[tuple[Bridge, int, Move]] = Queue()
        self.moved: dict[tuple[str, int], int] = {}

    def begun(self) -> None:
        """Do what is to be done before the scenario starts; `at` and `every` plan what comes later."""

    def at(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function once, at an instant in seconds since the start of the scenario."""
        self._spawn(self._periodically, [round(seconds * 1e9)], call)

    def every(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function again and again, for the first time this many seconds after the start of the scenario."""
        step = round(seconds * 1e9)
        self._spawn(self._periodically, (step * count for count in itertools.count(1)), call)

    def move(self, flow: str, switch: str, target: str, *, back: bool = False) -> None:
        """Let the packets of a flow leave a switch by another link from now on; flows of one schedule move together.

        Parameters
        ----------
        flow, switch : str
            Their names in the scenario. The way of the flow must begin at the switch, or pass it.
        target : str
            Name of a link, or ``dark``.
        back : bool
            Whether to move the way back, that of the ACKs.

        Raises
        ------
        ValueError
            There is no such switch, link, or way of the flow there.
        """
        bridge = _named("switch", switch, testbed.switches)
        port = _named("target", target, bridge.plan["names"])
        ways = {match["name"]: place for place, each in enumerate(bridge.entries) for match in each["matches"]}
        entry = _named("flow", f"{flow}{' back' if back else ''}", ways)
        count = self.moved[switch, entry] = self.moved.get((switch, entry), 0) + 1
        self.tasks.put((bridge, testbed.now(), (entry, count, port)))

    @set_ev_cls(ofp_event.EventOFPStateChange, MAIN_DISPATCHER)
    def connected(self, event: Any) -> None:
        """Fill the table of a switch that has connected."""
        bridge = testbed.of(event.datapath)
        bridge.datapath = event.datapath
        self._spawn(self._serve, bridge)

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def confirmed(self, event: Any) -> None:
        """Wake who waits for this barrier."""
        waiting = testbed.of(event.msg.datapath).waiting.pop(event.msg.xid, None)
        if waiting is not None:
            waiting.set()

    @set_ev_cls(ofp_event.EventOFPErrorMsg, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def refused(self, event: Any) -> None:
        """End the run, because a switch refuses a message."""
        raise Refused(testbed.of(event.msg.datapath).refusal(event.msg))

    def _serve(self, bridge: Bridge) -> None:
        """Fill the table of a switch."""
        bridge.install()
        bridge.ready.set()

    def start(self) -> Any:
        """Start the application; os-ken calls this."""
        super().start()
        self._spawn(self._begin)

    def _begin(self) -> None:
        be_exact()
        for bridge in testbed.switches.values():
            bridge.ready.wait()
        self.begun()
        self._spawn(self._follow)
        while True:
            bridge, decided, move = self.tasks.get()
            testbed.plane.change([(bridge, decided, [move])])

    def _follow(self) -> None:
        """Move flows by the timetables of all switches."""
        be_exact()
        for instant, due in itertools.groupby(changes_due(list(testbed.switches.values())), key=lambda one: one[0]):
            moved: dict[tuple[str, int], list[Move]] = {}
            for _, decided, name, move in due:
                moved.setdefault((name, decided), []).append(move)
            asked = [(testbed.switches[name], decided, moves) for (name, decided), moves in moved.items()]
            testbed.plane.change(asked, testbed.epoch_ns + instant)

    def _periodically(self, instants: Any, call: Callable[[], None]) -> None:
        be_exact()
        for instant in instants:
            sleep_until(testbed.epoch_ns + instant)
            call()

    def _spawn(self, call: Callable[..., None], *words: Any) -> None:
        """Run a function in a thread; whatever it raises ends the controller, see ``sdn_process.py``."""
        threading.Thread(target=call, args=words, daemon=True).start()


def changes_due(bridges: list[Bridge]) -> Iterator[tuple[int, int, str, Move]]:
    """Yield, by the timetables of all switches: when a switch must follow, when that was decided, the switch, the move.

    Times are in ns since the start. They ascend, although decisions have delays that are drawn.
    """
    ways = [
        (bridge, place, entry)
        for bridge in bridges
        for place, entry in enumerate(bridge.entries)
        if len(entry["durations"]) > 1
    ]
    timetables = {number: (entry["phase_ns"], entry["durations"]) for number, (_, _, entry) in enumerate(ways)}
    delay = bridges[0].plan["delay_ns"]
    waiting: list[tuple[int, int, int, int]] = []
    for instant, number, count in changes(timetables):
        # what comes later is due later than this: a drawn delay is added to the constant one
        while waiting and waiting[0][0] < instant + delay:
            due, decided, which, slot = heapq.heappop(waiting)
            bridge, place, entry = ways[which]
            yield due, decided, bridge.name, (place, slot, entry["slots"][slot])
        bridge, _, entry = ways[number]
        drawn = bridge.plan["drawn_ns"].get(str(instant), 0)
        heapq.heappush(waiting, (instant + delay + drawn, instant, number, count % len(entry["durations"])))


def _named(field: str, name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        raise ValueError(f"{field}: {name!r}; allowed: {', '.join(known)}")
    return known[name]
