# SPDX-License-Identifier: Apache-2.0
"""Build the kernel: apply ``kernel-patches/`` to the kernel's source and build User-Mode Linux into a cache.

The id of a build is a hash of all its inputs. A build appears in the cache only when it is complete, so an interrupted
build leaves nothing that looks like a build. What it compiled stays in its tree, and the next build continues there.
The tree of the kernel for runs is kept for files of the user's own. Two concurrent builds wait for each other.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.engines import Progress
from rdcnlab.engines.builds import cache, call, hashed
from rdcnlab.engines.kernel.build import kept, own, patches, source, toolchain
from rdcnlab.engines.kernel.build.tree import STEPS, Tree
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario.own import OwnAlgorithm
from rdcnlab.system.locks import locked

__all__ = ["HERE", "STEPS", "Kernel", "build", "cache_root", "config", "find", "has_tree", "identity"]

HERE = Path(__file__).resolve().parents[1]
TOOLS = HERE / "inside" / "tools"
LAUNCH = HERE / "host" / "launch.c"


@dataclass(frozen=True)
class Kernel:
    """A finished build.

    Parameters
    ----------
    id : str
        Hash of all inputs.
    directory : Path
        Directory with ``linux``, ``config`` and ``version``.
    tools : Path
        Directory with our own programs, ``rdcn-guest`` and ``launch``. They are separate because they build quickly and
        change often.
    """

    id: str
    directory: Path
    tools: Path

    @property
    def linux(self) -> Path:
        """Path of the User-Mode Linux binary."""
        return self.directory / "linux"

    @property
    def tool(self) -> Path:
        """Path of the program that is PID 1 of the guest and its traffic tool."""
        return self.tools / "rdcn-guest"

    @property
    def launch(self) -> Path:
        """Path of the program that starts a guest with confinement."""
        return self.tools / "launch"

    @property
    def version(self) -> str:
        """Release of the kernel, such as ``6.12.117-rdcnlab``."""
        return (self.directory / "version").read_text().strip()


def cache_root() -> Path:
    """Return the directory of kernels and of our own programs."""
    return cache() / "kernels"


def config(*, hz: int, stock: bool = False, debug: bool = False) -> str:
    """Return the configuration fragment of a build; with `debug` the kernel checks itself."""
    lines: list[str] = []
    for name in ("config", "config.debug") if debug else ("config",):
        part = (patches.root() / name).read_text().splitlines()
        if stock:
            # features, and checks of them, come last in each file
            part = part[: next(n for n, line in enumerate(part) if line.startswith("# -- ours"))]
        lines += part
    lines = [line for line in lines if not line.startswith("CONFIG_HZ_")]
    return "\n".join([*lines, f"CONFIG_HZ_{hz}=y", ""])


def identity(*, hz: int = 250, stock: bool = False, debug: bool = False, algorithm: OwnAlgorithm | None = None) -> str:
    """Return the id of a build: the hash of patches, configuration, source, compiler and the user's own file."""
    parts = [config(hz=hz, stock=stock, debug=debug), source.find(cache_root()).digest, toolchain.compiler()]
    parts += [patches.change(path) for path in patches.series(stock=stock)]
    if algorithm is not None:
        parts.append(f"{own.FORM} {algorithm.sha256}")
    return hashed(parts)


def tools_identity() -> str:
    """Return the id of our own programs: the hash of their source and the compiler."""
    sources = [*sorted(TOOLS.glob("*.[ch]")), *sorted(TOOLS.glob("preload/*.c")), LAUNCH]
    return hashed([toolchain.compiler(), *(path.name + "\n" + path.read_text() for path in sources)])


def find(
    *, hz: int = 250, stock: bool = False, debug: bool = False, algorithm: OwnAlgorithm | None = None
) -> Kernel | None:
    """Return the build if it exists."""
    number = identity(hz=hz, stock=stock, debug=debug, algorithm=algorithm)
    directory = cache_root() / number[:16]
    tools = cache_root() / f"tools-{tools_identity()[:16]}"
    ready = (directory / "linux").is_file() and (tools / "launch").is_file()
    return Kernel(number, directory, tools) if ready else None


