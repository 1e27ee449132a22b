# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch as a switch of Mininet: a bridge behind a panel, whose flow table the controller fills and changes.

::

    host s1 ===veth=== sw-s1 |       | p-s1x ===veth=== p-s1 |
                             | panel |                       | bridge ---OpenFlow--- controller
    neighbour  ===veth=== t0 |       | n0x   ===veth=== n0   |

All bridges share the daemons and the controller. The first switch starts the daemons. The controller starts when all
bridges are there, and reports when every switch has its first entries.
"""

from __future__ import annotations

from typing import Any

from clock import sleep_until
from nodes import Box
from ovs_process import CONTROL, Controller, OpenVSwitch
from panel import Panel

#: Port of the controller; the ports of flows begin at 5001, and there are at most 1024 of them.
OPENFLOW_PORT = 6653
#: An application of the user's own begins this many ns before the scenario, so that its timers, too, end at the same
#: instants on all machines; its process starts a little earlier.
BEFORE_NS, EARLIER_NS = 47_990_000_000, 10_000_000


class Shared:
    """What all switches of this kind share: daemons and controller."""

    def __init__(self) -> None:
        self.plans: list[dict[str, Any]] = []
        self.ovs: OpenVSwitch | None = None
        self.controller: Controller | None = None
        self.records: dict[str, Any] | None = None

    def add(self, plan: dict[str, Any]) -> None:
        """Add a bridge, which is made when the timetables start; start the daemons before the first."""
        if self.ovs is None:
            self.ovs = OpenVSwitch(plan["programs"])
        self.plans.append(plan)

    def start(self, epoch_ns: int) -> None:
        """Make all bridges, start the controller, and wait until it has filled their tables; only once."""
        if self.controller is not None:
            return
        assert self.ovs is not None
        first = self.plans[0]
        if first["app"] is not None:
            sleep_until(epoch_ns - BEFORE_NS - EARLIER_NS)
        self.ovs.configure(self.plans, OPENFLOW_PORT)
        shared = {
            "epoch_ns": epoch_ns,
            "port": OPENFLOW_PORT,
            "control": CONTROL,
            "app": first["app"],
            "flows": first["flows"],
            "begin_ns": epoch_ns - BEFORE_NS,
            "observe_links": first.get("observe_links", False),
        }
        self.controller = Controller({**shared, "switches": self.plans})
        self.ovs.running.append(self.controller)
        self.controller.answer()

    def collect(self, name: str) -> list[Any]:
        """Return what the controller has recorded about a switch."""
        if self.records is None:
            assert self.ovs is not None
            assert self.controller is not None
            for daemon in self.ovs.running:
                daemon.check()
            self.records = dict(self.controller.ask("stop"))
        records: list[Any] = self.records[name]
        return records


SHARED = Shared()


class Bridge(Box):
    """A bridge of Open vSwitch."""

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Box.__init__(self, name, **params)
        self.plan = plan

    @property
    def running(self) -> list[Any]:
        """The processes that must not end before the run."""
        return [] if SHARED.ovs is None else SHARED.ovs.running

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Make the panel, and filters that keep the controller's probes out of its lines."""
        from sdn_ports import addresses
        from sdn_probe import kept_out
        from topology import batch

        self.panel = Panel(self, self.plan["panel"])
        if self.plan["app"] is not None:
            batch(self, "ip", addresses(self.plan))
        batch(self, "tc", kept_out(self.plan["number"], [ours for ours, _ in self.plan["panel"]["pairs"]]))
        SHARED.add(self.plan)

    def start_timetable(self, epoch_ns: int) -> None:
        """Start all timetables at an instant of CLOCK_MONOTONIC (ns)."""
        self.panel.start(epoch_ns)
        SHARED.start(epoch_ns)

    def counters(self) -> dict[str, Any]:
        """Return what the controller decided and when the switch followed, and the counters of the panel."""
        return {"control": SHARED.collect(self.plan["name"]), "panel": self.panel.counters()}


KIND = Bridge
