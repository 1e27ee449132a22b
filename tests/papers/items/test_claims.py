# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab_papers import aykurt, dogar, papers, select
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.claims import Claim, Paper
from rdcnlab_papers.items.expectation import Expectation
from rdcnlab_papers.items.item import Item


@pytest.mark.parametrize(
    ("expectation", "good", "bad", "text"),
    [
        ({"near": 3.47, "tolerance": "1 %"}, [3.47, 3.4353, 3.5047], [3.4352, 3.5048], "3.47 s ± 1 %"),
        ({"near": 0.6, "tolerance": 0.15}, [0.45, 0.75], [0.44, 0.76], "0.6 s ± 0.15"),
        ({"below": 10}, [9.9], [10], "< 10 s"),
        ({"above": 0.95}, [0.96], [0.95], "> 0.95 s"),
        ({"at_most": -0.9}, [-0.9, -1], [-0.89], "≤ -0.9 s"),
        ({"at_least": 95}, [95], [94.9], "≥ 95 s"),
        ({"equals": 0}, [0], [1], "= 0 s"),
        ({"between": [1, 2.5]}, [1, 2.5], [0.99, 2.51], "1 to 2.5 s"),
    ],
)
def test_relations(expectation: dict[str, Any], good: list[float], bad: list[float], text: str) -> None:
    expect = Expectation.model_validate(expectation)
    assert all(expect.holds(value) for value in good)
    assert not any(expect.holds(value) for value in bad)
    assert not expect.holds(math.nan)
    assert expect.text("s") == text


@pytest.mark.parametrize("wrong", [{}, {"near": 1}, {"below": 1, "above": 2}, {"below": 1, "tolerance": "1 %"}])
def test_exactly_one_relation(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="one of near"):
        Expectation.model_validate(wrong)


def test_the_direction_of_an_expectation() -> None:
    assert Expectation(near=24, tolerance="25 %").direction(0) == 1
    assert Expectation(at_most=-0.9).direction(0) == -1
    assert Expectation(between=(-10, 0)).direction(0) == -1
    assert Expectation(between=(-5, 5)).direction(0) == 0
    with pytest.raises(ValueError, match="'none' outside"):
        Claim(id="x", text="x", expect=Expectation(between=(-5, 5)), none=0)


@pytest.mark.parametrize(
    ("fields", "is_sign"),
    [
        ({"expect": {"above": 0}}, True),
        ({"expect": {"below": 0}, "unit": "%"}, True),
        ({"expect": {"above": 1}}, True),  # a ratio
        ({"expect": {"above": 1}, "none": 1}, True),
        ({"expect": {"below": 1}, "unit": "%"}, False),  # less than a percent
        ({"expect": {"above": 90}, "unit": "%", "none": 50}, False),
        ({"expect": {"above": 1.3}}, False),
        ({"expect": {"at_least": 0.9}, "none": 0}, False),
        ({"expect": {"near": 1, "tolerance": "10 %"}}, False),
        ({"expect": {"above": 0}, "some": "reproduced"}, False),
    ],
)
def test_a_sign_is_one_bound_that_is_no_effect(fields: dict[str, Any], is_sign: bool) -> None:
    assert Claim.model_validate({"id": "x", "text": "x", **fields}).is_sign == is_sign


def test_each_column_of_a_paper_has_a_name_that_needs_no_explanation() -> None:
    for name in papers():
        paper = claims.paper(name)
        for column, words in paper.names.items():
            assert words != column
            assert len(words) < 50


def test_papers_are_read() -> None:
    paper = claims.paper("aykurt")
    assert [item.id for item in paper.items] == [kind.id for kind in select(["aykurt"])]
    for item in paper.items:
        assert len({claim.id for claim in item.claims}) == len(item.claims)
    with pytest.raises(InputError, match="aykurt"):
        claims.paper("paris")
    with pytest.raises(InputError, match="fig4"):
        paper.item("fig99")


@pytest.mark.parametrize("kind", select(), ids=lambda kind: f"{kind.paper}-{kind.id}")
def test_each_cause_has_its_words(kind: type[Item]) -> None:
    """A claim has one sentence for each of its causes in each column, if all parameters have their defaults."""
    for column in kind.columns():
        item = kind(profile="paper", column=column.id)
        shown = Counter(cause.claim for cause in item.causes())
        words = {each.id: len(each.causes(column.id)) + len(each.candidates(column.id)) for each in item.claims.claims}
        assert shown == {claim: count for claim, count in words.items() if count}


TWO_COLUMNS: dict[str, Any] = {
    "paper": "x", "authors": "x", "title": "x", "testbed": "x",
    "columns": [{"id": "a", "title": "x"}, {"id": "b", "title": "y", "changes": {"transport.sack": False}}],
    "items": [
        {"id": "fig1", "title": "x", "says": "x", "claims": []},
        {"id": "fig2", "title": "x", "says": "x", "columns": ["b", "a"], "claims": []},
        {"id": "fig3", "title": "x", "says": "x", "columns": ["b"], "claims": []},
    ],
}  # fmt: skip


