# SPDX-License-Identifier: Apache-2.0
"""How Python starts in a guest: whatever an environment adds to it, a run has the same bytes."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from rdcnlab.engines.kernel.switches.ovs import install
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.test_ovs import SWAPPING, blocks, ovs

pytestmark = pytest.mark.guest

#: What uses 3 ms of virtual time: calls that fail are free up to the thousandth.
BUSY = "import os; [os.access('/nothing', 0) for _ in range(4000)]\n"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment with the packages of this one. It has a ``.pth`` file and a ``sitecustomize`` that are busy."""
    place = tmp_path / "environment"
    library = Path(sysconfig.get_path("purelib"))
    packages = place / library.relative_to(sys.prefix)
    packages.mkdir(parents=True)
    for entry in library.iterdir():
        if entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    (packages / "busy.pth").write_text(f"{tmp_path}\n{BUSY}")
    (packages / "sitecustomize.py").write_text(BUSY)
    (place / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\ninclude-system-site-packages = false\n")
    (place / "bin").mkdir()
    (place / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    return place


def test_what_an_environment_runs_when_python_starts(
    run_guest: RunGuest, two_flows: Scenario, environment: Path
) -> None:
    scenario = two_flows.with_(size="128 MiB", period="10 ms", seed=7)
    there = run_guest(scenario, python=str(environment / "bin" / "python"), read=[environment])
    assert there.digest == run_guest(scenario).digest


@pytest.mark.ovs
@pytest.mark.skipif(bool(install.missing()) or not install.has_controller(), reason=f"{install.REMEDY}; make sdn")
@pytest.mark.parametrize("own", [False, True])
def test_what_an_environment_runs_when_a_controller_starts(
    run_guest: RunGuest, environment: Path, tmp_path: Path, *, own: bool
) -> None:
    """Both the default controller and one of a user's own, which is no superuser."""
    for name, text in blocks().items():
        (tmp_path / name).write_text(text)
    scenario = Scenario.load(tmp_path / "balance.yaml") if own else ovs(SWAPPING, delay="300 us")
    there = run_guest(scenario, python=str(environment / "bin" / "python"), read=[environment])
    assert there.digest == run_guest(scenario).digest
