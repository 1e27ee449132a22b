# SPDX-License-Identifier: Apache-2.0
"""Build the web site: write the sources of its pages, and let Sphinx make the site from them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rdcnlab.app.executors import executor
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab.system.extras import require
from rdcnlab.system.progress import bar
from rdcnlab_papers import select
from rdcnlab_papers.app import gallery, notebooks
from rdcnlab_papers.app.site import answers, texts, view
from rdcnlab_papers.app.site.entries import collect, files
from rdcnlab_papers.app.site.entry import Entry
from rdcnlab_papers.app.site.others import others
from rdcnlab_papers.app.site.shown import thumb_name
from rdcnlab_papers.app.site.sources import Section, Sources
from rdcnlab_papers.items import faces
from rdcnlab_papers.items.item import Item

#: The item whose figure is on the first page.
_HERO = ("aykurt", "fig4")
#: How Sphinx names a page that it reads or writes.
_STEP = re.compile(r"(reading sources|writing output)\.\.\. \[ *(\d+)%\] *(\S*)")
#: Directory of pictures and tables on the site.
_FIGURES = "figures"


@dataclass(frozen=True)
class Built:
    """A built site.

    Parameters
    ----------
    page : Path
        The first page.
    shown : int
        Number of items with a figure.
    executed, notebooks : int
        Number of executed notebooks, and of all that were to be executed.
    failed : list of str
        Names of notebooks that failed, with the reasons.
    lacking : list of str
        Names of notebooks that were not executed because this machine lacks something, with what it lacks.
    warnings : int
        Number of warnings of Sphinx.
    """

    page: Path
    shown: int
    executed: int
    notebooks: int
    failed: list[str]
    lacking: list[str]
    warnings: int

    @property
    def summary(self) -> str:
        """What was built, what failed, and what this machine lacks, in a line."""
        failures = f", {len(self.failed)} failed: {'; '.join(self.failed)}" if self.failed else ""
        missing = f", {len(self.lacking)} not possible here: {'; '.join(self.lacking)}" if self.lacking else ""
        return (
            f"{self.shown} items shown, {self.executed} of {self.notebooks} notebooks executed{failures}{missing}; "
            f"{self.warnings} warnings of Sphinx"
        )


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
        Sphinx failed; the log is its. Notebooks that failed are shown as they are in the tree, and named in the result.
    """
    require("site")
    selection = list(kinds)
    cache = output.resolve() / ".site"
    # at the same time, because the last items leave cores free
    with executor(1) as beside:
        awaited = beside.submit(others, cache / "others", progress=False)
        entries = collect(selection, store, cache / "entries", execute=True, workers=workers)
        with bar(1, "step", shown=not awaited.done()) as progress:
            progress.set_description("notebooks without an item")
            of_no_item = awaited.result()
    sources = Sources(cache / "source")
    _copied_notebooks(sources, entries, cache, of_no_item.paths)
    sections = sources.documents()
    with bar(1, "step", shown=True) as progress:
        progress.set_description("time-lines of stored runs")
        found = answers.answers(selection, store, sources)
    _explore(sources, found)
    _pages(sources, entries, sections, found)
    _interactive_pages(sources, entries, cache / "entries")
    _figures(sources, files(entries, cache / "entries"))
    sources.sweep()
    page, warnings = _sphinx(sources.root, cache, output.resolve() / "site")
    failed = [f"{entry.paper}/{entry.id}: {entry.failed}" for entry in entries if entry.failed]
    failed += [f"{name}: {reason}" for name, reason in of_no_item.failed.items()]
    executed = sum(bool(entry.notebook) for entry in entries)
    lacking = [f"{name}: {reason}" for name, reason in of_no_item.lacking.items()]
    executed += len(of_no_item.paths) - len(of_no_item.failed) - len(lacking)
    shown = sum(any(shown.figure for shown in entry.columns) for entry in entries)
    return Built(page, shown, executed, len(entries) + len(of_no_item.paths), failed, lacking, warnings)


def _copied_notebooks(sources: Sources, entries: Sequence[Entry], cache: Path, of_no_item: Mapping[str, Path]) -> None:
    for entry in entries:
        path = f"notebooks/{entry.paper}/{entry.id}.ipynb"
        executed = cache / "entries" / entry.paper / entry.id / entry.notebook
        sources.copy(executed if entry.notebook else places.tree() / path, path)
    for name, notebook in of_no_item.items():
        sources.copy(notebook, f"notebooks/{name}")
    for picture in sorted((places.tree() / "notebooks" / gallery.FOLDER).iterdir()):
        sources.copy(picture, f"notebooks/{gallery.FOLDER}/{picture.name}")
    selected = {(entry.paper, entry.id) for entry in entries}
    items_by_paper: dict[str, list[str]] = {}
    for kind in select():
        items_by_paper.setdefault(kind.paper, []).append(kind.id)
        if (kind.paper, kind.id) not in selected:  # so that links to it stay valid
            sources.copy(notebooks.path(kind), f"notebooks/{kind.paper}/{kind.id}.ipynb")
    sources.list_notebooks(items_by_paper)


