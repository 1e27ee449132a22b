# SPDX-License-Identifier: Apache-2.0
"""The share of a link that bursts take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from rdcnlab_papers import aykurt
from rdcnlab_papers.analysis import bursts


def test_the_share_is_what_the_link_carries_of_each_burst() -> None:
    """Two bursts before the end of the main flow at 60 ms; the third is not counted, nor is another link or flow.

    Bins are stored with 32 bits, in which bin 3000 in ns has no room.
    """
    scenario = aykurt.fig10(cc=["cubic"], seeds=1).scenarios()[0]
    (udp,) = (flow for flow in scenario.flows if flow.protocol == "udp")
    assert udp.interval == 25_000_000
    table = pd.DataFrame(
        [(1, "green", "bursts", 1_000_000), (26, "green", "bursts", 250_000), (51, "green", "bursts", 9),
         (3000, "green", "bursts", 5),
         (1, "blue", "bursts", 77), (2, "green", "main", 88)],
        columns=["bin", "where", "flow", "bytes"],
    ).assign(run=0)  # fmt: skip
    table = table.astype({"bin": "int32"})

    class Stub(SimpleNamespace):
        cache = SimpleNamespace(find=lambda *_: None, keep=lambda *_: None)
        indices = (0,)

        def __getitem__(self, index: int) -> Any:
            return SimpleNamespace(scenario=scenario)

    flows = pd.DataFrame({"run": [0, 0], "flow": ["main", "bursts"], "end_s": [0.06, 10.0]})
    shares = bursts.shares(Stub(throughput=table, flows=flows), 10, "main")  # type: ignore[arg-type]
    # 10 Gb/s carry 12.5 MB in 10 ms
    assert shares["percent"].tolist() == pytest.approx([100 * 625_000 / 12_500_000])


def test_what_arrived_is_a_share_of_what_was_sent_until_the_last_flow_ended() -> None:
    """Until 60 ms three bursts of 128 datagrams begin, at 0, 25 and 50 ms."""
    scenario = aykurt.fig10(cc=["cubic"], seeds=1).scenarios()[0]
    flows = pd.DataFrame(
        {
            "run": 0,
            "flow": ["main", "migrated", "bursts"],
            "end_s": [0.04, 0.06, None],
            "received_B": [1, 1, 192 * 8972],
        }
    )
    runs: Any = [SimpleNamespace(scenario=scenario)]
    stub: Any = type("Stub", (list,), {"flows": flows})(runs)
    assert bursts.arrived(stub)["percent"].tolist() == pytest.approx([50])
