# SPDX-License-Identifier: Apache-2.0
"""The faces of `item.score()` and `item.explain()`: whole text, verdicts with signs, one line a case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.analysis.intervals import Estimate
from rdcnlab.runs.store import Store
from rdcnlab_papers import aykurt, select
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items import claims, faces
from rdcnlab_papers.items.causes import Explained, Explanation
from rdcnlab_papers.items.judged import JudgedClaim, judged
from rdcnlab_papers.items.published import shipped_verdicts
from rdcnlab_papers.items.scored import ROWS, Scorecard
from rdcnlab_papers.items.verdicts import Verdict

CLAIM = claims.Claim.model_validate(
    {"id": "one", "text": "every variant gains more than 10 % <twice>", "expect": {"above": 10}, "unit": "%", "none": 0}
)
MEASURED = Measured({"cubic": Estimate(20, 15, 25), "bbr": Estimate(5, 3, 7), "reno": -2.0}, "a remark " * 40)


def row(**more: Any) -> JudgedClaim:
    return judged("aykurt", "fig4", "6.12", CLAIM, MEASURED, own=False, profile="quick", runs=9, **more)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_case_is_a_line_with_its_own_verdict() -> None:
    assert [(case.case, case.verdict) for case in row().cases] == [
        ("cubic", "reproduced"), ("bbr", "partly"), ("reno", "differs"),
    ]  # fmt: skip
    lines = repr(Scorecard((row(),))).splitlines()
    for sign, case in (("✓", "cubic: 20 % (15 to 25)"), ("◐", "bbr: 5 % (3 to 7)"), ("✗", "reno: -2 %")):
        assert any(f"{sign} {case}" in line for line in lines)
    html = Scorecard((row(),))._repr_html_()
    assert html.count("<li><span") >= 3
    assert "every variant gains more than 10 % &lt;twice&gt;" in html


def test_a_weak_claim_says_why_little_follows_from_it() -> None:
    why = "one setting decides this claim & two others"
    weak = judged(
        "aykurt", "fig4", "6.12", CLAIM.model_copy(update={"weak": why}), MEASURED,
        own=False, profile="paper", runs=9,
    )  # fmt: skip
    assert weak.counted
    assert f"weak      {why}" in repr(Scorecard((weak,)))
    assert "weak: one setting decides this claim &amp; two others" in Scorecard((weak,))._repr_html_()
    assert "weak" not in repr(Scorecard((row(),)))


def test_no_text_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    words = "A cause that takes many words, " * 20
    explained = Explained("one", CLAIM.text, words.strip(), "", (), "", "differs")
    for shown in (
        Scorecard((row(shipped="reproduced"),)),
        Explanation("causes", (explained,)),
    ):
        text, html = repr(shown), shown._repr_html_()
        assert max(len(line) for line in text.splitlines()) <= 60
        assert "…" not in text
        for whole in (MEASURED.note.strip(),) if isinstance(shown, Scorecard) else (words.strip(),):
            assert whole in " ".join(text.split())
            # a long text is folded after its beginning, and whole
            beginning, rest = faces.split(whole)
            assert beginning in html
            assert rest in html
            assert "<details>" in html


def test_verdicts_from_few_runs_stand_beside_those_of_the_paper_profile() -> None:
    card = Scorecard((row(shipped="reproduced"),))
    assert "✗ differs  (paper profile: ✓ reproduced)" in repr(card)
    assert card.summary == "1 differs. Paper profile: 1 reproduced."
    assert card._repr_html_().count("rlc-badge rlc-reproduced") == 2  # and one in the legend
    assert "paper profile" not in repr(Scorecard((row(),))).lower()


def test_the_score_says_what_its_verdicts_mean() -> None:
    text = repr(Scorecard((row(shipped="reproduced"),)))
    for verdict, face in faces.FACES.items():
        assert (" ".join(f"{face.sign} {verdict} {face.meaning}".split()) in " ".join(text.split())) == (
            verdict in ("differs", "reproduced")
        )
        assert face.meaning in Scorecard((row(),))._repr_html_()


def test_colours_of_verdicts_can_be_read_and_signs_differ() -> None:
    assert set(faces.FACES) == set(Verdict)
    assert len({face.sign for face in faces.FACES.values()}) == len(Verdict)
    for face in faces.FACES.values():
        low, high = sorted((luminance(face.ink), luminance(face.ground)))
        assert (high + 0.05) / (low + 0.05) >= 7


@pytest.mark.usefixtures("fake_engine")
def test_an_item_with_few_runs_has_the_shipped_verdicts_unless_it_was_changed(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    shipped = shipped_verdicts("aykurt", "fig8a", "6.12")
    assert set(shipped.values()) <= set(Verdict)
    quick = aykurt.fig8a(seeds=1)
    assert {row.claim: row.shipped for row in quick.rows(quick.run(store=store, progress=False))} == shipped
    assert aykurt.fig8a(seeds=2).shipped_verdicts == shipped
    assert aykurt.fig8a(changes={"limit": "30 s"}).shipped_verdicts == {}
    assert {row.shipped for row in quick.rows(None)} == {""}


def test_verdicts_are_known_of_every_item_and_column() -> None:
    for kind in select():
        for column in kind.columns():
            claimed = {claim.id for claim in claims.paper(kind.paper).item(kind.id).claims}
            assert set(shipped_verdicts(kind.paper, kind.id, column.id)) == claimed


def test_a_notebook_gets_text_and_html_and_nothing_of_the_terminals(tmp_path: Path) -> None:
    import nbformat

    from rdcnlab.app import notebook_file
    from rdcnlab_papers.app import notebooks
    from rdcnlab_papers.app.reproduce.all import rows_of

    source = (
        "from rdcnlab_papers import aykurt\nfrom rdcnlab_papers.items.scored import Scorecard\n"
        "Scorecard(tuple(aykurt.fig4().rows(None)))"
    )
    book = tmp_path / "book.ipynb"
    notebook_file.write(notebook_file.book([notebook_file.code_cell("card", source)]), book)
    executed = notebooks.execute(book, tmp_path / "done.ipynb", {})
    (output,) = executed.cells[-1].outputs
    # and for `rdcnlab reproduce`, which need not judge the claims again, the rows as they are
    assert set(output["data"]) == {"text/plain", "text/html", ROWS}
    assert rows_of(executed) == aykurt.fig4().rows(None)
    assert rows_of(executed) == rows_of(nbformat.read(tmp_path / "done.ipynb", as_version=4))
    assert output["data"]["text/plain"].startswith("aykurt/fig4, two CUBIC flows of 2 GB")
    assert "\x1b" not in output["data"]["text/plain"]
    assert "rlc-badge" in output["data"]["text/html"]
