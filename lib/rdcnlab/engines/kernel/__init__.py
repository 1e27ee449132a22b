# SPDX-License-Identifier: Apache-2.0
"""The kernel engine: a patched Linux kernel in virtual time, as User-Mode Linux."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import struct
import sys
from pathlib import Path
from typing import Any

from rdcnlab.engines import Arrived, Builds, Engine, Outcome, Progress
from rdcnlab.engines.kernel import build, guest, identity, plan
from rdcnlab.engines.kernel.build import toolchain
from rdcnlab.engines.kernel.guest import progress as guest_progress
from rdcnlab.engines.kernel.guest import watchdog
from rdcnlab.engines.kernel.observe import arriving, captures, ledger, limited, observed
from rdcnlab.engines.kernel.observe import programs as program_tables
from rdcnlab.engines.kernel.switches.switch_set import switches_of
from rdcnlab.engines.kernel.traffic import instants, programs, quic
from rdcnlab.engines.network import Network, compile_network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario

__all__ = ["KernelEngine"]

#: The address of a source that a machine has no need to fetch. Names below .invalid never exist (RFC 2606, Sec. 2).
NOWHERE = "https://not-needed.invalid"


class KernelEngine(Engine):
    """An engine that runs scenarios on the patched kernel.

    Parameters
    ----------
    scenario : Scenario
        The scenario that it runs.
    stock : bool
        Use the kernel that has the patches for time and randomness only.
    """

    name = "kernel"
    wall_limit_s = 1800.0

    def __init__(self, scenario: Scenario, *, stock: bool = False) -> None:
        super().__init__(scenario)
        self.stock = stock

    @functools.cached_property
    def network(self) -> Network:
        """The compiled network, which this engine can run."""
        network = compile_network(self.scenario)
        plan.check(network)
        return network

    def identity(self) -> str:
        """Return the hash of kernel and guest code; see `rdcnlab.engines.Engine`."""
        return identity.identity(self.network, stock=self.stock)

    def prepare(self, progress: Progress | None = None) -> None:
        """Raise an error if the scenario cannot run, and build the kernel if it is missing."""
        network = self.network
        toolchain.require_for_guests(build.programs())
        switches_of(network).require()
        if network.traffic.of("quic"):
            for role in quic.ROLES:
                quic.program(network, role)
        programs.require(network.traffic.programs)
        self._kernel(progress)

    def virtual_ns(self, directory: Path) -> int | None:
        """Return the virtual time in ns since the scenario's start; 0 while the guest boots; see `Engine`."""
        with contextlib.suppress(OSError, struct.error):  # the run has just begun or ended
            return max(0, watchdog.read(directory / "clock") - START_NS)
        return None

    def arrived(self, directory: Path) -> Arrived | None:
        """Return what flows, or hosts with programs, have received so far; see `Engine`."""
        with contextlib.suppress(OSError):  # the guest has not begun, or it has ended
            if not self.scenario.flows:
                return arriving.read(self.network, directory)
            return guest_progress.read(directory, START_NS)
        return None

    def run(
        self,
        directory: Path,
        *,
        core: int | None,
        wall_limit_s: float,
        watch: watchdog.Watcher | None = None,
    ) -> Outcome:
        """Run a scenario; see `rdcnlab.engines.Engine`."""
        network, given = self.network, self.network.traffic.programs
        kernel, switches = self._kernel(), switches_of(network)
        programs.place_files(given, directory)
        try:
            report = guest.run(
                kernel,
                plan.compile_plan(network),
                directory,
                core=core,
                wall_limit_s=wall_limit_s,
                python=sys.executable,
                # the programs may be in any directory, such as the user's home
                read=[
                    *(Path(path) for path in quic.identity(network) if Path(path).is_absolute()),
                    *programs.readable(given),
                ],
                most_processes=programs.most_processes(network),
                watch=watch,
            )
            tables = observed.tables(network, directory) | {"ledger": ledger.table(network, directory)}
        except RunError as error:
            raise programs.explained(switches.explained(error, directory), given, directory) from None
        origin = self._origin()
        provenance: dict[str, Any] = {
            "engine": self.name,
            "kernel": kernel.version,
            "kernel_id": kernel.id,
            "kernel_source": origin.source.name,
            "compiler": origin.compiler,
            "host": platform.release(),
            "jail": report.jail,
            "core": core,
            "wall_s": round(report.wall_s, 3),
            "virtual_s": (report.virtual_ns - START_NS) / 1e9,
        }
        if origin.package is not None:
            provenance["kernel_package"] = str(origin.package)
        late = instants.late(network.traffic, tables["flows"].column("start_s").to_pylist())
        if late:
            provenance["connected_late"] = late
        provenance |= switches.provenance(directory)
        hints = [provenance.get("hint")]
        if network.traffic.of("quic"):
            provenance["quic"] = quic.identity(network)
        if given:
            provenance["programs"] = programs.identity(given)
            hints.append(program_tables.hint(given, tables["programs"]))
        buffers = limited.limited(network.traffic, directory)
        if buffers:
            provenance["limited"] = buffers
        hints.append(limited.hint(buffers))
        if any(hints):
            provenance["hint"] = "; ".join(filter(None, hints))
        for trace in [
            *directory.glob("*.trace"),
            *directory.glob("*.part"),
            *directory.glob("*.tally*"),
            directory / guest_progress.FILE,
        ]:
            trace.unlink(missing_ok=True)  # the file is large, and the tables contain its data
        files = captures.files(network.probes, directory) | program_tables.files(given, directory)
        return Outcome(tables, provenance, files)

    def facts(self) -> dict[str, str]:
        """Return the ids of the kernel and of our own programs; see `rdcnlab.engines.Engine`."""
        kernel = build.identity(hz=self.network.engine.hz, stock=self.stock, algorithm=self.network.additions)
        return {"kernel": kernel, "guest tools": build.tools_identity()}

    def builds(self) -> Builds:
        """Return the kernel and our own programs; see `rdcnlab.engines.Engine`.

        The id of a kernel depends on its source, of which only name and checksum travel.
        """
        kernel, origin = self._kernel(), self._origin()
        environment = {"KERNEL_SOURCE": f"{NOWHERE}/{origin.source.name}#sha256={origin.source.digest}"}
        return Builds((kernel.directory, kernel.tools), {"gcc": origin.compiler}, environment)

    def _origin(self) -> build.Origin:
        return build.origin(hz=self.network.engine.hz, stock=self.stock, algorithm=self.network.additions)

    def _kernel(self, progress: Progress | None = None) -> build.Kernel:
        hz, added = self.network.engine.hz, self.network.additions
        return build.build(hz=hz, stock=self.stock, algorithm=added, progress=progress)


def cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    return sorted(os.sched_getaffinity(0))
