# SPDX-License-Identifier: Apache-2.0
"""The interface of a kind of switch in the kernel engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from rdcnlab.engines.network import Network, lines
from rdcnlab.fields.errors import RunError

#: Records by the name of the kernel's event.
Records = dict[str, NDArray[Any]]


class Kind(ABC):
    """A kind of switch; `rdcnlab.engines.kernel.switches.KINDS` lists the modules of all kinds by name.

    Attributes
    ----------
    name : str
        Name in `Switch.kind` and `Node.kind`.
    writes_versions : bool
        Whether it writes the version of its rules into packets, as NUFTCP needs.
    reader : str or None
        The module that reads the switch's own records, if there is one.
    events : tuple of str
        The kernel events ``ocs_*`` that occur with it.
    places : str
        Trace filter for the lines inside the network and the line to the receiver.
    """

    name: ClassVar[str]
    writes_versions: ClassVar[bool] = False
    reader: ClassVar[str | None] = None
    events: ClassVar[tuple[str, ...]] = lines.EVENTS
    places: ClassVar[str] = lines.PLACES

    def require(self, network: Network) -> None:  # noqa: B027  (most kinds need nothing)
        """Raise RunError or InputError if something is missing on this machine; the message says how to get it."""

    def check(self, network: Network, switch: int) -> None:  # noqa: B027
        """Raise InputError if a scenario asks for something that this kind cannot do at a switch."""

    @abstractmethod
    def device(self, network: Network, switch: int) -> dict[str, Any]:
        """Return the plan of one switch, by its number, for this kind's module in the guest; in ns, bit/s and bytes."""

    def programs(self, network: Network, switch: int) -> dict[str, Any]:  # noqa: ARG002  (most kinds need none)
        """Return the paths of a switch's programs on this machine, which become part of its plan."""
        return {}

    def identity(self, network: Network) -> list[str]:  # noqa: ARG002
        """Return the texts that identify its programs; the engine's identity depends on them."""
        return []

    def sysctls(self, network: Network) -> dict[str, str]:  # noqa: ARG002  (most kinds have none)
        """Return the sysctls that hosts need with it."""
        return {}

    def observed(self, network: Network, directory: Path, seen: Records) -> Records:  # noqa: ARG002
        """Return the records of a run; a kind adds here what its switch recorded and kernel events do not contain."""
        return seen

    def slots(
        self,
        network: Network,  # noqa: ARG002
        switch: int,  # noqa: ARG002
        counters: Mapping[str, Any],  # noqa: ARG002
    ) -> Sequence[tuple[int, int, int, int]]:
        """Return the slot changes at a switch that kernel events do not contain.

        They come from the switch's counters. Each has the ns since the start, class, slot and target.
        """
        return ()

    def reports(
        self,
        network: Network,  # noqa: ARG002
        switch: int,  # noqa: ARG002
        counters: Mapping[str, Any],  # noqa: ARG002
    ) -> Sequence[tuple[int, str, str | None, str | None, int]]:
        """Return rows of the table ``events`` that come from the switch's counters.

        Each has the ns since the start, event, link, flow and value.
        """
        return ()

    def provenance(self, counters: Mapping[str, Any]) -> Any:
        """Return what is stored of a switch's counters beside the tables."""
        return counters

    def hint(self, network: Network, directory: Path) -> str | None:  # noqa: ARG002
        """Return a hint for the user about a run that finished, if there is one."""
        return None

    def versions(self) -> dict[str, str]:
        """Return the versions of its programs; they are stored beside the tables."""
        return {}

    def explained(self, error: RunError, network: Network, directory: Path) -> RunError:  # noqa: ARG002
        """Return the error of a run, completed with the cause if the kind knows it."""
        return error
