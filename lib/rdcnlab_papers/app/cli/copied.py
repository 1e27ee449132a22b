# SPDX-License-Identifier: Apache-2.0
"""`rdcnlab notebooks`: copy the notebooks out of the package, where readers can change and execute them."""

from __future__ import annotations

import shutil
from pathlib import Path

from rdcnlab.system import places

#: Endings of the files that are copied.
_SUFFIXES = (".ipynb", ".webp")


def copy(target: Path) -> Path:
    """Copy all notebooks, with the pictures of their list, into a new directory, and return the path of this list.

    Parameters
    ----------
    target : Path
        A directory that does not exist, or is empty.

    Raises
    ------
    InputError
        The directory contains something, or is a file.
    """
    places.require_new(target)
    for source in sorted(path for path in places.notebooks().rglob("*") if path.suffix in _SUFFIXES):
        path = target / source.relative_to(places.notebooks())
        if ".ipynb_checkpoints" not in path.parts:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
    return target / "index.ipynb"
