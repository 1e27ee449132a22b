# SPDX-License-Identifier: Apache-2.0
"""Notebooks that belong to no item: they make their runs themselves, so they need an engine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from rdcnlab.app import notebooks
from rdcnlab.app.site import executed
from rdcnlab.app.site.entry import package
from rdcnlab.fields.errors import RunError
from rdcnlab.system import places


@dataclass(frozen=True)
class Others:
    """The notebooks of no item by name, and why some of them failed."""

    paths: dict[str, Path]
    failed: dict[str, str] = field(default_factory=dict)


def others(cache: Path) -> Others:
    """Return the notebooks of no item, executed where this machine can execute them.

    A notebook is executed again only if it or the code changed, or if it failed.

    Parameters
    ----------
    cache : Path
        Directory that keeps executed notebooks.
    """
    cache.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Path] = {}
    failed: dict[str, str] = {}
    written = package().encode()
    for source in sorted(places.notebooks().glob("*.ipynb")):
        stamp = hashlib.sha256(source.read_bytes() + written).hexdigest()
        target, mark = cache / source.name, cache / f"{source.stem}.stamp"
        if not (mark.exists() and mark.read_text() == stamp):
            part = cache / f".{source.name}"
            try:
                executed.execute(source, part, {}, {})
            except RunError as error:
                # what is missing, a kernel or BMv2, may be there the next time
                mark.unlink(missing_ok=True)
                failed[source.name] = str(error.reason)
                _unexecuted(source, part, str(error.reason))
                part.rename(target)
            else:
                part.rename(target)
                mark.write_text(stamp)
        paths[source.name] = target
    return Others(paths, failed)


def _unexecuted(source: Path, target: Path, reason: str) -> None:
    """Write a notebook without outputs, with a note about the reason."""
    book = notebooks.read(source)
    note = f"*This notebook was not executed for the site: {reason[:300]}*"
    book["cells"].insert(1, notebooks.text_cell("note", note))
    notebooks.write(book, target)