def _pages(
    sources: Sources, entries: Sequence[Entry], sections: Sequence[Section], found: Sequence[answers.Answer]
) -> None:
    """Write the first page, the report, and a page for each section of the documents."""
    templates = view.environment()
    for section in sections:
        text = templates.get_template("section.md.j2").render(section=section)
        sources.write(f"{section.name}.md", text)
    papers_shown = view.papers(entries)
    first, *rest = (section.name for section in sections)
    asked = ["Explore <explore>"] if found else []
    order = [*asked, "Figures <figures>", "Papers <papers>", first, *rest[:2], "Notebooks <notebooks/index>", *rest[2:]]
    sources.write(
        "index.md",
        templates.get_template("index.md.j2").render(
            **view.front(entries, _HERO, _FIGURES), sections=order, live=answers.first(found), answers=len(found)
        ),
    )
    sources.write(
        "figures.md",
        templates.get_template("figures.md.j2").render(papers=papers_shown, groups=view.tiles(entries)),
    )
    sources.write(
        "papers.md",
        templates.get_template("papers.md.j2").render(
            papers=papers_shown,
            scores=view.scores(entries),
            unions=view.unions(entries),
            paper_link=lambda name: f"papers/{name}.html",
        ),
    )
    for paper in papers_shown:
        text = templates.get_template("paper.md.j2").render(
            paper=paper,
            link=lambda name: f"../{_FIGURES}/{name}",
            picture=lambda name: f"../{_FIGURES}/{name}",
        )
        sources.write(f"papers/{paper.about.paper}.md", text)
    package = resources.files("rdcnlab_papers.app.site")
    sources.write("conf.py", (package / "conf.py").read_text(encoding="utf-8"))
    for name in ("report.css", "site.css", "report.js", "excerpts.js", "interactive.js", "explore.js", "zoom.js"):
        text = (package / "static" / name).read_text(encoding="utf-8")
        sources.write(f"_static/{name}", text + (faces.style() if name == "report.css" else ""))


def _explore(sources: Sources, found: Sequence[answers.Answer]) -> None:
    """Write the page on which stored runs answer, and the film, which the first page shows before them."""
    if not found:
        return
    sources.copy(places.tree() / "docs/film.png", "extra/film.png")
    content = answers.data(found)
    page = (
        view.environment()
        .get_template("explore.md.j2")
        .render(
            count=len(found),
            data=content,
            # the text must not end the element
            answers=json.dumps(content, separators=(",", ":"), allow_nan=False).replace("</", "<\\/"),
        )
    )
    sources.write("explore.md", page)


def _interactive_pages(sources: Sources, entries: Sequence[Entry], cache: Path) -> None:
    """Write the pages on which a reader chooses what is drawn."""
    templates = view.environment()
    for entry in entries:
        for shown in entry.columns:
            if not shown.interactive:
                continue
            text = (cache / entry.paper / entry.id / shown.interactive).read_text(encoding="utf-8")
            content = json.loads(text)
            page = templates.get_template("interactive.md.j2").render(
                paper=entry.paper,
                item=entry.id,
                title=content["title"],
                says=content["says"],
                data=content,
                # the text must not end the element
                numbers=text.replace("</", "<\\/"),
            )
            sources.write(f"papers/{view.interactive_page(entry)}.md", page)


def _figures(sources: Sources, paths: Iterable[Path]) -> None:
    for path in paths:
        sources.copy(path, f"extra/{_FIGURES}/{path.name}")
        if path.suffix == ".png":
            sources.copy(path.with_name(thumb_name(path.name)), f"extra/{_FIGURES}/{thumb_name(path.name)}")


def _sphinx(source: Path, cache: Path, target: Path) -> tuple[Path, int]:
    """Let Sphinx build the site on all cores, and return its first page and the number of warnings."""
    log = cache / "sphinx.log"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-j",
        "auto",
        "-d",
        cache / "doctrees",
        "-w",
        log,
        source,
        target,
    ]
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    lines = []
    with bar(200, "%", shown=True) as progress:
        progress.set_description("Sphinx")
        for line in process.stdout:
            lines.append(line)
            if step := _STEP.search(line):
                work, percent, page = step.groups()
                progress.set_description(f"Sphinx, {work}: {page}", refresh=False)
                progress.update(int(percent) + 100 * (work == "writing output") - progress.n)
    if process.wait():
        log.write_text("".join(lines), encoding="utf-8")
        raise RunError("Sphinx could not build the site", log)
    shutil.rmtree(target / "_sources", ignore_errors=True)
    texts.write(target)
    return target / "index.html", len(log.read_text(encoding="utf-8").splitlines())
