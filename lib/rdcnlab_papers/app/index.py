# SPDX-License-Identifier: Apache-2.0
"""Generate the lists of figures (packages of the papers, index notebook, documents), the reference and the scores.

A figure has three parts: its claims in ``data/papers/<paper>.yaml``, ``lib/rdcnlab_papers/<paper>/<item>.py`` and
``notebooks/<paper>/<item>.ipynb``. ``tools/index`` generates the lists from them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rdcnlab_papers
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs import manifest, sums
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.system import extras, places
from rdcnlab_papers import full_names, select
from rdcnlab_papers.app import gallery, reference, scorecard
from rdcnlab_papers.app.site.stored import judge_all
from rdcnlab_papers.benchmarks import paired
from rdcnlab_papers.benchmarks.compared import USUAL, Comparison
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.items.judged import Rows
from rdcnlab_papers.items.verdicts import Verdict

#: The papers are between these lines of the README, and the other tables between these of their documents.
_PAPERS = "<!-- papers: written by tools/index -->", "<!-- end of papers -->"
_COMPARISON = "<!-- comparison: written by tools/index -->", "<!-- end of comparison -->"
_FIGURES = "<!-- figures: written by tools/index -->", "<!-- end of figures -->"
_SCORE = "<!-- score: written by tools/index -->", "<!-- end of score -->"
#: Documents that tell numbers of runs and verdicts.
SCORED = ("README.md", "docs/figures.md", "docs/artifact-appendix.md", "docs/architectures.md")
#: The item of the table of transports on architectures.
COMPARED = "tdtcp/architectures"
#: The verdicts, and the numbers behind them.
SCORES = "data/scores.json"
#: The cell of the index notebook that lists the figures.
_CELL = "index-figures"
#: Letters of a line with names of items, at most.
_WIDTH = 110


#: Judges the claims of items from their stored runs.
Judge = Callable[[Sequence[str], Store], Rows]


def generate_files(*, scored: bool = True, judge: Judge = judge_all) -> dict[Path, str]:
    """Return the correct text of every generated file.

    Parameters
    ----------
    scored : bool
        Include the files that tell numbers of runs and verdicts (`SCORED`). They take a minute, because all runs are
        counted and all claims are judged.
    judge : callable
        Judges the claims.

    Raises
    ------
    InputError
        A figure lacks one of its three parts, or a document has no place for its table.
    RunError
        A library is missing that is needed to judge claims; they would count as not run.
    """
    if scored:
        extras.require("models")
    paper_claims = [claims.paper(name) for name in own()]
    for paper in paper_claims:
        _complete(paper)
    texts = {_package(paper.paper): registration(paper) for paper in paper_claims}
    notebook = places.notebooks() / "index.ipynb"
    texts[notebook] = _with_cell(notebook.read_text(encoding="utf-8"), "\n".join(map(gallery.section, paper_claims)))
    texts |= reference.generate_pages()
    if scored:
        texts |= _scored(select(own()), judge)
    return texts


def _scored(kinds: list[type[Item]], judge: Judge) -> dict[Path, str]:
    wall_s = {row.hash: float(row.provenance["wall_s"]) for row in Shipped()}
    with nothing_local() as store:
        rows = judge(full_names(own()), store)
        hashes = {kind: Hashes.of(kind) for kind in kinds}
        readme, figures, appendix, architectures = (places.tree() / name for name in SCORED)
        tables = {
            readme: {_PAPERS: overview(hashes, rows, wall_s)},
            figures: {_FIGURES: table(hashes, wall_s)},
            appendix: {_SCORE: score(hashes, rows, wall_s)},
            architectures: {_COMPARISON: comparison(store)},
        }
    texts = {path: _with_tables(path, by_marks) for path, by_marks in tables.items()}
    return {**texts, places.tree() / SCORES: numbers(rows)}


def numbers(rows: Rows) -> str:
    """Return the verdict on each claim and the numbers behind it as JSON, a line for each claim.

    A change of a number that was not meant shows itself in this file.
    """
    lines = []
    for row in rows:
        claim = f"{row.paper}/{row.item}/{row.column}/{row.claim}"
        lines.append(f"{json.dumps(claim)}: {json.dumps([row.verdict, row.measured])}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


@contextlib.contextmanager
def nothing_local() -> Iterator[Store]:
    """Hide the runs and models of this machine, also from other processes, and yield an empty store."""
    before = os.environ.get("RDCNLAB_MODELS")
    with tempfile.TemporaryDirectory() as directory:
        # a model decides which runs the tuner has
        os.environ["RDCNLAB_MODELS"] = directory
        try:
            yield Store(Path(directory) / "none")
        finally:
            del os.environ["RDCNLAB_MODELS"]
            if before is not None:
                os.environ["RDCNLAB_MODELS"] = before


def write() -> list[Path]:
    """Write the generated files that are not up to date, and return their paths."""
    results = places.shipped_results()
    listed = [results / sums.NAME] if manifest.complete(results) else []
    changed = [
        (path, text) for path, text in generate_files().items() if not path.exists() or path.read_text("utf-8") != text
    ]
    for path, text in changed:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [*listed, *(path for path, _ in changed)]


def registration(paper: claims.Paper) -> str:
    """Return the source of the package of a paper. It names the items but does not import them."""
    names = [item.id for item in paper.items]
    imports = "".join(
        f"    from rdcnlab_papers.{paper.paper}.{name} import {name.capitalize()} as {name}\n"
        for name in sorted(names, key=_natural)
    )
    listed = textwrap.indent(textwrap.fill(", ".join(f'"{name}"' for name in names), _WIDTH), "    ")
    return f'''# SPDX-License-Identifier: Apache-2.0
# Written by tools/index from data/papers/{paper.paper}.yaml: change that.
"""{paper.authors}, "{paper.title}"."""

import sys
from typing import TYPE_CHECKING

from rdcnlab_papers.items.lazy import Package

if TYPE_CHECKING:
{imports}
#: All items, in the order of the paper. Each is imported when it is first asked for.
__all__ = [  # noqa: RUF022
{listed},
]  # fmt: skip
ITEMS = tuple(__all__)

sys.modules[__name__].__class__ = Package
'''


@dataclass(frozen=True)
class Hashes:
    """The hashes of the scenarios of an item. To make the scenarios of all items takes a quarter of a minute.

    Parameters
    ----------
    by_column : dict of str to set of str
        Hashes of the item's own scenarios, by column.
    explaining : set of str
        Hashes of the scenarios of its experiments on causes, in all columns.
    """

    by_column: Mapping[str, set[str]]
    explaining: set[str]

    @classmethod
    def of(cls, kind: type[Item]) -> Hashes:
        """Make the scenarios of an item in the paper profile."""
        items = [kind(profile="paper", column=column.id) for column in kind.columns()]
        causes = [(item, cause.shown_by) for item in items for cause in item.causes()]
        # only causes whose experiments have runs of their own
        experiments = {id(shown): shown for item, shown in causes if shown is not item}
        by_column = {item.column: {scenario.hash for scenario in item.scenarios()} for item in items}
        return cls(by_column, {scenario.hash for item in experiments.values() for scenario in item.scenarios()})

    @property
    def own(self) -> set[str]:
        """Hashes of the item's own scenarios in all columns."""
        return set[str]().union(*self.by_column.values())


