# SPDX-License-Identifier: Apache-2.0
"""The comparison of transports on architectures: its cases, refusals and numbers, without a guest."""

from __future__ import annotations

import numpy as np
import pytest

from rdcnlab.engines.kernel import plan
from rdcnlab.papers import tdtcp
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store


def test_every_architecture_has_the_same_flows_and_can_be_planned() -> None:
    item = tdtcp.architectures()
    sizes = set()
    for architecture in item.architectures:
        scenario = item.case(architecture, "hadoop", 30, "cubic")
        plan.check(scenario)
        sizes.add(tuple(flow.size for flow in scenario.flows))
    assert len(sizes) == 1


def test_transports_that_follow_networks_run_on_the_rotor_only() -> None:
    item = tdtcp.architectures()
    special = {case[0] for case in item.cases if case[3] in ("tdtcp", "nuftcp")}
    assert special == {"rotor"}
    refused = item.refusals()
    assert set(refused["transport"]) == {"tdtcp", "mptcp", "retcp", "nuftcp"}
    opera = refused[refused["architecture"] == "opera"].set_index("transport")["reason"]
    assert "no flow follows a schedule" in opera["tdtcp"]
    assert "a schedule whose slots have 2 to 8 networks" in opera["mptcp"]
    assert "set no flags for reTCP" in opera["retcp"]
    assert "write no versions of rules" in opera["nuftcp"]
    assert not (refused["architecture"] == "rotor").any()


def test_loads_are_those_of_web_search() -> None:
    item = tdtcp.architectures(architectures=["expander"], loads=[10, 30, 60])
    assert {case[2] for case in item.cases if case[1] == "web-search"} == {10, 30, 60}
    assert {case[2] for case in item.cases if case[1] != "web-search"} == {30}
    assert len(item.cases) == len(set(item.cases)) == 4 * 5 + 2 * 2


@pytest.mark.usefixtures("fake_engine")
def test_numbers_are_those_of_the_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The fluid model retransmits up to 99 segments a flow and loses none."""
    directory = tmp_path_factory.mktemp("store")
    store = Store(directory / "runs", shipped=Shipped(directory / "none"))
    item = tdtcp.architectures(architectures=["leaf-spine"], workloads=["permutation"], loads=[], transports=["cubic"],
                               changes={"probes.bin": "100 us"})  # fmt: skip
    runs = item.run(store=store, progress=False)
    flows, totals = item.flows(runs), item.totals(runs)
    assert len(flows) == 16
    assert len(totals) == len(runs) == 1
    repeats = sum(int(run.table("flows").to_pandas()["retransmits"].sum()) for run in runs)
    segments = 16 * np.ceil(1_000_000 / 1448)
    assert totals["retransmits"].iloc[0] == totals["reordered"].iloc[0] == pytest.approx(1000 * repeats / segments)
    assert item.plot(runs)._repr_png_().startswith(b"\x89PNG")
