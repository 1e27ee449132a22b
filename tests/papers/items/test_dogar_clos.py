# SPDX-License-Identifier: Apache-2.0
"""The simulated part of the paper: what its scenarios are, and how the items judge given numbers."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rdcnlab.analysis.timetables import targets, together
from rdcnlab.engines import get_engine
from rdcnlab.engines.kernel import plan as kernel_plan
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.ns3 import check as ns3_check
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from rdcnlab_papers import dogar
from rdcnlab_papers.analysis import evenness, updates
from rdcnlab_papers.dogar import clos
from rdcnlab_papers.dogar.clos import Inputs
from rdcnlab_papers.items.item import Item
from tests.papers.items.shared import refused

MS = 10**6
#: The columns of the finding's table of the reading taken literally.
COLUMNS = ("6.12", "literal", "ns3")


def variant_of(scenario: Scenario) -> str:
    """The transport of a scenario's flows."""
    return "tdtcp" if scenario.transport.tdtcp else str(scenario.flows[0].cc)


def test_the_paper_profile_has_the_papers_values() -> None:
    asked = dogar.fig15(profile="paper").points()
    assert len(asked) == 2 * 2 * 10
    assert {link.buffer_bytes(1500) for each in asked for link in each.network.links} == {1_000_000, 500_000}
    for each in asked:
        assert {link.rate for link in each.network.links} == {10**10}
        assert each.limit == 16 * 25 * MS
        lateness = {node.name: node.jitter for node in each.network.switches}
        assert lateness == {"leaf1": MS, "leaf2": MS, "leaf3": MS, "spine1": 0, "spine2": 0}


def test_the_rtt_is_that_of_the_lines() -> None:
    network = clos.updates("dctcp", seed=0).network
    way = [network.host("s1").delay, network.link("leaf1-spine1").delay]
    way += [network.link("leaf3-spine1").delay, network.host("r1").delay]
    assert 2 * sum(way) == 500_000


def test_figures_share_runs() -> None:
    for column in ("6.12", "literal", "ns3"):
        hashes = {
            name: {scenario.hash for scenario in getattr(dogar, name)(profile="paper", column=column).scenarios()}
            for name in ("fig15", "fig16", "fig17", "fig18", "fig19", "fig20")
        }
        assert hashes["fig15"] == hashes["fig16"] == hashes["fig17"] | hashes["fig20"]
        assert hashes["fig17"] == hashes["fig18"]
        assert hashes["fig19"] < hashes["fig15"]


def test_the_literal_column_has_its_own_inputs_and_parameters_replace_them() -> None:
    item = dogar.fig15(profile="paper", column="literal")
    assert item.inputs == Inputs(pattern="down", readings=(3,), hold_sack=True)
    of_nuftcp = [each.transport for each in item.scenarios() if variant_of(each) == "nuftcp"]
    assert {(each.nuftcp_readings, each.version_hold_sack) for each in of_nuftcp} == {((3,), 1)}
    assert dogar.fig15(column="literal", pattern="swap", readings=()).inputs == Inputs(hold_sack=True)
    assert dogar.fig15().inputs == Inputs() == dogar.fig15(column="ns3").inputs
    assert dogar.fig20(profile="paper", column="literal").prose().inputs == Inputs(pattern="down", hold_sack=True)


def test_the_table_has_the_literal_updates_and_what_nuftcp_does_not_change_is_shared() -> None:
    usual, literal = (dogar.tab3(profile="paper", column=column) for column in ("6.12", "literal"))
    assert literal.move_flows("dctcp", 1) == clos.updates(
        "dctcp", seed=1, count=15, inputs=Inputs(pattern="down"), counted_ns=10 * MS
    )
    assert literal.with_parameters(profile="paper", pattern="swap").move_flows("bbr", 0) == usual.move_flows("bbr", 0)
    for cc, same in (("bbr", True), ("cubic", True), ("dctcp", True), ("nuftcp", False)):
        assert (literal.still(cc, 0) == usual.still(cc, 0)) is same
        assert (literal.apart(cc, 0) == usual.apart(cc, 0)) is same


