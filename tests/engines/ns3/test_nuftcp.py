# SPDX-License-Identifier: Apache-2.0
"""NUFTCP in the ns3 engine: versions in packets, the receiver's hold, the limit of the window.

::

    s1 - leaf1 === spine1 === leaf3 - r1      Each switch has a link to both spines. The flows of s1 and s2
    s2 - leaf2 === spine2 ===       - r2      swap their spines; leaf1 and leaf2 apply that at random times.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.network import compile_network
from rdcnlab.engines.ns3 import build, plan, process
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.presets import preset

pytestmark = pytest.mark.usefixtures("ns3_models")

#: The paper's values (Sec. 3); `hold` in ns.
PAPER = {
    "factor": 1500,
    "weight": 200,
    "quiet": 10,
    "readings": 0,
    "hold": 1_000_000,
    "marks": 1,
    "hold_sack": 0,
}
LEAVES, SPINES = (1, 2, 3), (1, 2)


def swapped(period: str, *, limit: str, sack: bool = False, jitter: str = "1 ms") -> Scenario:
    """Two flows through a Clos network of 1 Gb/s with an RTT of 500 us."""
    line = {"rate": "1 Gb/s", "delay": "1 us", "queue": "10 MB"}
    ways = [[[period, "spine1"], [period, "spine2"]], [[period, "spine2"], [period, "spine1"]]]
    return Scenario.from_dict(
        {
            "network": {
                "name": "clos",
                "switches": [
                    {"name": "leaf1", "jitter": jitter}, {"name": "leaf2", "jitter": jitter}, {"name": "leaf3"},
                    *({"name": f"spine{number}"} for number in SPINES),
                ],
                "hosts": [
                    {"name": name, "at": at, **line}
                    for name, at in (("s1", "leaf1"), ("s2", "leaf2"), ("r1", "leaf3"), ("r2", "leaf3"))
                ],
                "links": [
                    {
                        "name": f"l{leaf}{spine}", "between": [f"leaf{leaf}", f"spine{spine}"], "rate": "1 Gb/s",
                        "delay": "122 us", "buffer": "1 MB", "ecn_threshold": "30 kB",
                    }
                    for leaf in LEAVES
                    for spine in SPINES
                ],
            },
            "flows": [
                {"name": f"f{n}", "src": f"s{n}", "dst": f"r{n}", "size": "1 GB", "cc": "dctcp", "path": way,
                 "back": "same"}
                for n, way in enumerate(ways, 1)
            ],
            "engine": {"kind": "ns3"},
            "transport": {"sack": sack},
            "probes": {"tcp": "none"},
            "limit": limit,
            "seed": 1,
        }
    )  # fmt: skip


def seen(scenario: Scenario, directory: Path, **settings: int) -> list[dict[str, Any]]:
    """Return the results of the flows with NUFTCP."""
    directory.mkdir(exist_ok=True)
    asked = plan.compile_plan(compile_network(scenario))
    asked["nuftcp"] = {**PAPER, **settings}
    for flow in asked["flows"]:
        flow["variant"] = "rdcnlab::Nuftcp"
    told = process.run(build.make(), asked, directory, core=None, wall_limit_s=300)
    found: list[dict[str, Any]] = told["flows"]
    return found


def total(flows: list[dict[str, Any]], name: str) -> int:
    return sum(flow[name] for flow in flows)


def test_a_receiver_sees_each_update_once_also_when_versions_wrap_around(tmp_path: Path) -> None:
    """40 updates in 4 bits; packets of old versions that come late are no updates."""
    flows = seen(swapped("5 ms", limit="204 ms"), tmp_path)
    assert [flow["updates"] for flow in flows] == [40, 40]


def test_no_update_is_seen_where_switches_do_not_mark(tmp_path: Path) -> None:
    flows = seen(swapped("5 ms", limit="51 ms"), tmp_path, marks=0)
    assert [flow["updates"] for flow in flows] == [0, 0]
    assert total(flows, "held") == 0


def test_a_held_duplicate_is_forgotten_when_its_hole_is_filled(tmp_path: Path) -> None:
    """Packets overtake at the updates, none is lost. With the hold, nobody takes one for lost."""
    scenario = swapped("10 ms", limit="205 ms")
    plain = seen(scenario, tmp_path / "plain", hold=0)
    held = seen(scenario, tmp_path / "held")
    assert total(plain, "ahead") > 20
    assert total(plain, "retransmits") > 0
    assert total(held, "held") > 20
    assert total(held, "forgotten") == total(held, "held")
    assert total(held, "retransmits") == 0


def test_the_limit_lets_a_flow_grow_by_a_tenth_each_round(tmp_path: Path) -> None:
    """From 10 segments to 30 takes ln 3 / ln 1.1 = 11.5 rounds. So 20 rounds carry less than the link does."""
    scenario = swapped("1 s", sack=True, limit="10 ms", jitter="0 ms")
    limited, free = (
        total(seen(scenario, tmp_path / name, factor=factor), "received_B")
        for name, factor in (("limited", 1500), ("free", 10**6))
    )
    # 500 us and lines: one SYN, then 18 rounds of the windows w, 1.1 w, 1.1^2 w .. with w = 10 segments
    rounds = sum(2 * 10 * 1448 * 1.1**number for number in range(18))
    assert limited < 1.1 * rounds
    assert free > 1.3 * limited


@pytest.mark.slow
def test_duplicates_counted_in_cwr_do_not_end_the_simulation(tmp_path: Path) -> None:
    """The update at 175 ms ends CWR by an ACK with SACK blocks, after 27 duplicates. ns-3.44 by itself aborts there."""
    ways = [[["25 ms", "spine1"], ["25 ms", "spine2"]], [["25 ms", "spine2"], ["25 ms", "spine1"]]]
    network = preset("two-tier-clos").network.model_dump(mode="json")
    for link in network["links"]:
        link["buffer"] = "500 kB"
    scenario = Scenario.from_dict(
        {
            "network": network,
            "flows": [
                {"name": name, "src": f"s{n}", "dst": f"r{n}", "size": "1000 GiB", "cc": "nuftcp", "path": way,
                 "back": "same"}
                for n, (name, way) in enumerate(zip(("fn-1", "fm-1"), ways, strict=True), 1)
            ],
            "engine": {"kind": "ns3"},
            "probes": {"acks": True, "counters": True},
            "limit": "180 ms",
            "seed": 6,
        }
    )  # fmt: skip
    result = process.run(
        build.make(), plan.compile_plan(compile_network(scenario)), tmp_path, core=None, wall_limit_s=300
    )
    assert total(result["flows"], "retransmits") > 0
