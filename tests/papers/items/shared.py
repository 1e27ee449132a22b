# SPDX-License-Identifier: Apache-2.0
"""What the tests of all papers ask of an item."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab_papers.items.item import Item


def judged(item: Item, store: Store, unclaimed: Collection[str] = ()) -> Runs:
    """Run an item, check that it draws, and that it judges every claim; return its runs.

    `unclaimed` are measurements that no claim asks for, which nobody would see otherwise.
    """
    assert {row.verdict for row in item.rows(None)} == {"not run"}
    runs = item.run(store=store, progress=False)
    assert len(runs) == len({scenario.hash for scenario in item.scenarios()})
    assert item.plot(runs)._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    rows = item.rows(runs)
    assert [row.claim for row in rows] == [claim.id for claim in item.claims.claims]
    known = {claim.id for claim in item.claims.claims} | set(unclaimed)
    assert {name.split(" was")[0] for name in item.measure(runs)} <= known
    assert list(item.score(runs).frame.columns) == ["text", "expected", "measured", "verdict", "remark"]
    return runs


def refused(kind: type[Item], parameters: dict[str, object], field: str, allowed: str) -> None:
    """Check that an item refuses parameters, and that the error names the field and what is allowed."""
    with pytest.raises(InputError) as caught:
        kind(**parameters)
    assert any(problem.field == field and allowed in problem.allowed for problem in caught.value.problems), caught.value
