# SPDX-License-Identifier: Apache-2.0
"""``bmv2``: the P4 software switch with our program ``p4/ocs.p4`` or a user's own; its lines are the kernel's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.switches.bmv2 import hints, in_network, install, observe, plan
from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.network import Network
from rdcnlab.fields.errors import RunError


class Bmv2(Kind):
    """The behavioural model of a P4 switch."""

    name = "bmv2"
    writes_versions = True  # a program of a user must do it, too
    reader = "rdcnlab.engines.kernel.switches.bmv2.observe"

    def require(self, network: Network) -> None:
        """Raise an error if BMv2 or a program is missing; see `Kind`."""
        install.install()
        for switch in network.pipelines:
            plan.program_of(network, switch)

    def check(self, network: Network, switch: int) -> None:
        """Raise InputError if the scenario asks for something that this switch cannot do; see `Kind`."""
        in_network.check(network, switch)

    def device(self, network: Network, switch: int) -> dict[str, Any]:
        """Return the plan of the switch; see `Kind`."""
        return in_network.switch(network, switch)

    def programs(self, network: Network, switch: int) -> dict[str, Any]:
        """Return the paths of BMv2 and of the program; see `Kind`."""
        return plan.programs(network, switch)

    def identity(self, network: Network) -> list[str]:
        """Return the text of our own program if a switch runs it; a user's program is part of the scenario already."""
        ours = any(pipeline.program is None for pipeline in network.pipelines.values())
        return [plan.program().read_text()] if ours else []

    def slots(self, network: Network, switch: int, counters: Mapping[str, Any]) -> Sequence[tuple[int, int, int, int]]:
        """Return the slot changes that the program reported; see `Kind`."""
        return list(observe.slots(network, switch, counters))

    def versions(self) -> dict[str, str]:
        """Return the version of BMv2; see `Kind`."""
        return {"bmv2": install.install().version}

    def hint(self, network: Network, directory: Path) -> str | None:
        """Return a hint if no flow received anything; see `Kind`."""
        return hints.nothing_delivered(network, directory)

    def explained(self, error: RunError, network: Network, directory: Path) -> RunError:
        """Return the error together with a possible cause; see `Kind`."""
        return hints.explained(error, network, directory)


KIND = Bmv2()
