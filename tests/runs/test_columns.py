# SPDX-License-Identifier: Apache-2.0
"""Tables are data frames, of one run and of many, and a wrong column names the nearest one."""

from __future__ import annotations

import pandas as pd
import pytest

from rdcnlab.engines import Outcome
from rdcnlab.runs.columns import ColumnError, Table
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario
from tests.fake_engine import tables


def test_a_run_has_the_tables_of_runs(store: Store, two_flows: Scenario) -> None:
    with store.workspace(run_id(two_flows, "e")) as directory:
        run = store.put(two_flows, "e", Outcome(tables(two_flows), {}), directory)
    runs = Runs([run])
    for name in ("flows", "throughput", "queues", "tcp", "events"):
        pd.testing.assert_frame_equal(getattr(run, name), getattr(runs, name))
    assert len(run.flows.head(1)) == 1
    with pytest.raises(ColumnError, match="Did you mean 'fct_s'"):
        run.flows["fct"]


@pytest.mark.parametrize("key", ["fct", ["flow", "fct"]])
def test_a_wrong_column_names_the_nearest(key: str | list[str]) -> None:
    table = Table({"flow": ["main"], "fct_s": [1.0]})
    with pytest.raises(KeyError) as caught:
        table[key]
    assert str(caught.value) == "there is no column 'fct'. Did you mean 'fct_s'? Possible: flow, fct_s"


def test_what_is_made_of_a_table_is_a_plain_data_frame() -> None:
    table = Table({"flow": ["main"], "fct_s": [1.0]})
    for frame in (table.assign(a=1), table[["flow"]], table[table["fct_s"] > 0], table.merge(table)):
        assert type(frame) is pd.DataFrame
    assert table["flow"].tolist() == ["main"]
    assert table.loc[0, "fct_s"] == 1


def test_other_keys_fail_as_they_do_in_a_data_frame() -> None:
    with pytest.raises(KeyError, match="7"):
        Table({"flow": ["main"]})[7]
