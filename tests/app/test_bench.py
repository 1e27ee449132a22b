# SPDX-License-Identifier: Apache-2.0
"""The benchmark of scoring measures a separate process; the shapes of long runs fit small machines."""

from __future__ import annotations

import pytest

from rdcnlab.app import bench_engines
from rdcnlab.app.bench import scoring
from rdcnlab.app.packet_cost import shapes
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.ns3 import check as ns3_check
from rdcnlab.fields.errors import RunError
from rdcnlab.papers.vargas import space


def test_what_a_score_takes_is_measured() -> None:
    wall, cores, peak = scoring(["tdtcp/fig13"])
    assert wall["measure"] == "rdcnlab score tdtcp/fig13"
    assert wall["value"] > 0
    assert cores["value"] > 0
    # MiB: Python with pandas needs more than 50, and a machine for tests has less than 10 GB
    assert 50 < peak["value"] < 10_000
    assert wall["goal"] is None


def test_a_score_that_fails_is_not_measured() -> None:
    with pytest.raises(RunError, match="ended with 2"):
        list(scoring(["nobody"]))


def test_shapes_are_scenarios_that_small_machines_can_run() -> None:
    """No flow ends before the limit, so the last two thirds of a run have packets of all flows."""
    for name, scenario in shapes().items():
        asked = compile_plan(scenario)
        assert asked["memory_kB"] + sum(probe["buffer_kB"] for probe in asked["probes"]) < 1_000_000, name
        most = scenario.limit * scenario.network.host(scenario.flows[0].src).rate / 8e9
        assert all(flow.size > most for flow in scenario.flows), name


@pytest.mark.parametrize("kind", ["kernel", "ns3"])
def test_both_engines_run_the_setting_that_they_are_compared_on(kind: str) -> None:
    """The setting itself takes ns-3 an hour; a check of it does not."""
    asked = space.scenario(bench_engines.SETTING).with_(**{"engine.kind": kind})
    if kind == "ns3":
        ns3_check.check(asked)
    else:
        compile_plan(asked)
    assert asked.network.link("shared").rate == 12_500_000_000


def test_the_comparison_has_the_ratio_and_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {"kernel": (40.0, 300.0), "ns3": (800.0, 2000.0)}
    monkeypatch.setattr(bench_engines, "_apart", lambda asked, core: costs[asked.engine.kind])
    rows = {row["measure"]: row for row in bench_engines.compare(2)}
    assert rows["ns3 over kernel, wall clock"]["value"] == 20
    assert rows["ns3 over kernel, wall clock"]["holds"]
    assert rows["kernel: 12.5 Gb/s, 50 ms, 2 s: memory"]["value"] == 300
    costs["kernel"] = (80.0, 1100.0)
    assert [row["holds"] for row in bench_engines.compare(2) if row["goal"]] == [False, False]
