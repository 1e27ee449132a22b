# SPDX-License-Identifier: Apache-2.0
"""Which verdicts a change turns, on shipped runs: what they say is known, so no kernel is booted."""

from __future__ import annotations

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab_papers import aykurt, paper
from rdcnlab_papers.app.turns import Turn, summary, turns


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


def test_each_item_can_be_asked_about_all_links() -> None:
    for name in ("carpa", "dogar", "tdtcp"):
        kind = paper(name).fig2
        assert all(
            link.jitter >= 2000
            for scenario in kind(changes={"network.links.*.jitter": "2 us"}).scenarios()
            for link in scenario.network.links
        )
