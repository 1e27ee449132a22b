# SPDX-License-Identifier: Apache-2.0
"""Build the kernel: apply ``kernel-patches/`` to the kernel's source and build User-Mode Linux into a cache.

If the package ``rdcnlab-kernel`` is installed and carries this kernel, nothing is built; see `carried`.

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
from rdcnlab.engines.kernel.build import carried, compiling, kept, own, patches, source, toolchain
from rdcnlab.engines.kernel.build.tree import STEPS, Tree
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario.additions import Additions
from rdcnlab.scenario.own import OwnAlgorithm
from rdcnlab.system.locks import locked

__all__ = [
    "HERE", "STEPS", "Kernel", "Origin", "build", "build_tools", "cache_root", "config", "find", "has_tree", "identity",
    "number_here", "origin", "package_for", "programs", "tree_directory",
]  # fmt: skip

HERE = Path(__file__).resolve().parents[1]
TOOLS = HERE / "inside" / "tools"
LAUNCH = HERE / "host"


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
        change often. That of the package ``rdcnlab-kernel`` also has the programs of the system that guests use.
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
    def programs(self) -> Path | None:
        """Directory of the system's programs for guests; None if guests use those of the host."""
        return _with_programs(self.tools)

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


@dataclass(frozen=True)
class Origin:
    """What a kernel was or will be made with.

    Parameters
    ----------
    source : Source
        The kernel's source.
    compiler : str
        First line of ``gcc --version``.
    package : Package or None
        The installed package that carries the kernel; None if it is built on this machine.
    """

    source: source.Source
    compiler: str
    package: carried.Package | None


def package_for(
    *, hz: int = 250, stock: bool = False, debug: bool = False, algorithm: OwnAlgorithm | Additions | None = None
) -> carried.Package | None:
    """Return the installed package if it carries this kernel: if it has the same patches and configuration."""
    package = carried.find(cache_root()) if algorithm is None else None
    if package is None:
        return None
    number = _number(package.source, package.compiler, hz=hz, stock=stock, debug=debug)
    return package if number == package.kernel else None


def origin(
    *, hz: int = 250, stock: bool = False, debug: bool = False, algorithm: OwnAlgorithm | Additions | None = None
) -> Origin:
    """Return source and compiler of a kernel: those of the package that carries it, or those of this machine."""
    package = package_for(hz=hz, stock=stock, debug=debug, algorithm=algorithm)
    if package is not None:
        return Origin(package.source, package.compiler, package)
    return Origin(source.find(cache_root()), toolchain.compiler(), None)


def identity(
    *, hz: int = 250, stock: bool = False, debug: bool = False, algorithm: OwnAlgorithm | Additions | None = None
) -> str:
    """Return the id of a build: the hash of patches, configuration, source, compiler and the user's own file."""
    package = package_for(hz=hz, stock=stock, debug=debug, algorithm=algorithm)
    if package is not None:
        return package.kernel
    return number_here(hz=hz, stock=stock, debug=debug, algorithm=algorithm)


def number_here(
    *, hz: int = 250, stock: bool = False, debug: bool = False, algorithm: OwnAlgorithm | Additions | None = None
) -> str:
    """Return the id of what this machine builds, whatever the installed package carries."""
    return _number(
        source.find(cache_root()), toolchain.compiler(), hz=hz, stock=stock, debug=debug, algorithm=algorithm
    )


def _number(
    archive: source.Source,
    compiler: str,
    *,
    hz: int,
    stock: bool,
    debug: bool,
    algorithm: OwnAlgorithm | Additions | None = None,
) -> str:
    parts = [config(hz=hz, stock=stock, debug=debug), archive.digest, compiler]
    parts += [patches.change(path) for path in patches.series(stock=stock)]
    if algorithm is not None:
        parts.append(own.identity_text(algorithm))
    return hashed(parts)


def tools_identity() -> str:
    """Return the id of our own programs: the hash of their source and the compiler."""
    package = _package_with_tools()
    return _tools_number(toolchain.compiler()) if package is None else package.tools


def _package_with_tools() -> carried.Package | None:
    """Return the installed package if our own programs in it are made from the same source."""
    package = carried.find(cache_root())
    return package if package is not None and package.tools == _tools_number(package.compiler) else None


