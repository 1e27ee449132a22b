# SPDX-License-Identifier: Apache-2.0
"""What the kernel engine has to know of a kind of switch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from rdcnlab.engines.kernel.wiring import Wiring
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import BYPASS, Scenario

#: Records of the kernel's events, by the event.
Records = dict[str, NDArray[Any]]


class Kind(ABC):
    """A kind of switch: one object, found by its name in `rdcnlab.engines.kernel.switches.KINDS`.

    Attributes
    ----------
    name : str
        As in `Switch.kind`.
    graphs : bool
        Whether several of them make a network.
    schedules : bool
        Whether it follows schedules that flows share, has a timetable for ways back, and tells hosts of networks.
    protocols : tuple of str or None
        Of flows it can carry; None: all.
    events : tuple of str
        Of the kernel's events ``ocs_*``, those that happen with it.
    places : str
        Trace filter for a line inside the network and the line to the receiver.
    """

    name: ClassVar[str]
    graphs: ClassVar[bool] = False
    schedules: ClassVar[bool] = False
    protocols: ClassVar[tuple[str, ...] | None] = None
    events: ClassVar[tuple[str, ...]] = ()
    places: ClassVar[str] = ""

    def require(self, scenario: Scenario) -> None:  # noqa: B027  (most need nothing)
        """Raise RunError or InputError if something is missing on this machine, with what mends it."""

    def check(self, scenario: Scenario) -> None:
        """Raise InputError for what a scenario asks and this kind cannot do."""
        network = scenario.network
        if network.switches and not self.graphs:
            raise InputError.of("switch.kind", self.name, "ocs, in a network of several switches")
        for node in network.switches:
            if node.kind not in (None, self.name):
                allowed = f"{self.name} as switch.kind, because switches of several kinds cannot be joined yet"
                raise InputError.of(f"network.switches.{node.name}.kind", node.kind, allowed)
        if scenario.notify is not None and not self.schedules:
            raise InputError.of("notify", "given", "nothing, with another switch than ocs")
        for place, flow in enumerate(scenario.flows):
            if self.protocols is not None and flow.protocol not in self.protocols:
                allowed = f"{', '.join(self.protocols)}, with {self.name} as switch"
                raise InputError.of(f"flows[{place}].protocol", flow.protocol, allowed)
            if self.schedules:
                continue
            for field in ("path", "back"):
                path = getattr(flow, field)
                if network.schedule(path) is not None or (field == "back" and path != BYPASS):
                    allowed = f"{'bypass' if field == 'back' else 'no schedule'}, with another switch than ocs"
                    raise InputError.of(f"flows[{place}].{field}", str(path), allowed)

    @abstractmethod
    def devices(self, scenario: Scenario, wiring: Wiring) -> list[dict[str, Any]]:
        """Return the plan of each switch of a network, for the guest's module of the kind; ns, bit/s and bytes."""

    def programs(self, scenario: Scenario) -> dict[str, Any]:  # noqa: ARG002  (most need none)
        """Return where its programs lie on this machine, which goes into the plan of each switch."""
        return {}

    def identity(self, scenario: Scenario) -> list[str]:  # noqa: ARG002
        """Return what of its programs a result hangs on."""
        return []

    def sysctls(self, scenario: Scenario) -> dict[str, str]:  # noqa: ARG002  (most have none)
        """Return settings of hosts that go with it."""
        return {}

    def observed(self, scenario: Scenario, directory: Path, seen: Records) -> Records:  # noqa: ARG002
        """Return the records of a run, where the switch itself saw what the kernel's events do not have."""
        return seen

    def provenance(self, counters: Mapping[str, Any], scenario: Scenario, directory: Path) -> dict[str, Any]:  # noqa: ARG002
        """Return what is kept of its counters, and hints, beside the tables."""
        return {"switch": counters}

    def explained(self, error: RunError, scenario: Scenario, directory: Path) -> RunError:  # noqa: ARG002
        """Return the error of a run, with what the kind knows of its cause."""
        return error
