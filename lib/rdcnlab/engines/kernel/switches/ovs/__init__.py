# SPDX-License-Identifier: Apache-2.0
"""``ovs``: Open vSwitch with an OpenFlow controller, alone or as one of several switches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.kernel.switches.ovs import install, observe, plan
from rdcnlab.engines.network import Network


class Ovs(Kind):
    """A bridge of Open vSwitch. A controller, a process of its own, fills and changes its flow table."""

    name = "ovs"
    reader = "rdcnlab.engines.kernel.switches.ovs.observe"

    def require(self, network: Network) -> None:
        """Raise an error if a program, os-ken, or the user's controller is missing; see `Kind`."""
        install.require()
        plan.controller(network)

    def check(self, network: Network, switch: int) -> None:
        """Raise InputError if the scenario asks for something that this switch cannot do; see `Kind`."""
        plan.check(network, switch)

    def device(self, network: Network, switch: int) -> dict[str, Any]:
        """Return the plan of a bridge; see `Kind`."""
        return plan.switch(network, switch)

    def programs(self, network: Network, switch: int) -> dict[str, Any]:  # noqa: ARG002
        """Return the paths of Open vSwitch and of the user's controller; see `Kind`."""
        return {"programs": install.programs(), **plan.controller(network)}

    def reports(
        self, network: Network, switch: int, counters: Mapping[str, Any]
    ) -> list[tuple[int, str, str | None, str | None, int]]:
        """Return the controller's decisions, and when the switch followed them; see `Kind`."""
        return list(observe.reports(network, switch, counters["control"]))

    def provenance(self, counters: Mapping[str, Any]) -> Any:
        """Return the counters of the panel; see `Kind`."""
        return counters["panel"]

    def versions(self) -> dict[str, str]:
        """Return the versions of Open vSwitch and of os-ken; see `Kind`."""
        return install.versions()


KIND = Ovs()
