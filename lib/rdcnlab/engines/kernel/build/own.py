# SPDX-License-Identifier: Apache-2.0
"""Build a kernel with a congestion control of the user's own, one C file.

The cache has the tree in which the kernel itself was compiled. So a build compiles one file and links. Without it, the
first such build takes as long as any build. The user's file is compiled first: its errors appear after seconds.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from rdcnlab.engines import Progress
from rdcnlab.engines.kernel.build import kept
from rdcnlab.engines.kernel.build.tree import STEPS, Jail, Tree
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario.additions import Additions
from rdcnlab.scenario.congestion import LINUX_VARIANTS
from rdcnlab.scenario.own import OwnAlgorithm

#: Changed if the same file would be built in another way; part of a build's identity.
FORM = "own 1"
#: The same for several congestion controls.
FORM_MANY = "additions 1"
#: Name of the user's file in the tree, one that no file of the kernel has.
STEM = "tcp_rdcnlab_own"
_LINE = f"obj-y += {STEM}.o\n"
#: Directory of several congestion controls in the tree, and its line in the Makefile.
_FOLDER = "net/ipv4/rdcnlab_own"
_FOLDER_LINE = "obj-y += rdcnlab_own/\n"
#: Those of Linux that the configuration leaves out. A line of the Makefile instead of the configuration, because the
#: configuration is part of the kernel itself, and of its id.
_LINUX_LINE = f"obj-y += {' '.join(f'tcp_{name}.o' for name in LINUX_VARIANTS)}\n"
#: Most messages of the compiler that an error shows.
_MOST = 8


def build(
    algorithm: OwnAlgorithm | Additions,
    place: Path,
    target: Path,
    work: Path,
    fragment: str,
    chosen: Sequence[Path],
    report: Progress,
    jail: Jail,
) -> None:
    """Build the kernel with a congestion control of the user's own.

    Parameters
    ----------
    algorithm : OwnAlgorithm or Additions
        The user's file, or several congestion controls.
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
    jail : callable
        The jail in which the compiler reads the user's file; see `Tree`.

    Raises
    ------
    InputError
        The file has changed, or it does not compile. The message has the compiler's errors, with line numbers.
    RunError
        The kernel's own build failed.
    """
    log = target.with_suffix(".log")
    with kept.prepared(place, log, fragment, chosen, report) as tree:
        take_out(tree)
        targets = add(tree, algorithm)
        tree = tree.jailed(jail)
        log.unlink(missing_ok=True)  # its messages are about another state of the file
        try:
            tree.compile(report, targets)
            tree.compile(report)
        except RunError:
            said = messages(log.read_text(errors="replace"), _named(algorithm))
            if not said:
                raise
            allowed = "\n  ".join([f"a C file that can be built into {_release(tree)}:", *said])
            field = "engine.algorithm" if isinstance(algorithm, OwnAlgorithm) else "engine.algorithms"
            raise InputError.of(field, _named(algorithm), allowed) from None
        tree.pack(target, work)
    report("done", STEPS, STEPS)


def identity_text(algorithm: OwnAlgorithm | Additions) -> str:
    """Return what the id of a kernel depends on."""
    return f"{FORM} {algorithm.sha256}" if isinstance(algorithm, OwnAlgorithm) else f"{FORM_MANY} {algorithm.text}"


def _named(algorithm: OwnAlgorithm | Additions) -> str:
    if isinstance(algorithm, OwnAlgorithm):
        return algorithm.path
    return ", ".join(one.name for one in algorithm.own)


def add(tree: Tree, algorithm: OwnAlgorithm | Additions) -> list[str]:
    """Add congestion controls to a tree, and return what is compiled first: the files of the user's."""
    if isinstance(algorithm, OwnAlgorithm):
        (tree.src / f"net/ipv4/{STEM}.c").write_bytes(algorithm.content("engine.algorithm"))
        _append(tree, _LINE)
        return [f"net/ipv4/{STEM}.o"]
    folder = tree.src / _FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    lines = []
    for number, one in enumerate(algorithm.own):
        # a directory for each, because files of two may have the same name
        place = folder / one.name
        place.mkdir(parents=True)
        for file in one.files:
            (place / file.name).write_bytes(file.content(f"engine.algorithms[{number}]"))
        objects = " ".join(f"{file.name.removesuffix('.c')}.o" for file in one.files if file.name.endswith(".c"))
        # the name of the kernel's module, whose parameters are below /sys/module
        (place / "Makefile").write_text(
            f"ccflags-y += -I$(srctree)/net/ipv4\nobj-y += {module(one.name)}.o\n{module(one.name)}-y := {objects}\n"
        )
        lines.append(f"obj-y += {one.name}/\n")
    if lines:
        (folder / "Makefile").write_text("".join(lines))
        _append(tree, _FOLDER_LINE)
    if algorithm.linux:
        _append(tree, _LINUX_LINE)
    return [f"{_FOLDER}/"] if lines else ["net/ipv4/"]


def module(name: str) -> str:
    """Return the name of the kernel's module of a congestion control in `Additions`."""
    return f"own_{name.replace('-', '_')}"


def take_out(tree: Tree) -> None:
    """Make a tree that of the kernel without congestion controls that were added."""
    makefile = tree.src / "net/ipv4/Makefile"
    text = before = makefile.read_text()
    for line in (_LINE, _FOLDER_LINE, _LINUX_LINE):
        text = text.replace(line, "")
    if text != before:
        _replace(makefile, text)


def _append(tree: Tree, line: str) -> None:
    makefile = tree.src / "net/ipv4/Makefile"
    _replace(makefile, makefile.read_text() + line)


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
    errors = [
        f"{said[1]}: {said[2]}" for said in re.finditer(r"rdcnlab_own/(\S+?:\d+:\d+): (?:fatal )?(error: [^\n]*)", log)
    ]
    if re.search(r"^make.*rdcnlab_own.*Error", log, re.MULTILINE):
        # the assembler names its own temporary file, as for a file that .incbin may not read
        errors += [f"{name}: error: {said[1]}" for said in re.finditer(r"\.s:\d+: (?:Fatal )?[Ee]rror: ([^\n]*)", log)]
    elsewhere = ""  # an error in a macro of a header; the place in the user's file where it is used follows
    for line in log.splitlines():
        mine = re.search(rf"{STEM}\.c:\d+:\d+: (?:fatal )?error: ", line)
        if mine or re.search(rf"{STEM}\.c:.*(?:undefined reference|multiple definition)", line):
            errors.append(re.sub(rf"\S*{STEM}\.c", name, line.strip()))
            elsewhere = ""
        elif ": warning: " in line:
            elsewhere = ""
        elif error := re.match(r"\S+:\d+:\d+: error: (?:call to \S+ declared with attribute error: )?(.*)", line):
            elsewhere = error[1]
        elif elsewhere and (used := re.match(rf"\S*{STEM}\.c(:\d+:\d+): note: in expansion of macro ", line)):
            errors.append(f"{name}{used[1]}: error: {elsewhere}")
            elsewhere = ""
    errors = list(dict.fromkeys(errors))
    left = len(errors) - _MOST
    return [*errors[:_MOST], *([f"and {left} more"] if left > 0 else [])]


def _release(tree: Tree) -> str:
    return f"Linux {(tree.out / 'include/config/kernel.release').read_text().strip()}"
