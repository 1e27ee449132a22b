# SPDX-License-Identifier: Apache-2.0
"""Directories of the project's files: in the source tree of this package, or given by environment variables."""

from __future__ import annotations

import os
from pathlib import Path


def tree() -> Path:
    """Return ``$RDCNLAB_TREE``, or the root of the source tree."""
    chosen = os.environ.get("RDCNLAB_TREE")
    return Path(chosen) if chosen else Path(__file__).parents[3]


def papers() -> Path:
    """Return the directory of the papers' values and claims."""
    return tree() / "data" / "papers"


def results() -> Path:
    """Return ``$RDCNLAB_RESULTS``, or the directory of the shipped runs."""
    chosen = os.environ.get("RDCNLAB_RESULTS")
    return Path(chosen) if chosen else tree() / "data" / "results"


def models() -> Path:
    """Return the directory of the shipped models."""
    return tree() / "data" / "models"


def model_cache() -> Path:
    """Return ``$RDCNLAB_MODELS``, or ``rdcnlab/models`` in the user's cache directory."""
    chosen = os.environ.get("RDCNLAB_MODELS")
    return Path(chosen) if chosen else _cache() / "models"


def p4() -> Path:
    """Return the directory of the P4 programs."""
    return tree() / "p4"


def notebooks() -> Path:
    """Return the directory of the notebooks."""
    return tree() / "notebooks"


def store() -> Path:
    """Return ``$RDCNLAB_STORE``, or ``rdcnlab/runs`` in the user's cache directory."""
    chosen = os.environ.get("RDCNLAB_STORE")
    return Path(chosen) if chosen else _cache() / "runs"


def _cache() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "rdcnlab"
