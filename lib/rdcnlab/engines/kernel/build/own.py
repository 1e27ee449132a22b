# SPDX-License-Identifier: Apache-2.0
"""Build a kernel with a congestion control of the user's own, one C file.

The cache has the tree in which the kernel itself was compiled. So a build compiles one file and links. Without it, the
first such build takes as long as any build. The user's file is compiled first: its errors appear after seconds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from rdcnlab.engines import Progress
from rdcnlab.engines.kernel.build import kept
from rdcnlab.engines.kernel.build.tree import STEPS, Tree
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario.own import OwnAlgorithm

#: Changed if the same file would be built in another way; part of a build's identity.
FORM = "own 1"
#: Name of the user's file in the tree, one that no file of the kernel has.
_STEM = "tcp_rdcnlab_own"
_LINE = f"obj-y += {_STEM}.o\n"
#: Most messages of the compiler that an error shows.
_MOST = 8


def build(
    algorithm: OwnAlgorithm,
    place: Path,
    target: Path,
    work: Path,
    fragment: str,
    chosen: Sequence[Path],
    report: Progress,
) -> None:
    """Build the kernel with a congestion control of the user's own.

    Parameters
    ----------
    algorithm : OwnAlgorithm
        The user's file.
    place : Path
        Directory of the kernel's tree, which is made if it does not exist, and stays.
    target, work : Path
        The directory of the finished build, and one for temporary files.
    fragment : str
        Settings of the configuration.
    chosen : sequence of Path
        The patches.
    report : callable
        Called with the current step in words, steps done and steps in total.

    Raises
    ------
    InputError
        The file has changed, or it does not compile. The message has the compiler's errors, with line numbers.
    RunError
        The kernel's own build failed.
    """
    content = algorithm.content("engine.algorithm")
    log = target.with_suffix(".log")
    with kept.prepared(place, log, fragment, chosen, report) as tree:
        add(tree, content)
        log.unlink(missing_ok=True)  # its messages are about another state of the file
        try:
            tree.compile(report, [f"net/ipv4/{_STEM}.o"])
            tree.compile(report)
        except RunError:
            said = messages(log.read_text(errors="replace"), algorithm.path)
            if not said:
                raise
            allowed = "\n  ".join([f"a C file that can be built into {_release(tree)}:", *said])
            raise InputError.of("engine.algorithm", algorithm.path, allowed) from None
        tree.pack(target, work)
    report("done", STEPS, STEPS)


def add(tree: Tree, content: bytes) -> None:
    """Add the user's file to a tree, in the place of an earlier one."""
    (tree.src / f"net/ipv4/{_STEM}.c").write_bytes(content)
    makefile = tree.src / "net/ipv4/Makefile"
    text = makefile.read_text()
    if _LINE not in text:
        _replace(makefile, text + _LINE)


def take_out(tree: Tree) -> None:
    """Make a tree that of the kernel without a file of the user's."""
    makefile = tree.src / "net/ipv4/Makefile"
    text = makefile.read_text()
    if _LINE in text:
        _replace(makefile, text.replace(_LINE, ""))


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)


def messages(log: str, path: str) -> list[str]:
    r"""Return the errors of compiler and linker about the user's file, with its own name instead of that in the tree.

    Parameters
    ----------
    log : str
        Output of the build.
    path : str
        Path of the user's file.

    Examples
    --------
    >>> messages("/x/net/ipv4/tcp_rdcnlab_own.c:7:2: error: expected ';'\n", "/home/me/tcp_mine.c")
    ["tcp_mine.c:7:2: error: expected ';'"]
    """
    name = Path(path).name
    found: list[str] = []
    elsewhere = ""  # an error in a macro of a header; the place in the user's file where it is used follows
    for line in log.splitlines():
        mine = re.search(rf"{_STEM}\.c:\d+:\d+: (?:fatal )?error: ", line)
        if mine or re.search(rf"{_STEM}\.c:.*(?:undefined reference|multiple definition)", line):
            found.append(re.sub(rf"\S*{_STEM}\.c", name, line.strip()))
            elsewhere = ""
        elif ": warning: " in line:
            elsewhere = ""
        elif error := re.match(r"\S+:\d+:\d+: error: (?:call to \S+ declared with attribute error: )?(.*)", line):
            elsewhere = error[1]
        elif elsewhere and (used := re.match(rf"\S*{_STEM}\.c(:\d+:\d+): note: in expansion of macro ", line)):
            found.append(f"{name}{used[1]}: error: {elsewhere}")
            elsewhere = ""
    found = list(dict.fromkeys(found))
    left = len(found) - _MOST
    return [*found[:_MOST], *([f"and {left} more"] if left > 0 else [])]


def _release(tree: Tree) -> str:
    return f"Linux {(tree.out / 'include/config/kernel.release').read_text().strip()}"
