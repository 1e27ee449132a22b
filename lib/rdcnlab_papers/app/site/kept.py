# SPDX-License-Identifier: Apache-2.0
"""Scorecards that are kept: an item is judged again only if something changed that its verdicts depend on.

Verdicts depend on the code, the claims, the shipped runs and models, the user's trained models, the installed
libraries, and the local runs. All but the last are in one digest. An item with a local run is always judged again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from rdcnlab_papers.items import folders, judged
from rdcnlab_papers.items.judged import JudgedClaim, Rows

#: Digits of the hash of a scenario that are kept, of 64.
_DIGITS = 16


class Watched(Store):
    """A store that notes which scenarios were looked up."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.root, shipped=store.shipped)
        self.sought: set[str] = set()
        self.found_local = False

    def find(self, scenario: Scenario, identity: str | None) -> Run | None:
        """Return the run of a scenario; see `Store.find`."""
        self.sought.add(scenario.hash[:_DIGITS])
        run = super().find(scenario, identity)
        self.found_local |= run is not None and not run.shipped
        return run


def read(name: str, store: Store) -> list[JudgedClaim] | None:
    """Return the scorecard of an item that was written, if it would be the same today; otherwise None.

    Parameters
    ----------
    name : str
        The item, such as ``aykurt/fig4``.
    store : Store
        Where runs would be looked up.
    """
    try:
        kept = json.loads(_path(name).read_bytes())
        rows = judged.from_data(kept["rows"])
        sought, written = set(kept["sought"]), kept["stamp"]
    except (OSError, ValueError, KeyError, TypeError):
        return None  # there is none, or it is damaged
    if written != stamp(store.shipped.root) or any(local[:_DIGITS] in sought for local in store.hashes()):
        return None
    return rows


def write(name: str, watched: Watched, rows: Rows) -> None:
    """Keep the scorecard of an item, unless local runs decided it."""
    if not watched.found_local:
        content = {"stamp": stamp(watched.shipped.root), "sought": sorted(watched.sought), "rows": judged.to_data(rows)}
        _write(_path(name), content)


def _path(name: str) -> Path:
    return places.kept_scores() / f"{name.replace('/', '-')}.json"


def _write(path: Path, data: dict[str, Any]) -> None:
    """Write a file by a rename, so that other processes see a whole one. A disk that is full costs time only."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(data), encoding="utf-8")
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)


def stamp(results: Path) -> str:
    """Return a digest of all that verdicts depend on, except local runs.

    Parameters
    ----------
    results : Path
        Directory of the shipped runs.
    """
    return stamp_of(places.model_cache(), *folders.code(), places.papers(), places.models(), results)


@functools.cache
def stamp_of(trained: Path, *roots: Path) -> str:
    """Return a digest of the files below directories, and of the versions of Python and of the libraries.

    Of the user's trained models only the names count, which tell what they were trained on.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update("\0".join(sorted(path.relative_to(trained).as_posix() for path in trained.rglob("*"))).encode())
    for root in roots:
        for path in sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            digest.update(f"{path.relative_to(root)}\0".encode())
            digest.update(hashlib.blake2b(path.read_bytes()).digest())
    # a directory in the path of Python has one such directory for each installed library, named by its version
    libraries = sorted(path.name for folder in sys.path for path in Path(folder or ".").glob("*.dist-info"))
    digest.update("\0".join([sys.version, *libraries]).encode())
    return digest.hexdigest()
