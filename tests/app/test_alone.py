# SPDX-License-Identifier: Apache-2.0
"""The laboratory works without the papers, and without the libraries that only they need."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import rdcnlab

ROOT = Path(__file__).resolve().parents[2]
#: What is blocked: the papers, and modules of the packages that only lib/pyproject.toml names.
BLOCKED = (
    "rdcnlab_papers", "jinja2", "jupyterlab", "keras", "nbconvert", "papermill", "rocrate", "skops", "sklearn",
    "tensorflow", "threadpoolctl",
)  # fmt: skip
#: Imports all modules, with an importer before all others that refuses what is blocked.
ALONE = """
import importlib, pkgutil, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)
sys.meta_path.insert(0, Refuse())
import rdcnlab
for module in pkgutil.walk_packages(rdcnlab.__path__, "rdcnlab."):
    if ".inside" in module.name:
        continue  # runs in the guest
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        # extras: of the controller, clusters, and the simulator
        assert error.name.partition(".")[0] in ("os_ken", "dask", "distributed", "dask_jobqueue", "ns"), error
from rdcnlab.system import entry_points
entry_points.points = lambda group: {}
sys.argv = ["rdcnlab", *sys.argv[1:]]
from rdcnlab.app.cli import main
main()
"""


def alone(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = f"BLOCKED = {BLOCKED!r}\n{ALONE}"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


def test_all_modules_and_the_commands_do_without_them() -> None:
    done = alone("--help")
    assert done.returncode == 0, done.stderr
    assert "  run " in done.stdout
    assert "reproduce" not in done.stdout


def test_a_figure_of_a_paper_names_the_package_that_has_it() -> None:
    done = alone("plot", "aykurt/fig4")
    assert done.returncode == 2
    assert "'aykurt/fig4' needs the papers, which are not installed: pip install rdcnlab-papers" in done.stderr


def test_the_two_projects_share_no_dependency_and_have_one_version() -> None:
    core, papers = (
        tomllib.loads((ROOT / file).read_text())["project"] for file in ("pyproject.toml", "lib/pyproject.toml")
    )
    assert not set(core["dependencies"]) & set(papers["dependencies"])
    assert core["version"] == papers["version"] == rdcnlab.__version__
    assert f"rdcnlab=={rdcnlab.__version__}" in papers["dependencies"]
