# SPDX-License-Identifier: Apache-2.0
"""Extract one file from a Debian package, on any system."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import BinaryIO

from rdcnlab.fields.errors import RunError

MAGIC = b"!<arch>\n"
#: Bytes of the header of a member of an ``ar`` archive, deb(5): name in bytes 0 to 15, size as text in bytes 48 to 57.
HEADER = 60


def extract(package: Path, name: str, target: Path) -> None:
    """Write the file `name` of a package to `target`.

    Parameters
    ----------
    package : Path
        Path of a ``.deb`` file.
    name : str
        Path of the file in the package, relative to the root.
    target : Path
        Path to write to; an existing file is overwritten.

    Raises
    ------
    RunError
        The file is not a Debian package, or does not contain the file `name`.
    """
    with package.open("rb") as file:
        try:
            _seek_data(file)
            with tarfile.open(fileobj=file, mode="r|xz") as archive:
                for member in archive:
                    if member.isfile() and member.name.removeprefix("./") == name:
                        content = archive.extractfile(member)
                        assert content is not None  # a regular file has content
                        with target.open("wb") as out:
                            shutil.copyfileobj(content, out, 1 << 20)
                        return
        except (tarfile.TarError, ValueError) as error:
            raise RunError(f"{package.name} is no Debian package that can be read: {error}") from None
    raise RunError(f"{package.name} holds no {name}")


def _seek_data(file: BinaryIO) -> None:
    """Move to the first byte of the member that contains the package's files."""
    if file.read(len(MAGIC)) != MAGIC:
        raise ValueError("it does not begin as an ar archive does")
    while header := file.read(HEADER):
        name, size = header[:16].decode("ascii", "replace").strip().rstrip("/"), int(header[48:58])
        if name == "data.tar.xz":
            return
        file.seek(size + size % 2, 1)  # members start at even offsets
    raise ValueError("it has no data.tar.xz")
