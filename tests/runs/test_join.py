# SPDX-License-Identifier: Apache-2.0
"""The joined table of many runs has the same content as the tables of the single runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rdcnlab.engines import Outcome
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.join import looked_up, repeat_by_run, sorted_categories
from rdcnlab.runs.parts import CARRIED, GROUPS, WHOLE, Part
from rdcnlab.runs.run import Run
from rdcnlab.runs.shipped import Shipped, ship
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario
from tests.fake_engine import tables


def stored(store: Store, scenario: Scenario) -> Run:
    with store.workspace(run_id(scenario, "e")) as directory:
        return store.put(scenario, "e", Outcome(tables(scenario), {}), directory)


def one_by_one(runs: list[Run], name: str, part: Part = WHOLE) -> pd.DataFrame:
    """Read each run separately."""
    frames = [run.table(name, part).to_pandas().assign(run=index) for index, run in enumerate(runs)]
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize("part", [CARRIED, replace(CARRIED, sort=True), GROUPS], ids=["rows", "sorted", "groups"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_local_and_shipped_runs_are_joined_in_any_order(
    tmp_path: Path, store: Store, two_flows: Scenario, order: tuple[int, ...], part: Part
) -> None:
    """Rows that are sorted or added up are those of one run."""
    scenarios = [two_flows.with_(seed=seed) for seed in range(4)]
    for scenario in scenarios:
        stored(store, scenario)
    # two runs are adjacent in one file, one is in another file, and one is not shipped
    for item, some in (("a", scenarios[:2]), ("b", scenarios[2:3])):
        runs = [run for run in store if run.scenario in some]
        runs.sort(key=lambda run: run.scenario.seed)
        ship({run: {"throughput": part, "flows": WHOLE} for run in runs}, tmp_path / "results" / "paper" / item)
    mixed = Store(tmp_path / "mixed", shipped=Shipped(tmp_path / "results"))
    stored(mixed, scenarios[3])
    found = [mixed.find(scenarios[number], "e") for number in order]
    runs = [run for run in found if run is not None]
    assert [run.shipped for run in runs] == [number != 3 for number in order]
    joined = Runs(runs, {"throughput": part})
    for name, of_table in (("throughput", part), ("flows", WHOLE)):
        frame, expected = getattr(joined, name), one_by_one(runs, name, of_table)
        for column in expected.columns:
            assert frame[column].astype(expected[column].dtype).equals(expected[column]), (name, column)
    assert list(joined.throughput.groupby("run")["seed"].first()) == list(order)
    assert set(joined.throughput["cc"].unique()) == {"cubic"}
    assert isinstance(joined.throughput["flow"].dtype, pd.CategoricalDtype)


def test_no_runs_have_no_rows() -> None:
    assert Runs([]).flows.empty
    assert list(Runs([]).throughput.columns) == ["run"]


def test_categories_are_in_the_order_of_the_alphabet_and_may_be_missing() -> None:
    made = sorted_categories(["b", "a", "b"], np.array([0, 1, -1, 2]))
    assert list(made.categories) == ["a", "b"]
    assert made.astype(object).tolist()[:2] == ["b", "a"]
    assert list(made.isna()) == [False, False, True, False]


def test_values_of_runs_stand_beside_their_rows() -> None:
    places = np.array([0, 0, 1])
    assert list(repeat_by_run(["x", "y"], places, categories=True)) == ["x", "x", "y"]
    assert repeat_by_run([1, 2], places, categories=True).dtype == np.int64
    assert repeat_by_run([1, 0.5], places, categories=True).tolist() == [1.0, 1.0, 0.5]
    assert repeat_by_run([None, 5000], places, categories=True).tolist() == [None, None, 5000]


def test_a_flows_variant_is_that_of_its_run() -> None:
    flows = pd.Categorical(["f", "g", None, "f"], categories=["f", "g"])
    told = looked_up(flows, np.array([0, 0, 1, 1]), [{"f": "cubic", "g": None}, {"f": "bbr"}])
    assert [None if pd.isna(each) else each for each in told] == ["cubic", None, None, "bbr"]


def test_a_run_with_one_table_more_adds_parts_to_one_that_is_shipped(
    tmp_path: Path, store: Store, two_flows: Scenario
) -> None:
    """Runs that were shipped before there were ledgers have none. If a table differs, the first item's run counts."""
    run, root = stored(store, two_flows), tmp_path / "results"
    without = replace(run, digests={name: digest for name, digest in run.digests.items() if name != "queues"})
    ship({without: {"flows": WHOLE}}, root / "paper" / "a")
    ship({run: {"tcp": WHOLE}}, root / "paper" / "b")
    row = Shipped(root).row(two_flows.hash)
    assert row is not None
    assert set(row.copies) == {"flows", "tcp"}
    other = replace(run, digests={**run.digests, "flows": "0" * 64})
    ship({other: {"throughput": WHOLE}}, root / "paper" / "c")
    assert set(Shipped(root).row(two_flows.hash).copies) == {"flows", "tcp"}  # type: ignore[union-attr]
