# SPDX-License-Identifier: Apache-2.0
"""Write one static page with every figure, the paper's claims, every verdict, and the provenance of the runs."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from rdcnlab.runs.store import Store
from rdcnlab_papers.app.site import view
from rdcnlab_papers.app.site.entries import collect, files
from rdcnlab_papers.items import faces
from rdcnlab_papers.items.item import Item


def page(kinds: Iterable[type[Item]], store: Store, root: Path) -> str:
    """Return the page as HTML, with its pictures inside. Our own goals come after the papers' claims.

    Parameters
    ----------
    kinds : iterable of type of Item
        The items.
    store : Store
        Store in which runs are looked up. Nothing is run.
    root : Path
        Directory for the pictures that are put into the page.
    """
    entries = collect(kinds, store, root, execute=False)
    pictures = {path.name: path for path in files(entries, root) if path.suffix == ".png"}
    static = resources.files("rdcnlab_papers.app.site") / "static"

    def inside(name: str) -> str:
        return f"data:image/png;base64,{base64.b64encode(pictures[name].read_bytes()).decode()}"

    return view.environment().get_template("report.html.j2").render(
        papers=view.papers(entries),
        scores=view.scores(entries),
        unions=view.unions(entries),
        link=None,  # no files beside the page
        picture=inside,
        paper_link=lambda paper: f"#paper-{paper}",
        style=(static / "report.css").read_text(encoding="utf-8") + faces.style(),
        script=(static / "report.js").read_text(encoding="utf-8"),
    )  # fmt: skip


def write(kinds: Iterable[type[Item]], store: Store, path: Path) -> None:
    """Write the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rdcnlab-report-") as root:
        path.write_text(page(kinds, store, Path(root)), encoding="utf-8")
