# SPDX-License-Identifier: Apache-2.0
"""``bmv2`` in a network that names no switch: a P4 switch with lines of its own, and with our program or the user's.

This is an exception to the rule that lines are the kernel's, whatever the switch: a program of a user sees both ends of
each link as ports, and chooses the packets that enter it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.switches import own_lines
from rdcnlab.engines.kernel.switches.bmv2 import Bmv2, observe, plan
from rdcnlab.engines.kernel.switches.kind import Records
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import PORT_LINK
from rdcnlab.fields.errors import InputError


class Bmv2Alone(Bmv2):
    """The behavioural model of a P4 switch, with a device for each line."""

    events = ("ocs_dequeue", "ocs_drop", "ocs_enqueue")
    # Each line is a separate device, and the host is at its first port. Links keep their own ids.
    places = f"(link <= 1023 || link == {PORT_LINK})"

    def check(self, network: Network, switch: int) -> None:  # noqa: ARG002
        """Raise InputError if the scenario asks for something that this switch cannot do; see `Kind`."""
        for flow in network.traffic.flows:
            if flow.protocol != "tcp":
                raise InputError.of(f"{flow.where}.protocol", flow.protocol, "tcp, with bmv2 as switch")
        own_lines.check_unscheduled(network)

    def device(self, network: Network, switch: int) -> dict[str, Any]:
        """Return the plan of the switch; see `Kind`."""
        return plan.switch(network, switch)

    def observed(self, network: Network, directory: Path, seen: Records) -> Records:
        """Add the reports of the program and the packets captured behind the switch; see `Kind`."""
        slots, dark, marked = observe.read(network, directory)
        dropped = observe.joined(seen["ocs_drop"], dark)
        return {**seen, "ocs_slot": slots, "ocs_drop": dropped, "ocs_mark": marked}

    def slots(
        self,
        network: Network,  # noqa: ARG002
        switch: int,  # noqa: ARG002
        counters: Mapping[str, Any],  # noqa: ARG002
    ) -> Sequence[tuple[int, int, int, int]]:
        """Return nothing, because `observed` has the slot changes."""
        return ()

    def provenance(self, counters: Mapping[str, Any]) -> Any:
        """Return counters that the tables do not contain; see `Kind`."""
        return {"packets": sum(arrived for _, _, arrived, _ in counters["ports"])}


KIND = Bmv2Alone()
