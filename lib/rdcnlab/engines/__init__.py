# SPDX-License-Identifier: Apache-2.0
"""Engines execute scenarios and return tables; this module defines their interface."""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rdcnlab.engines.schema import OPTIONAL, SCHEMAS, schema_of
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Scenario

__all__ = [
    "SCHEMAS", "Arrived", "Builds", "Engine", "Outcome", "Progress", "RunError", "get_engine", "schema_of",
    "wall_limit_s",
]  # fmt: skip

#: Function that an engine calls during preparation, with the current step in words, steps done and steps in total.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Parameters
    ----------
    tables : dict of str to pyarrow.Table
        One table for every name in `SCHEMAS`, with exactly that schema, and those of `OPTIONAL` that the run has. A
        table may be empty.
    provenance : dict
        Plain data about how the run was made (kernel release and identity, wall seconds, core...). No reader of the
        tables may need it, and it is not part of the run's digest.
    files : dict of str to Path
        Files of the run beside its tables, such as captures, by name. They are moved into the store; shipped results do
        not have them.
    """

    tables: Mapping[str, pa.Table]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if set(self.tables) - set(OPTIONAL) != set(SCHEMAS):
            raise RunError(f"the engine gave the tables {sorted(self.tables)} instead of {sorted(SCHEMAS)}")
        for name, table in self.tables.items():
            if not table.schema.equals(schema_of(name)):
                raise RunError(f"the table '{name}' has the columns\n{table.schema}\ninstead of\n{schema_of(name)}")


@dataclass(frozen=True)
class Builds:
    """What another machine needs to make the same runs without a source and a compiler.

    Parameters
    ----------
    directories : tuple of Path
        Directories of builds in the cache of this machine.
    compilers : dict of str to str
        The answer to ``--version`` of each compiler whose version the identity depends on, by the compiler's name.
    environment : dict of str to str
        Environment variables for the processes that use the builds.
    """

    directories: tuple[Path, ...] = ()
    compilers: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Arrived:
    """The payload that has arrived at the receivers of a run in progress.

    Parameters
    ----------
    t_ns : ndarray
        Instants in ns since the scenario's start, shape (n,).
    received_B : ndarray
        Payload in B of each flow until then, in the order of the scenario's flows, shape (n, flows).
    names : tuple of str, optional
        Of a run without flows: the pairs of hosts whose programs sent something, such as ``h1>h2``, in the place of
        flows. What they received is counted with headers.
    """

    t_ns: npt.NDArray[np.int64]
    received_B: npt.NDArray[np.int64]  # noqa: N815  (unit)
    names: tuple[str, ...] = ()


class Engine(ABC):
    """An engine that runs one scenario. It has no state that can influence the run.

    A class that inherits from this one needs `name`, `identity`, `prepare` and `run`. What it compiles of its scenario
    it keeps, so that all of its methods use the same.

    Parameters
    ----------
    scenario : Scenario
        The scenario to run.

    Attributes
    ----------
    name : str
        Its name in the provenance of runs.
    wall_limit_s : float
        Seconds of wall clock after which a run is stopped, unless the user gives another limit.
    """

    name: str
    wall_limit_s: float = 1800.0

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario

    @abstractmethod
    def identity(self) -> str:
        """Return the hexadecimal identity of all code that would run: sources, patches, configuration, guest code.

        This must be fast, and it must not need a finished build.

        Raises
        ------
        RunError
            Something that the identity depends on is missing. The message says what, and how to get it.
        InputError
            The engine cannot run such a scenario.
        """

    @abstractmethod
    def prepare(self, progress: Progress | None = None) -> None:
        """Build what is missing; this may take minutes. Concurrent calls are safe, and repeated calls are fast.

        Parameters
        ----------
        progress : callable, optional
            Called with the current step in words, steps done and steps in total.

        Raises
        ------
        RunError
            The build failed or is not possible.
        InputError
            The engine cannot run such a scenario.
        """

    @abstractmethod
    def run(self, directory: Path, *, core: int | None, wall_limit_s: float) -> Outcome:
        """Run the scenario.

        Parameters
        ----------
        directory : Path
            An empty directory for logs and traces. The engine leaves no files anywhere else.
        core : int or None
            The core to pin the run to; None lets the engine choose one.
        wall_limit_s : float
            Seconds of wall clock after which the run is stopped with an error.

        Raises
        ------
        RunError
            The run failed. The error has the reason and, if there is one, the path of the log.
        """

    def virtual_ns(self, directory: Path) -> int | None:  # noqa: ARG002
        """Return a run's virtual time in ns since the scenario's start; None if the engine does not show it."""
        return None

    def arrived(self, directory: Path) -> Arrived | None:  # noqa: ARG002
        """Return what the flows of a run in progress have received so far, or the hosts of one that has no flows.

        None: the engine does not show it.
        """
        return None

    def facts(self) -> dict[str, str]:
        """Return the hashes of builds that the identity depends on, by the names of the builds.

        Raises
        ------
        RunError
            Something that a hash depends on is missing.
        """
        return {}

    def builds(self) -> Builds:
        """Return what another machine needs to run the scenario; the engine was prepared here."""
        return Builds()


#: Engines by ``engine.kind``: module and class. They are imported on use only, because stored runs can be read without
#: an engine.
ENGINES = {"kernel": "rdcnlab.engines.kernel:KernelEngine", "ns3": "rdcnlab.engines.ns3:Ns3Engine"}


def get_engine(scenario: Scenario) -> Engine:
    """Return the engine that a scenario asks for, to run this scenario.

    The environment variable ``$RDCNLAB_ENGINE``, such as ``package.module:Class``, replaces all engines by another one.
    Results record the identity of the engine that made them.

    Raises
    ------
    InputError
        The engine does not exist.
    """
    known = os.environ.get("RDCNLAB_ENGINE") or ENGINES.get(scenario.engine.kind)
    if known is None:
        raise InputError.of("engine.kind", scenario.engine.kind, " or ".join(map(repr, ENGINES)))
    module, _, name = known.partition(":")
    kind = getattr(importlib.import_module(module), name)
    if not (isinstance(kind, type) and issubclass(kind, Engine)):
        allowed = "a class that inherits from rdcnlab.engines.Engine, and is made with the scenario that it runs"
        raise InputError.of("RDCNLAB_ENGINE", known, allowed)
    return kind(scenario)


def wall_limit_s(scenarios: Iterable[Scenario]) -> float:
    """Return the longest wall-clock limit that the engines of some scenarios have, in seconds."""
    examples = {scenario.engine.kind: scenario for scenario in scenarios}
    return max(get_engine(example).wall_limit_s for example in examples.values())
