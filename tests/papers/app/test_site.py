# SPDX-License-Identifier: Apache-2.0
"""The report and the site: what they show of each item, what is made again, and that pages can be read by everybody."""

from __future__ import annotations

import functools
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from rdcnlab.app import notebook_file
from rdcnlab.engines.kernel import build as kernel_build
from rdcnlab.engines.kernel.switches.bmv2 import install
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.store import Store
from rdcnlab.runs.stored import seal
from rdcnlab.system import places
from rdcnlab_papers import aykurt
from rdcnlab_papers.app import notebooks, report, scorecard
from rdcnlab_papers.app.site import build, entry, executed, stored, view
from rdcnlab_papers.app.site.entries import collect
from rdcnlab_papers.app.site.entry import Entry
from rdcnlab_papers.app.site.others import Others, others
from rdcnlab_papers.app.site.shown import Shown, thumb_name, write_small
from rdcnlab_papers.app.site.sources import Sources
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.judged import JudgedClaim, from_data
from tests.papers.items.test_claims import two_columns


def row(claim: str, column: str, verdict: str, **more: Any) -> JudgedClaim:
    fields = {
        "paper": "aykurt", "item": "fig4", "claim": claim, "column": column, "text": f"the {claim}", "verdict": verdict,
        "expected": "> 1", "measured": "2", "cases": [{"case": "", "measured": "2", "verdict": verdict}], "note": "",
        "profile": "paper", "runs": 3, "shipped": "", "holds": "", "remark": "", "because": [],
        "tried": [], "own": False, "counted": True, "uncounted": "", "sign": False, "weak": "", "was": [], **more,
    }  # fmt: skip
    return from_data([fields])[0]


def item(*columns: tuple[str, list[JudgedClaim]]) -> Entry:
    shown = [Shown(name, f"testbed {name}", "paper", rows) for name, rows in columns]
    return Entry("aykurt", "fig4", "two flows", "It says.", False, shown)


def test_a_claim_has_all_columns_side_by_side() -> None:
    both = item(("a", [row("x", "a", "reproduced"), row("y", "a", "differs")]), ("b", [row("x", "b", "partly")]))
    first, second = view.claims_of(both)
    assert [(cell.column, cell.verdict) for cell in first.cells] == [("a", "reproduced"), ("b", "partly")]
    assert first.verdicts == "reproduced partly"
    assert second.verdicts == "differs"


def test_causes_are_shown_where_a_claim_does_not_hold_and_say_in_which_column() -> None:
    why = {"because": ["the buffer"], "tried": ["the card"]}
    second = ("b", [row("x", "b", "differs", **why)])
    (claim,) = view.claims_of(item(("a", [row("x", "a", "reproduced", **why)]), second))
    assert claim.causes == ["The buffer (column b)", "Cause unknown; tried: the card (column b)"]
    (claim,) = view.claims_of(item(("a", [row("x", "a", "partly", **why)]), second))
    assert claim.causes == ["The buffer", "Cause unknown; tried: the card"]
    (claim,) = view.claims_of(item(("a", [row("x", "a", "reproduced", **why)])))
    assert claim.causes == []
    # once the experiments have been run, a sentence says what was measured, and whether a candidate is ruled out
    one = item(second)
    experiments = [
        {"claim": "x", "because": "the buffer", "there": "5 Gb/s"},
        {"claim": "y", "because": "another claim's", "there": "7 Gb/s"},
        {"claim": "x", "because": "cause unknown; ruled out: the card", "there": "6 Gb/s"},
    ]
    (claim,) = view.claims_of(replace(one, columns=[replace(one.columns[0], explained=experiments)]))
    assert claim.causes == ["The buffer: 5 Gb/s", "Cause unknown; ruled out: the card: 6 Gb/s"]


def test_the_score_counts_by_paper_and_column() -> None:
    uncounted = row("z", "a", "differs", counted=False, uncounted="by construction")
    rows = [row("x", "a", "reproduced"), row("y", "a", "differs"), uncounted]
    (score,) = view.scores([item(("a", rows))])
    assert (score.reproduced, score.known, score.share, score.not_counted) == (1, 2, 50.0, 1)
    assert score.uncounted == {"by construction": 1}


