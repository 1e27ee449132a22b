# SPDX-License-Identifier: Apache-2.0
"""DCTCP and CUBIC in one queue, on both engines: what is counted in bins is what is recorded packet by packet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.ns3 import Ns3Engine
from rdcnlab.scenario import Scenario
from tests.engines.conftest import SharedRun

Run = Callable[[Scenario], dict[str, pd.DataFrame]]
MS = 1_000_000


@pytest.fixture(params=[pytest.param("kernel", marks=pytest.mark.guest), pytest.param("ns3", marks=pytest.mark.ns3)])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Return a function that runs a scenario on one of the engines."""
    if request.param == "kernel":
        shared_run: SharedRun = request.getfixturevalue("shared_run")
        return lambda scenario: shared_run(scenario).tables
    request.getfixturevalue("ns3_models")

    def on_ns3(scenario: Scenario) -> dict[str, pd.DataFrame]:
        directory = tmp_path / scenario.hash[:12]
        directory.mkdir()
        asked = scenario.with_(**{"engine.kind": "ns3"})
        outcome = Ns3Engine(asked).run(directory, core=None, wall_limit_s=300)
        return {name: table.to_pandas() for name, table in outcome.tables.items()}

    return on_ns3


def shared(**changes: object) -> Scenario:
    """Return two flows of each kind for 300 ms at 500 Mb/s: marks above 20 kB, random early drop from 20 to 40 kB."""
    flows = [
        {"name": f"{group}{n}", "src": f"{group}{n}", "dst": "r", "size": "1 GB", "cc": cc, "path": "shared"}
        for group, cc in (("n", "dctcp"), ("f", "cubic"))
        for n in (1, 2)
    ]
    red = {"min": "20 kB", "max": "40 kB", "probability": "5 %"}
    queue = {"rate": "500 Mb/s", "buffer": "200 kB", "ecn_threshold": "20 kB", "red": red}
    made = Scenario.from_dict(
        {
            "network": {
                "fabric": "shared-queue",
                "near": 2,
                "far": 2,
                "far_rtt": "1 ms",
                "host_rate": "1 Gb/s",
                **queue,
            },
            "flows": flows,
            "limit": "300 ms",
            "probes": {"tcp": "none", "bin": "10 ms"},
            "jitter": {"start": "10 ms"},
            "seed": 3,
        }
    )
    return made.with_(**changes) if changes else made


def of_link(table: pd.DataFrame, column: str) -> pd.DataFrame:
    return table[table[column] == "shared"].reset_index(drop=True)


def test_counts_are_those_of_records(run: Run) -> None:
    counts = {"probes.count": ["shared"], "probes.snapshots": "1 ms"}
    recorded, counted = run(shared(**{"probes.packets": True})), run(shared(**counts))
    pd.testing.assert_frame_equal(counted["throughput"], of_link(recorded["throughput"], "where"))
    queues = of_link(recorded["queues"], "link")
    assert queues[["drops", "marks"]].sum().min() > 10
    pd.testing.assert_frame_equal(counted["queues"], queues, rtol=1e-12)
    kept = ~recorded["events"]["event"].isin(["enqueue", "dequeue", "mark"])
    events = counted["events"]
    looks = events["event"] == "snapshot"
    pd.testing.assert_frame_equal(
        events[~looks].reset_index(drop=True), recorded["events"][kept].reset_index(drop=True)
    )
    _check_snapshots(shared(**counts), events[looks], recorded["events"], counted["queues"])


def _check_snapshots(scenario: Scenario, looks: pd.DataFrame, packets: pd.DataFrame, queues: pd.DataFrame) -> None:
    """A snapshot has what came less what left until the last departure before it; see `queues._standing`."""
    here = packets[packets["link"] == "shared"]
    arrivals, departures = (here[here["event"] == name] for name in ("enqueue", "dequeue"))
    first = departures["t_ns"].iloc[0]
    instants = [instant for instant in scenario.snapshots() if instant > first]
    assert looks["t_ns"].tolist() == instants
    assert 200 < len(instants) < 400
    most = queues.set_index("bin")["max_B"]
    for instant, length in zip(looks["t_ns"], looks["value"], strict=True):
        last = departures.loc[departures["t_ns"] < instant, "t_ns"].max()
        gone = departures.loc[departures["t_ns"] <= last, "value"].sum()
        inside = [
            arrivals.loc[arrivals["t_ns"] < last, "value"].sum(),
            arrivals.loc[arrivals["t_ns"] <= last, "value"].sum(),
        ]
        # a packet that comes at the instant of a departure may be before or behind it
        assert inside[0] - gone <= length <= inside[1] - gone
        if instant // (10 * MS) == last // (10 * MS):
            assert length <= most[instant // (10 * MS)]


def test_dctcp_is_marked_and_cubic_is_lost(run: Run) -> None:
    """ECN-capable packets are never lost early, whatever the thresholds of random early drop are."""
    seen = run(shared(**{"probes.packets": True}))
    events = seen["events"]
    lost, marked = (events.loc[events["event"].str.startswith(name), "flow"] for name in ("drop", "mark"))
    assert set(lost) == {"f1", "f2"}
    assert set(marked) == {"n1", "n2"}


def test_snapshots_are_a_poisson_process() -> None:
    scenario = shared(**{"probes.count": ["shared"], "probes.snapshots": "100 us"})
    instants = np.array(scenario.snapshots())
    gaps = np.diff(instants, prepend=0)
    assert instants[-1] < scenario.limit
    assert gaps.mean() == pytest.approx(1e5, rel=0.1)
    assert gaps.std() == pytest.approx(1e5, rel=0.1)  # the standard deviation of an exponential is its mean
    assert scenario.with_(seed=4).snapshots() != scenario.snapshots()


@pytest.mark.guest
def test_the_queue_is_that_of_the_scenario(kernel: build.Kernel) -> None:
    from rdcnlab.engines.kernel.plan import compile_plan

    (link,) = compile_plan(compile_network(shared()))["switches"][0]["links"]
    assert link["queue"] == {
        "limit_bytes": 200_000, "ecn": 20_000, "red_min": 20_000, "red_max": 40_000, "red_prob": 50_000_000,
    }  # fmt: skip
