# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pickle
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rdcnlab.engines.kernel import build, guest, plan
from rdcnlab.engines.kernel.build import toolchain
from rdcnlab.engines.kernel.observe import ledger, observed
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.ns3 import build as ns3_build
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.digest import digests
from rdcnlab.scenario import Scenario
from tests.conftest import Shared, all_cores


@dataclass
class Seen:
    """The results of a run in a guest: tables, their digest, the output of commands, and the directory."""

    tables: dict[str, pd.DataFrame]
    digest: str
    answers: list[str]
    directory: Path
    report: guest.Report


RunGuest = Callable[..., Seen]
SharedRun = Callable[[Scenario], Seen]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that boot the kernel or need ns-3, so that they can be left out."""
    for item in items:
        names = set(getattr(item, "fixturenames", ()))
        if {"kernel", "stock_kernel"} & names:
            item.add_marker(pytest.mark.guest)
        if "ns3_models" in names:
            item.add_marker(pytest.mark.ns3)


@pytest.fixture(scope="session")
def kernel() -> build.Kernel:
    """The patched kernel. It is built if necessary."""
    lacking = toolchain.missing()
    if lacking:
        pytest.skip(f"the kernel engine needs {', '.join(lacking)}: {toolchain.remedy(lacking)}")
    with all_cores():
        return build.build()


@pytest.fixture(scope="session")
def stock_kernel() -> build.Kernel:
    """The kernel with only the patches for time and randomness."""
    with all_cores():
        return build.build(stock=True)


@pytest.fixture(scope="session")
def ns3_models() -> ns3_build.Models:
    """Our models of ns-3. They are compiled if necessary."""
    try:
        return ns3_build.make()
    except RunError as error:
        if error.log is not None:
            raise  # it can be made, and was not
        pytest.skip(error.reason)


@pytest.fixture
def run_guest(kernel: build.Kernel, tmp_path_factory: pytest.TempPathFactory) -> RunGuest:
    """Run a scenario in a guest. Options add commands on its hosts, and files in its directory."""

    ours = kernel

    def run(
        scenario: Scenario,
        *,
        commands: list[tuple[str, str]] | None = None,
        before: list[tuple[str, str]] | None = None,
        kernel: build.Kernel = kernel,
        core: guest.Core = None,
        files: list[Path] | None = None,
        **options: Any,
    ) -> Seen:
        directory = tmp_path_factory.mktemp("run")
        for file in files or []:
            shutil.copy(file, directory)
        network = compile_network(scenario)
        asked = plan.compile_plan(network)
        asked["commands"], asked["before"] = commands or [], before or []
        options = {"wall_limit_s": 300, "python": sys.executable, **options}
        report = guest.run(kernel, asked, directory, core=core, **options)
        tables = observed.tables(network, directory)
        # commands do what no field of the scenario says; a kernel that has only the patches for time has no ledger
        if not before and (kernel is ours or (directory / "ledger.txt").exists()):
            ledger.table(network, directory)
        answers = json.loads((directory / "commands.json").read_text())
        return Seen({n: t.to_pandas() for n, t in tables.items()}, str(digests(tables)), answers, directory, report)

    return run


@pytest.fixture
def shared_run(run_guest: RunGuest, shared: Shared) -> SharedRun:
    """Return the run of a scenario that several tests look at, or compare others with; it is made once for all workers.

    A test whose subject is a run of its own, or whose surroundings differ, uses `run_guest`.
    """

    def run(scenario: Scenario) -> Seen:
        def fill(folder: Path) -> None:
            (folder / "seen").write_bytes(pickle.dumps(run_guest(scenario)))

        seen: Seen = pickle.loads((shared(f"run-{scenario.hash}", fill) / "seen").read_bytes())
        return seen

    return run


@pytest.fixture
def two_hosts() -> Scenario:
    """One flow of 1 MiB between two hosts through one link of 10 Gb/s, with a delay of 100 us from end to end."""
    return Scenario.from_dict(
        {
            "network": {
                "name": "pair",
                "mtu": 9000,
                "hosts": [{"name": name, "rate": "10 Gb/s", "delay": "50 us"} for name in ("a", "b")],
                "links": [{"name": "link", "rate": "10 Gb/s", "buffer": "3 MB"}],
            },
            "flows": [{"name": "flow", "size": "1 MiB", "path": "link", "src": "a", "dst": "b"}],
        }
    )
