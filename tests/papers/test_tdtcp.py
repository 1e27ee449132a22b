# SPDX-License-Identifier: Apache-2.0
"""The items' own logic, on the fluid model of `tests/fake_engine.py`; what TCP does is for the guest tests."""

from __future__ import annotations

import pytest

from rdcnlab.errors import InputError
from rdcnlab.items import Item
from rdcnlab.papers import tdtcp
from rdcnlab.shipped import Shipped
from rdcnlab.store import Store

#: Bins that the fluid model is quick with.
WIDE = {"probes.bin": "100 us"}
#: What needs a variant, or points, that are not asked for here.
WAITS = ("tdtcp", "mptcp", "retcp", "over-cubic", "over-dctcp", "slightly-below", "quiet-days", "falls-with")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One for all tests, because the figures share their runs."""
    directory = tmp_path_factory.mktemp("store")
    return Store(directory / "runs", shipped=Shipped(directory / "none"))


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize("kind", tdtcp.ITEMS, ids=lambda kind: kind.id)
def test_items_run_draw_and_judge_what_can_be_judged(kind: type[Item], store: Store) -> None:
    given = {"delays_us": [0, 10]} if kind is tdtcp.fig11 else {"variants": ["cubic"]}
    item = kind(**given, seeds=1, changes=WIDE)
    assert {row["verdict"] for row in item.rows(None)} == {"not run"}
    runs = item.run(store=store, progress=False)
    assert len(runs) == (3 if kind is tdtcp.fig11 else 1)
    assert item.plot(runs)._repr_png_().startswith(b"\x89PNG")
    rows = item.rows(runs)
    assert [row["claim"] for row in rows] == [claim.id for claim in item.claims.claims]
    waiting = [row for row in rows if any(word in row["claim"] for word in WAITS)]
    judged = [row for row in rows if row not in waiting and row["claim"] != "dctcp-below"]
    assert "not run" not in {row["verdict"] for row in judged}, rows
    assert {row["verdict"] for row in waiting} <= {"not run"}


@pytest.mark.usefixtures("fake_engine")
def test_results_are_in_network_time_whatever_the_dilation(store: Store) -> None:
    """The fluid model gives 16 flows a sixteenth of 10 Gb/s in every slot that is not dark, in the time it runs in."""
    rates = []
    for dilation in (1, 20):
        item = tdtcp.fig2(seeds=1, dilation=dilation, changes=WIDE)
        rates.append(item.goodput(item.run(store=store, progress=False)).loc["cubic", "mean"])
    assert rates[0] == pytest.approx(10 * 1380 / 1400, rel=0.05)
    assert rates[1] == pytest.approx(20 * rates[0], rel=0.01)


@pytest.mark.parametrize(
    ("parameters", "field", "allowed"),
    [
        ({"variants": ["bbr"]}, "variants[0]", "dctcp"),
        ({"variants": []}, "variants", "at least 1"),
        ({"duration": "3 s"}, "duration", "2 s"),
        ({"dilation": 10}, "dilation", "20"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        tdtcp.fig7a(**parameters)
    assert any(problem.field == field and allowed in problem.allowed for problem in caught.value.problems), caught.value
