# SPDX-License-Identifier: Apache-2.0
"""The kernel engine: a patched Linux in virtual time, as User-Mode Linux."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from pathlib import Path

from rdcnlab.engines import Outcome
from rdcnlab.engines.kernel import build, guest, plan
from rdcnlab.engines.kernel.build import source, toolchain
from rdcnlab.engines.kernel.guest import watchdog
from rdcnlab.engines.kernel.observe import observed
from rdcnlab.engines.kernel.switches import kind_of
from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.kernel.wiring.numbers import START_NS
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario, Switch

__all__ = ["KernelEngine"]


class KernelEngine:
    """Runs scenarios on the patched kernel.

    Parameters
    ----------
    stock : bool
        Use the kernel with the patches for time and randomness only.
    """

    name = "kernel"

    def __init__(self, *, stock: bool = False) -> None:
        self.stock = stock

    def identity(self, scenario: Scenario) -> str:
        """Return the hash of kernel and guest code; see `rdcnlab.engines.Engine`."""
        parts = [build.identity(hz=scenario.engine.hz, stock=self.stock), build.tools_identity()]
        digest = hashlib.sha256(" ".join([*parts, *quic.identity(scenario).values()]).encode())
        for path in _code(scenario.switch):
            digest.update(_name(path).encode() + b"\n" + path.read_bytes())
        return digest.hexdigest()

    def prepare(self, scenario: Scenario, progress: build.Progress | None = None) -> None:
        """Refuse what cannot be done, and build the kernel if it is not there."""
        plan.check(scenario)
        toolchain.require(guest_only=True)
        kind_of(scenario).require(scenario)
        if quic.flows(scenario):
            for role in quic.ROLES:
                quic.program(scenario, role)
        build.build(hz=scenario.engine.hz, stock=self.stock, progress=progress)

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
        kernel = build.build(hz=scenario.engine.hz, stock=self.stock)
        try:
            report = guest.run(
                kernel,
                plan.compile_plan(scenario),
                directory,
                core=core,
                wall_limit_s=wall_limit_s,
                python=sys.executable,
                # programs may be anywhere, such as below a user's home
                read=[Path(path) for path in quic.identity(scenario) if Path(path).is_absolute()],
                watch=watch,
            )
            tables = observed.tables(scenario, directory)
        except RunError as error:
            raise kind_of(scenario).explained(error, scenario, directory) from None
        provenance = {
            "engine": self.name,
            "kernel": kernel.version,
            "kernel_id": kernel.id,
            "kernel_source": source.find(build.cache_root()).name,
            "compiler": toolchain.compiler(),
            "host": platform.release(),
            "confinement": report.confinement,
            "core": core,
            "wall_s": round(report.wall_s, 3),
            "virtual_s": (report.virtual_ns - START_NS) / 1e9,
        }
        counters = json.loads((directory / "switch.json").read_text())
        provenance |= kind_of(scenario).provenance(counters, scenario, directory)
        if quic.flows(scenario):
            provenance["quic"] = quic.identity(scenario)
        for trace in directory.glob("*.trace"):
            trace.unlink()  # large, and the tables have it
        return Outcome(tables, provenance)


#: What only a P4 switch needs.
_P4 = (
    "switches/bmv2/plan.py",
    "switches/bmv2/entries.py",
    "switches/bmv2/observe.py",
    "inside/bmv2.py",
    "inside/bmv2_process.py",
    "inside/bmv2_control.py",
    "inside/manager.py",
    "inside/capture.py",
    "inside/clock.py",
)


def _code(switch: Switch) -> list[Path]:
    """Files whose change may change a result, other than those of the kernel's build."""
    names = {
        "plan/__init__.py",
        "plan/classes.py",
        "traffic/quic.py",
        "observe/records.py",
        "observe/observed.py",
        "observe/queues.py",
        "switches/bmv2/plan.py",
        "switches/bmv2/entries.py",
        "switches/bmv2/observe.py",
    }
    names |= {_name(path) for path in (build.HERE / "inside").rglob("*.py")}
    if switch.kind != "bmv2":
        names -= set(_P4)
    own = [build.HERE / name for name in sorted(names)]
    return own if switch.kind != "bmv2" or switch.program is not None else [*own, plan_p4.program()]


def _name(path: Path) -> str:
    """Return a file's path in this package; of another file its name."""
    return path.relative_to(build.HERE).as_posix() if path.is_relative_to(build.HERE) else path.name


def cores() -> list[int]:
    """Return the cores this process may use."""
    return sorted(os.sched_getaffinity(0))
