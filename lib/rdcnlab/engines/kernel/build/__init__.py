# SPDX-License-Identifier: Apache-2.0
"""Build the kernel: apply ``kernel-patches/`` to the kernel's source and build User-Mode Linux into a cache.

The id of a build is a hash of all its inputs. A build appears in the cache only when it is complete, so an interrupted
build leaves nothing that looks like a build. Two concurrent builds wait for each other.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.engines.kernel.build import patches, releases, source, toolchain
from rdcnlab.engines.kernel.build.apply import apply
from rdcnlab.fields.errors import RunError
from rdcnlab.system.locks import locked

HERE = Path(__file__).resolve().parents[1]
TOOLS = HERE / "inside" / "tools"
LAUNCH = HERE / "host" / "launch.c"
#: Number of compilations in a build of the configuration that we ship; only the progress bar uses it.
STEPS = 795

#: Files that User-Mode Linux does not need, three quarters of the source, as patterns of tar: code for other machines,
#: most drivers, sound, tools, and all documents except those about the network, which patches change. The Kconfig and
#: Makefile of every directory stay, because the build reads them. The list is short, because tar compares each pattern
#: with each of 90,000 names.
_LEAVE = (
    "arch/[!ux]*/*.[chS]", "boot/dts/*", "drivers/[!bcmnt]*/*.[ch]", "drivers/m[!i]*/*.[ch]", "drivers/net/*/*.[ch]",
    "sound/*.[ch]", "tools/perf/*", "tools/testing/*", "Documentation/[!n]*/*",
)  # fmt: skip

Progress = Callable[[str, int, int], None]


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
    """Return the directory of builds, in ``$RDCNLAB_CACHE`` or in the user's cache."""
    base = os.environ.get("RDCNLAB_CACHE")
    if base:
        return Path(base).resolve() / "kernels"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "rdcnlab" / "kernels"


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


def identity(*, hz: int = 250, stock: bool = False, debug: bool = False) -> str:
    """Return the id of a build: the hash of patches, configuration, source and compiler."""
    parts = [config(hz=hz, stock=stock, debug=debug), source.find(cache_root()).digest, toolchain.compiler()]
    parts += [patches.change(path) for path in patches.series(stock=stock)]
    return hashed(parts)


def tools_identity() -> str:
    """Return the id of our own programs: the hash of their source and the compiler."""
    sources = [*sorted(TOOLS.glob("*.[ch]")), *sorted(TOOLS.glob("preload/*.c")), LAUNCH]
    return hashed([toolchain.compiler(), *(path.name + "\n" + path.read_text() for path in sources)])


def hashed(parts: list[str]) -> str:
    """Return the hash of a list of texts; their lengths are part of it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}\n{part}".encode())
    return digest.hexdigest()


def find(*, hz: int = 250, stock: bool = False, debug: bool = False) -> Kernel | None:
    """Return the build if it exists."""
    number = identity(hz=hz, stock=stock, debug=debug)
    directory = cache_root() / number[:16]
    tools = cache_root() / f"tools-{tools_identity()[:16]}"
    ready = (directory / "linux").is_file() and (tools / "launch").is_file()
    return Kernel(number, directory, tools) if ready else None


def _silent(_what: str, _done: int, _total: int) -> None:
    """Ignore the progress of a build."""


def build(*, hz: int = 250, stock: bool = False, debug: bool = False, progress: Progress | None = None) -> Kernel:
    """Return the build; make it first if it is missing.

    Parameters
    ----------
    hz : {100, 250, 300, 1000}
        Timer frequency.
    stock : bool
        Whether to apply the patches for time and randomness only.
    debug : bool
        Whether to build with checks that find errors in the kernel itself: sanitizers, lock checking, leak detection.
    progress : callable, optional
        Called with the current step in words, steps done and steps in total.

    Raises
    ------
    RunError
        A tool or the source is missing, the source cannot be downloaded, a patch does not apply, or the compiler fails.
    InputError
        ``KERNEL_SOURCE`` does not name a source that can be built.
    """
    ready = find(hz=hz, stock=stock, debug=debug)
    if ready is not None:
        return ready
    toolchain.require()
    number = identity(hz=hz, stock=stock, debug=debug)
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
                _build(work, target, config(hz=hz, stock=stock, debug=debug), patches.series(stock=stock), report)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    with locked(tools.with_suffix(".lock"), lambda: report("another process builds the tools", 0, STEPS)):
        if not (tools / "launch").is_file():
            _build_tools(tools)
    return Kernel(number, target, tools)


def _build(work: Path, target: Path, fragment: str, chosen: list[Path], report: Progress) -> None:
    log = target.with_suffix(".log")
    archive = source.find(cache_root())
    source.fetch(archive, report)
    report(f"unpack {archive}", 0, STEPS)
    tree = work / "source"
    tree.mkdir()
    leave = [f"--exclude=*/{pattern}" for pattern in _LEAVE]
    call(["tar", "xf", str(archive.path), "--strip-components=1", *leave], tree, log, "unpacking the kernel source")
    apply(chosen, tree, log, lambda name: report(f"patch {name}", 0, STEPS))
    out = work / "out"
    out.mkdir()
    (work / "fragment").write_text(fragment)
    make = ["make", "ARCH=um", f"O={out}", f"KCONFIG_ALLCONFIG={work / 'fragment'}"]
    try:
        call([*make, "allnoconfig"], tree, log, "configuring the kernel")
        _check_config(work / "fragment", out / ".config")
        report("compile", 0, STEPS)
        call([*make, f"-j{os.cpu_count() or 1}", "linux"], tree, log, "compiling the kernel", report)
    except RunError as error:
        # Releases rename fields and functions; a patch can apply and still not compile.
        name = releases.release_of_tree(tree)
        if releases.by_name(name) is not None:
            raise
        raise RunError(f"{error.reason}, with Linux {name}. {releases.advice()}", error.log) from None
    release = (out / "include/config/kernel.release").read_text()
    call(["strip", "--strip-debug", str(out / "linux")], tree, log, "stripping the kernel")
    ready = work / "ready"
    ready.mkdir()
    (ready / "version").write_text(release)
    shutil.copy(out / ".config", ready / "config")
    shutil.copy(out / "linux", ready / "linux.part")
    (ready / "linux.part").rename(ready / "linux")
    ready.rename(target)
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


def call(command: list[str], cwd: Path, log: Path, what: str, report: Progress | None = None) -> None:
    """Run a command of a build with its output in `log`; raise RunError if it fails."""
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C",
        # use all cores to unpack
        "XZ_OPT": "-T0",
        # make builds identical on every machine
        "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
        "KBUILD_BUILD_USER": "rdcnlab",
        "KBUILD_BUILD_HOST": "rdcnlab",
        "KBUILD_BUILD_VERSION": "1",
        "SOURCE_DATE_EPOCH": "0",
    }
    done = 0
    with log.open("a") as file:
        process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                if report is not None and line.startswith("  CC"):
                    done += 1
                    report("compile", min(done, STEPS - 1), STEPS)
            status = process.wait()
        except BaseException:
            # make's children share its session, so this ends all of them and no other process
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if status:
        raise RunError(f"{what} failed with status {status}", log)


def _check_config(fragment: Path, result: Path) -> None:
    """Raise RunError if Kconfig silently dropped a setting, because it is unknown or a dependency is missing."""
    have = set(result.read_text().splitlines())
    lost = [line for line in fragment.read_text().splitlines() if line.startswith("CONFIG_") and line not in have]
    if lost:
        raise RunError(f"the kernel's configuration does not take {', '.join(lost)}")
