# SPDX-License-Identifier: Apache-2.0
"""The items' own logic, with the fluid model of `tests/fake_engine.py`. Tests in guests check the behaviour of TCP."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import pytest

from rdcnlab.analysis.intervals import estimates
from rdcnlab.engines.kernel import plan
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab_papers import tdtcp
from rdcnlab_papers.analysis import weeks
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.benchmarks.compared import Comparison
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.items.verdicts import Verdict, judge
from rdcnlab_papers.tdtcp import space
from rdcnlab_papers.tdtcp.late import short_night

#: Wide bins, with which the fluid model is fast.
WIDE = {"probes.bin": "100 us"}
#: Parts of the ids of claims that need a variant or scenarios that are not run here.
WAITS = (
    "tdtcp",
    "mptcp",
    "retcp",
    "over-cubic",
    "over-dctcp",
    "slightly-below",
    "quiet-days",
    "falls-with",
    "dctcp-as",
    "reverse-widens",
    "isolation-costs",
    "notice-costs",
    "ranking",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One store for all tests, because the figures share their runs."""
    directory = tmp_path_factory.mktemp("store")
    return Store(directory / "runs", shipped=Shipped(directory / "none"))


#: Parameters of an item, and the number of runs that they need. Other items run one variant.
ASKED: dict[type[Item], tuple[dict[str, object], int]] = {
    tdtcp.fig11: ({"delays_us": [0, 10]}, 3),
    tdtcp.testbeds: ({"variants": ["cubic"], "parameters": ["hosts", "reverse"]}, 3),
    tdtcp.inside: ({"cc": ["cubic"]}, 2),
    tdtcp.networks: ({"counts": [2, 3]}, 4),
    tdtcp.fairness: ({"counts": [0, 8]}, 2),
    tdtcp.late: ({"rtts_us": [40], "delays_us": [0, 60]}, 16),
}


#: Items whose runs have the paper's weeks; `tests.papers.items.test_architectures` has the others.
WITH_WEEKS = [kind for kind in tdtcp.items() if not issubclass(kind, Comparison)]


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(
    ("kind", "column"), [(kind, column.id) for kind in WITH_WEEKS for column in kind.columns()], ids=str
)
def test_items_run_draw_and_judge_what_can_be_judged(kind: type[Item], column: str, store: Store) -> None:
    given, count = ASKED.get(kind, ({"variants": ["cubic"]}, 1))
    item = kind(**given, seeds=1, changes=WIDE, column=column)
    assert {row.verdict for row in item.rows(None)} == {"not run"}
    runs = item.run(store=store, progress=False)
    assert len(runs) == count
    assert item.plot(runs)._repr_png_().startswith(b"\x89PNG")
    rows = item.rows(runs)
    assert all("starved flows: 0 of" in row.measured for row in rows if row.measured)
    assert [row.claim for row in rows] == [claim.id for claim in item.claims.claims]
    waiting = [row for row in rows if any(word in row.claim for word in WAITS)]
    judged = [row for row in rows if row not in waiting and row.claim != "dctcp-below"]
    assert "not run" not in {row.verdict for row in judged}, rows
    assert {row.verdict for row in waiting} <= {"not run"}


def test_networks_have_the_rtts_and_the_capacity_that_they_state() -> None:
    for count in (2, 5, 8):
        asked = tdtcp.networks(counts=[count]).pairs[0][0]
        links = asked.network.links
        rtts = [asked.network.rtt_ns("a1", "b1", 9000, 52, link=link.name, link_back=link.name) for link in links]
        assert (links[0].rate, links[-1].rate) == (100 * 10**9, 10 * 10**9)
        assert (rtts[0], rtts[-1]) == (pytest.approx(40_000, abs=2), pytest.approx(100_000, abs=2))
        assert len(asked.network.schedules[0].tdns) == count
        # the days carry the mean of the rates, the nights carry nothing
        mean = sum(link.rate for link in links) / count / 1e9
        assert weeks.bound_gbps(asked) == pytest.approx(mean * 0.9 * 8948 / 9038)


