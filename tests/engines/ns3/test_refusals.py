# SPDX-License-Identifier: Apache-2.0
"""What ns-3 lacks is refused by the name of the field, whether ns-3 is installed or not."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from rdcnlab.app.doctor import examine
from rdcnlab.engines import get_engine
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.ns3 import Ns3Engine, build
from rdcnlab.engines.ns3.check import FIXED, FOLLOWED, MEMORY, check
from rdcnlab.engines.ns3.plan import compile_plan
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Scenario, Transport

PAIR = {
    "network": {
        "name": "pair",
        "hosts": [{"name": name, "rate": "10 Gb/s", "delay": "50 us"} for name in ("a", "b")],
        "links": [{"name": "link", "rate": "10 Gb/s", "buffer": "3 MB"}],
    },
    "engine": {"kind": "ns3"},
    "flows": [{"name": "f", "size": "1 MiB", "path": "link", "src": "a", "dst": "b"}],
}
TDNS = [{"duration": "1 ms", "link": "link", "tdn": 0}, {"duration": "1 ms", "link": "link", "tdn": 1}]
ROTOR = {
    "network": {"fabric": "rotor", "racks": 4, "hosts": 1},
    "flows": [{"name": "f", "src": "h1", "dst": "h2", "size": "1 MB"}],
    "engine": {"kind": "ns3"},
}


def asked(**changes: Any) -> Scenario:
    return Scenario.from_dict({**PAIR, **changes})


def flow(**changes: Any) -> list[dict[str, Any]]:
    return [{**PAIR["flows"][0], **changes}]


def scheduled(**changes: Any) -> dict[str, Any]:
    schedules = [{"name": "pair", "slots": TDNS}, {"name": "back", "slots": TDNS, **changes}]
    return {**PAIR["network"], "schedules": schedules}


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("switch.kind", {"switch": {"kind": "bmv2"}}),
    ("flows.f.protocol", {"flows": flow(protocol="quic")}),
    ("flows.f.protocol", {
        "network": scheduled(), "flows": flow(protocol="mptcp", path="pair", back="back"), "notify": {}
    }),
    ("flows.f.cc", {"flows": flow(cc="retcp")}),
    ("notify", {"network": scheduled(), "flows": flow(path="pair"), "notify": {}}),
    ("flows.f.tdtcp", {
        "network": scheduled(), "flows": flow(path="pair", tdtcp=True), "notify": {}, "transport": {"tdtcp": True}
    }),
    ("transport.tdtcp", {
        "network": scheduled(), "flows": flow(path="pair"), "notify": {}, "transport": {"tdtcp": True}
    }),
    ("network.schedules.back.echo", {
        "network": scheduled(echo={"of": "pair"}), "flows": flow(path="pair", back="back")
    }),
    ("probes.discards", {"probes": {"discards": True}}),
    ("engine.hz", {"engine": {"kind": "ns3", "hz": 1000}}),
    ("transport.like", {"transport": {"like": "4.15"}}),
    ("transport.recovery", {"transport": {"recovery": 0}}),
    ("transport.bbr_plain", {"transport": {"bbr_plain": 1}}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "changes"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_refusal_names_the_field_and_what_is_allowed(field: str, changes: dict[str, Any]) -> None:
    scenario = asked(**changes)
    with pytest.raises(InputError) as caught:
        Ns3Engine(scenario).prepare()
    problem = next(problem for problem in caught.value.problems if problem.field == field)
    assert problem.allowed
    assert len(caught.value.problems) == len({problem.field for problem in caught.value.problems})


def test_switches_of_a_graph_are_refused_by_their_names() -> None:
    network = {
        "name": "mixed",
        "switches": [{"name": "left"}, {"name": "right", "kind": "bmv2"}],
        "hosts": [
            {"name": "a", "at": "left", "rate": "10 Gb/s"}, {"name": "b", "at": "right", "rate": "10 Gb/s"}
        ],
        "links": [{"name": "link", "between": ["left", "right"], "rate": "1 Gb/s", "buffer": "1 MB"}],
    }  # fmt: skip
    with pytest.raises(InputError, match=r"network\.switches\.right\.kind"):
        check(asked(network=network))


def test_every_setting_of_transport_is_followed_or_refused() -> None:
    """A new setting must be decided upon; what is named must exist."""
    names = set(Transport.model_fields)
    assert names >= FOLLOWED | MEMORY | FIXED.keys()
    for name in names - FOLLOWED - MEMORY - FIXED.keys() - {"like", "tdtcp"}:
        default = getattr(Transport(), name)
        other = {False: True, True: False, None: 1}.get(default, 0) if default in (True, False, None) else default - 1
        if name == "tdtcp_pace" or default is None or isinstance(default, bool | int):
            with pytest.raises(InputError, match=rf"transport\.{name}"):
                check(asked().with_(**{f"transport.{name}": other}))


def test_settings_that_describe_what_ns3_does_are_accepted() -> None:
    check(asked(transport=FIXED))


def test_what_is_wrong_with_all_flows_of_a_workload_is_said_once() -> None:
    hosts = {"fabric": "dumbbell", "pairs": 4, "rate": "1 Gb/s"}
    workload = {"name": "w", "sizes": "1 MB", "arrivals": "once", "pattern": "permutation", "cc": "retcp"}
    data = {"network": hosts, "engine": {"kind": "ns3"}, "workloads": [workload]}
    with pytest.raises(InputError) as caught:
        check(Scenario.from_dict(data))
    assert [problem.field for problem in caught.value.problems] == ["workloads.w.cc"]


def test_the_engine_is_found_by_its_name_and_needs_nothing_to_refuse() -> None:
    assert isinstance(get_engine(asked()), Ns3Engine)


def test_an_engine_of_ones_own_that_is_none_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDCNLAB_ENGINE", "collections:OrderedDict")
    with pytest.raises(InputError, match=r"RDCNLAB_ENGINE: 'collections:OrderedDict'.*inherits from"):
        get_engine(asked())


@pytest.mark.parametrize(
    "data", [PAIR, ROTOR, {**PAIR, "network": scheduled(queue="1 MB"), "flows": flow(path="pair")}]
)
def test_a_plan_has_whole_numbers_only(data: dict[str, Any]) -> None:
    def leaves(value: Any) -> list[Any]:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return [value] if parts is None else [leaf for part in parts for leaf in leaves(part)]

    found = leaves(compile_plan(compile_network(Scenario.from_dict(data))))
    assert {type(leaf) for leaf in found} <= {int, str, bool}


@pytest.mark.parametrize(
    ("replaced", "said"),
    [
        (
            {
                "sys": SimpleNamespace(version_info=(3, 14, 0)),
                "platform": SimpleNamespace(python_version=lambda: "3.14.0"),
            },
            r"for Python 3\.11 to 3\.13, not for 3\.14\.0",
        ),
        ({"platform": SimpleNamespace(machine=lambda: "aarch64")}, "for x86_64, not for aarch64"),
    ],
    ids=["python", "machine"],
)
def test_where_there_is_no_wheel_doctor_and_engine_say_so(
    replaced: dict[str, SimpleNamespace], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, module in replaced.items():
        monkeypatch.setattr(build, name, module)
    row = next(row for row in examine() if row["what"] == "ns3")
    assert not row["ok"]
    assert not row["needed"]
    assert re.search(said, row["result"])
    with pytest.raises(RunError, match=said):
        Ns3Engine(asked()).prepare()
