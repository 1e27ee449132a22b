# SPDX-License-Identifier: Apache-2.0
"""Runs of scenarios with programs, for tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rdcnlab.engines.kernel import KernelEngine
from rdcnlab.runs.digest import digests
from rdcnlab.scenario import Scenario

#: The package of Debian that brings a program, where its name differs.
PACKAGES = {"redis-server": "redis-server", "redis-benchmark": "redis-tools", "sshd": "openssh-server"}
PACKAGES |= {"nginx": "nginx-light", "scp": "openssh-client", "ssh-keygen": "openssh-client"}


def need(*programs: str) -> None:
    """Skip a test if a program is not installed here."""
    for program in programs:
        if shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            package = PACKAGES.get(program, program)
            pytest.skip(f"there is no {program}: sudo apt-get install -y {package}")


@dataclass
class Ran:
    """The results of a run with programs: tables, their digest, what each program printed, and kept files."""

    tables: dict[str, pd.DataFrame]
    digest: str
    files: dict[str, bytes]
    provenance: dict[str, Any]

    def printed(self, program: str) -> str:
        """Return what a program printed to standard output."""
        return self.files[f"programs/{program}.out"].decode()

    def row(self, program: str) -> pd.Series[Any]:
        """Return a program's row of the table ``programs``."""
        return self.tables["programs"].set_index("program").loc[program]

    def carried(self, flow: str, where: str = "receiver") -> int:
        """Return the bytes of a flow at a place."""
        found = self.tables["throughput"].query("flow == @flow and where == @where")
        return int(found["bytes"].sum())


RunPrograms = Callable[..., Ran]


def run_in(directory: Path, scenario: Scenario, core: int | None = None, limit_s: float = 300) -> Ran:
    """Run a scenario in an empty directory."""
    engine = KernelEngine(scenario)
    engine.prepare()
    outcome = engine.run(directory, core=core, wall_limit_s=limit_s)
    files = {name: path.read_bytes() for name, path in outcome.files.items()}
    tables = {name: table.to_pandas() for name, table in outcome.tables.items()}
    return Ran(tables, str(digests(outcome.tables)), files, dict(outcome.provenance))
