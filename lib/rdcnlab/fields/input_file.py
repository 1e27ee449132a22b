# SPDX-License-Identifier: Apache-2.0
"""Read files that users name: regular files only, each with a bound in bytes, and texts with one in lines.

A device, a pipe or a socket is refused before it is opened: opening a pipe would wait for a writer, and a device may
never end. All bounds stand here.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.fields.files import Refused, is_file

#: Bytes that are read at once.
_PART = 1 << 20
#: Files and directories that are looked at below a directory that a scenario names.
_MOST_ENTRIES = 100_000
_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


@dataclass(frozen=True)
class Bound:
    """The largest file of a kind.

    Parameters
    ----------
    what : str
        What the file is, in words.
    size, lines : int
        Most bytes and lines.
    """

    what: str
    size: int
    lines: int = 0


#: A scenario in YAML. 100 000 flows, the most that one can have, take about 10 MB.
SCENARIO = Bound("a scenario", 16_000_000)
#: A scenario in JSON, as it is stored, has every field of every flow.
STORED = Bound("a scenario", 64_000_000)
#: Tables of workloads and circuits have at most 100 000 rows (`rdcnlab.scenario.workloads.tabular.MOST_LINES`).
TABLE = Bound("a table", 16_000_000, 200_000)
#: Traces of rates have at most 200 000 steps (`rdcnlab.scenario.line.MOST_STEPS`).
TRACE = Bound("a trace of rates", 16_000_000, 400_000)
#: P4 programs, their tables' commands, controllers and C files. ``tcp_input.c``, the largest of TCP, has 0.2 MB.
CODE = Bound("source code", 16_000_000, 500_000)
#: A file that a program finds in its host. It is kept in the guest's memory.
GIVEN = Bound("a file for a program", 256_000_000)
#: A capture of 1 000 000 packets, the most that are sent again, with 200 bytes of each.
CAPTURE = Bound("a capture", 256_000_000)
#: A table of measured flows, for the models.
MEASURED = Bound("a table of measurements", 256_000_000)
#: A tar archive of Linux; that of 6.12 has 1.6 GB.
ARCHIVE = Bound("an archive of Linux", 4_000_000_000)


@contextlib.contextmanager
def _opened(path: Path, bound: Bound) -> Iterator[int]:
    """Open a regular file within its bound, and close it in the end."""
    try:
        _check(path, path.stat(), bound)
        # it may be another file by now, so that it is opened without waiting, and looked at again
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except ValueError:  # a character that no name of a file can have
        raise Refused(errno.EINVAL, f"{_short(path)!r} is not the name of a file") from None
    try:
        _check(path, os.fstat(descriptor), bound)
        yield descriptor
    finally:
        os.close(descriptor)


def _check(path: Path, seen: os.stat_result, bound: Bound) -> None:
    kind = stat.S_IFMT(seen.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind != stat.S_IFREG:
        raise Refused(errno.EINVAL, f"'{_short(path)}' is {_KINDS.get(kind, 'no file')}; name a regular file")
    if seen.st_size > bound.size:
        raise _too_large(path, f"{seen.st_size} bytes", bound)


def _too_large(path: Path, size: str, bound: Bound) -> Refused:
    most = f"{bound.size // 10**6} MB"
    return Refused(errno.EFBIG, f"'{_short(path)}' has {size}; {bound.what} has at most {most}")


def _short(path: Path) -> str:
    name = str(path)
    return name if len(name) <= 200 else f"{name[:200]}..."


def _parts(path: Path, bound: Bound) -> Iterator[bytes]:
    with _opened(path, bound) as descriptor:
        seen = 0
        while part := os.read(descriptor, _PART):
            seen += len(part)
            if seen > bound.size:  # it grows, or has no size, as files in /proc
                raise _too_large(path, "more", bound)
            yield part


def read(path: Path, bound: Bound) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    OSError
        There is no such file, it cannot be read, it is no regular file (`Refused`), or it exceeds the bound
        (`Refused`). `rdcnlab.fields.files.unreadable` returns the sentence.
    """
    return b"".join(_parts(path, bound))


def read_lines(path: Path, bound: Bound, encoding: str = "utf-8") -> list[str]:
    """Return the lines of a text without their ends; errors are those of `read`, and UnicodeDecodeError."""
    lines = read(path, bound).decode(encoding).splitlines()
    if len(lines) > bound.lines:
        reason = f"'{_short(path)}' has {len(lines)} lines; {bound.what} has at most {bound.lines}"
        raise Refused(errno.EFBIG, reason)
    return lines


def sha256(path: Path, bound: Bound) -> str:
    """Return the SHA-256 of a file in hexadecimal; errors are those of `read`."""
    digest = hashlib.sha256()
    for part in _parts(path, bound):
        digest.update(part)
    return digest.hexdigest()


def files_below(directory: Path, pattern: str = "**/*") -> list[Path]:
    """Return the regular files below a directory that a pattern names, sorted.

    Raises
    ------
    OSError
        There are more files and directories than a scenario can mean (`Refused`), or the pattern is too long.
    """
    try:
        entries = list(itertools.islice(directory.glob(pattern), _MOST_ENTRIES + 1))
    except (ValueError, NotImplementedError, IndexError):  # no pattern
        return []
    if len(entries) > _MOST_ENTRIES:
        raise Refused(errno.EFBIG, f"the directory '{_short(directory)}' has more than {_MOST_ENTRIES} files")
    return sorted(path for path in entries if is_file(path))