def test_an_item_is_scored_in_the_papers_first_column_or_in_those_that_it_lists() -> None:
    paper = Paper.model_validate(TWO_COLUMNS)
    columns = {item.id: [column.id for column in paper.columns_of(item.id)] for item in paper.items}
    assert columns == {"fig1": ["a"], "fig2": ["a", "b"], "fig3": ["b"]}
    choices = {item.id: [column.id for column in paper.choices_of(item.id)] for item in paper.items}
    assert choices == {"fig1": ["a", "b"], "fig2": ["a", "b"], "fig3": ["b"]}
    wrong = {**TWO_COLUMNS, "items": [{**TWO_COLUMNS["items"][0], "columns": ["c"]}]}
    with pytest.raises(ValueError, match="columns of the paper in fig1"):
        Paper.model_validate(wrong)


def test_causes_are_of_every_column_or_of_one() -> None:
    claim = Claim.model_validate(
        {"id": "x", "text": "x", "expect": {"above": 0}, "because": ["p", "q"], "tried": {"a": ["r"]}}
    )
    assert claim.causes("a") == claim.causes("b") == ("p", "q")
    assert (claim.candidates("a"), claim.candidates("b")) == (("r",), ())


@pytest.mark.parametrize(
    ("field", "kind"), [("calibrates", "used to calibrate"), ("input", "decided by our inputs")], ids=str
)
def test_a_claim_may_count_in_one_column_only(field: str, kind: str) -> None:
    asked = Claim.model_validate({"id": "x", "text": "x", "expect": {"above": 0}, field: {"b": "the delay"}})
    assert (asked.not_counted("a"), asked.not_counted("b")) == ("", f"{kind}: the delay")
    everywhere = asked.model_validate({"id": "x", "text": "x", "expect": {"above": 0}, field: "the delay"})
    assert everywhere.not_counted("a") == everywhere.not_counted("b") == f"{kind}: the delay"
    rows = [{"id": "fig4", "title": "x", "says": "x", "claims": [{"id": "x", "text": "x", "expect": {"above": 0}}]}]
    rows[0]["claims"][0][field] = {"c": "the delay"}  # type: ignore[index]
    with pytest.raises(ValueError, match="columns of the paper in fig4"):
        Paper.model_validate({**TWO_COLUMNS, "items": rows})


#: Claims that inputs decide, or whose verdict was known before the runs, with the columns in which they do not count.
DECIDED_BEFORE = {
    "dogar/fig4/bbr-more-than-large": {"calibrated", "cards"},
    "dogar/fig6/alike": {"calibrated", "cards"},
    "dogar/fig9/none-in-large": {"calibrated", "cards"},
    "dogar/fig15/nuftcp-none": {"literal"},
    "dogar/fig16/fewer": {"6.12", "literal", "ns3"},
    "carpa/fig8/at-0.1": {"6.12", "4.4", "calibrated"},
    "carpa/fig8/at-2": {"6.12", "4.4", "calibrated"},
    "carpa/fig10/no-collapse": {"calibrated"},
}


@pytest.mark.parametrize(("name", "columns"), DECIDED_BEFORE.items(), ids=list(DECIDED_BEFORE))
def test_what_inputs_decide_or_was_known_before_is_not_counted_there(name: str, columns: set[str]) -> None:
    paper, item, identifier = name.split("/")
    (claim,) = (one for one in claims.paper(paper).item(item).claims if one.id == identifier)
    of_item = [column.id for column in claims.paper(paper).columns_of(item)]
    assert {column for column in of_item if claim.reasons(column)} == columns


def test_weak_claims_are_counted_and_say_why_in_a_line_or_two() -> None:
    """Three claims of carpa that one setting decides name each other."""
    weak = {
        f"{kind.paper}/{kind.id}/{claim.id}": claim.weak
        for kind in select()
        for claim in kind().claims.claims
        if claim.weak
    }
    assert weak.keys() == {
        "aykurt/fig7/marks-against-retransmissions", "aykurt/fig10/tcp-takes-rest", "aykurt/fig15/r2",
        "carpa/fig7/recovers-quicker", "carpa/tab1/kernel-buffer", "carpa/fig11/constant", "carpa/fig11/limited",
        "dogar/tab3/reactive", "dogar/tab3/by-marks",
        "tdtcp/fig7b/retcpdyn-ahead", "tdtcp/fig14/retcpdyn-ahead",
        "vargas/fig3/red-same-maximum",
    }  # fmt: skip
    assert max(map(len, weak.values())) < 200
    three = {"carpa/tab1/kernel-buffer", "carpa/fig11/constant", "carpa/fig11/limited"}
    for name in three:
        assert all(f"`{other.rsplit('/', 1)[1]}`" in weak[name] for other in three - {name})


