# SPDX-License-Identifier: Apache-2.0
"""What is computed for each run is computed once, and a selection of the runs has the rows that it would compute."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from rdcnlab.runs import join, once
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import RowCache, RunCache, for_each_run
from rdcnlab.runs.parts import WHOLE
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario

Counted = list[list[int]]


def runs_of(scenario: Scenario, seeds: int) -> Runs:
    return Runs([Run(f"{seed}", scenario.with_(seed=seed), {}, {}, cast(Any, None)) for seed in range(seeds)])


def counting(calls: Counted) -> Any:
    """Return a function whose table has as many rows for a run as its seed, and that notes its calls."""

    @for_each_run
    def squares(runs: Runs, factor: int) -> pd.DataFrame:
        seeds = [run.scenario.seed for run in runs]
        calls.append(seeds)
        run = np.repeat(np.arange(len(runs)), seeds)
        return pd.DataFrame({"run": run, "value": factor * np.repeat(seeds, seeds) ** 2})

    return squares


def odd(scenario: Scenario) -> bool:
    return scenario.seed % 2 == 1


def test_a_selection_takes_its_rows_from_the_table_of_all_runs(two_flows: Scenario) -> None:
    calls: Counted = []
    squares, runs = counting(calls), runs_of(two_flows, 6)
    whole = squares(runs, 2)
    half = squares(runs.select(odd), 2)
    assert calls == [[0, 1, 2, 3, 4, 5]]
    assert whole["run"].value_counts().to_dict() == {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}
    # runs are numbered from 0 again, and the rows are those that the function computes for these runs alone
    pd.testing.assert_frame_equal(half.reset_index(drop=True), squares(runs_of(two_flows, 6), 2).pipe(of_odd))
    again = squares(runs.select(odd).part(1, 3), 2)
    assert again["run"].tolist() == [0] * 3 + [1] * 5
    assert again["value"].tolist() == [18] * 3 + [50] * 5
    assert len(calls) == 2


def of_odd(table: pd.DataFrame) -> pd.DataFrame:
    kept = table[table["run"] % 2 == 1]
    return kept.assign(run=kept["run"] // 2).reset_index(drop=True)


def test_other_options_runs_and_functions_have_tables_of_their_own(two_flows: Scenario) -> None:
    calls: Counted = []
    squares, runs = counting(calls), runs_of(two_flows, 4)
    assert squares(runs.select(odd), 1)["value"].tolist() == [1, 9, 9, 9]
    # the runs of a selection do not have those of the whole
    assert len(squares(runs, 1)) == 6
    assert squares(runs, 3)["value"].max() == 27
    assert counting(calls)(runs, 1)["value"].max() == 9
    assert calls == [[1, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]]
    # equal runs that were not selected from these are others: their tables may have other parts
    squares(runs_of(two_flows, 4), 1)
    assert len(calls) == 5


def test_what_is_written_into_a_table_is_not_kept(two_flows: Scenario) -> None:
    squares, runs = counting([]), runs_of(two_flows, 3)
    for _ in range(3):
        table = squares(runs, 1)
        assert table["value"].tolist() == [1, 4, 4]
        table["value"] = 0
        table.loc[0, "run"] = 9


def test_no_more_is_kept_than_there_is_room_for(two_flows: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counted = []
    squares, runs = counting(calls), runs_of(two_flows, 4)
    runs.cache = RunCache(most_bytes=squares(runs_of(two_flows, 4), 1).memory_usage().sum())
    calls.clear()
    for factor in (1, 2, 1, 2):
        squares(runs, factor)
    assert len(calls) == 3
    assert once.MOST_BYTES <= 2**27


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_tables_of_half_of_the_seeds_are_what_these_runs_alone_give(store: Store) -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers import aykurt
    from rdcnlab_papers.analysis import competition, windows

    item = aykurt.fig5(seeds=4, periods_ms=(50, 10))
    runs = item.run(store=store, progress=False)
    pairs = runs.select(lambda scenario: len(scenario.flows) == 2)
    for compute, some in ((competition.phases, pairs), (windows.sample, runs)):
        compute(some)
        half = some.select(odd)
        alone = Runs(list(half), item.parts)
        kept, computed = (compute(each).reset_index(drop=True) for each in (half, alone))
        assert len(kept) > 100
        pd.testing.assert_frame_equal(kept, computed, check_exact=True, check_categorical=False)


@pytest.fixture
def few(two_flows: Scenario, store: Store, fake_engine: None, pool_here: None) -> Runs:
    """Runs of four seeds."""
    return campaign([two_flows.with_(seed=seed) for seed in range(4)], store=store, progress=False, workers=1)


@pytest.mark.parametrize("some", [odd, lambda scenario: scenario.seed > 1], ids=["scattered", "adjacent"])
def test_rows_of_a_selection_are_read_once_and_are_those_of_these_runs_alone(
    few: Runs, monkeypatch: pytest.MonkeyPatch, some: Any
) -> None:
    reads: list[str] = []
    read = join.read_part
    monkeypatch.setattr(join, "read_part", lambda runs, name, part: reads.append(name) or read(runs, name, part))
    for name in ("flows", "throughput"):
        whole, half = getattr(few, name), getattr(few.select(some), name)
        assert reads == [name]
        alone = getattr(Runs([*few.select(some)]), name)
        assert 0 < len(half) < len(whole)
        assert half["run"].nunique() == 2
        pd.testing.assert_frame_equal(half, alone, check_exact=True, check_categorical=False)
        reads.clear()
    # a selection that was read first does not have the rows of the others
    again = Runs([*few])
    assert again.select(odd).flows["run"].nunique() == 2
    assert again.flows["run"].nunique() == 4
    assert reads == ["flows", "flows"]


def test_no_more_rows_are_kept_than_there_is_room_for(few: Runs) -> None:
    cache = RowCache(most_bytes=0)
    cache.keep("flows", few.indices, *join.read_part([*few], "flows", WHOLE))
    assert cache.find("flows", few.indices) is None
    assert once.MOST_ROW_BYTES <= 2**26
