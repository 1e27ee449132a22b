# SPDX-License-Identifier: Apache-2.0
"""`Sources`: the directory that Sphinx reads. Its layout is that of the source tree, so relative links stay valid."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rdcnlab.app import notebooks
from rdcnlab.system import places

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_IMAGES = (".png", ".svg", ".jpg")


@dataclass(frozen=True)
class Section:
    """A section of the site: name of its page, title, a sentence, and its documents without their suffix."""

    name: str
    title: str
    says: str
    pages: list[str]


@dataclass
class Sources:
    """The sources of the site's pages.

    A file that would not change is not written. So Sphinx reads only pages again that did.

    Parameters
    ----------
    root : Path
        The directory.
    """

    root: Path
    _known: set[Path] = field(default_factory=set)

    def write(self, name: str, text: str) -> None:
        """Write a file, unless it has this text already."""
        self._put(name, text.encode())

    def copy(self, source: Path, name: str) -> None:
        """Copy a file, unless it has this content already."""
        self._put(name, source.read_bytes())

    def _put(self, name: str, content: bytes) -> None:
        path = self.root / name
        self._known.add(path)
        if path.exists() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def sweep(self) -> None:
        """Remove files that this build did not write."""
        for path in self.root.rglob("*"):
            if path.is_file() and path not in self._known:
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
        """Let the index of notebooks contain all others, so that the site's contents list them."""
        path = self.root / "notebooks" / "index.ipynb"
        book = notebooks.read(path)
        listed = [f"{paper}/{item}" for paper, each in items.items() for item in each]
        listed += sorted(each.stem for each in path.parent.glob("*.ipynb") if each.stem != "index")
        toctree = "\n".join(["```{toctree}", ":hidden:", "", *listed, "```"])
        book["cells"].append(notebooks.text_cell("site-contents", toctree))
        self.write("notebooks/index.ipynb", notebooks.text(book))

    def has(self, path: Path) -> bool:
        """Return whether a file of the tree is on the site."""
        return self.root / path.relative_to(places.tree()) in self._known


def _sections(names: Sequence[str]) -> list[Section]:
    """Return the sections of the documents, in the order of the site's navigation."""

    def below(folder: str) -> list[str]:
        return [name for name in names if name.startswith(f"docs/{folder}/")]

    how_to = [name for name in names if re.fullmatch(r"docs/[a-z0-9-]+", name)]
    sections = [
        Section("tutorial", "Tutorial", "Learn rdcnlab step by step, from a first run to a figure.", below("tutorial")),
        Section(
            "how-to",
            "How to",
            "Directions for one task each.",
            ["README", *below("how-to"), *how_to, "CONTRIBUTING", "p4/README"],
        ),
        Section("reference", "Reference", "Every field, column and command.", below("reference")),
        Section(
            "explanation",
            "Explanation",
            "How it works, and when not to trust it.",
            [*below("explanation"), "kernel-patches/README", "docs/README"],
        ),
        Section("findings", "Findings", "What was found about the figures, and about Linux.", below("findings")),
        Section("decisions", "Decisions", "What was decided and why, one topic a page.", below("decisions")),
    ]
    return [section for section in sections if section.pages]


def _linked(path: Path, text: str, sources: Sources, pages: set[Path]) -> str:
    """Return a document in which links to files that are not on the site are plain text."""

    def one(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if picture or re.match(r"[a-z]+:|#", target):
            return found[0]
        other = (path.parent / target.partition("#")[0]).resolve()
        if other in pages or (other.suffix == ".ipynb" and sources.has(other)):
            return found[0]
        section = other.name if other.is_dir() and other.parent.name == "docs" else ""
        up = "../" * len(path.relative_to(places.tree()).parent.parts)
        return f"[{words}]({up}{section}.md)" if section else words

    return _LINK.sub(one, text)
