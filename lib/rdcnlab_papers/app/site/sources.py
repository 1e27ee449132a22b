# SPDX-License-Identifier: Apache-2.0
"""`Sources`: the directory that Sphinx reads. Its layout is that of the source tree, so relative links stay valid."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rdcnlab.app import notebook_file
from rdcnlab.system import places

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_IMAGES = (".png", ".svg", ".jpg")


@dataclass(frozen=True)
class Section:
    """A section of the site: name of its page, title, a sentence about it, and its documents without their suffix."""

    name: str
    title: str
    says: str
    pages: list[str]


@dataclass
class Sources:
    """The sources of the site's pages.

    A file is written only if its content changes. So Sphinx reads only changed pages again.

    Parameters
    ----------
    root : Path
        The directory.
    """

    root: Path
    _written: set[Path] = field(default_factory=set)

    def write(self, name: str, text: str) -> None:
        """Write a file, unless it has this text already."""
        self._put(name, text.encode())

    def copy(self, source: Path, name: str) -> None:
        """Copy a file, unless it has this content already."""
        self._put(name, source.read_bytes())

    def _put(self, name: str, content: bytes) -> None:
        path = self.root / name
        self._written.add(path)
        if path.exists() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def sweep(self) -> None:
        """Remove files that this build did not write."""
        for path in self.root.rglob("*"):
            if path.is_file() and path not in self._written:
                path.unlink()

    def documents(self) -> list[Section]:
        """Copy all documents of the tree, and return the sections that list them."""
        tree = places.tree()
        pages = sorted((tree / "docs").rglob("*.md"))
        pages += [tree / name for name in ("README.md", "CONTRIBUTING.md", "kernel-patches/README.md", "p4/README.md")]
        names = {path: path.relative_to(tree).as_posix() for path in pages if path.exists()}
        for path, name in names.items():
            self.write(name, _linked(path, path.read_text(encoding="utf-8"), self, set(names)))
        for path in sorted((tree / "docs").rglob("*")):
            if path.suffix in _IMAGES:
                self.copy(path, path.relative_to(tree).as_posix())
        return _sections([name.removesuffix(".md") for name in names.values()])

    def list_notebooks(self, items: Mapping[str, Sequence[str]]) -> None:
        """Add a list of all notebooks to their index, so that the site's contents have them."""
        path = self.root / "notebooks" / "index.ipynb"
        book = notebook_file.read(path)
        listed = [f"{paper}/{item}" for paper, names in items.items() for item in names]
        listed += sorted(page.stem for page in path.parent.glob("*.ipynb") if page.stem != "index")
        toctree = "\n".join(["```{toctree}", ":hidden:", "", *listed, "```"])
        book["cells"].append(notebook_file.text_cell("site-contents", toctree))
        self.write("notebooks/index.ipynb", notebook_file.text(book))

    def has(self, path: Path) -> bool:
        """Return whether a file of the tree is on the site."""
        return self.root / path.relative_to(places.tree()) in self._written


def _sections(names: Sequence[str]) -> list[Section]:
    """Return the sections of the documents, in the order of the site's navigation."""

    def in_folder(folder: str) -> list[str]:
        return [name for name in names if name.startswith(f"docs/{folder}/")]

    how_to = [name for name in names if re.fullmatch(r"docs/[a-z0-9-]+", name)]
    sections = [
        Section(
            "tutorial",
            "Tutorial",
            "Learn rdcnlab step by step, from a first run to a figure.",
            ["README", *in_folder("tutorial")],
        ),
        Section(
            "how-to",
            "How to",
            "Directions for one task each.",
            [*in_folder("how-to"), *how_to, "CONTRIBUTING", "p4/README"],
        ),
        Section("reference", "Reference", "Every field, column and command.", in_folder("reference")),
        Section(
            "explanation",
            "Explanation",
            "How it works, and when not to trust it.",
            [*in_folder("explanation"), "kernel-patches/README", "docs/README"],
        ),
        Section("findings", "Findings", "What was found about the figures, and about Linux.", in_folder("findings")),
        Section("decisions", "Decisions", "What was decided and why, one topic a page.", in_folder("decisions")),
    ]
    return [section for section in sections if section.pages]


def _linked(path: Path, text: str, sources: Sources, pages: set[Path]) -> str:
    """Return a document in which links to files that are not on the site are plain text."""

    def replaced(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if picture or re.match(r"[a-z]+:|#", target):
            return match[0]
        linked = (path.parent / target.partition("#")[0]).resolve()
        if linked in pages or (linked.suffix == ".ipynb" and sources.has(linked)):
            return match[0]
        section = linked.name if linked.is_dir() and linked.parent.name == "docs" else ""
        up = "../" * len(path.relative_to(places.tree()).parent.parts)
        return f"[{words}]({up}{section}.md)" if section else words

    return _LINK.sub(replaced, text)
