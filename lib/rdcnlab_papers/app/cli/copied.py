# SPDX-License-Identifier: Apache-2.0
"""`rdcnlab notebooks`: copy the notebooks out of the package, where readers can change and execute them."""

from __future__ import annotations

import shutil
from pathlib import Path

from rdcnlab.fields.errors import InputError
from rdcnlab.system import places


def copy(target: Path) -> Path:
    """Copy all notebooks into a new directory, and return the path of the one that lists them.

    Parameters
    ----------
    target : Path
        A directory that does not exist, or is empty: a notebook that a reader has changed is never written over.

    Raises
    ------
    InputError
        The directory contains something, or is a file.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError.of("DIRECTORY", str(target), "a directory that is empty or does not exist")
    for source in sorted(places.notebooks().rglob("*.ipynb")):
        path = target / source.relative_to(places.notebooks())
        if ".ipynb_checkpoints" not in path.parts:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
    return target / "index.ipynb"
