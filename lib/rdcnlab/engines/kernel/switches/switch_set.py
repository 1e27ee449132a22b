# SPDX-License-Identifier: Apache-2.0
"""All switches of a scenario, of any kind: the parts of plan, observation and identity that depend on them."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rdcnlab.engines.kernel.switches import demand, kinds_of
from rdcnlab.engines.kernel.switches.kind import Kind, Records
from rdcnlab.engines.kernel.trace import records
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.fields.errors import InputError, RunError


@dataclass(frozen=True)
class Switches:
    """The switches of a scenario.

    Parameters
    ----------
    network : Network
        The compiled network.
    at : tuple of Kind
        The kind of each switch, by the switch's number.
    """

    network: Network
    at: tuple[Kind, ...]

    @functools.cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds, each once, in the order of the network."""
        return tuple(dict.fromkeys(self.at))

    @property
    def events(self) -> tuple[str, ...]:
        """The kernel events ``ocs_*`` that occur."""
        return self.at[0].events

    @property
    def places(self) -> str:
        """Trace filter for the lines inside the network and the line to the receiver."""
        return self.at[0].places

    def check(self) -> None:
        """Raise InputError if a switch cannot do what the scenario asks of it."""
        for flow in self.network.traffic.flows:
            silent = [kind.name for kind in self.kinds if not kind.writes_versions]
            if flow.control.reads_versions and silent:
                allowed = f"another one, because a switch of kind {silent[0]} writes no versions into packets; ocs does"
                raise InputError.of(f"{flow.where}.cc", flow.cc, allowed)
        for node, kind in zip(self.network.nodes, self.at, strict=True):
            if node.optical and kind.name != "ocs":
                raise InputError.of(f"network.switches.{node.name}.kind", kind.name, "ocs, because it is optical")
        for number, kind in enumerate(self.at):
            kind.check(self.network, number)

    def require(self) -> None:
        """Raise RunError or InputError if something is missing on this machine."""
        for kind in self.kinds:
            kind.require(self.network)

    def devices(self, *, here: bool) -> list[dict[str, Any]]:
        """Return the plan of each switch, with the paths of programs on this machine if `here`."""
        devices = [kind.device(self.network, number) for number, kind in enumerate(self.at)]
        if not here:
            return devices
        return [devices[number] | kind.programs(self.network, number) for number, kind in enumerate(self.at)]

    def identity(self) -> list[str]:
        """Return the texts that identify the switches' programs."""
        return [text for kind in self.kinds for text in kind.identity(self.network)]

    def sysctls(self) -> dict[str, str]:
        """Return the sysctls that hosts need."""
        return {name: value for kind in self.kinds for name, value in kind.sysctls(self.network).items()}

    def observed(self, directory: Path, seen: Records) -> Records:
        """Return the records of a run, with those that the switches made themselves."""
        for kind in self.kinds:
            seen = kind.observed(self.network, directory, seen)
        if all(type(kind).slots is Kind.slots for kind in self.at):
            return seen
        rows = [
            row
            for number, (kind, counters) in enumerate(self._counters(directory))
            for row in kind.slots(self.network, number, counters)
        ]
        if not rows:
            return seen
        own = records.rows("ocs_slot", [(time, number, slot, target) for time, number, slot, target in rows])
        both = np.concatenate([seen["ocs_slot"].astype(own.dtype), own])
        return {**seen, "ocs_slot": both[np.argsort(both["time"], kind="stable")]}

    def reports(self, directory: Path) -> list[tuple[int, str, str | None, str | None, int]]:
        """Return the rows of the table ``events`` that the switches made themselves, ordered by time.

        Later rows than the end of the last flow are left out: the guest's end does not depend on the scenario alone.
        """
        rows = list(demand.decisions(self.network, directory))
        silent = all(type(kind).reports is Kind.reports for kind in self.at)
        rows += (
            []
            if silent
            else [  # most kinds report nothing, and the file may be large
                row
                for number, (kind, counters) in enumerate(self._counters(directory))
                for row in kind.reports(self.network, number, counters)
            ]
        )
        last = _end_ns(self.network, directory) if rows else 0
        return sorted((row for row in rows if row[0] <= last), key=lambda row: row[0])

    def provenance(self, directory: Path) -> dict[str, Any]:
        """Return counters, versions and hints, which are stored beside the tables."""
        stored = [kind.provenance(counters) for kind, counters in self._counters(directory)]
        names = self.network.switches
        stated: dict[str, Any] = {"switch": dict(zip(names, stored, strict=True)) if len(stored) > 1 else stored[0]}
        for kind in self.kinds:
            stated |= kind.versions()
            hint = kind.hint(self.network, directory)
            if hint is not None:
                stated["hint"] = hint
        return stated

    def explained(self, error: RunError, directory: Path) -> RunError:
        """Return the error of a run, completed with the cause if a kind knows it."""
        for kind in self.kinds:
            error = kind.explained(error, self.network, directory)
        return error

    def _counters(self, directory: Path) -> list[tuple[Kind, Mapping[str, Any]]]:
        """Return kind and counters of each switch; the guest leaves the names out if there is one switch."""
        written = json.loads((directory / "switch.json").read_text())
        names = self.network.switches
        counters = [written[name] for name in names] if len(names) > 1 else [written]
        return list(zip(self.at, counters, strict=True))


def _end_ns(network: Network, directory: Path) -> int:
    """Return when the last flow ended, in ns since the start; bursts of datagrams do not count."""
    rows = [json.loads(line) for line in (directory / "flows.jsonl").read_text().splitlines()]
    ends: dict[str, int] = {row["flow"]: row["end_ns"] - START_NS for row in rows if row["finished"]}
    return max(
        (ends.get(flow.name, network.limit) for flow in network.traffic.flows if flow.protocol != "udp"),
        default=network.limit,
    )


def switches_of(network: Network) -> Switches:
    """Return the switches of a network.

    Raises
    ------
    InputError
        This engine does not have one of their kinds.
    """
    return Switches(network, kinds_of(network))
