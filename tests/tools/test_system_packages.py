# SPDX-License-Identifier: Apache-2.0
"""``tools/system-packages`` on other systems than this one: apt and dpkg are replaced by fakes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "system-packages"
OFFER = "echo ' x | 1 | http://example.org Packages'"


def test_runs_from_the_kernels_package_need_no_compiler(tmp_path: Path) -> None:
    programs = {
        "id": "echo 0", "dpkg-query": "exit 1", "apt-get": f'echo "$@" >>{tmp_path}/asked', "apt-cache": OFFER,
        "python3": "exit 1",
    }  # fmt: skip
    for name, body in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    subprocess.run([SCRIPT, "--run"], check=True, capture_output=True, env={**os.environ, "PATH": path})
    assert (tmp_path / "asked").read_text().splitlines()[1] == "install -y -q --no-install-recommends bash python3-venv"


@pytest.mark.parametrize(
    ("lists", "offered", "installs"),
    [
        ("yes", "yes", "flex linux-source-6.12"),  # Debian
        ("yes", "no", "flex"),  # Ubuntu
        ("after update", "yes", "flex linux-source-6.12"),  # an image of Debian, which comes without lists
        ("after update", "no", "flex"),
    ],
)
def test_the_kernels_source_is_installed_where_apt_has_it(
    lists: str, offered: str, installs: str, tmp_path: Path
) -> None:
    source = OFFER if offered == "yes" else ":"
    programs = {
        "id": "echo 0",
        "dpkg-query": 'for last; do :; done; case "$last" in flex|linux-source-6.12) exit 1;; *) echo installed;; esac',
        "apt-get": f'echo "$@" >>{tmp_path}/asked; touch {tmp_path}/updated',
        "apt-cache": f'[ "{lists}" = yes ] || [ -e {tmp_path}/updated ] || exit 0\n'
        f'case "$2" in apt) {OFFER};; *) {source};; esac',
    }
    for name, body in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    subprocess.run([SCRIPT], check=True, capture_output=True, env={**os.environ, "PATH": path})
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["update -q", f"install -y -q --no-install-recommends {installs}"]
