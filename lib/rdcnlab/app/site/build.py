# SPDX-License-Identifier: Apache-2.0
"""Build the web site: write the sources of its pages, and let Sphinx make the site from them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rdcnlab import papers
from rdcnlab.app import notebooks
from rdcnlab.app.site import view
from rdcnlab.app.site.entries import collect, files
from rdcnlab.app.site.entry import Entry
from rdcnlab.app.site.others import others
from rdcnlab.app.site.sources import Section, Sources
from rdcnlab.fields.errors import RunError
from rdcnlab.papers.item import Item
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab.system.extras import require

#: Directory of pictures and tables on the site.
_FIGURES = "figures"


@dataclass(frozen=True)
class Built:
    """A built site: its first page, and the numbers of shown items, executed notebooks and warnings of Sphinx."""

    page: Path
    shown: int
    executed: int
    warnings: int


def build(kinds: Iterable[type[Item]], store: Store, output: Path, *, workers: int | None = None) -> Built:
    """Build the site. Items and pages whose inputs did not change are not made again.

    Parameters
    ----------
    kinds : iterable of type of Item
        The items of the report.
    store : Store
        Where runs are looked up. Items with missing runs are shown as not run.
    output : Path
        Directory of the site: ``site/`` is the site itself, ``.site/`` is a cache for the next build.
    workers : int, optional
        Worker processes; by default one on every core.

    Raises
    ------
    RunError
        A notebook failed, or Sphinx did. The log is that of Sphinx.
    """
    require("site")
    cache = output.resolve() / ".site"
    entries = collect(kinds, store, cache / "entries", execute=True, workers=workers)
    sources = Sources(cache / "source")
    _copied_notebooks(sources, entries, cache)
    sections = sources.documents()
    _pages(sources, entries, sections)
    _figures(sources, files(entries, cache / "entries"))
    sources.sweep()
    page, warnings = _sphinx(sources.root, cache, output.resolve() / "site")
    shown = sum(any(shown.figure for shown in entry.columns) for entry in entries)
    return Built(page, shown, sum(bool(entry.notebook) for entry in entries), warnings)


def _copied_notebooks(sources: Sources, entries: Sequence[Entry], cache: Path) -> None:
    for entry in entries:
        path = f"notebooks/{entry.paper}/{entry.id}.ipynb"
        executed = cache / "entries" / entry.paper / entry.id / entry.notebook
        sources.copy(executed if entry.notebook else places.tree() / path, path)
    for name, notebook in others(cache / "others").items():
        sources.copy(notebook, f"notebooks/{name}")
    selected = {(entry.paper, entry.id) for entry in entries}
    items_by_paper: dict[str, list[str]] = {}
    for kind in papers.select():
        items_by_paper.setdefault(kind.paper, []).append(kind.id)
        if (kind.paper, kind.id) not in selected:  # so that links to it stay valid
            sources.copy(notebooks.path(kind), f"notebooks/{kind.paper}/{kind.id}.ipynb")
    sources.list_notebooks(items_by_paper)


def _pages(sources: Sources, entries: Sequence[Entry], sections: Sequence[Section]) -> None:
    """Write the report, and a page for each section of the documents."""
    templates = view.environment()
    for section in sections:
        text = templates.get_template("section.md.j2").render(section=section)
        sources.write(f"{section.name}.md", text)
    report = templates.get_template("index.md.j2").render(
        papers=view.papers(entries),
        scores=view.scores(entries),
        sections=[*(section.name for section in sections), "Notebooks <notebooks/index>"],
        link=lambda name: f"{_FIGURES}/{name}",
        picture=lambda name: f"{_FIGURES}/{name}",
    )
    sources.write("index.md", report)
    package = resources.files("rdcnlab.app.site")
    sources.write("conf.py", (package / "conf.py").read_text(encoding="utf-8"))
    for name in ("report.css", "report.js"):
        sources.write(f"_static/{name}", (package / "static" / name).read_text(encoding="utf-8"))


def _figures(sources: Sources, paths: Iterable[Path]) -> None:
    for path in paths:
        sources.copy(path, f"extra/{_FIGURES}/{path.name}")


def _sphinx(source: Path, cache: Path, target: Path) -> tuple[Path, int]:
    """Let Sphinx build the site, and return its first page and the number of warnings."""
    log = cache / "sphinx.log"
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-d", cache / "doctrees", "-w", log, source, target]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if result.returncode:
        log.write_text(result.stdout + result.stderr, encoding="utf-8")
        raise RunError("Sphinx could not build the site", log)
    shutil.rmtree(target / "_sources", ignore_errors=True)
    return target / "index.html", len(log.read_text(encoding="utf-8").splitlines())