def _tools_number(compiler: str) -> str:
    sources = [*sorted(TOOLS.glob("*.[ch]")), *sorted(TOOLS.glob("preload/*.c")), *sorted(LAUNCH.glob("*.[ch]"))]
    return hashed([compiler, *(path.name + "\n" + path.read_text() for path in sources)])


def programs() -> Path | None:
    """Return the directory of the system's programs for guests that came with the kernel; None if none came."""
    return _with_programs(_tools_directory())


def _with_programs(tools: Path) -> Path | None:
    return tools if (tools / "mnexec").is_file() else None


def _tools_directory() -> Path:
    package = _package_with_tools()
    return cache_root() / f"tools-{tools_identity()[:16]}" if package is None else package.tools_directory


def find(
    *, hz: int = 250, stock: bool = False, debug: bool = False, algorithm: OwnAlgorithm | Additions | None = None
) -> Kernel | None:
    """Return the build if it exists, in the installed package or in the cache."""
    number = identity(hz=hz, stock=stock, debug=debug, algorithm=algorithm)
    package = package_for(hz=hz, stock=stock, debug=debug, algorithm=algorithm)
    directory = cache_root() / number[:16] if package is None else package.kernel_directory
    tools = _tools_directory()
    ready = (directory / "linux").is_file() and (tools / "launch").is_file()
    return Kernel(number, directory, tools) if ready else None


def has_tree() -> bool:
    """Return whether the tree of the kernel for runs exists, so that a user's own file is built in seconds."""
    return Tree.below(tree_directory(), Path()).is_compiled


def tree_directory() -> Path:
    """Return the directory of the tree in which this machine compiles the kernel for runs."""
    return kept.directory(cache_root(), number_here())


def _silent(_what: str, _done: int, _total: int) -> None:
    """Ignore the progress of a build."""


def build(
    *,
    hz: int = 250,
    stock: bool = False,
    debug: bool = False,
    algorithm: OwnAlgorithm | Additions | None = None,
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
    algorithm : OwnAlgorithm or Additions, optional
        Congestion controls that are built in in addition; see `rdcnlab.engines.kernel.build.own`.
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
    package = package_for(hz=hz, stock=stock, debug=debug, algorithm=algorithm)
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    target = root / number[:16] if package is None else package.kernel_directory
    tools = _tools_directory()
    report = progress or _silent
    if algorithm is not None and not (tools / "launch").is_file():
        build_tools(report)
    with locked(root / f"{number[:16]}.lock", lambda: report("another process builds this kernel", 0, STEPS)):
        if not (target / "linux").is_file():
            work = root / f"{number[:16]}.work"
            shutil.rmtree(work, ignore_errors=True)  # from an interrupted build
            work.mkdir()
            try:
                fragment, chosen = config(hz=hz, stock=stock, debug=debug), patches.series(stock=stock)
                place = kept.directory(root, number_here(hz=hz, stock=stock, debug=debug))
                if algorithm is not None:
                    jail = compiling.jail(tools / "launch")
                    own.build(algorithm, place, target, work, fragment, chosen, report, jail)
                else:
                    with kept.prepared(place, target.with_suffix(".log"), fragment, chosen, report) as tree:
                        _build(tree, target, work, report, keep=not (stock or debug))
            finally:
                shutil.rmtree(work, ignore_errors=True)
    if not (tools / "launch").is_file():
        build_tools(report)
    return Kernel(number, target, tools)


def build_tools(report: Progress = _silent) -> tuple[str, Path]:
    """Return id and directory of our own programs as this machine compiles them; compile them if they are missing."""
    number = _tools_number(toolchain.compiler())
    target = cache_root() / f"tools-{number[:16]}"
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_suffix(".lock"), lambda: report("another process builds the tools", 0, STEPS)):
        if not (target / "launch").is_file():
            _build_tools(target)
    return number, target


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
    call([*cc, str(work / "launch"), *map(str, sorted(LAUNCH.glob("*.c")))], work, log, "compiling the launcher")
    for path in sorted(TOOLS.glob("preload/*.c")):
        shared = ["gcc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", str(work / f"{path.stem}.so")]
        call([*shared, str(path)], work, log, "compiling what is preloaded")
    work.rename(target)