def test_the_columns_are_the_two_testbeds() -> None:
    """Both have all connections before data; the artefact differs in five parameters."""
    for variant in ("cubic", "mptcp", "retcp", "retcpdyn"):
        text, artefact = (tdtcp.fig7a(variants=[variant], column=name).pairs[0][0] for name in ("text", "artefact"))
        assert {flow.connect for each in (text, artefact) for flow in each.flows} == {"ahead"}
        made = text
        for name in ("hosts", "reverse"):
            made = made.with_(**space.parameter(name))
        made = made.with_(**{"mptcp.isolation": "none"})
        if variant == "retcp":
            made = made.with_(**space.parameter("notice"))
        if variant != "mptcp":
            made = made.with_(**{"transport.like": "4.15"})
        assert made == artefact
    isolated = tdtcp.testbeds(variants=["mptcp"], parameters=["isolation", "notice"])
    assert isolated.cases == ("mptcp", "mptcp isolation")


def test_flows_of_tdtcp_are_spread_and_others_do_not_offer_it() -> None:
    asked = tdtcp.fairness(counts=[4]).pairs[0][0]
    assert [n for n, flow in enumerate(asked.flows) if asked.offered(flow)] == [3, 7, 11, 15]
    hosts = {host["name"]: host["sysctls"] for host in plan.compile_plan(compile_network(asked))["hosts"]}
    assert hosts["a1"] == {"net.ipv4.tcp_tdtcp": "0"}
    assert (hosts["a4"], hosts["b1"]) == ({}, {})


@pytest.mark.usefixtures("fake_engine")
def test_results_are_in_network_time_whatever_the_dilation(store: Store) -> None:
    """The fluid model gives each of 16 flows 1/16 of 10 Gb/s in slots that are not dark, in the time of the hosts."""
    rates = []
    for dilation in (1, 20):
        item = tdtcp.fig2(seeds=1, dilation=dilation, changes=WIDE)
        rates.append(item.goodput(item.run(store=store, progress=False)).loc["cubic", "mean"])
    # at most 20 us in a week are dark; bins of 100 us round the ends of the slots by a few percent
    assert rates[0] == pytest.approx(10 * 1380 / 1400, rel=0.05)
    assert rates[1] == pytest.approx(20 * rates[0], rel=0.01)


