# SPDX-License-Identifier: Apache-2.0
"""The wheels work in a virtual environment of their own, outside the source tree, and are the same program there.

They are built and installed without a network. The libraries that they need are those of the environment of the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from tests.conftest import TWO_FLOWS

ROOT = Path(__file__).resolve().parents[2]
#: The largest wheel in bytes that the Python Package Index takes without a request (docs/decisions/wheel.md).
LARGEST_B = 100e6
#: Directories and files beside ``lib`` that the packages contain.
INSIDE = {
    "rdcnlab": ("CITATION.cff", "docs/", "kernel-patches/", "p4/", "README.md", "CONTRIBUTING.md", "requirements"),
    "rdcnlab_papers": ("data/", "notebooks/"),
}
#: What decides about results, printed by the installed package and compared with that of the tree.
SAME = """
import json, sys
from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import patches
from rdcnlab.engines.kernel.identity import identity
from rdcnlab.engines.network import compile_network
from rdcnlab_papers import select
from rdcnlab.runs.shipped import Shipped
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.presets import presets
scenario = Scenario.load("two-flows.yaml")
print(json.dumps({
    "file": build.__file__,
    "patches": str(patches.root()),
    "kernel": build.identity(),
    "tools": build.tools_identity(),
    "run": [
        identity(compile_network(scenario.with_(**{"switch.kind": kind})), stock=False) for kind in ("ocs", "linux")
    ],
    "items": [f"{kind.paper}/{kind.id}" for kind in select([])],
    "presets": list(presets()),
    "shipped": [row.id for row in Shipped()],
}))
"""


@dataclass(frozen=True)
class Installed:
    """The wheels by package, the virtual environment that has them, and a directory to work in."""

    wheels: dict[str, Path]
    environment: Path
    here: Path

    def end(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RDCNLAB_TREE"))}
        path = os.pathsep.join([str(self.environment / "bin"), os.environ["PATH"]])
        store = str(self.here / "runs")
        return subprocess.run(
            [str(self.environment / "bin" / command[0]), *command[1:]], cwd=self.here, capture_output=True, text=True,
            env={**kept, "PATH": path, "RDCNLAB_STORE": store, "COLUMNS": "200"}, check=False,
        )  # fmt: skip

    def run(self, *command: str, status: int = 0) -> str:
        """Return the output of a program, which must end with a status."""
        answer = self.end(*command)
        assert answer.returncode == status, answer.stdout + answer.stderr
        return answer.stdout + answer.stderr

    def rows(self, *arguments: str) -> list[dict[str, object]]:
        """Return the rows that a command prints as JSON."""
        answer = self.end("rdcnlab", *arguments, "--json")
        assert answer.returncode == 0, answer.stderr
        rows: list[dict[str, object]] = json.loads(answer.stdout)
        return rows


def tracked(*more: str) -> list[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("the files of the project are known from Git, and this is no clone")
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", *more], cwd=ROOT, capture_output=True, check=True)
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def pip(*arguments: str | Path, cwd: Path) -> None:
    """Run pip without a network."""
    command = [sys.executable, "-m", "pip", *map(str, arguments), "--no-deps", "--no-index", "--quiet"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    top = tmp_path_factory.mktemp("wheel")
    source, environment, here = top / "source", top / "environment", top / "here"
    # a copy, because a build leaves files in the tree
    for name in tracked("--others", "--exclude-standard"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    wheels = {}
    for package, folder in (("rdcnlab", "."), ("rdcnlab_papers", "./lib")):
        pip("wheel", "--no-build-isolation", "--wheel-dir", top / package, folder, cwd=source)
        (wheels[package],) = (top / package).glob("*.whl")
    shutil.rmtree(source)
    venv.create(environment)
    pip("--python", environment / "bin" / "python", "install", *wheels.values(), cwd=top)
    (packages,) = environment.glob("lib/python*/site-packages")
    libraries = Path(sysconfig.get_path("purelib"))
    # adds that directory, but not what its own .pth files add, such as the source tree
    (packages / "libraries.pth").write_text(f"{libraries}\n")
    # a guest can read this environment only
    shutil.copytree(libraries / "mininet", packages / "mininet")
    here.mkdir()
    (here / "two-flows.yaml").write_text(Scenario.from_dict(TWO_FLOWS).with_(size="4 MiB").dump())
    return Installed(wheels, environment, here)


def beginning(names: Sequence[str], folder: str) -> set[str]:
    return {name.removeprefix(folder) for name in names if name.startswith(folder)}


@pytest.mark.parametrize("package", INSIDE)
def test_a_wheel_has_every_file_of_its_part_of_the_tree_and_nothing_else(installed: Installed, package: str) -> None:
    names = set(zipfile.ZipFile(installed.wheels[package]).namelist())
    tree = tracked("--others", "--exclude-standard")
    wanted = {f"{package}/{name}" for name in tree if name.startswith(INSIDE[package])}
    wanted |= {name.removeprefix("lib/") for name in tree if name.startswith(f"lib/{package}/")}
    assert {name for name in names if ".dist-info/" not in name} == wanted


def test_the_wheels_are_small_enough_for_the_package_index(installed: Installed) -> None:
    assert all(wheel.stat().st_size < LARGEST_B for wheel in installed.wheels.values())


def test_the_installed_package_is_the_same_program(installed: Installed) -> None:
    there = json.loads(installed.run("python", "-c", SAME))
    here = json.loads(subprocess.check_output([sys.executable, "-c", SAME], cwd=installed.here, text=True))
    site = next(installed.environment.glob("lib/python*/site-packages")) / "rdcnlab"
    assert Path(there.pop("file")).is_relative_to(site)
    assert Path(there.pop("patches")) == site / "kernel-patches"
    assert Path(here.pop("file")).is_relative_to(ROOT / "lib")
    assert Path(here.pop("patches")) == ROOT / "kernel-patches"
    assert there == here
    assert len(there["shipped"]) > 1000


def test_doctor_finds_the_shipped_results_and_names_commands_that_work_without_the_tree(installed: Installed) -> None:
    # a machine that lacks something ends with status 1, which is not the subject of this test
    found = {row["what"]: row for row in json.loads(installed.end("rdcnlab", "doctor", "--json").stdout)}
    assert "site-packages/rdcnlab_papers/data/results" in found["shipped results"]["result"]
    for row in found.values():
        assert not row["remedy"].startswith("make")


def test_a_missing_extra_names_pip(installed: Installed) -> None:
    words = installed.run("python", "-c", "from rdcnlab.system import extras; print(extras.command('models'))")
    assert words.strip() == "pip install 'rdcnlab-papers[models]'"
    words = installed.run("python", "-c", "from rdcnlab.system import extras; print(extras.command('ns3'))")
    assert Path(words.split()[-1]).read_text() == (ROOT / "requirements-ns3.lock").read_text()


def test_notebooks_are_copied_out_and_never_written_over(installed: Installed) -> None:
    assert installed.run("rdcnlab", "notebooks", "mine").strip() == "jupyter lab mine/index.ipynb"
    files = [path for path in (installed.here / "mine").rglob("*") if path.is_file()]
    copied = {str(path.relative_to(installed.here / "mine")) for path in files}
    assert copied == beginning(tracked("--others", "--exclude-standard"), "notebooks/")
    (installed.here / "mine" / "index.ipynb").write_text("changed")
    assert "empty" in installed.run("rdcnlab", "notebooks", "mine", status=2)
    assert (installed.here / "mine" / "index.ipynb").read_text() == "changed"


def test_what_changes_the_tree_is_refused(installed: Installed) -> None:
    assert "clone of the repository" in installed.run("rdcnlab", "ship", "aykurt/tab1", status=1)


def test_stored_results_are_judged_as_in_the_tree(installed: Installed) -> None:
    rows = installed.rows("score", "aykurt/fig4")
    assert rows
    assert {row["verdict"] for row in rows} - {"not run"}


@pytest.mark.slow
def test_a_notebook_is_executed_from_shipped_runs(installed: Installed) -> None:
    rows = installed.rows("reproduce", "aykurt/fig4", "--profile", "paper", "--output", "out")
    scored = [row for row in installed.rows("score", "aykurt/fig4") if row["column"] == "6.12"]
    assert {row["verdict"] for row in rows} == {row["verdict"] for row in scored}
    assert (installed.here / "out" / "aykurt" / "fig4.png").is_file()


#: Files of the package of ``docs/new-paper.md``, in the order of its blocks; the last one writes the notebook.
SIXTH = ("pyproject.toml", "sixth/__init__.py", "sixth/claims.yaml", "sixth/rates.py", "write.py")


@pytest.mark.guest
def test_a_paper_of_somebody_else_is_run_and_judged(installed: Installed, tmp_path: Path) -> None:
    """A line that is ten times as fast serves a large flow in a tenth of the time."""
    blocks = re.findall(r"```(?:toml|python|yaml)\n(.*?)```", (ROOT / "docs" / "new-paper.md").read_text(), re.DOTALL)
    for name, text in zip(SIXTH, blocks, strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    python = installed.environment / "bin" / "python"
    subprocess.run([python, "write.py"], cwd=tmp_path, check=True)
    pip("--python", python, "install", "--no-build-isolation", ".", cwd=tmp_path)
    assert "sixth/rates" in installed.run("rdcnlab", "reproduce", "sixth", "--output", "sixth")
    (row,) = installed.rows("score", "sixth")
    assert row["verdict"] == "reproduced"
    assert (installed.here / "sixth" / "sixth" / "rates.png").is_file()
    assert "sixth/rates" in installed.run("rdcnlab", "score", "sixth/rate", status=2)


@pytest.mark.guest
def test_a_scenario_runs_in_a_guest(installed: Installed) -> None:
    assert build.find() is not None
    rows = installed.rows("run", "two-flows.yaml")
    assert [row["finished"] for row in rows] == [True, True]
    assert places.source_tree() == ROOT
