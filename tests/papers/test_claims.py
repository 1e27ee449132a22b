# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.analysis.measured import Measured
from rdcnlab.fields.errors import InputError
from rdcnlab.papers import claims, select
from rdcnlab.papers.claims import Claim, Expectation, Verdict, judge
from rdcnlab.papers.item import Item


@pytest.mark.parametrize(
    ("expectation", "good", "bad"),
    [
        ({"near": 3.47, "tolerance": "1 %"}, [3.47, 3.4353, 3.5047], [3.4352, 3.5048]),
        ({"near": 0.6, "tolerance": 0.15}, [0.45, 0.75], [0.44, 0.76]),
        ({"below": 10}, [9.9], [10]),
        ({"above": 0.95}, [0.96], [0.95]),
        ({"at_most": -0.9}, [-0.9, -1], [-0.89]),
        ({"at_least": 95}, [95], [94.9]),
        ({"equals": 0}, [0], [1]),
        ({"between": [1, 2.5]}, [1, 2.5], [0.99, 2.51]),
    ],
)
def test_relations(expectation: dict[str, Any], good: list[float], bad: list[float]) -> None:
    expect = Expectation.model_validate(expectation)
    assert all(expect.holds(value) for value in good)
    assert not any(expect.holds(value) for value in bad)
    assert not expect.holds(math.nan)
    assert expect.text("s")


@pytest.mark.parametrize("wrong", [{}, {"near": 1}, {"below": 1, "above": 2}, {"below": 1, "tolerance": "1 %"}])
def test_exactly_one_relation(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="one of near"):
        Expectation.model_validate(wrong)


def test_verdicts() -> None:
    claim = Claim(id="x", text="x", expect=Expectation(below=10), unit="ms")
    assert judge(claim, None) is Verdict.NOT_RUN
    assert judge(claim, Measured()) is Verdict.NOT_RUN
    assert judge(claim, Measured({"a": 1, "b": 2})) is Verdict.REPRODUCED
    assert judge(claim, Measured({"a": 1, "b": 20})) is Verdict.PARTLY
    assert judge(claim, Measured({"a": math.nan, "b": 20})) is Verdict.DIFFERS
    row = claims.row("p", "i", claim, Measured({"a": 1, "b": 20}, "why"), profile="quick", runs=3)
    assert row["verdict"] == "partly"
    assert row["expected"] == "< 10 ms"
    assert row["measured"] == "a: 1 ms, b: 20 ms; why"


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
    """A claim has one sentence for each of its causes, if all parameters have their defaults."""
    item = kind(profile="paper")
    shown = Counter(cause.claim for cause in item.causes())
    assert shown == {claim.id: len(claim.because) for claim in item.claims.claims if claim.because}


def test_a_broken_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "papers").mkdir(parents=True)
    (tmp_path / "data" / "papers" / "x.yaml").write_text("paper: x\nauthors: y\ntitle: 3\ntestbed: y\nitems: []\n")
    monkeypatch.setenv("RDCNLAB_TREE", str(tmp_path))
    with pytest.raises(InputError, match="title"):
        claims.paper("x")