@pytest.mark.parametrize(
    ("pattern", "spines", "shared"),
    [
        ("swap", {"fn-1": [1, 2, 1, 2], "fm-1": [2, 1, 2, 1]}, [0, 0, 0, 0]),
        ("down", {"fn-1": [1, 2, 1, 2], "fm-1": [2, 2, 2, 2]}, [0, 1, 0, 1]),
        ("alternate", {"fn-1": [1, 2, 1, 2], "fm-1": [1, 2, 1, 2]}, [1, 1, 1, 1]),
    ],
)
def test_patterns_of_updates(pattern: str, spines: dict[str, list[int]], shared: list[int]) -> None:
    scenario = clos.updates("dctcp", seed=1, count=3, inputs=Inputs(pattern=pattern))
    at = np.arange(4) * 25 * MS + 5 * MS
    for flow, ways in spines.items():
        assert list(targets(scenario, flow, at)) == [f"spine{number}" for number in ways]
    assert list(together(scenario, "fn-1", "fm-1", at)) == [bool(each) for each in shared]


@pytest.mark.parametrize(("every_ms", "first_ms"), [(10, 200), (200, 200), (1000, 200), (10_000, 500)])
def test_updates_come_at_their_instants(every_ms: int, first_ms: int) -> None:
    count = 3
    scenario = clos.updates("dctcp", seed=1, count=count, every_ns=every_ms * MS, first_ns=first_ms * MS)
    assert scenario.limit == (first_ms + count * every_ms) * MS
    instants = [(first_ms + number * every_ms) * MS for number in range(count)]
    ways = [targets(scenario, "fn-1", [at - 1, at]).tolist() for at in instants]
    assert ways == [["spine1", "spine2"], ["spine2", "spine1"], ["spine1", "spine2"]]


def test_nuftcp_has_its_settings_and_others_have_none() -> None:
    inputs = Inputs(hold_us=2000, hold_sack=True, readings=(3,))
    given = clos.updates("nuftcp", seed=0, inputs=inputs).transport
    assert (given.version_hold_us, given.version_hold_sack, given.nuftcp_readings) == (2000, 1, (3,))
    assert clos.updates("dctcp", seed=0, inputs=inputs).transport == clos.updates("dctcp", seed=0).transport
    assert clos.updates("nuftcp", seed=0).transport == clos.updates("dctcp", seed=0).transport


def test_a_jitter_of_each_link_takes_the_rhythm_of_two_flows_away() -> None:
    item = dogar.fig15(profile="paper", column="literal")
    usual, without = item.points()[0].network, item.without_rhythm().points()[0].network
    # the default of a line is not stored, so scenarios without jitter have the hashes that they had
    assert {link.jitter for link in usual.links} == {0}
    assert {link.jitter for link in without.links} == {2000}
    assert {host.jitter for host in without.hosts} == {0}


@pytest.mark.parametrize("variant", ["nuftcp", "tdtcp", "dctcp", "cubic", "bbr"])
def test_engines_take_all_transports_that_they_have(variant: Any) -> None:
    scenario = clos.updates(variant, seed=0)
    kernel_plan.check(compile_network(scenario))
    assert bool(kernel_plan.compile_plan(compile_network(scenario), here=False)["switches"])
    assert variant_of(scenario) == variant
    there = scenario.with_(**{"engine.kind": "ns3"})
    if variant == "tdtcp":
        with pytest.raises(InputError, match="tdtcp"):
            ns3_check.check(there)
    else:
        ns3_check.check(there)


def test_hosts_are_told_of_both_spines_also_if_nothing_changes() -> None:
    for scenario in (clos.updates("tdtcp", seed=0), clos.still("tdtcp", seed=0, length_ns=10**9)):
        told = scenario.notifications()
        assert [(each.host, each.schedule.name) for each in told] == [
            ("s1", "fn"), ("r1", "fn-acks"), ("s2", "fm"), ("r2", "fm-acks"),
        ]  # fmt: skip
        assert all({slot.tdn for slot in each.schedule.slots} == {0, 1} for each in told)
        assert all(f"spine{slot.tdn + 1}" == slot.link for each in told for slot in each.schedule.slots)
        kernel_plan.compile_plan(compile_network(scenario), here=False)


def test_without_marks_there_is_no_threshold_and_all_share_a_line() -> None:
    scenario = clos.still("dctcp", seed=0, length_ns=10**9, together=True, marks=False)
    assert {link.ecn_threshold for link in scenario.network.links} == {None}
    assert {flow.path for flow in scenario.flows} == {"spine1"}
    apart = clos.still("dctcp", seed=0, length_ns=10**9)
    assert [flow.path for flow in apart.flows] == ["spine1", "spine2"]


