# SPDX-License-Identifier: Apache-2.0
"""Paths on the command line of a guest's kernel, which ends a word at a space and knows quotation marks.

A store may have any path that the system allows. If it is not a plain one, the guest gets a link to its directory: a
link with a plain name, in a directory that only this user can open. It gives no right, and takes none: the confinement
is about the files themselves.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rdcnlab.fields.errors import RunError

_PLAIN = re.compile(r"[A-Za-z0-9/._+~@%:=-]+")
#: Longest path that is used as it is: it stands there three times, and the command line has room for 4095 characters.
_LONGEST = 400


def is_plain(path: Path) -> bool:
    """Return whether a path can stand on the command line."""
    return _PLAIN.fullmatch(str(path)) is not None and len(str(path)) <= _LONGEST


@contextlib.contextmanager
def plain(directory: Path) -> Iterator[Path]:
    """Yield a path of a directory that can stand on the command line: its own, or that of a link to it.

    Raises
    ------
    RunError
        A link is needed, and there is no place for it.
    """
    if is_plain(directory):
        yield directory
        return
    places = [place for place in dict.fromkeys([tempfile.gettempdir(), "/tmp", "/var/tmp"]) if is_plain(Path(place))]
    room = None
    for place in places:
        with contextlib.suppress(OSError):
            room = Path(tempfile.mkdtemp(prefix="rdcnlab-", dir=place))
            break
    if room is None:
        raise RunError(
            f"the path {directory} is too long, or has a character that a kernel's command line cannot have, and "
            f"there is no place for a link to it ({', '.join(places)}); set RDCNLAB_STORE to another directory"
        )
    try:
        link = room / "run"
        link.symlink_to(directory)
        yield link
    finally:
        shutil.rmtree(room, ignore_errors=True)
