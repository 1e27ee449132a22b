# SPDX-License-Identifier: Apache-2.0
"""A claim that does not hold on the shipped runs has a cause, or runs that rule causes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.papers import select
from rdcnlab.papers.item import Item
from rdcnlab.runs.store import Store


@pytest.mark.slow
@pytest.mark.parametrize("kind", select(), ids=lambda kind: f"{kind.paper}-{kind.id}")
def test_each_claim_that_does_not_hold_is_explained(kind: type[Item], tmp_path: Path) -> None:
    """The reason for ``undecided`` is in its row, that of a claim which depends on our inputs is in its text."""
    items = [kind(profile="paper", column=column.id) for column in kind.columns()]
    shipped = [(item, runs) for item in items if (runs := item.stored(Store(tmp_path / "runs"))) is not None]
    if not shipped:
        pytest.skip("no column's runs are shipped")
    for item, runs in shipped:
        rows = [row for row in item.rows(runs) if row["verdict"] in ("partly", "differs")]
        rows = [row for row in rows if row["counted"] or row["own"]]
        assert [row["claim"] for row in rows if not (row["because"] or row["ruled_out"])] == []
