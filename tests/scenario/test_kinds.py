# SPDX-License-Identifier: Apache-2.0
"""Switches of several kinds in one network: what each kind refuses, and what its plan has."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.analysis.show.ways import Shown, ways_of
from rdcnlab.engines import get_engine
from rdcnlab.engines.kernel.plan import check, compile_plan
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario

SLOTS = [["1 ms", "l"], ["1 ms", "m"]]
DARK = [["1 ms", "l"], ["1 ms", "dark"]]


def flow(**more: Any) -> dict[str, Any]:
    return {"name": "f", "src": "h1", "dst": "h2", "size": "1 MB", **more}


def network(a: dict[str, Any] | str, b: dict[str, Any] | str = "ocs", **more: Any) -> dict[str, Any]:
    """Return two switches, given by their kinds or all of their fields, with a host each and two links."""
    given = {name: {"kind": kind} if isinstance(kind, str) else kind for name, kind in (("a", a), ("b", b))}
    nodes = [{"name": name, **fields} for name, fields in given.items()]
    links = [{"name": n, "between": ["a", "b"], "rate": "1 Gb/s", "buffer": "1 MB"} for n in ("l", "m")]
    hosts = [{"name": f"h{n}", "at": at, "rate": "1 Gb/s"} for n, at in ((1, "a"), (2, "b"))]
    return {"name": "two", "switches": nodes, "hosts": hosts, "links": links, **more}


def scenario(net: dict[str, Any], *flows: dict[str, Any], **more: Any) -> Scenario:
    return Scenario.from_dict({"network": net, "flows": list(flows) or [flow()], **more})


def pair(**more: Any) -> dict[str, Any]:
    return {"name": "s", "pair": ["a", "b"], "slots": SLOTS, **more}


OPTICAL = [{"name": "a"}, {"name": "b"}, {"name": "o", "kind": "linux", "optical": True}]


PROGRAMS = [{"host": "h1", "run": "true"}, {"host": "h2", "run": "true"}]


@pytest.mark.parametrize(
    ("asked", "field", "allowed"),
    [
        *(
            (scenario(network(kind), programs=PROGRAMS), "network.switches.a.kind", "ocs, with programs")
            for kind in ("linux", "ovs", "bmv2")
        ),
        (scenario(network("ovs"), flow(path=DARK), switch={"dark": "hold"}), "switch.dark", "a, which is ovs"),
        (
            scenario(network("ovs", schedules=[pair(dark="drop", queue="1 MB")])),
            "network.schedules.s.queue",
            "a, which is ovs",
        ),
        (
            scenario(network("ovs"), flow(path=SLOTS), switch={"kind": "ovs", "jitter": "1 ms"}),
            "switch.jitter",
            "less than the shortest slot at a",
        ),
        (scenario(network("ocs", switches=OPTICAL)), "network.switches.o.kind", "ocs, because it is optical"),
        (scenario(network("bmv2"), flow(path=DARK), switch={"dark": "hold"}), "switch.dark", "a, which is bmv2"),
        (scenario(network("linux"), flow(path=DARK), switch={"dark": "hold"}), "switch.dark", "a, which is linux"),
        (scenario(network("linux", schedules=[pair()])), "network.schedules.s.dark", "a, which is linux"),
        (
            scenario(network("bmv2", schedules=[pair(dark="drop", queue="1 MB")])),
            "network.schedules.s.queue",
            "a, which is bmv2",
        ),
        (
            scenario(network("ocs", "linux", schedules=[pair()]), notify={}),
            "notify",
            "a host at a switch ocs; h2 is at b, which is linux",
        ),
        (
            scenario(network({"kind": "bmv2", "jitter": "1 us"}), limit="1 s"),
            "network.switches.a.jitter",
            "microseconds",
        ),
        (
            scenario(network({"kind": "bmv2", "late": "1500 ns"})),
            "network.switches.a.late",
            "microseconds with a as bmv2",
        ),
        (
            scenario(network("bmv2"), flow(path=[["1000500 ns", "l"], ["1 ms", "m"]])),
            "flows.f.path",
            "microseconds with a as bmv2",
        ),
        (
            scenario(network("bmv2"), flow(path=[["5001 us", "l"], ["5000 us", "m"]])),
            "flows",
            "at most 4096 at a, which is bmv2",
        ),
    ],
)
def test_what_a_kind_cannot_do_names_the_switch_and_what_is_allowed(asked: Scenario, field: str, allowed: str) -> None:
    """A store that asks for the identity of a run gets the same words."""
    for ask in (lambda: check(compile_network(asked)), get_engine(asked).identity):
        with pytest.raises(InputError) as error:
            ask()
        problem = error.value.problems[0]
        assert (problem.field, allowed in problem.allowed) == (field, True), error.value


@pytest.mark.parametrize("kind", ["linux", "bmv2"])
def test_what_only_the_other_switch_does_is_not_refused(kind: str) -> None:
    """Packets wait where a schedule begins; a switch behind only forwards."""
    check(compile_network(scenario(network("ocs", kind, schedules=[pair(queue="1 MB")]), flow(back="l"))))
    check(compile_network(scenario(network("ocs", kind), flow(path=DARK), switch={"dark": "hold"})))
    check(compile_network(scenario(network(kind, schedules=[pair(dark="drop")]))))


def test_the_kind_of_the_network_is_that_of_switches_that_name_none() -> None:
    asked = scenario(network({}, "ocs"), switch={"kind": "linux"})
    assert [switch["kind"] for switch in compile_plan(compile_network(asked))["switches"]] == ["linux", "ocs"]


def test_a_link_to_a_switch_of_another_kind_has_its_own_cable() -> None:
    """Between switches ocs one cable serves all links, as their packets need no port to tell the links apart."""
    assert len(compile_plan(compile_network(scenario(network("ocs"))))["trunks"]) == 1
    assert len(compile_plan(compile_network(scenario(network("ocs", "linux"))))["trunks"]) == 2


@pytest.mark.parametrize("kind", ["linux", "bmv2"])
def test_lines_have_the_same_settings_whatever_the_kind(kind: str) -> None:
    """Only the port at the end of a line has another name, because a link has its own cable."""
    plans = [compile_plan(compile_network(scenario(network(one))), here=False)["switches"][0] for one in ("ocs", kind)]
    ours, theirs = plans[0], plans[1]["panel"]
    for key in ("ports", "pools", "seed"):
        assert ours[key] == theirs[key]
    bare = [[{**link, "port": None} for link in plan["links"]] for plan in (ours, theirs)]
    assert bare[0] == bare[1]


def test_the_identity_of_a_mix_depends_on_all_its_kinds() -> None:
    mixes = [scenario(network(*kinds)) for kinds in (("ocs", "ocs"), ("ocs", "linux"), ("linux", "ocs"))]
    assert len({get_engine(mix).identity() for mix in mixes}) == 3


def test_more_shared_buffers_than_a_switch_has_are_refused() -> None:
    pools = [{"name": f"p{n}", "size": "1 MB"} for n in range(65)]
    assert len(scenario(network("ocs", pools=pools[:64])).network.pools) == 64
    with pytest.raises(InputError, match=r"network\.pools: .* at most 64 items"):
        scenario(network("ocs", pools=pools))


def test_a_schedule_that_nobody_follows_and_that_leads_nowhere_is_named_when_shown() -> None:
    """The scenario runs, because no packet needs the schedule."""
    lost = {"name": "lost", "pair": ["c", "a"], "slots": [["1 ms", "l"], ["1 ms", "m"]]}
    nodes = [{"name": name} for name in "abc"]
    asked = scenario(network("ocs", switches=nodes, schedules=[lost]))
    check(compile_network(asked))
    with pytest.raises(InputError, match=r"network\.schedules\.lost\.slots: .* that can be reached from c"):
        ways_of(Shown.of(asked))
