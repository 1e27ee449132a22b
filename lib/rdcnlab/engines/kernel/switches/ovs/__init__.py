# SPDX-License-Identifier: Apache-2.0
"""``ovs``: Open vSwitch with an OpenFlow controller, alone or as one of several switches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.kernel.switches.ovs import install, observe, plan
from rdcnlab.engines.network import Wiring, lines
from rdcnlab.scenario import Scenario


class Ovs(Kind):
    """A bridge of Open vSwitch. A controller, a process of its own, fills and changes its flow table."""

    name = "ovs"
    protocols = ("tcp", "udp", "quic")
    reader = "rdcnlab.engines.kernel.switches.ovs.observe"
    events = lines.EVENTS
    places = lines.PLACES

    def require(self, scenario: Scenario) -> None:
        """Raise an error if a program, os-ken, or the user's controller is missing; see `Kind`."""
        install.require()
        plan.controller(scenario)

    def check(self, scenario: Scenario) -> None:
        """Raise InputError if the scenario asks for something that this switch cannot do; see `Kind`."""
        super().check(scenario)
        plan.check(scenario)

    def check_hop(self, scenario: Scenario, wiring: Wiring, switch: int) -> None:
        """Raise InputError if the scenario asks for something that only ``ocs`` can do; see `Kind`."""
        plan.check_hop(scenario, wiring, switch)

    def device(self, scenario: Scenario, wiring: Wiring, switch: int) -> dict[str, Any]:
        """Return the plan of a bridge; see `Kind`."""
        return plan.switch(scenario, wiring, switch)

    def programs(self, scenario: Scenario) -> dict[str, Any]:
        """Return the paths of Open vSwitch and of the user's controller; see `Kind`."""
        app = plan.controller(scenario)
        return {"programs": install.programs(), "app": app, "files": [] if app is None else [app]}

    def reports(
        self, scenario: Scenario, wiring: Wiring, switch: int, counters: Mapping[str, Any]
    ) -> list[tuple[int, str, str | None, str | None, int]]:
        """Return the controller's decisions, and when the switch followed them; see `Kind`."""
        return list(observe.reports(scenario, wiring, switch, counters["control"]))

    def provenance(self, counters: Mapping[str, Any], scenario: Scenario, directory: Path) -> dict[str, Any]:  # noqa: ARG002
        """Return the counters of the panel, and versions; see `Kind`."""
        return {"switch": counters["panel"], **self.versions(scenario)}

    def versions(self, scenario: Scenario) -> dict[str, str]:  # noqa: ARG002
        """Return the versions of Open vSwitch and of os-ken; see `Kind`."""
        return install.versions()


KIND = Ovs()
