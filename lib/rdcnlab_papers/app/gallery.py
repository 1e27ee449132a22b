# SPDX-License-Identifier: Apache-2.0
"""The gallery of the index notebook: a small picture of each figure, which is a door to the figure's notebook.

``tools/index`` writes the text of the gallery, and ``tools/index pictures`` draws the pictures from shipped runs. They
are files beside the notebook, so that it shows them before anything is executed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from rdcnlab.analysis import figures
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab.system.progress import bar
from rdcnlab_papers import select
from rdcnlab_papers.app.site.stored import best
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.item import Item

#: The folder of the small pictures, beside the index notebook.
FOLDER = "small"
#: Width and height of a small picture in pixels, at most; twice what is shown, for screens with small pixels.
SIZE_PX = (360, 270)
#: Quality of WebP at which thin lines are whole. All pictures together take 0.4 MB; as PNG they take 0.6 MB.
_QUALITY = 50
#: A door is as wide as its picture. Where a page allows no style, doors follow each other in lines of text.
_STYLE = "display:inline-block;width:13em;margin:0 1em 1em 0;vertical-align:top"
_ROMAN = {"1": "I", "2": "II", "3": "III", "4": "IV", "5": "V"}


def section(paper: claims.Paper) -> str:
    """Return the part of the gallery about a paper, in Markdown."""
    doors = "\n".join(_door(paper.paper, item.id, item.title) for item in paper.items)
    return f"## {paper.authors}, *{paper.title}*\n\n{doors}\n"


def _door(paper: str, name: str, title: str) -> str:
    label = label_of(name)
    picture = f"![{label}, small]({FOLDER}/{paper}-{name}.webp)<br>" if path(paper, name).exists() else ""
    words = f"{title}" if label == "beyond" else f"**{label}** {title}"
    return f'<span style="{_STYLE}">[{picture}{words}]({paper}/{name}.ipynb)</span>'


def label_of(name: str) -> str:
    """Return ``figure 6(a)`` for ``fig6a``, ``table I`` for ``tab1``, and ``beyond`` for an item beyond the paper."""
    match = re.fullmatch(r"(fig|tab|eq)(\d+)([a-z]?)", name)
    if match is None:
        return "beyond"
    kind, number, part = match.groups()
    if kind == "tab":
        return f"table {_ROMAN.get(number, number)}"
    return f"{'equation' if kind == 'eq' else 'figure'} {number}" + (part and f"({part})")


def path(paper: str, name: str) -> Path:
    """Return the path of an item's small picture."""
    return places.notebooks() / FOLDER / f"{paper}-{name}.webp"


def small(picture: bytes | Path, size_px: tuple[int, int] = SIZE_PX) -> Image.Image:
    """Return a small copy of a picture."""
    with Image.open(io.BytesIO(picture) if isinstance(picture, bytes) else picture) as opened:
        copy = opened.convert("RGB")
    copy.thumbnail(size_px)
    return copy


def write(names: Sequence[str] = ()) -> list[Path]:
    """Draw the small pictures of items, by default of all, from shipped runs, and return the paths of new ones.

    All of them take some minutes. Those of an item whose runs are not shipped are left as they are.
    """
    from rdcnlab_papers.app.index import nothing_local  # which imports this module

    kinds, written = select(names), []
    with nothing_local() as store, bar(len(kinds), "picture") as shown:
        for kind in kinds:
            shown.set_description(f"{kind.paper}/{kind.id}")
            drawn = _drawn(kind, store)
            target = path(kind.paper, kind.id)
            if drawn is not None and not (target.exists() and target.read_bytes() == drawn):
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(drawn)
                written.append(target)
            shown.update()
    return written


def _drawn(kind: type[Item], store: Store) -> bytes | None:
    """Return the small picture of an item in the first column whose runs are shipped."""
    for column in kind.columns():
        item, runs = best(kind, store, column.id)
        if runs is not None:
            return content(item.plot(runs))
    return None


def content(figure: Figure) -> bytes:
    """Return the small picture of a figure."""
    drawn, reduced = io.BytesIO(), io.BytesIO()
    with figures.style():
        figure.savefig(drawn, format="png")
    small(drawn.getvalue()).save(reduced, "WEBP", quality=_QUALITY, method=6)
    return reduced.getvalue()
