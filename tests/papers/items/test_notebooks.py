# SPDX-License-Identifier: Apache-2.0
"""Notebooks have the required form. `tests/app/test_cli.py` executes them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest

from rdcnlab.scenario import canonical_json
from rdcnlab.system import places
from rdcnlab_papers import select
from rdcnlab_papers.app import gallery
from rdcnlab_papers.app.notebooks import NETWORK
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.verdicts import Verdict

ITEMS = select()
ALL = sorted(places.notebooks().rglob("*.ipynb"))


def test_every_item_has_one_and_the_index_links_it() -> None:
    index = (places.notebooks() / "index.ipynb").read_text()
    for kind in ITEMS:
        path = Path(kind.paper) / f"{kind.id}.ipynb"
        assert (places.notebooks() / path).exists()
        assert str(path) in index


def test_the_index_is_a_gallery_that_needs_no_execution() -> None:
    """Every item has a small picture, and its words are a door to the item; nothing is computed when it opens."""
    cells = nbformat.read(places.notebooks() / "index.ipynb", nbformat.NO_CONVERT).cells
    assert {cell.cell_type for cell in cells} == {"markdown"}
    # pictures are on the first screen: few words come before them
    assert len(cells[0].source) < 500
    doors = re.findall(
        r"\[!\[[^]]+\]\(small/([a-z0-9-]+)\.webp\)<br>[^]]+\]\(([a-z0-9]+/[a-z0-9]+)\.ipynb\)", cells[1].source
    )
    names = [f"{kind.paper}/{kind.id}" for kind in ITEMS]
    assert doors == [(name.replace("/", "-"), name) for name in names]
    files = sorted((places.notebooks() / gallery.FOLDER).iterdir())
    assert [path.name for path in files] == sorted(f"{picture}.webp" for picture, _ in doors)
    # together with the index, less than the film of the README
    assert sum(path.stat().st_size for path in files) < 500_000


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_short_cells_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        assert not cell.outputs
        assert cell.execution_count is None
        assert len(cell.source.splitlines()) <= 12
        for node in ast.walk(ast.parse(cell.source)):
            assert not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda)
            assert not (isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names))
            assert not (isinstance(node, ast.Constant) and str(node.value).startswith("/"))


@pytest.mark.parametrize("kind", ITEMS, ids=lambda kind: f"{kind.paper}-{kind.id}")
def test_parameters_are_literals_that_the_item_takes(kind: type) -> None:
    notebook = nbformat.read(places.notebooks() / kind.paper / f"{kind.id}.ipynb", nbformat.NO_CONVERT)
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    values = {node.targets[0].id: ast.literal_eval(node.value) for node in ast.parse(cell.source).body}
    assert "=" not in "".join(str(value) for value in values.values())  # papermill would parse it wrongly
    values.pop("workers")
    assert set(values) <= set(kind.model_fields)
    # a reader sees what is stored; the other default parameters give the same scenarios as the item's defaults
    assert values["profile"] == "stored"
    asked = [scenario.to_dict() for scenario in kind(**{**values, "profile": "quick"}).scenarios()]
    assert canonical_json(asked) == canonical_json([scenario.to_dict() for scenario in kind().scenarios()])


@pytest.mark.parametrize("kind", ITEMS, ids=lambda kind: f"{kind.paper}-{kind.id}")
def test_known_causes_are_shown(kind: type) -> None:
    text = (places.notebooks() / kind.paper / f"{kind.id}.ipynb").read_text()
    assert ("item.explain(" in text) == bool(kind().causes())


@pytest.mark.parametrize("kind", ITEMS, ids=lambda kind: f"{kind.paper}-{kind.id}")
def test_a_reader_learns_what_is_asked_and_where_and_the_score_says_what_verdicts_mean(kind: type) -> None:
    notebook = nbformat.read(places.notebooks() / kind.paper / f"{kind.id}.ipynb", nbformat.NO_CONVERT)
    text = notebook.cells[0].source
    assert "?" in text.split("**What to look at.**")[0]
    assert "**What to look at.**" in text
    # said once, by the card of `item.score()`
    assert not [verdict for verdict in Verdict if f"- `{verdict}`" in text]
    # so few words that the figure begins on the first screen, of 900 pixels; what was learnt is below it
    assert len(text) < 2050
    # the figure comes first, then its score, then the network in words and as a picture
    cells = [cell.source for cell in notebook.cells]
    place = [cell.id for cell in notebook.cells].index(f"{kind.id}{NETWORK}")
    assert cells.index("item.plot(runs)") < cells.index("item.score(runs)") < place - 1
    assert cells[place - 1].startswith("**Network.** ")
    assert ("`column`" in text) == (len(claims.paper(kind.paper).choices_of(kind.id)) > 1)
