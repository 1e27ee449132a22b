# SPDX-License-Identifier: Apache-2.0
"""The benchmark of scoring measures a separate process; the shapes of long runs fit small machines."""

from __future__ import annotations

import pytest

from rdcnlab.app.bench import scoring
from rdcnlab.app.packet_cost import shapes
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.fields.errors import RunError


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