def has_tree() -> bool:
    """Return whether the tree of the kernel for runs exists, so that a user's own file is built in seconds."""
    return Tree.below(kept.directory(cache_root(), identity()), Path()).is_compiled


def _silent(_what: str, _done: int, _total: int) -> None:
    """Ignore the progress of a build."""


def build(
    *,
    hz: int = 250,
    stock: bool = False,
    debug: bool = False,
    algorithm: OwnAlgorithm | None = None,
    progress: Progress | None = None,
) -> Kernel:
    """Return the build; make it first if it is missing.

    Parameters
    ----------
    hz : {100, 250, 300, 1000}
        Timer frequency.
    stock : bool
        Whether to apply the patches for time and randomness only.
    debug : bool
        Whether to build with checks that find errors in the kernel itself: sanitizers, lock checking, leak detection.
    algorithm : OwnAlgorithm, optional
        The user's own congestion control, which is built in; see `rdcnlab.engines.kernel.build.own`.
    progress : callable, optional
        Called with the current step in words, steps done and steps in total.

    Raises
    ------
    RunError
        A tool or the source is missing, the source cannot be downloaded, a patch does not apply, or the compiler fails.
    InputError
        ``KERNEL_SOURCE`` does not name a source that can be built, or the user's own file does not compile.
    """
    ready = find(hz=hz, stock=stock, debug=debug, algorithm=algorithm)
    if ready is not None:
        return ready
    toolchain.require()
    number = identity(hz=hz, stock=stock, debug=debug, algorithm=algorithm)
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    target = root / number[:16]
    tools = root / f"tools-{tools_identity()[:16]}"
    report = progress or _silent
    with locked(root / f"{number[:16]}.lock", lambda: report("another process builds this kernel", 0, STEPS)):
        if not (target / "linux").is_file():
            work = root / f"{number[:16]}.work"
            shutil.rmtree(work, ignore_errors=True)  # from an interrupted build
            work.mkdir()
            try:
                fragment, chosen = config(hz=hz, stock=stock, debug=debug), patches.series(stock=stock)
                place = kept.directory(root, identity(hz=hz, stock=stock, debug=debug))
                if algorithm is not None:
                    own.build(algorithm, place, target, work, fragment, chosen, report)
                else:
                    with kept.prepared(place, target.with_suffix(".log"), fragment, chosen, report) as tree:
                        _build(tree, target, work, report, keep=not (stock or debug))
            finally:
                shutil.rmtree(work, ignore_errors=True)
    with locked(tools.with_suffix(".lock"), lambda: report("another process builds the tools", 0, STEPS)):
        if not (tools / "launch").is_file():
            _build_tools(tools)
    return Kernel(number, target, tools)


def _build(tree: Tree, target: Path, work: Path, report: Progress, *, keep: bool) -> None:
    """Build the kernel in its tree, and remove the tree unless it is kept; an interrupted build leaves it."""
    own.take_out(tree)
    try:
        tree.compile(report)
    except RunError:
        kept.remove(tree)  # the same inputs fail again
        raise
    tree.pack(target, work)
    if not keep:
        kept.remove(tree)
    report("done", STEPS, STEPS)


def _build_tools(target: Path) -> None:
    work = target.with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    log = target.with_suffix(".log")
    sources = [str(path) for path in sorted(TOOLS.glob("*.c"))]
    cc = ["gcc", "-O2", "-Wall", "-Wextra", "-static", "-pthread", "-o"]
    call([*cc, str(work / "rdcn-guest"), *sources], work, log, "compiling the guest's tools")
    call([*cc, str(work / "launch"), str(LAUNCH)], work, log, "compiling the launcher")
    for path in sorted(TOOLS.glob("preload/*.c")):
        shared = ["gcc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", str(work / f"{path.stem}.so")]
        call([*shared, str(path)], work, log, "compiling what is preloaded")
    work.rename(target)
