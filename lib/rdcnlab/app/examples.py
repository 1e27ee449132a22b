# SPDX-License-Identifier: Apache-2.0
"""The examples of the documents as files, which a reader runs and changes: a directory for each document.

A block of a document whose first line is ``# name.yaml: what it is`` is a file. The tests run each of these blocks.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rdcnlab.fields import own_yaml
from rdcnlab.system import places

_BLOCK = re.compile(
    r"^```(?:yaml|python|text)\n(# ([a-z0-9-]+\.(?:yaml|py|txt))(?::? *([^\n]*))\n.*?)^```$", re.DOTALL | re.MULTILINE
)
#: What a first line says if a file of the P4 examples belongs beside it.
_BESIDE = re.compile(r"needs ([a-z0-9-]+\.json) beside it")


class Example(NamedTuple):
    """An example: its path in the directory, its text, and what its first line says."""

    path: Path
    text: str
    about: str


def examples() -> Iterator[Example]:
    """Return the examples of all documents; those of the tutorials come first, and none comes twice."""
    docs = places.tree() / "docs"
    found = sorted(docs.rglob("*.md"), key=lambda path: (path.parent.name != "tutorial", path))
    seen: list[tuple[str, Any]] = []
    for document in found:
        for text, name, about in _BLOCK.findall(document.read_text(encoding="utf-8")):
            content = (name, own_yaml.parse(text) if name.endswith(".yaml") else text)
            if content not in seen:
                yield Example(Path(document.stem) / name, text, about)
            seen.append(content)


def copy(target: Path) -> list[Example]:
    """Write all examples, and what belongs beside them, into a new directory, and return them.

    Parameters
    ----------
    target : Path
        A directory that does not exist, or is empty.

    Raises
    ------
    InputError
        The directory contains something, or is a file.
    """
    places.require_new(target)
    written = list(examples())
    programs = places.tree() / "p4" / "examples"
    for example in written:
        path = target / example.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example.text, encoding="utf-8")
        needed = _BESIDE.search(example.about)
        if needed:
            for beside in programs.glob(f"{Path(needed[1]).stem}.*"):
                shutil.copyfile(beside, path.parent / beside.name)
    return written
