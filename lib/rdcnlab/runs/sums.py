# SPDX-License-Identifier: Apache-2.0
"""SHA-256 of files, in lists as ``sha256sum`` writes and checks them.

Each local run has such a list, and all shipped runs have one together. A file is hashed once in a process. It is hashed
again if the file system says that it has changed since.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

#: Name of a list; ``sha256sum -c SHA256SUMS`` checks it, too.
NAME = "SHA256SUMS"
_LINE = re.compile(r"(\\?)([0-9a-f]{64})  (.+)", re.DOTALL)
#: A file that changed less than so many ns before it was hashed may change again with the same time stamp: clocks of
#: file systems move in steps of up to 10 ms.
_STEP_NS = 50_000_000

#: What tells that a file was changed or replaced; see `identity`.
Identity = tuple[int, int, int, int, int]

#: For each file that was hashed: what it was then, and its SHA-256.
_hashed: dict[Path, tuple[Identity, str]] = {}


class Damaged(Exception):
    """A file is not what was written.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        What is wrong with it, in words that follow its name.
    """

    def __init__(self, path: Path, what: str = "is damaged") -> None:
        self.path, self.what = path, what
        super().__init__(f"{path} {what}")


class Unreadable(Damaged):
    """A file cannot be read now. It may be whole."""


def unreadable(path: Path, error: OSError) -> Damaged:
    """Return what an error of the file system says about a file that should be there."""
    if error.errno == errno.ENOENT:
        return Damaged(path, "is missing")
    if error.errno in (errno.EIO, errno.EISDIR, errno.ENOTDIR, errno.ELOOP):
        return Damaged(path, f"cannot be read: {os.strerror(error.errno)}")
    return Unreadable(path, f"cannot be read: {error.strerror or error}")


def identity(path: Path) -> Identity:
    """Return what tells that a file was changed or replaced since."""
    seen = path.stat()
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(path: Path, expected: str) -> Identity:
    """Raise `Damaged` unless a file has this SHA-256; return what the file was when it was hashed."""
    try:
        seen = identity(path)
        if _hashed.get(path) == (seen, expected):
            return seen
        now = time.time_ns()
        measured = sha256(path)
    except OSError as error:
        raise unreadable(path, error) from None
    if measured != expected:
        raise Damaged(path)
    if now - seen[-1] > _STEP_NS:
        _hashed[path] = seen, expected
    return seen


def content(path: Path, expected: str | None = None) -> bytes:
    """Return the bytes of a small file; raise `Damaged` if they do not have the expected SHA-256."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    if expected is not None and hashlib.sha256(data).hexdigest() != expected:
        raise Damaged(path)
    return data


def forget() -> None:
    """Hash files again."""
    _hashed.clear()


def listing(sums: Mapping[str, str]) -> bytes:
    r"""Return a list of files: a line for each, in the order of their names.

    Examples
    --------
    >>> listing({"b": "0" * 64, "a": "1" * 64}).decode().split()[1::2]
    ['a', 'b']
    """
    return b"".join(_line(name, sums[name]) for name in sorted(sums))


def _line(name: str, digest: str) -> bytes:
    # sha256sum marks a name that would break its line
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    mark = "\\" if escaped != name else ""
    return os.fsencode(f"{mark}{digest}  {escaped}\n")


def listed(path: Path) -> dict[str, str]:
    """Read a list: the SHA-256 of each file by its name.

    Raises
    ------
    Damaged
        A line is not as `listing` writes it, or the list cannot be read. A list that does not exist is missing.
    """
    data = content(path)
    sums = {}
    for line in data.split(b"\n")[:-1]:
        match = _LINE.fullmatch(os.fsdecode(line))
        if match is None:
            raise Damaged(path)
        mark, digest, name = match.groups()
        sums[re.sub(r"\\(.)", lambda c: {"n": "\n", "r": "\r"}.get(c[1], c[1]), name) if mark else name] = digest
    if listing(sums) != data:
        raise Damaged(path)
    return sums
