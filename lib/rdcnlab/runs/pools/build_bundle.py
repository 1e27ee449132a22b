# SPDX-License-Identifier: Apache-2.0
"""The builds that a campaign sends to the machines of a cluster: its kernel, tools and models.

A machine that receives a build needs neither the kernel's source nor a compiler. But the identity of a build depends on
both. So the processes that run scenarios there get the environment that the engine gives them, which describes the
source, and instead of the compiler a script of its name that only answers ``--version``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shlex
import shutil
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.engines import get_engine
from rdcnlab.engines.builds import cache
from rdcnlab.scenario import Scenario


@dataclass(frozen=True)
class File:
    """A file of a build: its name, whether it is a program, and its content, compressed."""

    name: str
    program: bool
    content: bytes


@dataclass(frozen=True)
class Build:
    """A directory of the cache.

    Parameters
    ----------
    place : str
        The directory, relative to the cache, such as ``kernels/a6a274029f5be8d5``. It contains the build's id.
    files : tuple of File
        All its files; it has no directories.
    """

    place: str
    files: tuple[File, ...]


@dataclass(frozen=True)
class BuildBundle:
    """The builds that a campaign sends to a worker, and the environment of processes that use them.

    Parameters
    ----------
    builds : dict of str to Build
        Builds by their places.
    scripts : str
        Place of the build with the scripts of compilers; empty if there is none.
    environment : dict of str to str
        Environment variables for the processes that use the builds.
    """

    builds: Mapping[str, Build]
    scripts: str
    environment: Mapping[str, str]


def pack(scenarios: Iterable[Scenario]) -> BuildBundle:
    """Return the builds that the engines of some scenarios have on this machine; the engines were prepared."""
    builds: dict[str, Build] = {}
    compilers: dict[str, str] = {}
    environment: dict[str, str] = {}
    replaced = os.environ.get("RDCNLAB_ENGINE")
    if replaced:
        environment["RDCNLAB_ENGINE"] = replaced
    for scenario in scenarios:
        needed = get_engine(scenario).builds()
        compilers.update(needed.compilers)
        environment.update(needed.environment)
        for directory in needed.directories:
            # as in the cache, where every build is two levels deep; a build may also come from an installed package
            place = str(Path(*directory.parts[-2:]))
            if place not in builds:
                builds[place] = build_of(place, directory)
    scripts = scripts_of(compilers)
    if compilers:
        builds[scripts.place] = scripts
    return BuildBundle(builds, scripts.place if compilers else "", environment)


def lacking(places: Iterable[str]) -> list[str]:
    """Return the places of builds that this machine does not have."""
    return [place for place in places if not (cache() / place).is_dir()]


def unpack(package: Build) -> None:
    """Write a build into this machine's cache. It appears there only when it is complete."""
    target = cache() / package.place
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    part.mkdir(parents=True)
    try:
        for file in package.files:
            path = part / file.name
            path.write_bytes(zlib.decompress(file.content))
            path.chmod(0o755 if file.program else 0o644)
        # rename() refuses a target that is not empty: another worker on this machine was faster
        with contextlib.suppress(OSError):
            part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def environment(extra_environment: Mapping[str, str], scripts: str) -> dict[str, str]:
    """Return the environment of a process that uses unpacked builds on this machine."""
    path = os.environ.get("PATH", os.defpath)
    extra = {"PATH": os.pathsep.join([str(cache() / scripts), path])} if scripts else {}
    return {**os.environ, **extra_environment, **extra}


def build_of(place: str, directory: Path) -> Build:
    """Return the build in a directory, for a place in the cache."""
    files = sorted(path for path in directory.iterdir() if path.is_file())
    return Build(place, tuple(_file(path.name, os.access(path, os.X_OK), path.read_bytes()) for path in files))


def _file(name: str, program: bool, content: bytes) -> File:
    return File(name, program, zlib.compress(content, 6))


def scripts_of(compilers: Mapping[str, str]) -> Build:
    """Return scripts that answer ``--version`` as compilers do, by the compilers' names."""
    files = tuple(_file(name, True, _script(name, answer).encode()) for name, answer in sorted(compilers.items()))
    digest = hashlib.sha256(repr(sorted(compilers.items())).encode()).hexdigest()
    return Build(f"made-with/{digest[:16]}", files)


def _script(name: str, answer: str) -> str:
    return (
        "#!/bin/sh\n# The compiler of a build that came with a campaign; see rdcnlab.runs.pools.build_bundle.\n"
        f'if [ "$*" = --version ]; then echo {shlex.quote(answer)}; exit 0; fi\n'
        f"echo 'this {name} compiles nothing: builds come with the campaign' >&2\nexit 1\n"
    )
