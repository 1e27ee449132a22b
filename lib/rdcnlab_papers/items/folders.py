# SPDX-License-Identifier: Apache-2.0
"""Where the files of a paper are: ours in ``data/papers`` and ``notebooks``, those of others in their own package."""

from __future__ import annotations

from pathlib import Path

import rdcnlab
import rdcnlab_papers
from rdcnlab.fields.errors import InputError
from rdcnlab.system import entry_points, places


def claims_file(paper: str) -> Path:
    """Return the file with the claims of a paper: ``data/papers/<paper>.yaml``, or ``claims.yaml`` in its package.

    Raises
    ------
    InputError
        There is no such paper, or it has no claims.
    """
    path = places.papers() / f"{paper}.yaml"
    if path.is_file():
        return path
    path = package(paper) / "claims.yaml"
    if not path.is_file():
        raise InputError.of(
            "paper",
            paper,
            "a paper with claims",
            reason=f"the package of the paper {paper} has no file {path.name} in {path.parent}",
        )
    return path


def notebook(paper: str, item: str) -> Path:
    """Return an item's notebook: ``notebooks/<paper>/<item>.ipynb``, or ``<item>.ipynb`` in the paper's package."""
    path = places.notebooks() / paper / f"{item}.ipynb"
    return path if path.is_file() or (places.papers() / f"{paper}.yaml").is_file() else package(paper) / path.name


def package(paper: str) -> Path:
    """Return the directory of a paper's package.

    Raises
    ------
    InputError
        There is no such paper.
    """
    point = entry_points.points("rdcnlab.papers").get(paper)
    folder = None if point is None else entry_points.directory(point.module)
    if folder is None:
        raise InputError.unknown("paper", paper, names(), "paper")
    return folder


def code() -> list[Path]:
    """Return the directories with all code that a verdict may depend on: ours, and those of the papers of others."""
    own = [Path(str(module.__file__)).parent for module in (rdcnlab, rdcnlab_papers)]
    others = (package(name) for name in entry_points.points("rdcnlab.papers"))
    return own + [path for path in others if own[1] not in path.parents]


def names() -> list[str]:
    """Return the names of all papers: ours, also one that is being written, and those of other packages."""
    return sorted({path.stem for path in places.papers().glob("*.yaml")} | set(entry_points.points("rdcnlab.papers")))
