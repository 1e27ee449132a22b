# SPDX-License-Identifier: Apache-2.0
"""The patch series in ``kernel-patches/``: its files, and the kernel files that they change."""

from __future__ import annotations

import functools
from pathlib import Path

from rdcnlab.fields.errors import RunError

HERE = Path(__file__).resolve().parents[1]
#: Patches below this number correct time and randomness; a build with only these is called ``stock``.
FIRST_FEATURE = 11
#: Patches that ``stock`` has in addition, because no run can be recorded without them.
NEEDED = {75}


def root() -> Path:
    """Return the directory ``kernel-patches``, from the checkout or from the installed package."""
    for parent in (HERE.parents[3], HERE.parents[1]):
        if (parent / "kernel-patches" / "series").is_file():
            return parent / "kernel-patches"
    raise RunError("kernel-patches/series is neither in the checkout nor in the package")


def series(*, stock: bool = False) -> list[Path]:
    """Return the patches in order; with `stock` only those that are no features."""
    directory = root()
    names = [line.split("#")[0].strip() for line in (directory / "series").read_text().splitlines()]
    return [directory / name for name in names if name and not (stock and is_feature(name))]


def is_feature(name: str) -> bool:
    """Return whether a patch, by its file's name, does more than correct time and randomness and let runs be seen."""
    return int(name[:4]) >= FIRST_FEATURE and int(name[:4]) not in NEEDED


def change(patch: Path) -> str:
    """Return a patch without its commit message, so that editing the message does not change the build id."""
    status = patch.stat()
    return _change(patch, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=256)
def _change(patch: Path, _changed_ns: int, _size: int) -> str:
    """Read a patch once, as long as its file does not change: looking up a thousand runs asks a thousand times."""
    text = patch.read_text()
    return text[text.find("\ndiff --git ") + 1 :]