#: First wordings that were overwritten for some days, with the number of wordings before today's.
RESTORED = {
    "aykurt/fig4/apart-below-10": 1,
    "aykurt/fig5/growth-after-main": 3,
    "aykurt/fig6a/bbr-alone": 1,
    "aykurt/fig6a/bbr-after": 1,
    "aykurt/fig6b/larger-differences": 3,
    "aykurt/fig15/always-longer": 1,
    "tdtcp/fig10a/quiet-days": 2,
    "tdtcp/fig10a/mptcp-baseline": 2,
    "tdtcp/fig10b/p90-cubic": 2,
    "tdtcp/fig10b/p90-tdtcp": 2,
    "tdtcp/fig10b/most-cubic": 2,
    "tdtcp/fig10b/most-tdtcp": 2,
    "tdtcp/fig11/all-over-none": 1,
}


def test_first_wordings_stay_for_ever_in_the_order_of_their_days() -> None:
    was = {f"{kind.paper}/{kind.id}/{claim.id}": claim.was for kind in select() for claim in kind().claims.claims}
    assert {name: len(was[name]) for name in RESTORED} == RESTORED
    for name, wordings in was.items():
        days = [wording.until for wording in wordings]
        assert days == sorted(days), name
    assert was["aykurt/fig6b/larger-differences"][0].expect == Expectation(above=1)
    assert was["aykurt/fig5/growth-after-main"][0].expect == Expectation(at_least=95)


WITH_CHOICE = [
    kind
    for kind in select(["aykurt"])
    if "4.15" in [column.id for column in claims.paper("aykurt").choices_of(kind.id)]
]


@pytest.mark.parametrize("kind", WITH_CHOICE, ids=lambda kind: kind.id)
def test_each_item_of_aykurt_can_be_run_as_the_testbeds_kernel(kind: type[Item]) -> None:
    """Also by the number that a command line gives. The first column is the default."""
    item = kind(column=4.15)
    assert (item.column, kind().column) == ("4.15", "6.12")
    assert kind.columns()[0].id == "6.12"
    testbed = {"transport.like": "4.15", "offload.tso": 65_535, "limit": "240 s"}
    assert item.points()[0].with_(**testbed) == item.scenarios()[0]


def test_a_column_may_have_fewer_runs_and_an_item_its_own_number_there() -> None:
    def numbers(kind: type[Item]) -> dict[str, int]:
        named = [column.id for column in kind.columns() if not column.calibrated]
        return {column: kind(profile="paper", column=column).count for column in named}

    assert numbers(aykurt.fig11) == {"6.12": 30, "4.15": 10}
    assert numbers(aykurt.fig10) == {"6.12": 30, "4.15": 30}
    assert numbers(dogar.tab3) == {"6.12": 10, "literal": 3, "ns3": 3}
    assert dogar.tab3().count == 1, "the quick profile has its own number"
    with pytest.raises(ValueError, match="columns of the paper in fig1"):
        Paper.model_validate({**TWO_COLUMNS, "items": [{**TWO_COLUMNS["items"][0], "runs": {"c": 3}}]})


def two_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all items of aykurt two columns; the scenarios of the second have another transport."""
    _with_columns(monkeypatch, [claims.Column.model_validate(column) for column in TWO_COLUMNS["columns"]])


def first_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all items of aykurt the first column alone."""
    _with_columns(monkeypatch, claims.paper("aykurt").columns[:1])


def _with_columns(monkeypatch: pytest.MonkeyPatch, columns: Sequence[claims.Column]) -> None:
    paper, names = claims.paper("aykurt"), tuple(column.id for column in columns)
    items = tuple(item.model_copy(update={"columns": names}) for item in paper.items)
    changed = paper.model_copy(update={"columns": tuple(columns), "items": items})
    monkeypatch.setattr(claims, "paper", lambda name: changed)


def test_a_column_changes_every_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    two_columns(monkeypatch)
    first, second = (aykurt.fig4(**column) for column in ({}, {"column": "b"}))
    assert (first.column, second.column) == ("a", "b")
    assert {scenario.transport.sack for scenario in first.scenarios()} == {True}
    assert {scenario.transport.sack for scenario in second.scenarios()} == {False}
    assert {cause.shown_by.column for cause in second.causes()} == {"b"}
    # the item's own changes come after those of its column
    assert aykurt.fig4(column="b", changes={"transport.sack": True}).scenarios()[0].transport.sack
    assert [row.column for row in second.rows(None)] == ["b"] * len(second.claims.claims)
    with pytest.raises(InputError, match=r"column: there is no column 'c'\. Possible: a, b"):
        aykurt.fig4(column="c")


def test_a_broken_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "papers").mkdir(parents=True)
    (tmp_path / "data" / "papers" / "x.yaml").write_text("paper: x\nauthors: y\ntitle: 3\ntestbed: y\nitems: []\n")
    monkeypatch.setenv("RDCNLAB_TREE", str(tmp_path))
    with pytest.raises(InputError, match="title"):
        claims.paper("x")
