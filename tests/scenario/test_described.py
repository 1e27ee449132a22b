# SPDX-License-Identifier: Apache-2.0
"""The JSON schema accepts what a scenario file may contain, and the reference describes every field."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from rdcnlab.scenario import Scenario, described
from rdcnlab.scenario.presets import presets
from tests.conftest import TWO_FLOWS


@pytest.fixture(scope="module")
def schema() -> jsonschema.protocols.Validator:
    found = described.schema()
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def _with(**changes: Any) -> dict[str, Any]:
    return {**TWO_FLOWS, **changes}


@pytest.mark.parametrize("network", presets())
def test_the_schema_accepts_what_scenarios_write(schema: jsonschema.protocols.Validator, network: str) -> None:
    flows = [{"name": "flow-1", "size": "1 MB", "src": "s1", "dst": "r1"}]
    schema.validate(_with(network=network, flows=flows))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {
            "seed": 7,
            "limit": "1.5 s",
            "transport": {"like": 4.15, "ecn": "auto", "rmem": ["4 KiB", "128 KiB", "6 MiB"]},
        },
        {"network": {"fabric": "rotor", "racks": 8, "hosts": 8}},
        {"notify": {}, "probes": {"bin": "20 us", "acks": True, "fold": "4.2 ms"}},
        {"switch": {"kind": "bmv2", "program": "mine.json", "ecn_threshold": "100 kB"}},
    ],
)
def test_the_schema_accepts_files(schema: jsonschema.protocols.Validator, changes: dict[str, Any]) -> None:
    schema.validate(_with(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": -1},
        {"limit": 60},  # no unit
        {"limit": "60 weeks"},
        {"network": "paris"},
        {"switch": {"kind": "tofino"}},
        {"transport": {"reordering": 2}},
        {"flows": []},
        {"flows": [{"name": "main"}]},  # no size
        {"flows": [{"name": "main", "size": "1 GiB", "cc": "reno2"}]},
        {"unknown": 1},
    ],
)
def test_the_schema_and_the_loader_refuse_the_same(
    schema: jsonschema.protocols.Validator, changes: dict[str, Any]
) -> None:
    assert not schema.is_valid(_with(**changes))
    with pytest.raises(Exception, match=r"not possible|missing|there is no|no path|not known"):
        Scenario.from_dict(_with(**changes), text=True)


@pytest.mark.parametrize(("buffer", "fits"), [("2 MB", True), ("100 packets", True), ("2 KB", False), ("many", False)])
def test_the_schema_knows_both_forms_of_a_buffer(
    schema: jsonschema.protocols.Validator, buffer: str, fits: bool
) -> None:
    network = {
        "name": "n",
        "hosts": [{"name": name, "rate": "1 Gbps"} for name in "ab"],
        "links": [{"name": "l", "rate": "10 Mbps", "buffer": buffer}],
    }
    flows = [{"name": "f", "src": "a", "dst": "b", "size": "1 MB", "path": "l"}]
    assert schema.is_valid({"network": network, "flows": flows}) is fits


def test_a_scenario_that_is_written_out_fits_the_schema(schema: jsonschema.protocols.Validator) -> None:
    scenario = Scenario.from_dict(TWO_FLOWS).with_(**{"network.links.blue.delay": "5 us", "transport.like": "4.15"})
    schema.validate(yaml.safe_load(scenario.dump()))


def test_every_field_of_the_model_is_described() -> None:
    parts = {part.name: part for part in described.parts()}
    assert {field.name for field in parts["Scenario"].fields} == set(Scenario.model_fields)
    size = next(field for field in parts["Flow"].fields if field.name == "size")
    assert (size.unit, size.default, size.allowed) == ("B", "must be given", "a size from 1 B to 1 TiB")
    limit = next(field for field in parts["Scenario"].fields if field.name == "limit")
    assert (limit.default, limit.unit) == ("60 s", "ns")
    lacking = [f"{part.name}.{field.name}" for part in parts.values() for field in part.fields if not field.allowed]
    assert lacking == []
    # parts with two obvious fields have them in their first sentence
    obvious = {"Pool", "HostDelay"}
    lacking = [f"{part.name}.{field.name}" for part in parts.values() for field in part.fields if not field.text]
    assert [name for name in lacking if name.split(".")[0] not in obvious] == []


def test_the_schema_is_plain_json() -> None:
    assert json.loads(json.dumps(described.schema())) == described.schema()
