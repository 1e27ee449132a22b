# SPDX-License-Identifier: Apache-2.0
"""Own runs beside shipped ones: equal bytes, within the range, outside of it, and settings that are not shipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab_papers import aykurt
from rdcnlab_papers.analysis import beside
from rdcnlab_papers.items.beside import ItemComparison, _within

pytestmark = pytest.mark.usefixtures("fake_engine")


def test_the_same_scenarios_are_equal_and_others_are_measured(two_flows: Scenario, tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    shipped = campaign([two_flows.with_(seed=seed) for seed in range(4)], store=store, progress=False)
    same = beside.compare(shipped.part(0, 2), shipped)
    assert (same.own, same.shipped, same.equal, same.outside_runs, same.unmatched) == (2, 4, 2, 0, 0)
    assert _within(same) == "Your 2 runs are equal, byte for byte, to runs among the 4 shipped ones."
    other = campaign([two_flows.with_(seed=1, size="1 MiB")], store=store, progress=False)
    unknown = beside.compare(other, shipped)
    assert (unknown.equal, unknown.unmatched) == (0, 1)
    assert "For the settings of 1 of them no run is shipped." in _within(unknown)


def test_a_run_outside_of_the_range_is_named(two_flows: Scenario, tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    runs = campaign([two_flows.with_(seed=seed) for seed in range(6)], store=store, progress=False)
    goodput = beside.goodput(runs)
    group = goodput["group"].iloc[0]
    extreme = int(goodput[goodput["group"] == group].sort_values("gbps")["run"].iloc[-1])
    own = runs.part(extreme, extreme + 1)
    rest = runs.select(lambda scenario: scenario.seed != runs[extreme].scenario.seed)
    compared = beside.compare(own, rest)
    assert (compared.outside_runs, compared.equal) == (1, 0)
    text = _within(compared)
    assert text.startswith("None of yours lies within the range of the 5 shipped ones. Outside of it: ")
    assert f"seed {runs[extreme].scenario.seed}" in text
    assert beside.plot(own, rest)._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_an_item_says_how_many_statements_the_shipped_runs_reproduce(tmp_path: Path) -> None:
    item = aykurt.fig8a(seeds=1)
    compared = item.beside(item.run(store=Store(tmp_path / "runs"), progress=False))
    verdicts = item.shipped_verdicts
    held = sum(verdict == "reproduced" for verdict in verdicts.values())
    assert f"The shipped runs reproduce {held} of {len(verdicts)} statements of the paper." in repr(compared)
    assert compared.figure is not None
    assert repr(ItemComparison("a sentence")) == "a sentence"


def test_a_profile_is_chosen_by_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.delenv("RDCNLAB_RESULTS", raising=False)
    assert aykurt.fig8a(profile="stored").profile == "paper"
    monkeypatch.setenv("RDCNLAB_RESULTS", "none")
    assert aykurt.fig8a(profile="stored").profile == "quick"
