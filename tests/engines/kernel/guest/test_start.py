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
from tests.engines.kernel.switches.ovs.test_ovs import SWAPPING, blocks, ovs

pytestmark = pytest.mark.guest

#: What users' environments add: nothing, a path as of an editable installation, and what uses 3 ms of virtual time.
ADDED = ("", "/usr/share\n", "import os; [os.access('/nothing', 0) for _ in range(4000)]\n")


@pytest.fixture
def environments(tmp_path: Path) -> list[Path]:
    """Environments with the packages of this one. Each adds something in a ``.pth`` file and a ``sitecustomize``."""
    places = [tmp_path / f"environment{number}" for number in range(len(ADDED))]
    library = Path(sysconfig.get_path("purelib"))
    for place, added in zip(places, ADDED, strict=True):
        packages = place / library.relative_to(sys.prefix)
        packages.mkdir(parents=True)
        for entry in library.iterdir():
            if entry.suffix != ".pth":
                (packages / entry.name).symlink_to(entry)
        if added:
            (packages / "added.pth").write_text(added)
            (packages / "sitecustomize.py").write_text(added if added.startswith("import") else "")
        (place / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\ninclude-system-site-packages = false\n")
        (place / "bin").mkdir()
        (place / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    return places


def digests(run_guest: RunGuest, scenario: Scenario, environments: list[Path]) -> set[str]:
    """Return the different digests of a scenario in this environment and in others."""
    there = [run_guest(scenario, python=str(place / "bin" / "python"), read=[place]) for place in environments]
    return {run_guest(scenario).digest, *(seen.digest for seen in there)}


def test_what_an_environment_adds_does_not_matter(
    run_guest: RunGuest, two_flows: Scenario, environments: list[Path]
) -> None:
    scenario = two_flows.with_(size="128 MiB", period="10 ms", seed=7)
    assert len(digests(run_guest, scenario, environments[-1:])) == 1


@pytest.mark.ovs
@pytest.mark.skipif(bool(install.missing()) or not install.has_controller(), reason=f"{install.REMEDY}; make sdn")
@pytest.mark.parametrize("own", [False, True])
def test_what_an_environment_adds_does_not_matter_to_a_controller(
    run_guest: RunGuest, environments: list[Path], tmp_path: Path, *, own: bool
) -> None:
    """Neither to the default controller nor to a user's own, which is no superuser and met this fault."""
    for name, text in blocks().items():
        (tmp_path / name).write_text(text)
    scenario = Scenario.load(tmp_path / "balance.yaml") if own else ovs(SWAPPING, delay="300 us")
    assert len(digests(run_guest, scenario, environments if own else environments[-1:])) == 1