#: All items in their order, each with the hashes of its scenarios.
HashesByItem = Mapping[type[Item], Hashes]


def overview(hashes_by_item: HashesByItem, rows: Rows, wall_s: Mapping[str, float]) -> str:
    """Return the table of the README: a line for each paper.

    Parameters
    ----------
    hashes_by_item : dict of type of Item to Hashes
        All items.
    rows : sequence of JudgedClaim
        The scorecard of all of them, in all columns.
    wall_s : dict of str to float
        Wall-clock time of each shipped run, by the hash of its scenario.
    """
    head = (
        "paper",
        "notebooks",
        "runs, core-hours",
        "counted claims reproduced in the first testbed",
        "in any testbed; the others are",
        "signs only; by coins",
        "not counted",
    )
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    counted: set[str] = set()
    together = {union.paper: union for union in scorecard.unions(rows)}
    by_paper: dict[str, list[type[Item]]] = {}
    for kind in hashes_by_item:
        by_paper.setdefault(kind.paper, []).append(kind)
    for name, items in by_paper.items():
        of_items = [hashes_by_item[kind] for kind in items]
        hashes = set[str]().union(*(one.own | one.explaining for one in of_items)) & wall_s.keys() - counted
        counted |= hashes
        hours = sum(wall_s[scenario_hash] for scenario_hash in hashes) / 3600
        union = together[name]
        first, *more = claims.paper(name).names.values()
        others = f"; {'; '.join(more)}" if more else ""
        share = "" if union.share is None else f" ({union.share:.0f} %)"
        reasons = [f"{number} {reason}" for reason, number in union.uncounted.items()]
        cells = (
            f"{claims.paper(name).title} (`{name}`)",
            f"[{len(items)}](docs/figures.md#{name})",
            f"{len(hashes)}, {hours:.0f}",
            f"{first}: {union.in_primary} of {union.counted}",
            f"{union.reproduced} of {union.counted}{share}{others}",
            f"{union.signs_reproduced} of {union.signs}; {union.coins}",
            ", ".join(reasons),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", f"All papers: {scorecard.union(rows).words}."]
    return "\n".join(lines) + "\n"


def comparison(store: Store) -> str:
    """Return the table of transports on architectures.

    Raises
    ------
    RunError
        Runs of the item are not shipped.
    """
    (kind,) = select([COMPARED])
    item = kind(profile="paper")
    runs = item.stored_runs(store)
    if runs is None or not isinstance(item, Comparison):
        raise RunError(f"the table of transports needs all runs of {COMPARED}")
    ratios = paired.markdown(paired.pairs(item.flows(runs)), "web-search", USUAL, "cubic")
    content = item.interactive(runs)
    return f"{ratios}\n{content.note}\n" if content is not None and content.note else ratios


def table(hashes_by_item: HashesByItem, wall_s: Mapping[str, float]) -> str:
    """Return the tables of the figures: number and time of each one's runs, without the runs of figures above it.

    Parameters
    ----------
    hashes_by_item : dict of type of Item to Hashes
        All items; each paper has a table.
    wall_s : dict of str to float
        Wall-clock time of each shipped run, by the hash of its scenario.
    """
    lines: list[str] = []
    paper = ""
    counted: set[str] = set()
    timed: set[str] = set()
    for kind, of_item in hashes_by_item.items():
        hashes = of_item.own
        explaining = of_item.explaining - (counted | hashes)
        new = hashes - counted
        counts = {"": len(new), " of figures above": len(hashes & counted), " that explain": len(explaining)}
        parts = [f"{count}{words}" for words, count in counts.items() if count]
        own = (new | explaining) - timed
        counted |= hashes
        timed |= own
        if kind.paper != paper:
            paper = kind.paper
            title = claims.paper(paper).title
            head = ["| figure | runs, paper profile | core-minutes |", "|---|---|---|"]
            lines += ["", f"## {paper}", "", f"*{title}*", "", *head]
        path = f"../notebooks/{kind.paper}/{kind.id}.ipynb"
        lines.append(
            f"| [{kind.id}]({path}), {claims.paper(kind.paper).item(kind.id).title} "
            f"| {', '.join(parts) or 'chosen by the model'} | {_minutes(own, wall_s)} |"
        )
    return "\n".join(lines) + "\n"


def _minutes(own: set[str], wall_s: Mapping[str, float]) -> str:
    """Return the core-minutes of an item's own runs, with the number of shipped runs if some are not shipped."""
    shipped = own & wall_s.keys()
    if own and not shipped:
        return "not shipped"
    minutes = f"{sum(wall_s[scenario_hash] for scenario_hash in shipped) / 60:.0f}" if own else ""
    return minutes if shipped == own else f"{minutes}; {len(shipped)} of {len(own)} shipped"


def score(hashes_by_item: HashesByItem, rows: Rows, wall_s: Mapping[str, float]) -> str:
    """Return the table of the artefact appendix: verdicts of the counted claims from shipped runs, and their time."""
    hours = sum(wall_s.values()) / 3600
    names = [str(verdict) for verdict in Verdict]
    lines = [f"| paper, column | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for paper in scorecard.scores(rows):
        lines.append(f"| {paper.paper}, {paper.column} | {' | '.join(str(paper.verdicts[name]) for name in names)} |")
    lines += ["", f"{len(wall_s)} runs are shipped. They took {hours:.0f} core-hours."]
    if absent := _absent(hashes_by_item, set(wall_s)):
        intro = "Items that are `not run` until you make their runs, with the number of shipped runs:"
        lines += ["", intro, "", *absent]
    return "\n".join([*lines, ""])


def _absent(hashes_by_item: HashesByItem, shipped: set[str]) -> list[str]:
    """Return a line for each paper and column with items whose runs are not all shipped."""
    absent: dict[str, list[str]] = {}
    for kind, of_item in hashes_by_item.items():
        for column, hashes in of_item.by_column.items():
            if not hashes <= shipped:
                item = f"{kind.id} {len(hashes & shipped)} of {len(hashes)}"
                absent.setdefault(f"{kind.paper}, {column}", []).append(item)
    return [f"- {place}: {', '.join(items)}" for place, items in absent.items()]


def _complete(paper: claims.Paper) -> None:
    """Raise InputError if one of the three parts of a figure is missing."""
    folder, notebooks = _package(paper.paper).parent, places.notebooks() / paper.paper
    claimed = {item.id for item in paper.items}
    for name in claimed:
        for path in (folder / f"{name}.py", notebooks / f"{name}.ipynb"):
            if not path.exists():
                raise InputError.of("item", f"{paper.paper}/{name}", f"one that has {path.relative_to(places.tree())}")
    names = {path.stem for path in notebooks.glob("*.ipynb")}
    names |= {path.stem for path in folder.glob("*.py") if f"class {path.stem.capitalize()}(" in path.read_text()}
    for name in sorted(names - claimed):
        file = f"data/papers/{paper.paper}.yaml"
        raise InputError.of("item", f"{paper.paper}/{name}", f"one whose claims are in {file} ({', '.join(claimed)})")


def own() -> list[str]:
    """Return the names of our own papers, also of one that is being written."""
    return sorted(path.stem for path in places.papers().glob("*.yaml"))


def _package(paper: str) -> Path:
    return Path(rdcnlab_papers.__file__).parent / paper / "__init__.py"


def _natural(name: str) -> list[Any]:
    """Return a sort key that puts ``fig9`` before ``fig10``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _with_cell(text: str, source: str) -> str:
    """Return a notebook with a new text in the cell that lists the figures."""
    notebook = json.loads(text)
    (cell,) = (cell for cell in notebook["cells"] if cell["id"] == _CELL)
    cell["source"] = source.rstrip("\n").splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _with_tables(path: Path, by_marks: Mapping[tuple[str, str], str]) -> str:
    """Return a document with new texts, each between two lines."""
    text = path.read_text(encoding="utf-8")
    for marks, new in by_marks.items():
        before, begin, tail = text.partition(marks[0])
        _, end, after = tail.partition(marks[1])
        if not begin or not end:
            raise InputError.of(path.name, "no place for the table", f"the lines {' and '.join(marks)}")
        text = f"{before}{marks[0]}\n{new}{marks[1]}{after}"
    return text


if __name__ == "__main__":
    try:
        names = sys.argv[2:] if sys.argv[1:2] == ["pictures"] else None
        for changed in write() if names is None else gallery.write(names):
            print(changed.relative_to(places.tree()))
    except RunError as error:
        sys.exit(f"tools/index: {error}")
