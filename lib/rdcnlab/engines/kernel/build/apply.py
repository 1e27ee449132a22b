# SPDX-License-Identifier: Apache-2.0
"""Apply patches to a kernel's tree, and give advice if they do not apply."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from rdcnlab.engines.kernel.build import releases
from rdcnlab.fields.errors import RunError

#: ``--force`` instead of ``--batch``, because ``--batch`` would revert a patch that the release already contains.
COMMAND = ("patch", "--force", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-i")


def apply(patches: Sequence[Path], tree: Path, log: Path, report: Callable[[str], None] = lambda _: None) -> None:
    """Apply patches to a kernel's tree; every hunk must match exactly.

    Parameters
    ----------
    patches : sequence of Path
        The patches, in the order in which they are applied.
    tree : Path
        Directory of the unpacked source.
    log : Path
        File to which the output of ``patch`` is appended.
    report : callable, optional
        Called with the name of each patch.

    Raises
    ------
    RunError
        A patch does not apply. The message names the patch, the files, the release, and the releases known to work.
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
        Output of ``patch``.

    Examples
    --------
    >>> refused_files("patching file net/Makefile\nHunk #1 FAILED at 5.\npatching file net/Kconfig\n")
    ['net/Makefile']
    """
    files: dict[str, None] = {}
    current = ""
    for line in answer.splitlines():
        # Without --verbose, ``patch`` names a missing file only in the lines of the patch that it quotes.
        if match := re.match(r"(?:patching|checking) file (\S+)|\|\+\+\+ (?:b/)?(\S+)", line):
            current = match[1] or match[2]
        if "FAILED" in line or line.startswith("No file to patch"):
            files[current] = None
    return [name for name in files if name]
