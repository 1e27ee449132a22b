# SPDX-License-Identifier: Apache-2.0
"""The series in ``kernel-patches/``: its files and what they change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rdcnlab.fields.errors import RunError

HERE = Path(__file__).resolve().parents[1]
#: Patches below this number mend time and randomness; what they build is called ``stock``.
FIRST_FEATURE = 11


def root() -> Path:
    """Return the directory ``kernel-patches``, in the checkout or installed beside the package."""
    for parent in (HERE.parents[3], HERE.parents[1]):
        if (parent / "kernel-patches" / "series").is_file():
            return parent / "kernel-patches"
    raise RunError("kernel-patches/series is neither in the checkout nor in the package")


def series(*, stock: bool = False) -> list[Path]:
    """Return the patches in order; with `stock` those for time and randomness only."""
    names = [line.split("#")[0].strip() for line in (root() / "series").read_text().splitlines()]
    return [root() / name for name in names if name and not (stock and int(name[:4]) >= FIRST_FEATURE)]


def change(patch: Path) -> str:
    """Return what a patch changes, without its message: a better word there makes no other kernel."""
    text = patch.read_text()
    return text[text.find("\ndiff --git ") + 1 :]


def changed_files(patches: Sequence[Path]) -> list[str]:
    """Return the files of the kernel that patches change, without those that they add."""
    changed: set[str] = set()
    added: set[str] = set()
    for patch in patches:
        for name, rest in re.findall(r"^diff --git a/\S+ b/(\S+)\n(new file)?", change(patch), re.MULTILINE):
            (added if rest else changed).add(name)
    return sorted(changed - added)
