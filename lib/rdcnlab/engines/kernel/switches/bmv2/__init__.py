# SPDX-License-Identifier: Apache-2.0
"""``bmv2``: the P4 software switch, with our program or the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.switches.bmv2 import hints, hop, install, observe, plan
from rdcnlab.engines.kernel.switches.kind import Kind, Records
from rdcnlab.engines.network import Wiring
from rdcnlab.engines.network.numbers import PORT_LINK
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario


class Bmv2(Kind):
    """The behavioural model of a P4 switch."""

    name = "bmv2"
    writes_versions = True  # a program of a user must do it, too
    protocols = ("tcp",)
    reader = "rdcnlab.engines.kernel.switches.bmv2.observe"
    events = ("ocs_dequeue", "ocs_drop", "ocs_enqueue")
    # Each line is a separate device, and the host is at its first port. Links keep their own ids.
    places = f"(link <= 1023 || link == {PORT_LINK})"

    def require(self, scenario: Scenario) -> None:
        """Raise an error if BMv2 or the program is missing; see `Kind`."""
        install.install()
        plan.program_of(scenario)

    def check_hop(self, scenario: Scenario, wiring: Wiring, switch: int) -> None:
        """Raise InputError if the scenario asks for something that this switch cannot do; see `Kind`."""
        hop.check(scenario, wiring, switch)

    def device(self, scenario: Scenario, wiring: Wiring, switch: int) -> dict[str, Any]:
        """Return the plan of the switch; see `Kind`."""
        return hop.switch(scenario, wiring, switch) if scenario.network.switches else plan.switch(scenario, wiring)

    def programs(self, scenario: Scenario) -> dict[str, Any]:
        """Return the paths of BMv2 and of the program; see `Kind`."""
        return plan.programs(scenario)

    def identity(self, scenario: Scenario) -> list[str]:
        """Return the text of our own program; a user's program is part of the scenario already."""
        return [] if scenario.switch.program is not None else [plan.program().read_text()]

    def observed(self, scenario: Scenario, directory: Path, seen: Records) -> Records:
        """Add the reports of the program and the packets captured behind the switch; see `Kind`."""
        slots, dark, marked = observe.read(scenario, directory)
        dropped = observe.joined(seen["ocs_drop"], dark)
        return {**seen, "ocs_slot": slots, "ocs_drop": dropped, "ocs_mark": marked}

    def slots(
        self, scenario: Scenario, wiring: Wiring, switch: int, counters: Mapping[str, Any]
    ) -> Sequence[tuple[int, int, int, int]]:
        """Return the slot changes that the program reported; see `Kind`."""
        return list(observe.slots(scenario, wiring, switch, counters))

    def versions(self, scenario: Scenario) -> dict[str, str]:  # noqa: ARG002
        """Return the version of BMv2; see `Kind`."""
        return {"bmv2": install.install().version}

    def provenance(self, counters: Mapping[str, Any], scenario: Scenario, directory: Path) -> dict[str, Any]:
        """Return counters that the tables do not contain; see `Kind`."""
        packets = sum(came for _, _, came, _ in counters["ports"])
        found: dict[str, Any] = {"switch": {"packets": packets, "bmv2": install.install().version}}
        hint = hints.nothing_delivered(scenario, directory)
        return found if hint is None else found | {"hint": hint}

    def explained(self, error: RunError, scenario: Scenario, directory: Path) -> RunError:
        """Return the error together with a possible cause; see `Kind`."""
        return hints.explained(error, scenario, directory)


KIND = Bmv2()
