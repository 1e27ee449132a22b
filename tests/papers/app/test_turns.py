# SPDX-License-Identifier: Apache-2.0
"""Which verdicts a change turns, on shipped runs: what they say is known, so no kernel is booted."""

from __future__ import annotations

import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.system import places
from rdcnlab_papers import aykurt, paper, select
from rdcnlab_papers.app.turns import _DECIDED, Turn, summary, turns
from rdcnlab_papers.app.turns import turned as turned_by

CAMPAIGN = pd.read_csv(places.tree() / "docs/findings/jitter.csv", keep_default_na=False)


def test_a_change_to_what_is_there_turns_nothing_and_asks_every_counted_claim() -> None:
    """Links have no jitter in the first column, so a jitter of 0 is the same scenario, whose runs are shipped."""
    rows = turns(aykurt.fig4, {"network.links.*.jitter": 0}, progress=False)
    counted = {row.claim for row in aykurt.fig4(profile="paper").rows(None) if row.counted}
    assert {row.claim for row in rows} == counted
    assert all(row.verdict == row.changed_verdict and row.measured == row.changed_measured for row in rows)
    assert all(row.other_verdict != "not run" for row in rows)
    assert any(row.other_measured != row.measured for row in rows), "other seeds give other numbers"
    assert "turns 0 of" in summary(rows)


def test_without_a_change_there_is_nothing_to_ask() -> None:
    with pytest.raises(InputError, match=r"network\.links"):
        turns(aykurt.fig4, {})


def test_only_decided_verdicts_turn_and_the_sentence_counts_them() -> None:
    verdicts = [
        ("reproduced", "reproduced", "differs"), ("differs", "partly", "differs"), ("undecided", "differs", "differs"),
        ("reproduced", "not run", "undecided"),
    ]  # fmt: skip
    rows = [Turn("p/i", "c", str(number), 3, *each, "", "", "") for number, each in enumerate(verdicts)]
    assert [row.by_change for row in rows] == [True, False, False, False]
    assert [row.by_seeds for row in rows] == [False, True, False, False]
    assert summary(rows) == (
        "The change turns 1 of 2 claims that are decided with and without it; other seeds turn 1 of 2. 4 claims in all."
    )


@pytest.mark.parametrize("name", ["aykurt/fig8a", "dogar/fig18", "tdtcp/fig7a"])
def test_the_table_of_jitter_has_todays_verdicts_without_it(name: str) -> None:
    (kind,) = select([name])
    item = kind(profile="paper", seeds=3)
    runs = item.stored_runs()
    assert runs is not None
    today = {row.claim: (row.verdict, row.measured) for row in item.rows(runs) if row.counted}
    said = CAMPAIGN[CAMPAIGN["item"] == name].set_index("claim")[["verdict", "measured"]]
    assert today == {str(claim): tuple(row) for claim, row in said.iterrows()}


def test_the_page_on_jitter_counts_the_rows_of_its_table() -> None:
    page = (places.tree() / "docs/findings/jitter.md").read_text()
    for paper_, rows in [*CAMPAIGN.groupby(CAMPAIGN["item"].str.partition("/")[0]), ("all", CAMPAIGN)]:
        counts = []
        for after in ("with_jitter", "other_seeds"):
            decided = rows[rows["verdict"].isin(_DECIDED) & rows[after].isin(_DECIDED)]
            counts.append(f"{sum(decided['verdict'] != decided[after])} of {len(decided)}")
        assert f"| {paper_} | {rows['item'].nunique()}, {len(rows)} | {' | '.join(counts)} |" in page
    turned = CAMPAIGN[[turned_by(*pair) for pair in zip(CAMPAIGN["verdict"], CAMPAIGN["with_jitter"], strict=True)]]
    assert all(f"`{claim}`" in page for claim in turned["claim"])


def test_each_item_can_be_asked_about_all_links() -> None:
    for name in ("carpa", "dogar", "tdtcp"):
        kind = paper(name).fig2
        assert all(
            link.jitter >= 2000
            for scenario in kind(changes={"network.links.*.jitter": "2 us"}).scenarios()
            for link in scenario.network.links
        )
