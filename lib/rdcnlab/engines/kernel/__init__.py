# SPDX-License-Identifier: Apache-2.0
"""The kernel engine: a patched Linux kernel in virtual time, as User-Mode Linux."""

from __future__ import annotations

import contextlib
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
from rdcnlab.engines.kernel.observe import captures, ledger, limited, observed
from rdcnlab.engines.kernel.observe import programs as program_tables
from rdcnlab.engines.kernel.switches.switch_set import switches_of
from rdcnlab.engines.kernel.traffic import instants, programs, quic
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.additions import additions

__all__ = ["KernelEngine"]

#: The address of a source that a machine has no need to fetch. Names below .invalid never exist (RFC 2606, Sec. 2).
NOWHERE = "https://not-needed.invalid"


class KernelEngine(Engine):
    """An engine that runs scenarios on the patched kernel.

    Parameters
    ----------
    stock : bool
        Use the kernel that has the patches for time and randomness only.
    """

    name = "kernel"
    wall_limit_s = 1800.0

    def __init__(self, *, stock: bool = False) -> None:
        self.stock = stock

    def identity(self, scenario: Scenario) -> str:
        """Return the hash of kernel and guest code; see `rdcnlab.engines.Engine`."""
        # a store calls this before `prepare`, and a scenario that the engine refuses has no plan
        plan.check(scenario)
        return identity.identity(scenario, stock=self.stock)

    def prepare(self, scenario: Scenario, progress: Progress | None = None) -> None:
        """Raise an error if the scenario cannot run, and build the kernel if it is missing."""
        plan.check(scenario)
        toolchain.require_for_guests(build.programs())
        switches_of(scenario).require()
        if quic.flows(scenario):
            for role in quic.ROLES:
                quic.program(scenario, role)
        programs.require(scenario)
        self._kernel(scenario, progress)

    def virtual_ns(self, directory: Path) -> int | None:
        """Return the virtual time in ns since the scenario's start; 0 while the guest boots; see `Engine`."""
        with contextlib.suppress(OSError, struct.error):  # the run has just begun or ended
            return max(0, watchdog.read(directory / "clock") - START_NS)
        return None

    def arrived(self, directory: Path) -> Arrived | None:
        """Return what the flows have received so far; see `Engine`."""
        with contextlib.suppress(OSError):  # the guest has not begun, or it has ended
            return guest_progress.read(directory, START_NS)
        return None

    def run(
        self,
        scenario: Scenario,
        directory: Path,
        *,
        core: int | None,
        wall_limit_s: float,
        watch: watchdog.Watcher | None = None,
    ) -> Outcome:
        """Run a scenario; see `rdcnlab.engines.Engine`."""
        plan.check(scenario)
        kernel = self._kernel(scenario)
        programs.place_files(scenario, directory)
        try:
            report = guest.run(
                kernel,
                plan.compile_plan(scenario),
                directory,
                core=core,
                wall_limit_s=wall_limit_s,
                python=sys.executable,
                # the programs may be in any directory, such as the user's home
                read=[
                    *(Path(path) for path in quic.identity(scenario) if Path(path).is_absolute()),
                    *programs.readable(scenario),
                ],
                most_processes=programs.most_processes(scenario),
                watch=watch,
            )
            tables = observed.tables(scenario, directory) | {
                "ledger": ledger.table(compile_network(scenario), directory)
            }
        except RunError as error:
            raise programs.explained(switches_of(scenario).explained(error, directory), scenario, directory) from None
        origin = self._origin(scenario)
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
        late = instants.late(scenario, tables["flows"].column("start_s").to_pylist())
        if late:
            provenance["connected_late"] = late
        provenance |= switches_of(scenario).provenance(directory)
        if quic.flows(scenario):
            provenance["quic"] = quic.identity(scenario)
        if scenario.programs:
            provenance["programs"] = programs.identity(scenario)
            found = program_tables.hint(scenario, tables["programs"])
            if found is not None:
                provenance["hint"] = "; ".join(filter(None, [provenance.get("hint"), found]))
        buffers = limited.limited(scenario, directory)
        if buffers:
            provenance["limited"] = buffers
        said = limited.hint(buffers)
        if said is not None:
            provenance["hint"] = "; ".join(filter(None, [provenance.get("hint"), said]))
        for trace in [
            *directory.glob("*.trace"),
            *directory.glob("*.part"),
            *directory.glob("*.tally*"),
            directory / guest_progress.FILE,
        ]:
            trace.unlink(missing_ok=True)  # the file is large, and the tables contain its data
        files = captures.files(scenario, directory) | program_tables.files(scenario, directory)
        return Outcome(tables, provenance, files)

    def facts(self, scenario: Scenario) -> dict[str, str]:
        """Return the ids of the kernel and of our own programs; see `rdcnlab.engines.Engine`."""
        settings = scenario.engine
        kernel = build.identity(hz=settings.hz, stock=self.stock, algorithm=additions(scenario))
        return {"kernel": kernel, "guest tools": build.tools_identity()}

    def builds(self, scenario: Scenario) -> Builds:
        """Return the kernel and our own programs; see `rdcnlab.engines.Engine`.

        The id of a kernel depends on its source, of which only name and checksum travel.
        """
        kernel, origin = self._kernel(scenario), self._origin(scenario)
        environment = {"KERNEL_SOURCE": f"{NOWHERE}/{origin.source.name}#sha256={origin.source.digest}"}
        return Builds((kernel.directory, kernel.tools), {"gcc": origin.compiler}, environment)

    def _origin(self, scenario: Scenario) -> build.Origin:
        settings = scenario.engine
        return build.origin(hz=settings.hz, stock=self.stock, algorithm=additions(scenario))

    def _kernel(self, scenario: Scenario, progress: Progress | None = None) -> build.Kernel:
        settings = scenario.engine
        return build.build(hz=settings.hz, stock=self.stock, algorithm=additions(scenario), progress=progress)


def cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    return sorted(os.sched_getaffinity(0))
