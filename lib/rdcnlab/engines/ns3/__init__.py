# SPDX-License-Identifier: Apache-2.0
"""The ns3 engine: the network simulator ns-3 with our models of switches, hosts and sockets, in C++."""

from __future__ import annotations

import functools
import platform
from pathlib import Path
from typing import Any

from rdcnlab.engines import Builds, Engine, Outcome, Progress
from rdcnlab.engines.network import Network, compile_network
from rdcnlab.engines.ns3 import build, check, identity, observe, plan, process

__all__ = ["Ns3Engine"]


class Ns3Engine(Engine):
    """An engine that runs scenarios on ns-3. It needs the extra ``ns3`` and a C++ compiler."""

    name = "ns3"
    #: 8 s of 12.5 Gb/s and 50 ms with 200 flows took 1054 s on an idle core, so 16 s of twice the rate take at least
    #: 4200 s.
    wall_limit_s = 14_400.0

    @functools.cached_property
    def network(self) -> Network:
        """The compiled network, which this engine can run."""
        check.check(self.scenario)
        return compile_network(self.scenario, several_addresses=False)

    def identity(self) -> str:
        """Return the hash of models, plan and the code that reads the results; see `rdcnlab.engines.Engine`."""
        return identity.identity(self.network)

    def prepare(self, progress: Progress | None = None) -> None:
        """Raise an error if the scenario cannot run, and compile the models if they are missing."""
        self.network  # noqa: B018  (an error if the scenario cannot run)
        build.make(progress)

    def run(self, directory: Path, *, core: int | None, wall_limit_s: float) -> Outcome:
        """Run a scenario; see `rdcnlab.engines.Engine`."""
        network, models = self.network, build.make()
        report = process.run(models, plan.compile_plan(network), directory, core=core, wall_limit_s=wall_limit_s)
        tables = observe.tables(network, directory, report["flows"])
        provenance: dict[str, Any] = {
            "engine": self.name,
            "ns3": models.wheel.version,
            "models_id": models.id,
            "compiler": build.compiler(),
            "host": platform.release(),
            "core": core,
            **{name: report[name] for name in ("events", "virtual_s", "peak_B")},
            **{name: round(report[name], 3) for name in ("wall_s", "simulated_s")},
        }
        losses = {name: count for name, count in report["lost"].items() if count}
        if losses:
            provenance["lost_in_hosts"] = losses
        for trace in [*directory.glob("*.records"), *directory.glob("*.tally*")]:
            trace.unlink()  # the tables contain their data
        return Outcome(tables, provenance)

    def facts(self) -> dict[str, str]:
        """Return the id of the compiled models; see `rdcnlab.engines.Engine`."""
        return {"ns-3": build.identity()}

    def builds(self) -> Builds:
        """Return the compiled models; see `rdcnlab.engines.Engine`."""
        return Builds((build.make().library.parent,), {build.COMPILER: build.compiler()})
