# SPDX-License-Identifier: Apache-2.0
"""A kernel's tree in the cache: it outlives an interrupted build, and kernels with a user's own file need it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from rdcnlab.engines import Progress
from rdcnlab.engines.kernel.build import source
from rdcnlab.engines.kernel.build.tree import STEPS, Tree
from rdcnlab.system.locks import locked

__all__ = ["directory", "prepared", "remove"]


def directory(root: Path, number: str) -> Path:
    """Return the directory of the tree in which the kernel of an id is compiled."""
    return root / f"{number[:16]}.tree"


@contextlib.contextmanager
def prepared(kept: Path, log: Path, fragment: str, chosen: Sequence[Path], report: Progress) -> Iterator[Tree]:
    """Yield a tree with patches and configuration, and hold its lock; prepare it first if that was not completed.

    Parameters
    ----------
    kept : Path
        Directory of the tree.
    log : Path
        File to which the output is appended.
    fragment : str
        Settings of the configuration.
    chosen : sequence of Path
        The patches.
    report : callable
        Called with the current step in words, steps done and steps in total.
    """
    waiting = "another process uses this kernel's tree"
    with locked(kept.with_suffix(".tree.lock"), lambda: report(waiting, 0, STEPS)) as lock:
        tree = Tree.below(kept, log, lock)
        if not tree.prepared.is_file() or tree.fragment.read_text() != fragment:
            # nobody knows how far it got, or a link with other settings (`static`) was interrupted
            remove(tree)
            kept.mkdir()
            try:
                tree.prepare(source.find(kept.parent), chosen, fragment, report)
            except BaseException:
                remove(tree)
                raise
        yield tree


def remove(tree: Tree) -> None:
    """Remove a tree; if that is interrupted, what is left is not taken for a prepared tree."""
    tree.prepared.unlink(missing_ok=True)
    shutil.rmtree(tree.prepared.parent, ignore_errors=True)
