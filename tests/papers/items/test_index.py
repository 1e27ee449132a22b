# SPDX-License-Identifier: Apache-2.0
"""A figure has three files, and the lists of figures are generated from them."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.store import Store
from rdcnlab.system import extras, places
from rdcnlab_papers import aykurt, papers, select
from rdcnlab_papers.app import index
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.item import Item
from tests.papers.conftest import Judged
from tests.test_documents import assert_says, in_one_line

STALE = "a list of figures is stale; this writes it: tools/index"


def test_the_lists_of_figures_are_what_the_figures_say() -> None:
    lists = index.generate_files(scored=False)
    assert {path: path.read_text() for path in lists} == lists, STALE


@pytest.mark.slow
def test_documents_count_the_notebooks_and_the_runs_of_the_quick_profile() -> None:
    clone, appendix = (in_one_line(places.tree() / "docs" / name) for name in ("clone.md", "artifact-appendix.md"))
    items = [kind(profile="quick") for kind in select()]
    assert_says(clone, "executes all # notebooks", len(items))
    assert_says(appendix, "one notebook for each of # figures", len(items))
    hashes = {f"{item.paper}/{item.id}": {scenario.hash for scenario in item.scenarios()} for item in items}
    proposed = hashes.pop("vargas/tuner")
    runs = len(set[str]().union(*hashes.values()))
    assert_says(clone, "makes # runs of its own, and # that the tuner proposes", runs, len(proposed))
    assert_says(appendix, "has # runs, and # that the tuner proposes", runs, len(proposed))


@pytest.mark.slow
@pytest.mark.parametrize("kind", select(), ids=lambda kind: f"{kind.paper}-{kind.id}")
def test_every_verdict_and_every_number_is_what_it_was(kind: type[Item], judged: Judged) -> None:
    """Numbers may differ by a unit of their last digit: another processor may round another way."""
    name = f"{kind.paper}/{kind.id}/"
    before = json.loads((places.tree() / index.SCORES).read_text())
    before = {claim: numbers for claim, numbers in before.items() if claim.startswith(name)}
    now = json.loads(index.numbers(judged(kind)))
    assert now.keys() == before.keys(), STALE
    for claim, (verdict, measured) in now.items():
        words, numbers = _split(measured)
        words_before, numbers_before = _split(before[claim][1])
        assert (verdict, words) == (before[claim][0], words_before), f"{claim}: {STALE}"
        assert numbers == pytest.approx(numbers_before, rel=0.002, abs=1e-9), f"{claim}: {STALE}"


def _split(measured: str) -> tuple[list[str], list[float]]:
    """Return the words and the numbers of a measurement."""
    parts = re.split(r"(?<![\w.])(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w.]*\w)", measured)
    return parts[::2], [float(number) for number in parts[1::2]]


@pytest.mark.slow
def test_the_tables_of_the_documents_are_what_the_figures_and_the_shipped_runs_say(judged: Judged) -> None:
    lists = index.generate_files(judge=lambda names, _store: [row for kind in select(names) for row in judged(kind)])
    for name in index.SCORED:
        assert (places.tree() / name).read_text() == lists[places.tree() / name], STALE


def test_claims_are_not_judged_without_the_libraries_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(RunError, match=r"keras.*install with"):
        index.generate_files()


def test_a_figure_that_lacks_a_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = claims.paper("aykurt")
    more = whole.items[0].model_copy(update={"id": "fig99"})
    for items, missing in (
        ((*whole.items, more), "fig99.*fig99.py"),
        (whole.items[1:], "tab1.*claims are in data/papers/aykurt.yaml"),
    ):
        changed = whole.model_copy(update={"items": items})
        monkeypatch.setattr(index.claims, "paper", lambda name, changed=changed: changed)
        with pytest.raises(InputError, match=missing):
            index.generate_files(scored=False)


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    """The command line's help imports neither pandas nor an item. Access to one item imports only this item."""
    probe = (
        "import sys, rdcnlab.app.cli; from rdcnlab_papers import aykurt, tdtcp; assert 'pandas' not in sys.modules; "
        "aykurt.fig4; print(*(name for name in sys.modules if name.startswith('rdcnlab_papers.') and 'fig' in name))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["rdcnlab_papers.aykurt.fig4"]


def test_an_item_is_the_class_however_its_module_was_imported() -> None:
    probe = (
        "import rdcnlab_papers.aykurt.fig6b as first; from rdcnlab_papers.aykurt.fig6a import Fig6a; "
        "from rdcnlab_papers import aykurt; assert aykurt.fig6a is Fig6a; assert aykurt.fig6b.id == 'fig6b'; "
        "assert aykurt.fig6a.paper == 'aykurt'; assert 'fig4' in dir(aykurt); aykurt.fig99"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert "AttributeError: module 'rdcnlab_papers.aykurt' has no attribute 'fig99'" in done.stderr


def test_items_are_named_as_their_files() -> None:
    assert [f"{kind.paper}/{kind.id}" for kind in select()] == [
        f"{name}/{item.id}" for name in papers() for item in claims.paper(name).items
    ]


@pytest.fixture
def shallow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Item]:
    """The item that docs/new-figure.md describes, made from the text of that file."""
    blocks = dict(
        re.findall(r"```(yaml|python)\n(.*?)```", (places.tree() / "docs" / "new-figure.md").read_text(), re.S)[:2]
    )
    assert len(blocks["python"].splitlines()) < 60
    paper = yaml.safe_load((places.papers() / "aykurt.yaml").read_text())
    paper["items"] += yaml.safe_load(blocks["yaml"])
    (tmp_path / "shallow.py").write_text(blocks["python"])
    spec = importlib.util.spec_from_file_location("rdcnlab_papers.aykurt.shallow", tmp_path / "shallow.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    changed = claims.Paper.model_validate(paper)
    monkeypatch.setattr(claims, "paper", lambda name: changed)
    kind: type[Item] = module.Shallow
    return kind


@pytest.mark.usefixtures("fake_engine")
def test_the_example_of_the_guide_works(shallow: type[Item], store: Store) -> None:
    item = shallow(seeds=2)
    assert (item.paper, item.id) == ("aykurt", "shallow")
    assert item.id not in aykurt.ITEMS
    runs = item.run(store=store, progress=False)
    assert len(runs) == 8
    assert item.plot(runs)._repr_png_().startswith(b"\x89PNG")
    rows = {row.claim: row for row in item.rows(runs)}
    assert list(rows) == ["behind", "less-with-more"]
    assert rows["behind"].measured.startswith("500 kB: ")
    with pytest.raises(InputError, match="buffers_kB"):
        shallow(buffers_kB=[])
