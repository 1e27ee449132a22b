# SPDX-License-Identifier: Apache-2.0
"""Patches on a kernel's tree, and what to do where they do not fit."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from rdcnlab.engines.kernel.build import releases
from rdcnlab.fields.errors import RunError

#: ``--force`` and not ``--batch``, which would revert a patch that the release has already.
COMMAND = ("patch", "--force", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-i")


def apply(patches: Sequence[Path], tree: Path, log: Path, report: Callable[[str], None] = lambda _: None) -> None:
    """Apply patches to a kernel's tree, each hunk exactly as it is.

    Parameters
    ----------
    patches : sequence of Path
        In this order.
    tree : Path
        The unpacked source.
    log : Path
        Takes what ``patch`` says.
    report : callable, optional
        Called with the name of each patch.

    Raises
    ------
    RunError
        A patch does not apply: names it, the files, the release, and the releases known to work.
    """
    with log.open("a") as file:
        for patch in patches:
            report(patch.name)
            done = subprocess.run(
                [*COMMAND, str(patch)], cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace", check=False, env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
            file.write(done.stdout)
            if done.returncode:
                where = ", ".join(refused_files(done.stdout)) or "see the log"
                release = releases.release_of_tree(tree)
                source = f"Linux {release}" if release else "a source whose Makefile names no release"
                reason = f"{patch.name} does not apply to {source}: {where}. {releases.advice(release)}"
                raise RunError(reason, log)


def refused_files(answer: str) -> list[str]:
    r"""Return the files that a patch could not change.

    Parameters
    ----------
    answer : str
        What ``patch`` said.

    Examples
    --------
    >>> refused_files("patching file net/Makefile\nHunk #1 FAILED at 5.\npatching file net/Kconfig\n")
    ['net/Makefile']
    """
    files: dict[str, None] = {}
    current = ""
    for line in answer.splitlines():
        # without --verbose, a missing file is only named by the lines of the patch that it quotes
        if match := re.match(r"(?:patching|checking) file (\S+)|\|\+\+\+ (?:b/)?(\S+)", line):
            current = match[1] or match[2]
        if "FAILED" in line or line.startswith("No file to patch"):
            files[current] = None
    return [name for name in files if name]
