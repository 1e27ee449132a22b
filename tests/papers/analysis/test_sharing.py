# SPDX-License-Identifier: Apache-2.0
"""What groups of flows get of a shared queue, computed of tables that are written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from matplotlib.colors import Normalize
from seaborn.utils import relative_luminance

from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import GROUPS, WHOLE, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import heat, sharing
from rdcnlab_papers.vargas import space


@dataclass(frozen=True)
class Written:
    """Stands in for a local run: its tables were written by hand."""

    scenario: Scenario
    tables: dict[str, pa.Table]
    source: Path = Path()

    def table(self, name: str, part: Part) -> pa.Table:
        return part.of(self.tables[name])


def outcome(scenario: Scenario, tables: dict[str, pa.Table]) -> dict[str, Any]:
    """Return the row of a run with these tables."""
    (row,) = sharing.outcomes(Runs([Written(scenario, tables)])).to_dict("records")  # type: ignore[list-item]
    return {str(name): value for name, value in row.items()}


def written(
    scenario: Scenario, share: float, drops: int, *, start_drops: int = 0, warm: int = 10
) -> dict[str, pa.Table]:
    """Return a run whose CUBIC flows have a share of each bin of 100 ms; the first bins are a warm-up."""
    count = scenario.limit // scenario.probes.bin
    carried = round(scenario.network.link("shared").rate * 0.1 / 8)
    noise = np.random.default_rng(0).normal(size=count)
    rows = []
    for k in range(count):
        part = 0.1 if k < warm else share + 0.001 * noise[k]
        for flow, bytes_ in (("c1-1", part / 2), ("c10-3", part / 2), ("d1-1", 1 - part)):
            rows.append({"bin": k, "where": "shared", "flow": flow, "bytes": round(bytes_ * carried), "packets": 1})
    queues = [
        {"bin": k, "link": "shared", "mean_B": 5e5 if k >= warm else 1e5, "max_B": 800_000 if k >= warm else 1_500_000,
         "drops": drops if k >= warm else start_drops, "marks": 7}
        for k in range(count)
    ]  # fmt: skip
    return {"throughput": pa.Table.from_pylist(rows), "queues": pa.Table.from_pylist(queues)}


@pytest.mark.parametrize("part", [WHOLE, GROUPS])
def test_outcomes_are_those_after_the_warm_up_but_for_the_peak(part: Part) -> None:
    """40 drops a second for 119 s, and 100 in the first second: 4860."""
    scenario = space.scenario(space.Setting(100, 800, 800, 5.0, 12.5, 50), length_s=8)
    tables = written(scenario, 0.6, 4, start_drops=10)
    found = outcome(scenario, {**tables, "throughput": part.of(tables["throughput"])})
    assert found["share"] == pytest.approx(60, abs=0.1)
    assert 1.0 <= found["warm_s"] < 2.0
    assert found["drops"] == pytest.approx(100 + 40 * 119)
    assert (found["average_kB"], found["longest_kB"]) == (500, 800)
    assert found["peak_kB"] == 1500
    assert found["used"] == pytest.approx(100, abs=0.1)
    assert found["doubt"] == ""
    assert [found[name] for name in sharing.SETTINGS] == [12.5, pytest.approx(50), 100, 800, 800, 5]


def with_drops(tables: dict[str, pa.Table], drops: npt.NDArray[np.int64]) -> dict[str, pa.Table]:
    """Return tables of a run with these drops in its bins."""
    queues = tables["queues"]
    return {**tables, "queues": queues.set_column(queues.column_names.index("drops"), "drops", pa.array(drops))}


def test_the_drops_of_slow_start_are_not_a_rate() -> None:
    """From 1.3 s on 20 drops a second; before, 8 bins of 1000 while the share is settled already."""
    scenario = space.scenario(space.Setting(100, 800, 800), length_s=8)
    drops = np.array([0] * 5 + [1000] * 8 + [2] * 67)
    settled = written(scenario, 0.6, 0)
    bins = settled["throughput"].to_pandas()
    bins["bytes"] = bins.groupby("flow")["bytes"].transform("last")
    tables = with_drops({**settled, "throughput": pa.Table.from_pandas(bins, settled["throughput"].schema)}, drops)
    queues = pa.Table.from_pandas(tables["queues"].to_pandas().assign(mean_B=5e5), tables["queues"].schema)
    found = outcome(scenario, {**tables, "queues": queues})
    assert found["warm_s"] == pytest.approx(1.3)
    assert found["drops"] == pytest.approx(8000 + 20 * (120 - 1.3))
    assert found["doubt"] == ""


def test_the_drops_of_starved_flows_are_no_warm_up() -> None:
    """Their timers double, so most drops are early ones; the share and the length say when the run is settled."""
    scenario = space.scenario(space.Setting(1000, 200, 200), length_s=8)
    drops = np.array([0] * 20 + [1000] * 8 + [0] * 52)
    tables = with_drops(written(scenario, 0.0, 0), drops)
    found = outcome(scenario, tables)
    assert 1.0 <= found["warm_s"] < 2.0
    assert found["drops"] == pytest.approx(8000)


def test_flows_with_a_small_share_that_go_on_losing_are_not_starved() -> None:
    """50 drops in each bin of 100 ms are five a second of each of 100 flows; no timer that has doubled is as quick."""
    scenario = space.scenario(space.Setting(340, 300, 400), length_s=8)
    tables = with_drops(written(scenario, 0.003, 0), np.array([0] * 5 + [50] * 75))
    found = outcome(scenario, tables)
    assert found["drops"] == pytest.approx(500 * (120 - 0.5))
    assert found["doubt"] == ""


def test_starved_flows_wait_twice_as_long_each_time() -> None:
    """100 flows that lose a packet at 0.5, 1, 2, 4 s and so on: 500 in 8 s, and by 120 s 3.9 doublings more."""
    drops = np.zeros(80)
    drops[[4, 9, 19, 39]] = 100
    whole, _ = sharing.starved_drops(drops, 0.1)
    assert whole == pytest.approx(400)  # nothing was lost in the last half
    drops[79] = 100
    whole, error = sharing.starved_drops(drops, 0.1)
    assert whole == pytest.approx(500 + 100 * np.log2(15))
    assert error == pytest.approx(0)


def test_a_run_that_is_too_short_says_so() -> None:
    scenario = space.scenario(space.Setting(100, 800, 800), length_s=2)
    found = outcome(scenario, written(scenario, 0.6, 4, warm=12))
    assert "warming up" in str(found["doubt"])


def test_runs_of_different_lengths_and_missing_bins_are_kept_apart() -> None:
    """A bin without rows carried and queued nothing; bins after the end of a run are not counted."""
    scenarios = [space.scenario(space.Setting(100, 800, 800), length_s=length) for length in (2, 3)]
    runs = [Written(scenario, written(scenario, 0.5, drops)) for scenario, drops in zip(scenarios, (4, 9), strict=True)]
    lacking = {name: table.filter(pc.not_equal(table["bin"], 12)) for name, table in runs[0].tables.items()}
    late = pa.Table.from_pylist([{"bin": 20, "link": "shared", "mean_B": 1.0, "max_B": 1, "drops": 1, "marks": 0}])
    lacking["queues"] = pa.concat_tables([lacking["queues"], late])
    first, second = sharing.series(Runs([Written(scenarios[0], lacking), runs[1]]))  # type: ignore[list-item]
    assert (len(first.share), len(second.share)) == (20, 30)
    assert [values[12] for values in (first.share, first.carried, first.average_kB, first.drops)] == [0, 0, 0, 0]
    assert first.share[13] == pytest.approx(50, abs=1)
    assert (first.drops.sum(), second.drops.sum()) == (9 * 4, 20 * 9)


def test_groups_are_what_their_flows_are_together() -> None:
    scenario = space.scenario(space.Setting(100, 800, 800), length_s=2)
    whole = written(scenario, 0.3, 1)["throughput"]
    groups = GROUPS.of(whole)
    assert groups.num_rows == 2 * 20
    assert GROUPS.of(groups).equals(groups)
    assert sum(groups["bytes"].to_pylist()) == sum(whole["bytes"].to_pylist())
    by = groups.to_pandas().groupby("flow")["bytes"].sum()
    flows = whole.to_pandas()
    assert by["c"] == flows.loc[flows["flow"].str.startswith("c"), "bytes"].sum()


def test_rows_that_hardly_differ_have_no_direction() -> None:
    frame = pd.DataFrame(
        [{"a": a, "b": b, "value": 10 * b if a else 50 + 0.01 * b, "seed": 0} for a in (0, 1) for b in range(4)]
    )
    found = heat.along(frame, "a", "b", "value", least=2.0)
    assert {name: float(value) for name, value in found.items()} == {1.0: 1.0}


def test_numbers_contrast_with_their_cells() -> None:
    table = pd.DataFrame(np.linspace(0, 100, 12).reshape(3, 4))
    table.iloc[0, 1] = np.nan  # has neither a number nor a colour
    _, ax = plt.subplots()
    heat.draw(ax, table, Normalize(0, 100), title="", label="", text="{:.0f}".format, map_="vlag")
    cells = ax.collections[0].get_facecolor()
    assert len(ax.texts) == 11
    for number in ax.texts:
        x, y = (int(place) for place in number.get_position())
        assert number.get_text() == f"{table.iloc[y, x]:.0f}"
        light, dark = sorted(map(relative_luminance, (cells[4 * y + x], number.get_color())), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 3.9
    plt.close()
