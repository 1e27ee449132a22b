# SPDX-License-Identifier: Apache-2.0
"""Files of flows as opera-sim and htsim have them: the same scenario as with the flows written out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario

NETWORK = {"fabric": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 2}
OPERA = "0 2 560 182729\n3 1 100001 221013\n\n# comment\n1 0 1870 9000000\n"
HTSIM = """Nodes 4
Connections 3
0->2 id 1 start 182 size 560
3->1 id 2 start 221 size 100001
1->0 id 3 start 9000 size 1870
"""


def made(directory: Path, text: str, **entry: Any) -> Scenario:
    (directory / "flows.txt").write_text(text)
    data = {"network": NETWORK, "flows": [{"file": "flows.txt", "cc": "dctcp", **entry}], "limit": 10**8}
    return Scenario.from_dict(data, directory=directory)


def written(*flows: tuple[str, str, int, int], name: str = "f") -> Scenario:
    each = [
        {"name": f"{name}{number}", "src": src, "dst": dst, "size": size, "start": start, "cc": "dctcp"}
        for number, (src, dst, size, start) in enumerate(flows, 1)
    ]
    return Scenario.from_dict({"network": NETWORK, "flows": each, "limit": 10**8})


def test_a_line_of_opera_sim_is_sender_receiver_bytes_and_ns(tmp_path: Path) -> None:
    """Hosts count from 0, so 0 is h1; 9 ms is after `until`, and 100001 bytes are cut to `at_most`."""
    flows = [("h1", "h3", 560, 182_729), ("h4", "h2", 100_001, 221_013), ("h2", "h1", 1870, 9_000_000)]
    assert made(tmp_path, OPERA).hash == written(*flows).hash
    cut = made(tmp_path, OPERA, until="5 ms", at_most="50 kB", name="load-")
    assert cut.hash == written(flows[0], ("h4", "h2", 50_000, 221_013), name="load-").hash
    named = made(tmp_path, OPERA.replace("0 2 ", "h1, h3, ", 1))
    assert named.hash == written(*flows).hash


@pytest.mark.parametrize(("unit", "ns"), [("us", 1000), ("ns", 1)])
def test_a_line_of_htsim_needs_the_unit_of_its_start(tmp_path: Path, unit: str, ns: int) -> None:
    flows = [("h1", "h3", 560, 182 * ns), ("h4", "h2", 100_001, 221 * ns), ("h2", "h1", 1870, 9000 * ns)]
    assert made(tmp_path, HTSIM, unit=unit).hash == written(*flows).hash
    with pytest.raises(InputError, match=r"\.unit.*at 182 \(flows.txt, line 3\)\. Write unit: us, or unit: ps"):
        made(tmp_path, HTSIM)
    at_once = HTSIM.replace("182", "0").replace("221", "0").replace("9000", "0")
    assert [flow.start for flow in made(tmp_path, at_once).flows] == [0, 0, 0]
    ps = made(tmp_path, HTSIM.replace("9000", "9000999"), unit="ps")
    assert [flow.start for flow in ps.flows] == [0, 0, 9000]


def test_a_scenario_in_yaml_is_that_of_code(tmp_path: Path) -> None:
    scenario = made(tmp_path, OPERA, until="5 ms")
    lines = "flows: [{file: flows.txt, cc: dctcp, until: 5 ms}]\nlimit: 100 ms\n"
    (tmp_path / "x.yaml").write_text(f"network: {{fabric: leaf-spine, leaves: 2, spines: 2, hosts: 2}}\n{lines}")
    assert Scenario.load(tmp_path / "x.yaml").hash == scenario.hash
    (tmp_path / "z.yaml").write_text((tmp_path / "x.yaml").read_text().replace("until: 5 ms", "until: 5"))
    with pytest.raises(InputError, match=r"until.*a duration such as"):
        Scenario.load(tmp_path / "z.yaml")
    (tmp_path / "y.yaml").write_text(scenario.dump())
    assert Scenario.load(tmp_path / "y.yaml").hash == scenario.hash


def test_flows_of_a_file_stand_beside_others(tmp_path: Path) -> None:
    (tmp_path / "flows.txt").write_text(OPERA)
    flows = [
        {"name": "main", "src": "h1", "dst": "h4", "size": 1000},
        {"file": "flows.txt", "protocol": "udp", "rate": 10**7},
    ]
    scenario = Scenario.from_dict({"network": NETWORK, "flows": flows, "limit": 10**8}, directory=tmp_path)
    assert [flow.name for flow in scenario.flows] == ["main", "f1", "f2", "f3"]
    assert [flow.protocol for flow in scenario.flows] == ["tcp", "udp", "udp", "udp"]


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        ("0 4 560 1\n", {}, r"flows\[0\]: '?4.*0 to 3, or a name \(flows.txt, line 1\)"),
        ("0 0 560 1\n", {}, "two different hosts"),
        ("0 1 560 -1\n", {}, "whole numbers of bytes and of time"),
        ("0 1 560\n", {}, r"'0 1 560'.*flows.txt, line 1"),
        ("0->1 size 5 trigger 3\n", {}, "'trigger' is not among"),
        (OPERA, {"unit": "min"}, "'min'.*s, ms, us, ns, ps"),
        (OPERA, {"until": "soon"}, "a duration such as"),
        (OPERA, {"sizes": 3}, "sizes"),
        (OPERA, {"cc": "dctpc"}, "dctcp"),
    ],
)
def test_a_wrong_file_is_refused_in_words(tmp_path: Path, text: str, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(tmp_path, text, **entry)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"flows\[0\]\.file.*nowhere.txt"):
        Scenario.from_dict({"network": NETWORK, "flows": [{"file": "nowhere.txt"}]}, directory=tmp_path)
