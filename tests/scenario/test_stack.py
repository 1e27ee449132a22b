# SPDX-License-Identifier: Apache-2.0
"""Offloads, and hosts whose stack differs from the others'."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.engines.kernel import plan
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.ns3.check import check as check_ns3
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario


def scenario(**fields: Any) -> Scenario:
    """A network of three hosts with fields of its own."""
    return Scenario.from_dict(
        {
            "network": {
                "name": "three",
                "hosts": [{"name": name, "rate": "10 Gb/s"} for name in ("h1", "h2", "h3")],
                "links": [{"name": "link", "rate": "10 Gb/s", "buffer": "1 MB"}],
            },
            "flows": [{"name": "flow", "size": "1 MB", "path": "link", "src": "h1", "dst": "h3"}],
            **fields,
        },
        text=True,
    )


def test_what_is_not_stated_has_no_trace() -> None:
    plain = scenario()
    assert not {"offload", "hosts"} & plain.to_dict().keys()
    assert plain.hash == scenario(offload={}, hosts=[]).hash
    for host in compile_plan(plain)["hosts"]:
        assert not {"offload", "transport"} & host.keys()


def test_offloads_of_all_and_of_one() -> None:
    given = scenario(
        offload={"tso": "64000 B", "gro": True, "coalesce": "20 us"},
        hosts=[{"name": "h[2-3]", "offload": {"tso": "18000 B"}}],
    )
    assert Scenario.from_dict(given.to_dict()) == given
    cards = {host["name"]: host["offload"] for host in compile_plan(given)["hosts"]}
    assert cards["h1"] == {"tso": 64_000, "gro": True, "coalesce": 20_000}
    assert cards["h2"] == cards["h3"] == {"tso": 18_000, "gro": False, "coalesce": 0}


def test_a_stock_host_meets_a_patched_one() -> None:
    given = scenario(
        transport={"like": "4.15", "sack": False},
        hosts=[{"name": "h2", "transport": {"like": None}}, {"name": "h3", "transport": {"sack": True}}],
    )
    assert given.transport.loss_timers == 1
    assert given.transport_of("h2").loss_timers is None
    assert given.transport_of("h3").loss_timers == 1
    hosts = {host["name"]: host.get("transport", {}) for host in compile_plan(given)["hosts"]}
    assert hosts["h1"] == {}
    assert "net.ipv4.tcp_loss_timers" not in hosts["h2"]
    assert hosts["h2"]["net.ipv4.tcp_sack"] == "0"
    assert hosts["h3"]["net.ipv4.tcp_sack"] == "1"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"offload": {"tso": "70000 B"}}, "offload.tso"),
        ({"offload": {"coalesce": "20 us"}}, "offload.gro"),
        ({"offload": {"gro": True, "coalesce": "1 s"}}, "offload.coalesce"),
        ({"hosts": [{"name": "h9", "offload": {"tso": "9000 B"}}]}, "hosts.name"),
        ({"hosts": [{"name": "h1"}, {"name": "h1"}]}, "hosts"),
        ({"hosts": [{"name": "h1", "transport": {"cubic_beta": 819}}]}, "hosts.h1.transport.cubic_beta"),
        ({"hosts": [{"name": "h1", "transport": {"tdtcp": True}}]}, "hosts.h1.transport.tdtcp"),
    ],
)
def test_refusals_name_the_field(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named.replace(".", r"\.")):
        scenario(**fields)


def test_other_engines_and_switches_refuse() -> None:
    card = {"tso": "9000 B"}
    with pytest.raises(InputError, match="offload"):
        plan.check(scenario(offload=card, switch={"kind": "linux"}, flows=[
            {"name": "flow", "size": "1 MB", "path": "bypass", "src": "h1", "dst": "h3"}
        ]))  # fmt: skip
    for fields in ({"offload": card}, {"hosts": [{"name": "h1"}]}):
        with pytest.raises(InputError, match=next(iter(fields))):
            check_ns3(scenario(**fields, engine={"kind": "ns3"}))