def test_the_score_of_all_columns_counts_a_claim_once() -> None:
    """x holds in both columns, y in the second only, z in neither; w is not counted."""
    first = [row(claim, "a", verdict) for claim, verdict in (("x", "reproduced"), ("y", "differs"), ("z", "partly"))]
    second = [
        row(claim, "b", verdict) for claim, verdict in (("x", "reproduced"), ("y", "reproduced"), ("z", "differs"))
    ]
    uncounted = [row("w", column, "reproduced", counted=False, uncounted="used to calibrate") for column in "ab"]
    both = [item(("a", [*first, uncounted[0]]), ("b", [*second, uncounted[1]]))]
    (union,) = view.unions(both).values()
    assert (union.counted, union.reproduced, union.uncounted) == (3, 2, {"used to calibrate": 1})
    assert view.reasons(union.uncounted) == "1 used to calibrate"
    # what calibrates in one column only is counted in the other, and is no second claim there
    first.append(row("v", "a", "differs"))
    second.append(row("v", "b", "reproduced", counted=False, uncounted="used to calibrate"))
    (union,) = view.unions([item(("a", first), ("b", second))]).values()
    assert (union.counted, union.reproduced, union.uncounted) == (4, 2, {})


def test_four_numbers_of_a_paper_and_what_coins_would_give() -> None:
    """x holds in both columns, y in the second only and by its first wording in none, z ran in the first only."""
    was = {"text": "y", "expected": "> 2", "measured": "1", "verdict": "differs", "until": "2026-11-22"}
    three = [{"case": case, "measured": "2", "verdict": "reproduced"} for case in "pqr"]
    rows = [
        row("x", "6.12", "reproduced", sign=True),
        row("y", "6.12", "differs", sign=True, cases=three, was=[was]),
        row("z", "6.12", "reproduced"),
        row("w", "6.12", "reproduced", counted=False, uncounted="used to calibrate"),
        row("x", "4.15", "reproduced", sign=True),
        row("y", "4.15", "reproduced", sign=True, cases=three, was=[was]),
        row("z", "4.15", "not run"),
    ]
    score = scorecard.union(rows)
    assert (score.counted, score.in_primary, score.in_every, score.reproduced) == (3, 2, 2, 3)
    assert (score.by_first_wordings, score.signs, score.signs_reproduced) == (2, 2, 2)
    # x: 1 - (1/2)^2, y: 1 - (1 - (1/2)^3)^2
    assert score.coins.expected == pytest.approx(3 / 4 + 15 / 64)
    assert score.coins_alike.expected == pytest.approx(3 / 4 + 3 / 4)
    assert score.words == (
        "2 of 3 counted claims reproduced in the first column, 2 in every column that ran, 3 in any column (100 %), "
        "2 by first wordings; 2 of 2 that are a sign only in any column, where coins would give 0.98 (0 to 2), "
        "or 1.5 (0 to 2) if the cases of a column fell alike"
    )
    last, every = scorecard.summary([*rows, replace(rows[0], paper="carpa")])[-2:]
    assert last.startswith("carpa, column 6.12: 1 of 1")
    assert every.startswith("all papers: 3 of 4 counted claims reproduced in the first column")


@pytest.mark.parametrize(("seconds", "words"), [(3.4, "3 s"), (90, "1.5 min"), (5400, "1.5 h")])
def test_durations(seconds: float, words: str) -> None:
    assert view.duration(seconds) == words


class Page(HTMLParser):
    """The tags of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture
def ran(fake_engine: None, pool_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with the runs of figure 8(a) in two columns."""
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    two_columns(monkeypatch)
    monkeypatch.setattr(aykurt.fig8a, "runs_of_profile", {"quick": 1, "paper": 2})
    for column in aykurt.fig8a.columns():
        aykurt.fig8a(profile="paper", column=column.id).run(progress=False)
    return Store()


def made(store: Store, folder: Path) -> Entry:
    return entry.make(aykurt.fig8a, store, folder, entry.stamp(aykurt.fig8a, store), execute=False)