@pytest.mark.parametrize("column", ["6.12", "ns3"])
def test_all_intervals_can_be_run(column: str) -> None:
    item = dogar.breaks(profile="paper", column=column)
    for scenario in item.scenarios():
        assert get_engine(scenario).network  # each engine checks what it compiles
        kinds = {node.jitter for node in scenario.network.switches if node.name.startswith("leaf")}
        assert len(kinds) == 1
    assert {variant_of(point) for point in item.points()} == {
        "nuftcp", "dctcp", "cubic", "bbr", *(["tdtcp"] if column == "6.12" else []),
    }  # fmt: skip
    assert max(item.intervals) == (0.1 if column == "ns3" else 10)


def of_variants(numbers: dict[str, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [{"run": 0, "seed": seed, "cc": cc, "value": value} for cc, value in numbers.items() for seed in (0, 1)]
    )


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(
    ("dctcp", "nuftcp", "verdict"),
    [
        (3900, 0, "reproduced"),
        (3900, 129, "reproduced"),
        (3900, 140, "partly"),
        (100, 120, "differs"),
        (0, 0, "undecided"),
    ],
)
def test_thirty_times_fewer(
    dctcp: float, nuftcp: float, verdict: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for way in ("came_ahead", "duplicates"):
        monkeypatch.setattr(updates, way, lambda runs: of_variants({"dctcp": dctcp, "nuftcp": nuftcp}))
    item = dogar.fig16(seeds=2)
    scores = {row.claim: row.verdict for row in item.rows(item.run(store=store, progress=False))}
    assert scores["fewer"] == verdict


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(("arrivals", "duplicates"), [(100, 300), (300, 100)])
def test_one_way_to_count_is_enough(
    arrivals: float, duplicates: float, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sec. 4.2(1) does not say how packets out of order are counted."""
    monkeypatch.setattr(updates, "came_ahead", lambda runs: of_variants({"dctcp": 3900, "nuftcp": arrivals}))
    monkeypatch.setattr(updates, "duplicates", lambda runs: of_variants({"dctcp": 3900, "nuftcp": duplicates}))
    item = dogar.fig16(seeds=2)
    scores = {row.claim: row.verdict for row in item.rows(item.run(store=store, progress=False))}
    assert scores["fewer"] == "reproduced"


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(("large", "small", "verdict"), [(1200, 1300, "reproduced"), (1300, 1200, "differs")])
def test_losses_of_both_buffers_are_compared(
    large: int, small: int, verdict: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(runs: Any) -> pd.DataFrame:
        size = runs[0].scenario.network.links[0].buffer_bytes(1500)
        return of_variants({"dctcp": large if size == 1_000_000 else small, "nuftcp": 0})

    monkeypatch.setattr(updates, "lost", lost)
    item = dogar.fig15(seeds=2)
    scores = {row.claim: row.verdict for row in item.rows(item.run(store=store, progress=False))}
    assert scores == {"nuftcp-none": "reproduced", "more-with-small": verdict, "numbers": "reproduced"}


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(("variation", "verdict"), [(0.1, "reproduced"), (0.39, "reproduced"), (0.5, "differs")])
def test_steadier_is_steadier(variation: float, verdict: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def described(runs: Any, from_ns: int) -> pd.DataFrame:
        assert from_ns == 25 * MS
        rows = [
            {"run": 0, "seed": seed, "cc": cc, "variation": of, "zero": 0.0, "gbps": rate}
            for cc, of, rate in (("dctcp", 0.4, 17.0), ("nuftcp", variation, 18.0))
            for seed in (0, 1)
        ]
        return pd.DataFrame(rows)

    monkeypatch.setattr(evenness, "evenness", described)
    item = dogar.fig18(seeds=2)
    scores = {row.claim: row.verdict for row in item.rows(item.run(store=store, progress=False))}
    assert scores == {"no-zero": "reproduced", "steadier": verdict, "more": "reproduced"}


@pytest.mark.usefixtures("fake_engine")
def test_a_transport_breaks_at_the_longest_interval_below_nine_tenths(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {0.1: 99.0, 0.01: 85.0, 0.001: 95.0}

    def made(self: Any, runs: Any) -> pd.DataFrame:
        return pd.DataFrame(
            [
                {
                    "cc": cc,
                    "seed": seed,
                    "kind": kind,
                    "interval_s": interval,
                    "again": 1.0,
                    "value": value + (cc == "nuftcp") * 6,
                }
                for cc in self.chosen
                for seed in (0, 1)
                for kind in ("consistent", "inconsistent")
                for interval, value in kept.items()
            ]
        )

    monkeypatch.setattr(dogar.breaks, "kept_throughput", made)
    item = dogar.breaks(seeds=2)
    runs = item.run(store=store, progress=False)
    table = item.table(runs)["consistent", "breaks at"]
    others = dict.fromkeys(("TDTCP", "DCTCP", "CUBIC", "BBR"), "10 ms, holds again at 1 ms")
    assert dict(table) == {"NUFTCP": "none of these", **others}
    scores = {row.claim: row.verdict for row in item.rows(runs)}
    assert scores == {
        "rare": "reproduced", "consistent-better": "differs", "nuftcp-best": "reproduced", "all-break": "differs",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "parameters", "field", "allowed"),
    [
        (dogar.fig15, {"pattern": "up"}, "pattern", "swap"),
        (dogar.fig16, {"readings": [7]}, "readings[0]", "6"),
        (dogar.fig17, {"column": "4.9"}, "column", "ns3"),
        (dogar.fig18, {"mark_kB": 0}, "mark_kB", "1.5"),
        (dogar.tab3, {"length_s": 0}, "length_s", "0.1"),
        (dogar.breaks, {"variants": ["reno"]}, "variants[0]", "nuftcp"),
        (dogar.breaks, {"intervals_s": []}, "intervals_s", "at least 1"),
    ],
)
def test_wrong_parameters_are_refused(
    kind: type[Item], parameters: dict[str, object], field: str, allowed: str
) -> None:
    refused(kind, parameters, field, allowed)


def test_settings_change_one_thing_and_share_what_they_do_not_change() -> None:
    item = dogar.readings(seeds=1)
    asked = item.points()
    assert len(asked) == len({each.hash for each in asked}) == 2 * (5 + 9)
    assert item.at("T 2 ms", "dctcp", "large", 0) == item.at("default", "dctcp", "large", 0)
    literal = item.at("spine down, algorithm 2", "nuftcp", "small", 0)
    assert literal.transport.nuftcp_readings == (3,)
    assert literal.flows[1].path == "spine2"
    in_figures = {scenario.hash for scenario in dogar.fig15(profile="paper", seeds=3).scenarios()}
    assert in_figures < {each.hash for each in dogar.readings(profile="paper").scenarios()}


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(("least", "verdict"), [(0.0, "reproduced"), (1.0, "differs")])
def test_the_literal_reading_is_judged_by_its_own_runs(
    least: float, verdict: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(self: Any, runs: Any) -> pd.DataFrame:
        rows = []
        for setting in ("default", "spine down", "spine down, algorithm 2"):
            for cc in ("dctcp", "nuftcp"):
                lost = 1300.0 if cc == "dctcp" or setting == "spine down" else least
                rows += [
                    {"setting": setting, "cc": cc, "buffer": buffer, "seed": seed, "lost": lost, "again": lost}
                    for buffer in ("large", "small")
                    for seed in (0, 1)
                ]
        return pd.DataFrame(rows)

    monkeypatch.setattr(dogar.readings, "quantities", found)
    item = dogar.readings(seeds=2)
    runs = item.run(store=store, progress=False)
    assert {row.claim: row.verdict for row in item.rows(runs)} == {
        "literal-none": verdict, "literal-dctcp": "reproduced", "literal-again": "reproduced",
        "prose-loses": "reproduced",
    }  # fmt: skip


def test_the_findings_verdicts_of_the_column_literal_are_those_of_the_scores() -> None:
    """A row names figures and claims; each of its cells has the verdicts of all of them in a column."""
    scores = json.loads((places.tree() / "data" / "scores.json").read_text())
    text = (places.tree() / "docs" / "findings" / "dogar.md").read_text()
    (table,) = re.findall(r"\| item, claim \| 6\.12 \| `literal` \| ns3 \|\n\|[-|]+\n((?:\|.*\n)+)", text)
    rows = table.splitlines()
    assert len(rows) > 15
    for line in rows:
        first, *cells = line.strip("|").split(" | ")
        items, claims = re.findall(r"fig\d+|tab3", first), re.findall(r"`([a-z-]+)`", first)
        for column, cell in zip(COLUMNS, cells, strict=True):
            known = {scores[f"dogar/{item}/{column}/{claim}"][0] for item in items for claim in claims}
            assert set(re.findall("reproduced|partly|undecided|differs", cell)) == known, f"{first}, {column}"
