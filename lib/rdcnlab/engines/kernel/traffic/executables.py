# SPDX-License-Identifier: Apache-2.0
"""Installed programs on which results depend: their bytes, their libraries, and the interpreters of scripts."""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

#: Where programs in guests look for others, as ``tools/programs.c``.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def digests(paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of programs, of the libraries that they are linked with, and of scripts' interpreters."""
    parts: dict[str, None] = {}
    waiting = list(paths)
    while waiting:
        path = waiting.pop()
        if path not in parts:
            parts[path] = None
            with Path(path).open("rb") as file:
                waiting += interpreters(file.read(256))
            waiting += libraries(path)
    return {path: _digest(path) for path in sorted(parts)}


def _digest(path: str) -> str:
    """Return the SHA-256 of a file; a file that has not changed is read once."""
    state = Path(path).stat()
    return _digest_of(path, state.st_mtime_ns, state.st_size)


@functools.lru_cache(maxsize=1024)
def _digest_of(path: str, _changed_ns: int, _size: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache
def libraries(path: str) -> tuple[str, ...]:
    """Return the shared libraries that a program is linked with; empty for a script."""
    answer = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    return tuple(re.findall(r"(/\S+) \(0x", answer.stdout)) if answer.returncode == 0 else ()


def interpreters(content: bytes) -> list[str]:
    r"""Return the paths of the programs that the first line of a script names; empty for another file.

    Examples
    --------
    >>> interpreters(b"#!/bin/sh -e\\n"), interpreters(b"\\x7fELF")
    (['/bin/sh'], [])
    """
    first = content.split(b"\n", 1)[0]
    if not first.startswith(b"#!"):
        return []
    words = first[2:].decode(errors="replace").split()
    if len(words) > 1 and Path(words[0]).name == "env":
        named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        words[1:] = [shutil.which(named, path=PATH) or ""]
    else:
        words = words[:1]
    return [word for word in words if word and Path(word).is_file()]
