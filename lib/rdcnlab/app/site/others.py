# SPDX-License-Identifier: Apache-2.0
"""Notebooks that belong to no item: they make the few runs that they need, so they need an engine."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rdcnlab.app import notebooks
from rdcnlab.app.site import executed
from rdcnlab.app.site.entry import code
from rdcnlab.fields.errors import RunError
from rdcnlab.system import places


def others(kept: Path) -> dict[str, Path]:
    """Return the notebooks of no item by name, executed where this machine can execute them.

    A notebook is executed again only if it or the code changed.

    Parameters
    ----------
    kept : Path
        Directory that keeps executed notebooks.
    """
    kept.mkdir(parents=True, exist_ok=True)
    found = {}
    for source in sorted(places.notebooks().glob("*.ipynb")):
        stamp = hashlib.sha256(source.read_bytes() + code("").encode()).hexdigest()
        target, mark = kept / source.name, kept / f"{source.stem}.stamp"
        if not (mark.exists() and mark.read_text() == stamp):
            part = kept / f".{source.name}"
            try:
                executed.execute(source, part, {}, {})
            except RunError as error:
                _unexecuted(source, part, str(error.reason))
            part.rename(target)
            mark.write_text(stamp)
        found[source.name] = target
    return found


def _unexecuted(source: Path, target: Path, reason: str) -> None:
    """Write a notebook without outputs, with a note that says why."""
    book = notebooks.read(source)
    note = f"*This notebook was not executed for the site: {reason[:300]}*"
    book["cells"].insert(1, notebooks.text_cell("note", note))
    notebooks.write(book, target)