def test_an_entry_has_figure_numbers_and_words_in_each_column(ran: Store, tmp_path: Path) -> None:
    found = made(ran, tmp_path / "entry")
    assert [shown.column for shown in found.columns] == ["a", "b"]
    for shown in found.columns:
        assert (tmp_path / "entry" / shown.figure).read_bytes().startswith(b"\x89PNG")
        numbers = pd.read_csv(tmp_path / "entry" / shown.data)
        assert set(numbers["kind"]) >= {"line"}
        assert "mean of a cycle [Gb/s]" in shown.alt
        assert shown.runs == 4
        assert {each.verdict for each in shown.rows} == {"reproduced"}


def test_an_entry_is_made_again_only_if_an_input_changed(
    ran: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "entry"
    stamp = entry.stamp(aykurt.fig8a, ran)
    assert entry.current(folder, stamp) is None
    found = made(ran, folder)
    assert entry.current(folder, entry.stamp(aykurt.fig8a, Store())) == found
    # a run with other bytes
    path = next(ran.root.glob("*/digest.json"))
    text = path.read_text()
    path.write_text(text.replace('"flows":"', '"flows":"x'))
    seal(path.parent)
    assert entry.current(folder, entry.stamp(aykurt.fig8a, Store())) is None
    path.write_text(text)
    seal(path.parent)
    assert entry.current(folder, entry.stamp(aykurt.fig8a, Store())) == found
    # another claim
    known = claims.paper("aykurt")
    of_item = known.item("fig8a").model_copy(update={"title": "another"})
    others = tuple(of_item if each.id == "fig8a" else each for each in known.items)
    monkeypatch.setattr(claims, "paper", lambda name: known.model_copy(update={"items": others}))
    assert entry.current(folder, entry.stamp(aykurt.fig8a, Store())) is None


def test_an_item_without_runs_is_not_run_and_not_executed(
    fake_engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    (found,) = collect([aykurt.fig4], Store(), tmp_path / "entries", execute=True, workers=1)
    assert found.notebook == ""
    assert "not run" in found.unexecuted
    assert {each.verdict for shown in found.columns for each in shown.rows} == {"not run"}
    assert not Store().hashes()  # nothing was run for the site


def test_the_report_can_be_read_by_everybody(ran: Store, tmp_path: Path) -> None:
    page = Page(report.page([aykurt.fig8a], ran, tmp_path / "report"))
    assert [image["alt"] for image in page.of("img")] == [shown.alt for shown in made(ran, tmp_path / "e").columns]
    assert all(image["alt"] for image in page.of("img"))
    assert page.of("html") == [{"lang": "en"}]
    assert {box["value"] for box in page.of("input")} == {"reproduced", "partly", "undecided", "differs", "not-run"}
    assert all("scope" in head for head in page.of("th"))
    # a page of one file links to nothing beside it
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert {link["href"] for link in page.of("a")} <= {f"#{name}" for name in ids}
    # what scrolls can be reached by keyboard, and has a name
    for part in page.of("div"):
        if part.get("class") == "rl-scroll":
            assert part["tabindex"] == "0"
            assert part["aria-label"]


def test_text_of_papers_is_no_html() -> None:
    bad = item(("a", [row("<script>alert(1)</script>", "a", "differs", because=["a < b & c"])]))
    text = view.environment().get_template("item.html.j2").render(
        entry=bad, claims=view.claims_of(bad), link=str, picture=str
    )  # fmt: skip
    assert "<script>" not in text
    assert "A &lt; b &amp; c" in text


def test_a_notebook_that_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "notebooks" / "own.ipynb"
    source.parent.mkdir()
    notebook_file.write(notebook_file.read(places.notebooks() / "explore.ipynb"), source)
    monkeypatch.setattr(places, "notebooks", lambda: source.parent)
    asked = []

    def execute(source: Path, target: Path, *_: object) -> None:
        asked.append(source.name)
        if len(asked) == 1:
            raise RunError("there is no kernel", "")
        shutil.copy(source, target)

    monkeypatch.setattr(executed, "execute", execute)
    first = others(tmp_path / "kept")
    assert first.failed == {"own.ipynb": "there is no kernel"}
    assert "not executed for the site: there is no kernel" in first.paths["own.ipynb"].read_text()
    second = others(tmp_path / "kept")
    assert second.failed == {}
    assert "not executed" not in second.paths["own.ipynb"].read_text()
    others(tmp_path / "kept")
    assert len(asked) == 2  # what was executed is kept


def test_a_site_does_not_build_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    switches = places.notebooks() / "switches.ipynb"
    source = tmp_path / "notebooks" / "own.ipynb"
    source.parent.mkdir()
    notebook_file.write(notebook_file.read(places.notebooks() / "explore.ipynb"), source)
    monkeypatch.setattr(places, "notebooks", lambda: source.parent)
    monkeypatch.delenv("RDCNLAB_ENGINE", raising=False)
    asked: list[str] = []

    def execute(source: Path, target: Path, *_: object) -> None:
        asked.append(source.name)
        shutil.copy(source, target)

    monkeypatch.setattr(executed, "execute", execute)
    monkeypatch.setattr(kernel_build, "find", lambda: None)
    first = others(tmp_path / "kept")
    assert "rdcnlab kernel build" in first.lacking["own.ipynb"]
    assert "rdcnlab kernel build" in first.paths["own.ipynb"].read_text()
    assert (first.failed, asked) == ({}, [])
    monkeypatch.setattr(kernel_build, "find", lambda: "a kernel")
    assert others(tmp_path / "kept").lacking == {}
    assert asked == ["own.ipynb"]
    # and it installs no switch: a notebook without it is no failure
    monkeypatch.setattr(install, "missing", lambda: ["simple_switch"])
    shutil.copy(switches, source)
    without = others(tmp_path / "kept")
    assert without.failed == {}
    assert "BMv2 is not installed. To install it: make bmv2" in without.lacking["own.ipynb"]
    assert "BMv2 is not installed" in without.paths["own.ipynb"].read_text()
    assert asked == ["own.ipynb"]


def test_a_page_that_does_not_change_is_not_written(tmp_path: Path) -> None:
    first = Sources(tmp_path)
    first.write("a.md", "text")
    first.write("b.md", "old")
    (tmp_path / "a.md").touch()
    before = (tmp_path / "a.md").stat().st_mtime_ns
    second = Sources(tmp_path)
    second.write("a.md", "text")
    second.sweep()
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    assert not (tmp_path / "b.md").exists()


def test_every_document_is_in_a_section_and_links_lead_to_pages(tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    for path in places.notebooks().rglob("*.ipynb"):
        sources.copy(path, path.relative_to(places.tree()).as_posix())
    sections = sources.documents()
    listed = [page for section in sections for page in section.pages]
    assert len(listed) == len(set(listed))
    documents = {
        path.relative_to(places.tree()).with_suffix("").as_posix() for path in places.tree().glob("docs/**/*.md")
    }
    assert documents <= set(listed)
    # a directory is the page of its section, a file that is not on the site is plain text
    text = (tmp_path / "docs" / "README.md").read_text()
    assert "(../decisions.md)" in text
    assert "](../lib" not in text


def _unchanged(paths: dict[str, Path], kept: Path, *, progress: bool) -> Others:
    """Take the place of `others`, also in another process."""
    return Others(paths)


@pytest.mark.slow
def test_sphinx_builds_the_site_without_a_warning(ran: Store, tmp_path: Path) -> None:
    pytest.importorskip("myst_nb")
    with pytest.MonkeyPatch.context() as patch:
        notebooks_of_no_item = {each.name: each for each in places.notebooks().glob("*.ipynb")}
        patch.setattr(build, "others", functools.partial(_unchanged, notebooks_of_no_item))
        patch.setattr(build, "collect", lambda *_, **__: [made(ran, tmp_path / ".site/entries/aykurt/fig8a")])
        done = build.build([aykurt.fig8a], ran, tmp_path)
    assert done.warnings == 0, (tmp_path / ".site" / "sphinx.log").read_text()
    for name in ("index", "figures", "papers/aykurt"):
        path = tmp_path / "site" / f"{name}.html"
        page = Page(path.read_text())
        pictures = page.of("img")
        assert pictures, name
        if name != "figures":  # a small picture in the grid is named by the words beside it
            assert all(image.get("alt") for image in pictures)
        for image in pictures:
            assert (path.parent / str(image["src"])).exists()
    assert "fig8a" in (tmp_path / "site" / "_static" / "texts.js").read_text()
    # no page asks another site for anything; an anchor asks only when a reader follows it
    for path in (tmp_path / "site").rglob("*.html"):
        tags = [attributes for tag, attributes in Page(path.read_text()).tags if tag != "a"]
        asked = [attributes.get(name) or "" for attributes in tags for name in ("src", "srcset", "href", "data")]
        assert not [one for one in asked if "//" in one and not one.startswith("data:")], path
    for path in (tmp_path / "site").rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", path.read_text()), path
    assert "fig8a" in json.dumps((tmp_path / "site" / "searchindex.js").read_text())


def test_an_item_whose_library_is_missing_is_not_run_and_says_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "is_installed", lambda extra: False)
    rows = stored.judge(aykurt.tab3, Store(tmp_path / "runs"))
    assert {row.verdict for row in rows} == {"not run"}
    assert {row.remark for row in rows} == {"cannot be judged without: make models"}


def test_items_are_grouped_by_verdict_and_own_goals_count_only_where_nothing_else_does() -> None:
    held, mixed = (
        item(("a", [row("x", "a", "reproduced")])),
        item(("a", [row("x", "a", "reproduced"), row("y", "a", "differs")])),
    )
    goal = item(("a", [row("x", "a", "undecided", counted=False, own=True)]))
    assert {title: len(entries) for title, entries in view.grouped([held, mixed, goal]).items()} == {
        "All statements reproduced": 1, "Some statements reproduced": 1, "Open: undecided, or not run": 1,
    }  # fmt: skip
    assert "1 reproduced" in view.counts(mixed)
    assert "1 differs" in view.counts(mixed)
    (_, some, _) = view.tiles([held, mixed, goal])
    assert some.tiles[0].verdicts == "reproduced differs"


def test_a_failed_notebook_costs_neither_its_figure_nor_the_site_and_is_tried_again(
    ran: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RunError("the notebook aykurt/fig8a failed: NameError", "")

    monkeypatch.setattr(notebooks, "execute", fails)
    stamp = entry.stamp(aykurt.fig8a, ran)
    made_entry = entry.make(aykurt.fig8a, ran, tmp_path / "entry", stamp, execute=True)
    assert "NameError" in made_entry.failed
    assert made_entry.columns[0].figure
    assert entry.current(tmp_path / "entry", stamp) is None
    built = build.Built(tmp_path, 1, 4, 6, ["aykurt/fig8a: NameError"], ["own: no BMv2"], 0)
    assert (
        "4 of 6 notebooks executed, 1 failed: aykurt/fig8a: NameError, 1 not possible here: own: no BMv2"
        in built.summary
    )


def test_the_running_item_is_named_before_it_has_finished(
    ran: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    collect([aykurt.fig8a, aykurt.fig3], ran, tmp_path / "entries", execute=False, workers=1)
    assert "aykurt/fig8a:   0%" in capfd.readouterr().err


def test_a_small_picture_is_small(ran: Store, tmp_path: Path) -> None:
    shown = made(ran, tmp_path / "entry").columns[0]
    small = tmp_path / "entry" / thumb_name(shown.figure)
    assert small.stat().st_size < (tmp_path / "entry" / shown.figure).stat().st_size


def test_a_small_picture_has_all_panels(tmp_path: Path) -> None:
    """A picture four times as wide as high keeps its shape."""
    Image.new("RGB", (1600, 400)).save(tmp_path / "wide.png")
    write_small(tmp_path / "wide.png")
    with Image.open(tmp_path / thumb_name("wide.png")) as picture:
        assert picture.size == (560, 140)
