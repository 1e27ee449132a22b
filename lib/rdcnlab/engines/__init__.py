# SPDX-License-Identifier: Apache-2.0
"""Engines: the only place where something happens."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from rdcnlab.engines.schema import SCHEMAS
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Scenario

__all__ = ["SCHEMAS", "Engine", "Outcome", "Progress", "RunError", "get_engine"]

#: What an engine calls while it prepares: what is done now, steps done, steps in all.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

    Parameters
    ----------
    tables : dict of str to pyarrow.Table
        One for every name in `SCHEMAS`, with exactly that schema; a table may be empty.
    provenance : dict
        Plain data about how it came about (kernel release and identity, wall seconds, core...). Nothing in it may be
        needed to read the tables, and nothing in it is part of the run's digest.
    """

    tables: Mapping[str, pa.Table]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if set(self.tables) != set(SCHEMAS):
            raise RunError(f"the engine gave the tables {sorted(self.tables)} instead of {sorted(SCHEMAS)}")
        for name, table in self.tables.items():
            if not table.schema.equals(SCHEMAS[name]):
                raise RunError(f"the table '{name}' has the columns\n{table.schema}\ninstead of\n{SCHEMAS[name]}")


class Engine(Protocol):
    """Runs scenarios. Instances hold no state that a run could see."""

    name: str

    def identity(self, scenario: Scenario) -> str:
        """Return the hexadecimal identity of everything that would run: sources, patches, configuration, guest code.

        Must be cheap, and must not need anything to be built.

        Raises
        ------
        RunError
            Something needed to tell is missing; the message says what and how to get it.
        """
        ...

    def prepare(self, scenario: Scenario, progress: Progress | None = None) -> None:
        """Build what is missing. May take minutes; safe to call twice at once, cheap when all is there.

        Parameters
        ----------
        scenario : Scenario
            What is to be run.
        progress : callable, optional
            Called with what is done now, steps done and steps in all.

        Raises
        ------
        RunError
            It cannot be built.
        InputError
            The engine cannot run such a scenario.
        """
        ...

    def run(self, scenario: Scenario, directory: Path, *, core: int | None, wall_limit_s: float) -> Outcome:
        """Run one scenario.

        Parameters
        ----------
        scenario : Scenario
            What to run.
        directory : Path
            An empty directory for logs and traces. The engine leaves nothing anywhere else.
        core : int or None
            The core to pin to, or None to choose one.
        wall_limit_s : float
            Wall-clock seconds after which the run is given up.

        Raises
        ------
        RunError
            With the reason and, if there is one, the log.
        """
        ...


#: Engines by ``engine.kind``: a module and a class in it. They are imported where they are used, because a stored run
#: can be read without any.
ENGINES = {"kernel": "rdcnlab.engines.kernel:KernelEngine"}


def get_engine(scenario: Scenario) -> Engine:
    """Return the engine a scenario asks for.

    ``$RDCNLAB_ENGINE``, as in ``package.module:Class``, puts another one in the place of all; results know which engine
    made them by its identity.

    Raises
    ------
    InputError
        That engine is not there.
    """
    known = os.environ.get("RDCNLAB_ENGINE") or ENGINES.get(scenario.engine.kind)
    if known is None:
        raise InputError.of("engine.kind", scenario.engine.kind, " or ".join(map(repr, ENGINES)))
    module, _, name = known.partition(":")
    engine: Engine = getattr(importlib.import_module(module), name)()
    return engine