@pytest.mark.parametrize(
    ("parameters", "field", "allowed"),
    [
        ({"variants": ["bbr"]}, "variants[0]", "dctcp"),
        ({"variants": []}, "variants", "at least 1"),
        ({"duration": "3 s"}, "duration", "2 s"),
        ({"dilation": 10}, "dilation", "20"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        tdtcp.fig7a(**parameters)
    assert any(problem.field == field and allowed in problem.allowed for problem in caught.value.problems), caught.value


@pytest.mark.slow
@pytest.mark.parametrize("column", ["text", "artefact"])
def test_the_rtt_of_figure_8_is_the_largest_at_which_retcpdyn_is_near_optimal(column: str, tmp_path: Path) -> None:
    """Of the RTTs that the paper states for other figures, on the shipped runs."""
    item = tdtcp.fig8a(profile="paper", column=column)
    runs = item.stored_runs(Store(tmp_path / "runs"))
    assert runs is not None
    (claim,) = (claim for claim in item.claims.claims if claim.id == "retcpdyn-optimal")
    assert claim.calibrates
    shares = estimates(item.swept(item.goodput(runs)))
    assert set(space.STATED_RTTS_US) <= set(shares)
    holding = [
        rtt for rtt in space.STATED_RTTS_US if judge(claim, Measured.one(shares[rtt])).verdict is Verdict.REPRODUCED
    ]
    assert max(holding) == space.RTT_US[column]


@pytest.mark.parametrize("column", space.LATE_US)
def test_late_columns_differ_in_the_delay_of_notifications_only(column: str) -> None:
    delay = f"{space.LATE_US[column]} us"
    assert delay in next(each.title for each in tdtcp.fig7a.columns() if each.id == column)
    for kind, notified in itertools.product((tdtcp.fig7a, tdtcp.fig8a), (True, False)):
        variants = ["tdtcp", "mptcp"] if notified else ["cubic", "dctcp", "retcp", "retcpdyn"]
        late, at_once = (kind(variants=variants, column=name) for name in (column, space.testbed_of(column)))
        changed = {"notify.delay": delay} if notified else {}
        assert [late.base(name) for name in variants] == [at_once.base(name).with_(**changed) for name in variants]


@pytest.mark.slow
@pytest.mark.parametrize("column", space.LATE_US)
def test_notifications_are_late_by_the_smallest_delay_at_which_others_are_little_below_tdtcp(
    column: str, tmp_path: Path
) -> None:
    """Of `space.DELAYS_US`, on the shipped runs."""
    item = tdtcp.fig8a(profile="paper", column=column)
    runs = item.stored_runs(Store(tmp_path / "runs"))
    assert runs is not None
    (claim,) = (claim for claim in item.claims.claims if claim.id == "slightly-below")
    assert column in claim.calibrates
    goodput = item.goodput(runs)
    smaller = item.delayed(goodput)
    assert set(smaller) == {delay for delay in space.DELAYS_US if delay < space.LATE_US[column]}
    assert [delay for delay, found in smaller.items() if judge(claim, found).verdict is Verdict.REPRODUCED] == []
    assert judge(claim, item.measure(runs)["slightly-below"]).verdict is Verdict.REPRODUCED


def test_more_runs_are_those_of_the_variants_and_not_of_sweeps() -> None:
    """Figure 8(b), column artefact: 16 seeds of six variants, and six of each with the RTT that was judged before."""
    item = tdtcp.fig8b(profile="paper", column="artefact")
    assert len(item.points()) == 6 * 16 + 6 * 6
    assert [item.count_of(name) for name in ("mptcp", "mptcp 100 us")] == [16, 6]
    assert not item.has_few_runs
    assert tdtcp.fig8b(profile="paper", column="artefact", seeds=6).has_few_runs
    assert not tdtcp.fig8b(profile="paper", column="text", seeds=6).has_few_runs


@pytest.mark.parametrize("column", ["text", "artefact"])
def test_figure_10_has_the_networks_of_figure_9_and_before_had_those_of_figure_7(column: str) -> None:
    variants = ["cubic", "mptcp", "tdtcp"]
    judged, first = [], []
    item = tdtcp.fig10a(profile="paper", seeds=1, column=column)
    for name, scenario in zip(item.cases, item.scenarios(), strict=True):
        (first if "both" in name else judged).append(scenario)
    assert judged == tdtcp.fig9(profile="paper", seeds=1, variants=variants, column=column).scenarios()
    assert first == tdtcp.fig7a(profile="paper", seeds=1, variants=variants, column=column).scenarios()
    assert set(item.with_both(column).scenarios()) == set(first)


@pytest.mark.parametrize("dilation", [1, 20])
def test_ticks_of_shipped_events_leave_each_event_in_its_day(dilation: int) -> None:
    item = tdtcp.fig10a(profile="paper", seeds=1, dilation=dilation)
    tick = item.read_parts["events"].tick
    for scenario, _ in item.pairs:
        packet_ns = item.round_trip_us(scenario) * 1000
        ends = {int(end) for day in weeks.days(scenario, "circuit") for end in day}
        assert [end for end in {*ends, packet_ns, scenario.probes.fold_from} if end * dilation % tick] == []


@pytest.mark.parametrize("rtt_us", [20, 40, 100])
def test_the_first_ack_that_waited_has_a_night_and_one_way_of_light(rtt_us: int) -> None:
    """Both are in timetable and network. On the testbed of the text no ACK waits when the circuit's day ends."""
    made, text = (space.scenario(name, "tdtcp", "bandwidth", "300 ms") for name in ("artefact", "text"))
    made, text = (one.with_(**space.equal_rtts(one, rtt_us)) for one in (made, text))
    light = next(link.delay for link in made.network.links if link.name == "circuit")
    arrives = partial(weeks.first_held, link="circuit", back="reverse")
    assert arrives(made) == 20_000 + light
    assert arrives(made.with_(**short_night(made))) == 10_000 + light
    assert arrives(text) is None
