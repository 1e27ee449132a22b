# SPDX-License-Identifier: Apache-2.0
"""Why a file cannot be read, and which file was probably meant."""

from __future__ import annotations

import errno
from pathlib import Path

from rdcnlab.fields.phrases import listed, nearest

#: Endings of the names of scenario files.
_SCENARIOS = (".yaml", ".yml")


class Refused(OSError):
    """A file that could be opened, and is none that is read: a device, or too large. Its `strerror` is a sentence."""


def is_file(path: str | Path) -> bool:
    """Return whether there is such a file. A text that is too long for a name is none; `Path.is_file` raises then."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_there(path: str | Path) -> bool:
    """Return whether there is such a file or directory; see `is_file`."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def unreadable(path: Path, error: OSError | ValueError) -> str:
    """Return why a file cannot be read, and which file may be meant."""
    name = str(path) if len(str(path)) <= 200 else f"{str(path)[:200]}..."
    if isinstance(error, Refused):
        return str(error.strerror)
    if isinstance(error, ValueError):
        return f"{name!r} is not the name of a file"
    if error.errno == errno.EISDIR:
        return f"'{name}' is a directory; name a file in it{_files(path, path.suffix)}"
    if error.errno not in (errno.ENOENT, errno.ENOTDIR):
        return f"the file '{name}' cannot be read: {error.strerror}"
    if not is_there(path.parent):
        return f"there is no file '{name}', because there is no directory '{path.parent}'"
    # all have the same ending, which says nothing of how similar they are
    by_stem = {Path(sibling).stem: sibling for sibling in _siblings(path.parent, path.suffix)}
    near = nearest(path.stem, by_stem)
    if near is not None:
        return f"there is no file '{name}'. Did you mean '{path.parent / by_stem[near]}'?"
    return f"there is no file '{name}'{_files(path.parent, path.suffix)}"


def _siblings(directory: Path, suffix: str) -> list[str]:
    endings = _SCENARIOS if suffix in ("", *_SCENARIOS) else (suffix,)
    try:
        names = sorted(entry.name for entry in directory.iterdir())
    except OSError:
        return []
    return [name for name in names if name.endswith(endings)]


def _files(directory: Path, suffix: str) -> str:
    names = _siblings(directory, suffix)
    return f". Files there: {listed(names)}" if names else ""
