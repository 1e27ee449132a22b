# SPDX-License-Identifier: Apache-2.0
"""Which kind of ends hosts have: what is written has lines, what was published keeps its token buckets and its hash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.fabrics import FABRICS, fabric
from rdcnlab.scenario.ideal import ideal_ns
from rdcnlab.scenario.presets import preset, presets

FLOW = {"name": "f", "src": "s", "dst": "r", "size": "100 kB", "cc": "cubic", "path": "bypass", "connect": "ahead"}

ENDS = ("bucket", "exact")


def written(**network: Any) -> dict[str, Any]:
    hosts = [{"name": name, "rate": "1 Gb/s"} for name in "sr"]
    return {"network": {"name": "n", "hosts": hosts, "links": [], **network}, "flows": [FLOW]}


def test_what_is_written_has_lines(tmp_path: Path) -> None:
    assert Scenario.from_dict(written()).network.ends == "exact"
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump(written()))
    assert Scenario.load(file).network.ends == "exact"
    file.write_text(yaml.safe_dump(written(ends="bucket")))
    assert Scenario.load(file).network.ends == "bucket"


def test_fabrics_have_lines_unless_they_state_something_else() -> None:
    for name in FABRICS.keys() - {"circuits"}:
        assert fabric({"fabric": name}).ends == "exact"
        assert fabric({"fabric": name, "ends": "bucket"}).ends == "bucket"


@pytest.mark.parametrize("name", presets())
def test_presets_keep_their_token_buckets_and_state_nothing_in_canonical_data(name: str) -> None:
    network = preset(name).network
    assert network.ends == "bucket"
    assert "ends" not in network.model_dump(mode="json")


def test_canonical_data_without_ends_have_token_buckets() -> None:
    old, new = (Scenario.from_dict(written(ends=ends)) for ends in ENDS)
    assert "ends" not in old.to_dict()["network"]
    assert new.to_dict()["network"]["ends"] == "exact"
    assert old.hash != new.hash
    for scenario in (old, new):
        assert Scenario.from_dict(scenario.to_dict()) == scenario
        assert Scenario.from_dict({"network": scenario.to_dict()["network"], "flows": [FLOW]}) == scenario
        assert scenario.with_(seed=3).network == scenario.network


@pytest.mark.parametrize("ends", ENDS)
def test_a_dump_is_read_with_the_same_ends(ends: str) -> None:
    scenario = Scenario.from_dict(written(ends=ends))
    assert Scenario.from_dict(yaml.safe_load(scenario.dump()), text=True) == scenario


def test_a_single_frame_takes_its_time_on_a_line() -> None:
    old, new = (Scenario.from_dict(written(ends=ends)) for ends in ENDS)
    assert ideal_ns(new, new.flows[0]) > ideal_ns(old, old.flows[0])
    link = [{"name": "l", "rate": "1 Gb/s", "buffer": "1 MB"}]
    rtts = [Scenario.from_dict(written(ends=ends, links=link)).network.rtt_ns("s", "r", 1500, 40) for ends in ENDS]
    assert rtts[1] - rtts[0] == (1538 + 78) * 8


def test_a_discipline_of_a_host_needs_a_line_below_it_and_stands_alone() -> None:
    host = {"name": "s", "rate": "1 Gb/s", "qdisc": {"kind": "fq_codel", "target": "5ms", "ecn": True}}
    hosts = [host, {"name": "r", "rate": "1 Gb/s"}]
    scenario = Scenario.from_dict(written(hosts=hosts))
    assert scenario.network.host("s").qdisc is not None
    assert Scenario.from_dict(yaml.safe_load(scenario.dump()), text=True) == scenario
    with pytest.raises(InputError, match=r"hosts\.s\.qdisc: 'fq_codel' must be left out, with ends: bucket"):
        Scenario.from_dict(written(hosts=hosts, ends="bucket"))
    with pytest.raises(InputError, match=r"queue: it must be left out, because qdisc is given"):
        Scenario.from_dict(written(hosts=[{**host, "queue": "20 packets"}, hosts[1]]))
    with pytest.raises(InputError, match=r"qdisc"):
        Scenario.from_dict(written(hosts=[{**host, "qdisc": "nonsense"}, hosts[1]]))
