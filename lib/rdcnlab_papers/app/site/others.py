# SPDX-License-Identifier: Apache-2.0
"""Notebooks that belong to no item: they make their runs themselves, so they need an engine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from rdcnlab.app import notebook_file
from rdcnlab.engines import get_engine
from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.switches.bmv2 import install
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from rdcnlab.system.progress import bar
from rdcnlab_papers.app.site import executed
from rdcnlab_papers.app.site.entry import package

#: A scenario like those of the notebooks; its engine makes their runs.
_ANY = {"network": "aykurt", "flows": [{"name": "main", "size": "1 MB", "path": "green"}]}


@dataclass(frozen=True)
class Others:
    """The notebooks of no item by name, why some of them failed, and what this machine lacks for others."""

    paths: dict[str, Path]
    failed: dict[str, str] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)


def others(cache: Path, *, progress: bool = True) -> Others:
    """Return the notebooks of no item, executed where this machine has what their runs need.

    A notebook is executed again only if it or the code changed, or if it failed. A site does not build a kernel, which
    takes longer than all else, nor does it install a switch.

    Parameters
    ----------
    cache : Path
        Directory that keeps executed notebooks.
    progress : bool
        Whether to show a progress bar.
    """
    cache.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Path] = {}
    failed: dict[str, str] = {}
    lacking: dict[str, str] = {}
    written, no_run = package().encode(), _no_run()
    sources = sorted(places.notebooks().glob("*.ipynb"))
    with bar(len(sources), "notebook", shown=progress and not no_run) as shown:
        for source in sources:
            shown.set_description(source.name)
            target = paths[source.name] = cache / source.name
            stamp = hashlib.sha256(source.read_bytes() + written).hexdigest()
            if reason := no_run or _lacks(source):
                lacking[source.name] = reason
                target.with_suffix(".stamp").unlink(missing_ok=True)
                _unexecuted(source, target, reason)
            elif error := _execute(source, target, stamp):
                failed[source.name] = error
            shown.update()
    return Others(paths, failed, lacking)


def _lacks(source: Path) -> str:
    """Return what is missing here for a notebook, whose metadata name what it needs; empty if nothing is missing."""
    needed = notebook_file.read(source)["metadata"].get("rdcnlab", {}).get("needs", [])
    return f"BMv2 is not installed. To install it: {install.remedy()}" if "bmv2" in needed and install.missing() else ""


def _no_run() -> str:
    """Return why no run can be made at once; empty if one can."""
    if get_engine(Scenario.from_dict(_ANY)).name != "kernel":
        return ""
    try:
        built = build.find() is not None
    except RunError as error:  # not even its source is here
        return error.reason
    return "" if built else "the kernel for runs is not built here; rdcnlab kernel build builds it"


def _execute(source: Path, target: Path, stamp: str) -> str:
    """Execute a notebook if it or the code changed, and return why it failed, or an empty text."""
    mark, part = target.with_suffix(".stamp"), target.with_name(f".{target.name}")
    if mark.exists() and target.exists() and mark.read_text() == stamp:
        return ""
    try:
        executed.execute(source, part, {}, {})
    except RunError as error:
        # what is missing, such as BMv2, may be there the next time
        mark.unlink(missing_ok=True)
        _unexecuted(source, part, str(error.reason))
        part.rename(target)
        return str(error.reason)
    part.rename(target)
    mark.write_text(stamp)
    return ""


def _unexecuted(source: Path, target: Path, reason: str) -> None:
    """Write a notebook without outputs, with a note about the reason."""
    book = notebook_file.read(source)
    note = f"*This notebook was not executed for the site: {reason[:300]}*"
    book["cells"].insert(1, notebook_file.text_cell("note", note))
    notebook_file.write(book, target)
