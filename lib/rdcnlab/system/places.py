# SPDX-License-Identifier: Apache-2.0
"""Directories of the project's files: in the source tree, in the installed package, or given by the environment."""

from __future__ import annotations

import os
from pathlib import Path

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.system import entry_points

_PACKAGE = Path(__file__).resolve().parents[1]


def source_tree() -> Path | None:
    """Return the root of the source tree, or None if the package is installed from a wheel."""
    root = _PACKAGE.parents[1]
    return root if (root / "kernel-patches" / "series").is_file() else None


def require_source_tree(command: str) -> None:
    """Raise RunError if there is no source tree, for a command that changes files of it."""
    if source_tree() is None:
        raise RunError(f"{command} changes files of the source tree: use it in a clone of the repository")


def require_new(directory: Path) -> None:
    """Raise InputError if a directory has files: what a reader has changed there is never written over."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError.of("DIRECTORY", str(directory), "a directory that is empty or does not exist")


def tree() -> Path:
    """Return ``$RDCNLAB_TREE``, or the source tree, or the installed package.

    A wheel has the tree's directories inside its package (``setup.py``); `papers_tree` is that of the papers.
    """
    override = os.environ.get("RDCNLAB_TREE")
    return Path(override) if override else source_tree() or _PACKAGE


def papers_tree() -> Path:
    """Return the directory that has ``data`` and ``notebooks``: `tree`, or the installed package of the papers."""
    if os.environ.get("RDCNLAB_TREE") or source_tree() is not None:
        return tree()
    return entry_points.directory("rdcnlab_papers") or _PACKAGE


def papers() -> Path:
    """Return the directory of the papers' values and claims."""
    return papers_tree() / "data" / "papers"


def results() -> Path:
    """Return ``$RDCNLAB_RESULTS``, or the directory of the shipped runs."""
    override = os.environ.get("RDCNLAB_RESULTS")
    return Path(override) if override else shipped_results()


def shipped_results() -> Path:
    """Return the directory of the shipped runs, which new runs are compared with if ``$RDCNLAB_RESULTS`` hides it."""
    return papers_tree() / "data" / "results"


def scores() -> Path:
    """Return the file with the verdicts from the shipped runs; ``tools/index`` writes it."""
    return papers_tree() / "data" / "scores.json"


def models() -> Path:
    """Return the directory of the shipped models."""
    return papers_tree() / "data" / "models"


def model_cache() -> Path:
    """Return ``$RDCNLAB_MODELS``, or ``rdcnlab/models`` in the user's cache directory."""
    override = os.environ.get("RDCNLAB_MODELS")
    return Path(override) if override else _cache() / "models"


def kept_scores() -> Path:
    """Return ``$RDCNLAB_SCORES``, or ``rdcnlab/scores`` in the user's cache directory: verdicts of the last time."""
    override = os.environ.get("RDCNLAB_SCORES")
    return Path(override) if override else _cache() / "scores"


def citation() -> Path:
    """Return the file with the references: rdcnlab, and the papers."""
    return tree() / "CITATION.cff"


def p4() -> Path:
    """Return the directory of the P4 programs."""
    return tree() / "p4"


def notebooks() -> Path:
    """Return the directory of the notebooks."""
    return papers_tree() / "notebooks"


def store() -> Path:
    """Return ``$RDCNLAB_STORE``, or ``rdcnlab/runs`` in the user's cache directory."""
    override = os.environ.get("RDCNLAB_STORE")
    return Path(override) if override else _cache() / "runs"


def code_hashes() -> Path:
    """Return the file that keeps hashes of the engines' code from one process to the next."""
    return _cache() / "code.json"


def _cache() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "rdcnlab"
