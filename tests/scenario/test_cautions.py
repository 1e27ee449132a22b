# SPDX-License-Identifier: Apache-2.0
"""What is legal and nearly always a mistake has a caution with its cure; the cure ends it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from rdcnlab.fields.errors import HintWarning, InputError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario, preset, presets
from rdcnlab.scenario.caution import Caution
from rdcnlab.scenario.cautions import cautions


def made(network: Any, *flows: dict[str, Any], **more: Any) -> Scenario:
    """Return a scenario whose flows have 1 MB."""
    return Scenario.from_dict({"network": network, "flows": [{"size": "1 MB", **flow} for flow in flows], **more})


def only(scenario: Scenario) -> Caution:
    """Return the one caution on a scenario."""
    (caution,) = cautions(scenario)
    return caution


ROTOR = {"fabric": "rotor", "racks": 4, "hosts": 2}
DCTCP = {"name": "f", "src": "s1", "dst": "r1", "cc": "dctcp"}


def test_dctcp_where_nothing_marks() -> None:
    caution = only(made("dumbbell", DCTCP))
    assert caution.field == "flows.f.cc"
    assert "nothing on the way of flow f marks" in caution.text
    assert "ecn_threshold of its links (bottleneck)" in caution.cure
    assert not cautions(made("dumbbell", {**DCTCP, "cc": "cubic"}))


@pytest.mark.parametrize(
    "link",
    [
        {"buffer": "1 MB", "ecn_threshold": "100 kB"},
        {"buffer": "1 MB", "marking": {"min": "1 kB", "max": "9 kB", "probability": "1 %"}},
        {"aqm": "fq_codel"},
        {"aqm": {"kind": "codel", "ecn": True}},
    ],
)
def test_dctcp_where_something_marks(link: dict[str, Any]) -> None:
    assert not cautions(_pair(link, DCTCP))


@pytest.mark.parametrize("link", [{"aqm": "codel"}, {"aqm": {"kind": "fq_codel", "ecn": False}}, {"buffer": "1 MB"}])
def test_dctcp_under_a_discipline_that_does_not_mark(link: dict[str, Any]) -> None:
    assert only(_pair(link, DCTCP)).field == "flows.f.cc"
    thresholds = {"port": {"ecn_threshold": "100 kB"}}
    assert not cautions(_pair(link, DCTCP, r1=thresholds))


def _pair(link: dict[str, Any], *flows: dict[str, Any], r1: dict[str, Any] | None = None, **more: Any) -> Scenario:
    """Return a scenario of two hosts at one switch."""
    hosts = [{"name": name, "rate": "10 Gb/s", **((r1 or {}) if name == "r1" else {})} for name in ("s1", "r1")]
    network = {"name": "pair", "hosts": hosts, "links": [{"name": "l", "rate": "10 Gb/s", **link}]}
    return made(network, *({"path": "l", **flow} for flow in flows), **more)


def test_a_schedule_marks_for_its_flows() -> None:
    flow = {"name": "f", "src": "h1", "dst": "h5", "cc": "dctcp"}
    fine = {"bin": "20 us"}
    caution = only(made(ROTOR, flow, probes=fine))
    assert "of the schedule r1-r3" in caution.cure
    assert not cautions(made({**ROTOR, "ecn_threshold": "10 packets"}, flow, probes=fine))


@pytest.mark.parametrize(("width", "proposed"), [("1 ms", "20 us"), ("181 us", "20 us"), ("180 us", ""), ("20 us", "")])
def test_bins_that_are_longer_than_slots(width: str, proposed: str) -> None:
    flow = {"name": "f", "src": "h1", "dst": "h5"}
    found = cautions(made(ROTOR, flow, probes={"bin": width}))
    assert [caution.field for caution in found] == ["probes.bin"] * bool(proposed)
    if proposed:
        assert "the schedule r1-r3 (180 us)" in found[0].text
        assert found[0].cure == f"Set it to {proposed} or less"
        assert not cautions(made(ROTOR, flow, probes={"bin": proposed}))


def test_bins_and_circuits_and_timetables_of_flows() -> None:
    flow = {"name": "f", "src": "h1", "dst": "h3"}
    assert only(made({"fabric": "opera", "racks": 8, "hosts": 1}, flow)).field == "probes.bin"
    moved = {"name": "migrated", "path": [["400 us", "blue"], ["2 ms", "green"]]}
    assert "slots of flow migrated (400 us)" in only(made("aykurt", moved)).text
    # neighbours with one target are one slot, also the last and the first
    parts = [["200 us", "blue"], ["2 ms", "green"], ["200 us", "blue"]]
    assert "slots of flow migrated (400 us)" in only(made("aykurt", {**moved, "path": parts})).text
    # a timetable of one target never changes, and nights may be shorter than bins
    assert not cautions(made("aykurt", {**moved, "path": [["400 us", "blue"], ["2 ms", "blue"]]}))
    assert not cautions(made("aykurt", {**moved, "path": [["400 us", "dark"], ["2 ms", "green"]]}))


def test_flows_of_one_congestion_control_are_one_caution() -> None:
    flows = [{**DCTCP, "name": f"f{number}"} for number in range(5)]
    assert "of flow f0 (nor on the ways of 4 other flows)" in only(made("dumbbell", *flows)).text


def test_a_socket_buffer_that_limits() -> None:
    flow = {"name": "f", "src": "s1", "dst": "r1", "size": "1 GB"}
    assert not cautions(_pair({"buffer": "1 MB", "delay": "100 ms"}, {**flow, "size": "4 MB"}))
    far = {"buffer": "1 MB", "delay": "100 ms"}
    found = {caution.field: caution for caution in cautions(_pair(far, flow))}
    assert sorted(found) == ["transport.rmem", "transport.wmem"]
    # 10 Gb/s times 0.1 s are 125 MB, of which 4 MiB are 336 Mb/s
    assert "336 Mb/s" in found["transport.wmem"].text
    assert "125 MB" in found["transport.wmem"].text
    assert "wmem: [4 KiB, 16 KiB, 250 MB]" in found["transport.wmem"].cure
    enough = {"wmem": ["4 KiB", "16 KiB", "250 MB"], "rmem": ["4 KiB", "128 KiB", "250 MB"]}
    assert not cautions(_pair(far, flow, transport=enough))
    # a hundred flows share the link, and each needs a hundredth
    assert not cautions(_pair(far, *({**flow, "name": f"f{number}"} for number in range(100))))


def test_a_port_without_room() -> None:
    flow = {"name": "f", "src": "s1", "dst": "r1"}
    slow = {"rate": "1 Gb/s", "port": {"buffer": "2 packets"}}
    caution = only(_pair({"buffer": "1 MB"}, flow, r1=slow))
    assert caution.field == "network.hosts.r1.port.buffer"
    assert "2 full packets" in caution.text
    assert "1000 packets" in caution.cure
    assert not cautions(_pair({"buffer": "1 MB"}, flow, r1={"port": {"buffer": "2 packets"}}))
    assert not cautions(_pair({"buffer": "1 MB"}, flow, r1={"rate": "1 Gb/s"}))
    assert only(_pair({"buffer": "1 kB"}, flow)).field == "network.links.l.buffer"


#: Two ways from a to d: a - b - d, and a - c1 - c2 - c3 - d.
TWO_WAYS = {
    "name": "mine",
    "switches": [{"name": name} for name in ("a", "b", "c1", "c2", "c3", "d")],
    "hosts": [{"name": "h1", "at": "a", "rate": "1 Gb/s"}, {"name": "h2", "at": "d", "rate": "1 Gb/s"}],
    "links": [
        {"name": name, "between": ends, "rate": "1 Gb/s", "buffer": "1 MB"}
        for name, ends in {
            "ab": ["a", "b"],
            "bd": ["b", "d"],
            "ac1": ["a", "c1"],
            "c12": ["c1", "c2"],
            "c23": ["c2", "c3"],
            "c3d": ["c3", "d"],
        }.items()
    ],
}


def test_a_path_that_is_a_detour() -> None:
    flow = {"name": "f", "src": "h1", "dst": "h2"}
    # c12 is a typing error for ab, and the rest of the way is found without a question
    caution = only(made(TWO_WAYS, {**flow, "path": "c12"}))
    assert caution.field == "flows.f.path"
    assert "a detour of 4 links, a - c1 - c2 - c3 - d, where 2 would do" in caution.text
    assert "does not name c23" in caution.text
    assert "a short way is ab+bd" in caution.cure
    assert only(made(TWO_WAYS, {**flow, "back": "c23"})).field == "flows.f.back"
    for path in ("ecmp", "b", "ab", "ab+bd"):
        assert not cautions(made(TWO_WAYS, {**flow, "path": path})), path
    # a long way is meant if it is named
    assert not cautions(made(TWO_WAYS, {**flow, "path": "c1+c2+c3"}))
    assert not cautions(made(TWO_WAYS, {**flow, "path": "ac1+c12+c23+c3d"}))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("c1+c3", "no link joins c1 and c3. Joined to c1: a, c2, ac1, c12"),  # c2 is left out
        ("ac1+c32+c3d", "there is no link or switch 'c32'. Did you mean 'c3'?"),
        ("ac1+c23+c3d", "no link joins ac1 and c23. Did you mean 'c12'? Joined to ac1: "),
    ],
)
def test_a_path_whose_parts_do_not_meet_is_refused(path: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        made(TWO_WAYS, {"name": "f", "src": "h1", "dst": "h2", "path": path})
    assert f"flows.f.path: {said}" in str(caught.value)


@pytest.mark.parametrize("network", presets())
def test_presets_have_no_cautions_for_flows_of_cubic(network: str) -> None:
    flows = [{"name": name, "size": "1 MB", "path": "bypass", **ends} for name, ends in _ends(network).items()]
    assert not cautions(Scenario.from_dict({"network": network, "flows": flows, "probes": {"bin": "20 us"}}))


def _ends(network: str) -> dict[str, dict[str, str]]:
    hosts = [host.name for host in preset(network).network.hosts]
    return {"f": {"src": hosts[0], "dst": hosts[-1]}}


def test_campaigns_warn_once_and_items_do_not(store: Store, fake_engine: None, pool_here: None) -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers import aykurt

    base = made("dumbbell", DCTCP)
    with pytest.warns(HintWarning, match=r"flows\.f\.cc: nothing on the way") as caught:
        campaign([base.with_(seed=seed) for seed in range(3)], store=store, progress=False)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", HintWarning)
        campaign([base], store=store, progress=False, hints=False)
        aykurt.fig4(profile="quick", periods_ms=[10]).run(store=store, progress=False)


def test_retcp_whose_flag_nobody_sets() -> None:
    network = {"fabric": "rotor", "racks": 4, "mtu": "1500 B", "packet_rate": "10 Gb/s"}
    flow = {"name": "f", "src": "h1", "dst": "h5", "cc": "retcp"}
    fine = {"bin": "20 us"}
    caution = only(made(network, flow, probes=fine))
    assert caution.field == "flows.f.cc"
    assert "no switch sets the flag of reTCP in ACKs of flow f" in caution.text
    assert "echo of the fabric" in caution.cure
    assert not cautions(made({**network, "echo": "0 ns"}, flow, probes=fine))
    assert "back" in only(made("dumbbell", {**DCTCP, "cc": "retcp"})).cure
