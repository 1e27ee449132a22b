# SPDX-License-Identifier: Apache-2.0
"""The image's entry point: its own user runs as usual, and a user of another number gets a home with the kernels."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "entrypoint"
#: What a user of the image sees: the home, the working directory, and the builds.
LOOK = 'echo "$HOME"; pwd; cd "$HOME/.cache/rdcnlab/kernels"; ls; cat a6/linux; touch "$HOME/mine" "$OLDPWD/mine"'


@pytest.fixture
def image() -> Iterator[Path]:
    """A home with a kernel and a project, and a program `rdcnlab` that says what it was asked for."""
    # not tmp_path: other users cannot enter the directories of pytest
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield _image(Path(directory))


def _image(tmp_path: Path) -> Path:
    kernels = tmp_path / "home" / ".cache" / "rdcnlab" / "kernels"
    (kernels / "a6").mkdir(parents=True)
    (kernels / "a6" / "linux").write_text("a kernel\n")
    (kernels / "a6.lock").touch()
    (tmp_path / "home" / "rdcnlab").mkdir()
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "rdcnlab"
    program.write_text('#!/bin/sh\n[ "$1" = notebooks ] && mkdir -p "$2" && touch "$2/index.ipynb"\n')
    program.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    (tmp_path / "entrypoint").write_text(SCRIPT.read_text())
    (tmp_path / "entrypoint").chmod(0o755)
    return tmp_path


def enter(image: Path, *command: str, user: int | None = None) -> list[str]:
    environment = {
        "HOME": str(image / "home"),
        "TMPDIR": str(image / "tmp"),
        "PATH": f"{image / 'bin'}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        [image / "entrypoint", *command], cwd=image / "home" / "rdcnlab", env=environment, capture_output=True,
        text=True, check=False, user=user, group=user,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_images_own_user_stays_at_home(image: Path) -> None:
    home, where, *kernels = enter(image, "sh", "-euc", LOOK)
    assert home == str(image / "home")
    assert where == str(image / "home" / "rdcnlab")
    assert kernels == ["a6", "a6.lock", "a kernel"]


def test_a_user_of_another_number_gets_a_home(image: Path) -> None:
    if os.getuid() == 0:
        found = enter(image, "sh", "-euc", LOOK, user=12345)
    else:
        for path in ("home/.cache/rdcnlab/kernels", "home/rdcnlab", "home"):
            (image / path).chmod(0o555)
        found = enter(image, "sh", "-euc", LOOK)
    home, where, *kernels = found
    assert Path(home).parent == image / "tmp"
    assert where == f"{home}/work"
    assert kernels == ["a6", "a kernel"]
    assert (Path(home) / "work" / "notebooks" / "index.ipynb").exists()


def test_the_command_replaces_the_shell_and_gives_its_status(image: Path) -> None:
    done = subprocess.run(
        [image / "entrypoint", "sh", "-c", "exit 7"],
        check=False,
        env={**os.environ, "HOME": str(image / "home")},
        cwd=image,
    )
    assert done.returncode == 7
