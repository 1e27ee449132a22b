# SPDX-License-Identifier: Apache-2.0
"""What can be checked of the Dockerfile without a build; docs/decisions/image.md says what was checked with one."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def words(instruction: str) -> list[str]:
    """Return the words of an instruction in JSON form."""
    (text,) = re.findall(rf"^{instruction} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    found: list[str] = json.loads(text)
    return found


def test_jupyter_opens_the_index_and_not_only_its_first_page() -> None:
    (url,) = (word.partition("=")[2] for word in words("CMD") if word.startswith("--LabApp.default_url="))
    assert (ROOT / url.removeprefix("/lab/tree/")).is_file()


def test_the_entry_point_is_a_program_of_this_tree() -> None:
    (path,) = words("ENTRYPOINT")
    script = ROOT / path.removeprefix("/home/jovyan/rdcnlab/")
    assert os.access(script, os.X_OK)
    assert "WORKDIR ${HOME}/rdcnlab" in DOCKERFILE


def test_pip_takes_the_lock_as_it_is_where_the_lock_leaves_packages_out() -> None:
    """pip refuses a lock that lacks what a package asks for, unless it looks for nothing else."""
    overridden = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["override-dependencies"]
    assert overridden
    (step,) = re.findall(r"^RUN (.*) micromamba install .*environment\.yml", DOCKERFILE, re.MULTILINE)
    assert "PIP_NO_DEPS=1" in step.split()
    (pip,) = (part["pip"] for part in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][-1:])
    assert pip == ["--require-hashes", "-r requirements.lock"]


def test_bmv2_comes_by_the_script_that_the_tree_has_too() -> None:
    (copied,) = re.findall(r"^COPY (.*) /tmp/$", DOCKERFILE, re.MULTILINE)
    assert {"tools/bmv2", "tools/system-packages"} == set(copied.split())
    assert all(os.access(ROOT / name, os.X_OK) for name in copied.split())
    assert "opensuse" not in DOCKERFILE


def test_the_last_user_is_not_root_and_has_the_kernel() -> None:
    users = re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE)
    assert users == ["root", "${NB_USER}"]
    assert DOCKERFILE.index("USER ${NB_USER}") < DOCKERFILE.index("RUN rdcnlab kernel build")


def test_the_image_is_without_the_kernels_tree() -> None:
    """It must go in the step that makes it, otherwise a layer of the image has it."""
    (step,) = re.findall(r"^RUN rdcnlab kernel build (.*)$", DOCKERFILE, re.MULTILINE)
    assert step == '&& rm -r "${HOME}"/.cache/rdcnlab/kernels/*.tree'
