# SPDX-License-Identifier: Apache-2.0
"""What engines need to build programs: the cache, the id of a build, and commands whose output goes to a log."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from rdcnlab.fields.errors import RunError


def cache() -> Path:
    """Return the directory of all builds of this machine, in ``$RDCNLAB_CACHE`` or in the user's cache."""
    base = os.environ.get("RDCNLAB_CACHE")
    if base:
        return Path(base).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "rdcnlab"


def hashed(parts: list[str]) -> str:
    """Return the hash of a list of texts; their lengths are part of it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}\n{part}".encode())
    return digest.hexdigest()


def call(
    command: list[str],
    cwd: Path,
    log: Path,
    what: str,
    each_line: Callable[[str], None] | None = None,
    lock: int | None = None,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Run a command of a build with its output in `log`.

    Parameters
    ----------
    command : list of str
        The command line.
    cwd : Path
        The directory in which it runs.
    log : Path
        File to which its output is appended.
    what : str
        What the command does, for the error.
    each_line : callable, optional
        Called with each line of the output.
    lock : int, optional
        The descriptor of a lock. If this process is killed, the command runs on for a while, and holds the lock until
        then.
    variables : mapping, optional
        Variables of its environment, in addition to those that make builds equal.

    Raises
    ------
    RunError
        The command failed.
    """
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
        **(variables or {}),
    }
    with log.open("a") as file:
        process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
            pass_fds=() if lock is None else (lock,),
        )  # fmt: skip
        try:
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                if each_line is not None:
                    each_line(line)
            status = process.wait()
        except BaseException:
            # make's children share its session, so this ends all of them and no other process
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if status:
        raise RunError(f"{what} failed with status {status}", log)
