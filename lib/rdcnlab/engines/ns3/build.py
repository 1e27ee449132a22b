# SPDX-License-Identifier: Apache-2.0
"""Compile our models of ns-3 into the cache, once for each source, compiler and version of the wheel.

The wheel ``ns3`` has ns-3's headers and libraries. Our models are one library beside them. Its functions are called
through ``ctypes``; the wheel's own Python bindings are not used (see ``docs/decisions/ns3.md``).
"""

from __future__ import annotations

import functools
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from rdcnlab.engines import Progress
from rdcnlab.engines.builds import cache, call, hashed
from rdcnlab.fields.errors import RunError
from rdcnlab.system import extras, limits
from rdcnlab.system.locks import locked

MODELS = Path(__file__).resolve().parent / "models"
#: Options of the compiler for our models. The wheel's own libraries are built otherwise, see `Wheel.build`. Its headers
#: cause warnings, so that they count as the system's.
OPTIONS = ("-std=c++20", "-O3", "-fPIC", "-Wall", "-Wextra")
#: Modules of ns-3 that we use, in the order in which they must be loaded. Each is one library of the wheel.
MODULES = ("core", "stats", "network", "traffic-control", "bridge", "internet")
#: What slows ns-3 down and its optimised builds leave out, by the macro with which it is compiled in.
_CHECKS = {"NS3_ASSERT_ENABLE": "assertions", "NS3_LOG_ENABLE": "logging"}
#: Name of our library.
LIBRARY = "librdcnlab-models.so"
#: Debian package with the compiler, and the command that installs it.
COMPILER, REMEDY = "g++", "sudo apt-get install -y g++"


@dataclass(frozen=True)
class Wheel:
    """The installed wheel: its version, such as ``3.44.post0``, and its directory with ``include`` and ``lib64``."""

    version: str
    directory: Path

    @property
    def libraries(self) -> list[Path]:
        """The libraries that our models need, in the order in which they must be loaded."""
        release = self.version.partition(".post")[0].partition(".")[2]
        return [self.directory / "lib64" / f"libns3.{release}-{module}.so" for module in MODULES]

    @property
    def build(self) -> str:
        """How the libraries were built, in words, by the wheel's own configuration; it belongs beside every speed.

        Profiles of ns-3 are debug, release and optimized. Assertions and logging are compiled in or left out
        separately; ns-3's optimised builds leave both out, and compile for the processor of the machine.
        """
        try:
            text = (self.directory / "lib64" / "cmake" / "ns3" / "ns3Targets.cmake").read_text(encoding="utf-8")
        except OSError:
            return "a build whose options are not known"
        profile = re.search(r"\bNS3_BUILD_PROFILE_(\w+)", text)
        name = (
            "a build of unknown profile"
            if profile is None
            else f"{'an' if profile[1] == 'OPTIMIZED' else 'a'} {profile[1].lower()} build"
        )
        inside = [words for macro, words in _CHECKS.items() if re.search(rf"\b{macro}\b", text)]
        return f"{name} with {' and '.join(inside)}" if inside else f"{name} without assertions and logging"


@dataclass(frozen=True)
class Models:
    """A finished build: its identity, our library, and the wheel that it was compiled for."""

    id: str
    library: Path
    wheel: Wheel


def no_wheel() -> str:
    """Return why there is no wheel for this Python and this machine; nothing if there is one."""
    if sys.version_info >= (3, 14):
        return f"the wheel of ns-3 is for Python 3.11 to 3.13, not for {platform.python_version()}"
    if platform.machine() != "x86_64":
        return f"the wheel of ns-3 is for x86_64, not for {platform.machine()}"
    return ""


def installed() -> bool:
    """Return whether the wheel is installed."""
    return find_spec("ns3") is not None


def wheel() -> Wheel:
    """Return the installed wheel.

    Raises
    ------
    RunError
        It is not installed, or there is none for this Python. The message has the command that installs it.
    """
    if no_wheel():
        raise RunError(no_wheel())
    extras.require("ns3")
    spec = find_spec("ns3")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Wheel(metadata.version("ns3"), Path(next(iter(spec.submodule_search_locations))).resolve())


def words() -> str:
    """Return in words how ns-3 is built here; that it is not installed, if so."""
    return wheel().build if installed() and not no_wheel() else "not installed"


@functools.cache
def compiler() -> str:
    """Return the first line of ``g++ --version``."""
    try:
        answer = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise RunError(f"the ns3 engine needs {COMPILER}; install it with: {REMEDY}") from None
    return answer.stdout.splitlines()[0]


def cache_root() -> Path:
    """Return the directory of builds."""
    return cache() / "ns3"


def identity() -> str:
    """Return the hash of everything that a build depends on: our source, options, compiler, version of the wheel."""
    sources = [f"{path.name}\n{path.read_text()}" for path in sorted(MODELS.glob("*.[ch]*"))]
    return hashed([wheel().version, compiler(), " ".join(OPTIONS), *sources])


def find() -> Models | None:
    """Return the build if it exists."""
    number = identity()
    library = cache_root() / number[:16] / LIBRARY
    return Models(number, library, wheel()) if library.is_file() else None


def make(progress: Progress | None = None) -> Models:
    """Return the build; make it first if it is missing. It takes about a minute of one core.

    Parameters
    ----------
    progress : callable, optional
        Called with the current step in words, steps done and steps in total.

    Raises
    ------
    RunError
        The wheel or the compiler is missing, or the compiler fails.
    """
    ready = find()
    if ready is not None:
        return ready
    number, root = identity(), cache_root()
    root.mkdir(parents=True, exist_ok=True)
    target = root / number[:16]
    with locked(target.with_suffix(".lock"), lambda: _tell(progress, "another process compiles these models", 0)):
        if not (target / LIBRARY).is_file():
            work = target.with_suffix(".work")
            shutil.rmtree(work, ignore_errors=True)  # from an interrupted build
            work.mkdir()
            try:
                _compile(work, target.with_suffix(".log"), progress)
                work.rename(target)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return Models(number, target / LIBRARY, wheel())


def _compile(work: Path, log: Path, progress: Progress | None) -> None:
    sources = sorted(MODELS.glob("*.cc"))
    installed_wheel = wheel()
    headers = ["-isystem", str(installed_wheel.directory / "include")]
    done: list[str] = []

    def compile_source(source: Path) -> None:
        line = [COMPILER, *OPTIONS, *headers, "-c", str(source), "-o", f"{source.stem}.o"]
        call(line, work, log, f"compiling {source.name}")
        done.append(source.name)
        _tell(progress, f"compile {source.name}", len(done))

    with ThreadPoolExecutor(len(limits.cores())) as threads:
        try:
            list(threads.map(compile_source, sources))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
    # names of the libraries only: they are found because they are loaded before ours, wherever the wheel is
    libraries = [f"-l:{path.name}" for path in installed_wheel.libraries]
    objects = [f"{source.stem}.o" for source in sources]
    line = [COMPILER, "-shared", "-o", LIBRARY, *objects, f"-L{installed_wheel.libraries[0].parent}", *libraries]
    call([*line, "-Wl,--no-undefined"], work, log, "linking the models")
    for name in objects:
        (work / name).unlink()
    _tell(progress, "done", len(sources))


def _tell(progress: Progress | None, what: str, done: int) -> None:
    if progress is not None:
        progress(what, done, len(list(MODELS.glob("*.cc"))))
