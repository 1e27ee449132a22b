# SPDX-License-Identifier: Apache-2.0
"""The comparison of transports on architectures: its cases, refusals and numbers, without a guest."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from rdcnlab.engines.kernel import plan
from rdcnlab.engines.network import compile_network
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab_papers import tdtcp
from rdcnlab_papers.benchmarks import compared
from rdcnlab_papers.benchmarks.questions import Question
from rdcnlab_papers.items.interactive import Interactive, Metric
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.items.verdicts import Verdict, judge
from rdcnlab_papers.tdtcp.rankings import HELD_OUT, statistics_of


def test_every_architecture_has_the_same_flows_and_can_be_planned() -> None:
    item = tdtcp.architectures()
    sizes = set()
    for architecture in item.architectures:
        scenario = item.case(architecture, "hadoop", 30, "cubic")
        plan.check(compile_network(scenario))
        sizes.add(tuple(flow.size for flow in scenario.flows))
    assert len(sizes) == 1


def test_transports_that_follow_networks_run_on_the_rotor_only() -> None:
    item = tdtcp.architectures()
    special = {case[0] for case in item.cases if case[3] in ("tdtcp", "nuftcp")}
    assert special == {"rotor"}
    refused = item.refusals()
    assert set(refused["transport"]) == {"tdtcp", "mptcp", "retcp", "nuftcp"}
    opera = refused[refused["architecture"] == "opera"].set_index("transport")["reason"]
    assert "no flow follows a schedule" in opera["tdtcp"]
    assert "a schedule whose slots have 2 to 8 networks" in opera["mptcp"]
    assert "set no flags for reTCP" in opera["retcp"]
    assert "write no versions of rules" in opera["nuftcp"]
    assert not (refused["architecture"] == "rotor").any()


def test_loads_are_those_of_web_search() -> None:
    item = tdtcp.architectures(architectures=["expander"], loads=[10, 30, 60])
    assert {case[2] for case in item.cases if case[1] == "web-search"} == {10, 30, 60}
    assert {case[2] for case in item.cases if case[1] != "web-search"} == {30}
    assert len(item.cases) == len(set(item.cases)) == 4 * 5 + 2 * 2


def test_documents_and_titles_have_the_loads_that_flows_offer_not_those_that_are_stated() -> None:
    """Of the scenarios of the shipped runs, whose flows are drawn again here."""
    item = tdtcp.architectures(profile="paper", transports=["cubic"])
    offered = item.offered()
    hashes = {row.hash for row in Shipped()}
    assert {scenario.hash for scenario in item.scenarios()} <= hashes
    # all networks have the same flows
    assert (
        offered.drop(columns="architecture").round(3).drop_duplicates().groupby(["workload", "load"]).size() == 1
    ).all()
    findings = (places.tree() / "docs" / "findings" / "tdtcp.md").read_text()
    own = tdtcp.five(profile="paper", transports=["cubic"]).offered().groupby(["workload", "load"])["drawn"]
    titles = {"web-search": "web search", "data-mining": "data mining", "hadoop": "Hadoop"}
    for (name, load), row in offered.groupby(["workload", "load"]).first().iterrows():  # type: ignore[misc]
        drawn = f"{row['drawn']:.1f} ({row['least']:.1f} to {row['most']:.1f})"
        there = f" {own.min()[name, load]:.1f} to {own.max()[name, load]:.1f}" if (name, load) in own.groups else ""
        assert f"| {titles[name]} | {load} | {row['mean']:.1f} | {drawn} |{there} |" in findings
    table = (places.tree() / "docs" / "architectures.md").read_text().split("end of comparison")[0]
    assert "Load of web search: 11.7 % of the sending hosts' lines, 9.7 to 13.5 % by seed" in table
    assert "30 % load" not in (places.tree() / "README.md").read_text()
    assert item.labels()["web-search", 30] == "web-search, 11.7 %"


def test_the_readme_says_what_the_table_of_transports_says() -> None:
    _, _, table = (places.tree() / "docs" / "architectures.md").read_text().partition("comparison: written by")
    rows = [line.strip("| ").split(" | ") for line in table.partition("\n\n")[0].splitlines()[3:]]
    reno, bbr = ({row[0]: row[column].split(" ")[0] for row in rows} for column in (1, 3))
    longer = sorted(round(100 * float(cell.strip("*"))) - 100 for cell in reno.values())
    sure = sum(cell.startswith("**") for cell in reno.values())
    assert bbr["sirius"].startswith("**")
    assert (
        f"Reno takes {longer[0]} to {longer[-1]} % longer than CUBIC, which is sure on {sure} of {len(rows)}, and BBR "
        f"{round(100 * float(bbr['sirius'].strip('*'))) - 100} % longer on Sirius."
    ) in (places.tree() / "README.md").read_text()


def test_the_load_of_the_papers_own_networks_is_that_of_their_ways() -> None:
    """On carpa one pair sends over 100 Mb/s: the bytes of its flows on the wire until the last arrival."""
    item = tdtcp.five(profile="paper", architectures=["carpa"], transports=["cubic"], workloads=["hadoop"])
    (row,) = item.offered().to_dict("records")
    loads = []
    for scenario in item.scenarios():
        frames = [-(-flow.size // (scenario.network.mtu - 52)) for flow in scenario.flows]
        overhead = 52 + scenario.network.overhead
        wire = sum(flow.size + count * overhead for flow, count in zip(scenario.flows, frames, strict=True))
        loads.append(100 * 8e9 * wire / scenario.flows[-1].start / 1e8)
    assert row["drawn"] == pytest.approx(sum(loads) / 5)
    assert (row["least"], row["most"]) == (pytest.approx(min(loads)), pytest.approx(max(loads)))


@pytest.mark.usefixtures("fake_engine")
def test_numbers_are_those_of_the_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The fluid model retransmits up to 99 segments a flow and loses none."""
    directory = tmp_path_factory.mktemp("store")
    store = Store(directory / "runs", shipped=Shipped(directory / "none"))
    item = tdtcp.architectures(architectures=["leaf-spine"], workloads=["permutation"], loads=[], transports=["cubic"],
                               changes={"probes.bin": "100 us"})  # fmt: skip
    runs = item.run(store=store, progress=False)
    flows, totals = item.flows(runs), item.totals(runs)
    assert len(flows) == 16
    assert len(totals) == len(runs) == 1
    repeats = sum(int(run.table("flows").to_pandas()["retransmits"].sum()) for run in runs)
    segments = 16 * np.ceil(1_000_000 / 1448)
    assert totals["retransmits"].iloc[0] == totals["reordered"].iloc[0] == pytest.approx(1000 * repeats / segments)
    assert item.plot(runs)._repr_png_().startswith(b"\x89PNG")


def test_predictions_are_judged_on_networks_that_the_comparison_does_not_have() -> None:
    known = set(tdtcp.architectures().architectures)
    assert {*HELD_OUT} & known == set()
    for kind in (tdtcp.notices, tdtcp.slices, tdtcp.rankings):
        new = set(kind().architectures) - known
        assert new
        assert new <= {"jupiter", "rotornet-direct", "rotor-6"}


def test_runs_of_the_questions_are_those_of_the_comparison_where_it_has_them() -> None:
    hashes = {scenario.hash for scenario in tdtcp.architectures().scenarios()}
    ranked = tdtcp.rankings()
    for scenario, case in zip(ranked.scenarios(), ranked.cases, strict=True):
        assert (scenario.hash in hashes) == (case.architecture not in ("jupiter", "rotornet-direct")), case
    sliced = tdtcp.slices()
    usual = [case for scenario, case in zip(sliced.scenarios(), sliced.cases, strict=True) if scenario.hash in hashes]
    # a day of 180 us is the default of the fabrics
    assert {(case.architecture, case.day) for case in usual} == {
        ("rotor", 180_000), ("rotornet", 180_000), ("expander", 0),
    }  # fmt: skip


def _totals(means: dict[tuple[str, str, str], float], seeds: int = 3) -> pd.DataFrame:
    """Return totals with the same value for each seed, times 1 plus a hundredth of the seed."""
    keys = ("architecture", "workload", "transport")
    return pd.DataFrame(
        [
            {**dict(zip(keys, case, strict=True)), "seed": seed, "mean": value * (1 + seed / 100)}
            for case, value in means.items()
            for seed in range(seeds)
        ]
    )


@pytest.mark.parametrize("kind", [tdtcp.notices, tdtcp.slices, tdtcp.rankings], ids=lambda kind: kind.id)
def test_only_another_number_by_which_a_claim_holds_is_its_cause(kind: type[Question]) -> None:
    item = kind(profile="paper")
    runs = item.stored_runs()
    assert runs is not None
    claims = {claim.id: claim for claim in item.claims.claims}
    here = item.measure(runs)
    fails = {
        name for name, claim in claims.items() if judge(claim, here[name]).verdict in (Verdict.PARTLY, Verdict.DIFFERS)
    }
    assert {cause.claim for cause in item.causes()} == fails
    for cause in item.causes():
        claim = claims[cause.claim]
        assert cause.look is not None
        holds = judge(claim, cause.look(runs)).verdict == Verdict.REPRODUCED
        assert [bool(claim.causes("text")), bool(claim.candidates("text"))] == [holds, not holds]


def test_a_ratio_of_paired_seeds_has_no_width() -> None:
    totals = _totals({("rotor", "hadoop", "cubic"): 2.0, ("rotor", "hadoop", "tdtcp"): 1.0})
    (found,) = compared.ratios(totals, "mean", "tdtcp", "cubic", ["architecture", "workload"]).values()
    assert found == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((0.5, 0.5))
    assert compared.ratios(totals, "mean", "dctcp", "reno", ["architecture", "workload"]) == {}


def test_orders_and_large_differences_are_those_of_the_means() -> None:
    clos = {"cubic": 1.0, "bbr": 1.1, "dctcp": 2.0, "reno": 3.0}
    other = {"cubic": 1.0, "bbr": 2.5, "dctcp": 2.0, "reno": 3.0}
    means = {("leaf-spine", "hadoop", name): value for name, value in clos.items()}
    means |= {("jupiter", "hadoop", name): value for name, value in other.items()}
    wide = _totals(means, 1).pivot_table(index="seed", columns=["architecture", "workload", "transport"], values="mean")
    found = statistics_of(wide, {"leaf-spine", "jupiter"})
    # one swap of neighbours among four: 1 - 6 * 2 / (4 * 15)
    assert found["order", "jupiter"] == pytest.approx([0.8])
    # of the five pairs that differ by 30 % and more, BBR and DCTCP change places
    assert found["kept", "jupiter"] == pytest.approx([80])
    assert found["lead", "jupiter, hadoop"] == pytest.approx([0.5])


def test_an_interactive_page_has_every_mean_with_its_interval() -> None:
    means = {("rotor", "hadoop", "cubic"): 2.0, ("opera", "incast", "dctcp"): 4.0, ("opera", "hadoop", "cubic"): 3.0}
    sides = {"architecture": "Network", "workload": "Workload"}
    page = Interactive(
        "T", "S", _totals(means), sides, {"workload": "hadoop"}, "transport", {"mean": Metric("slowdown")}
    )
    data = page.data()
    assert [side["values"] for side in data["sides"]] == [["rotor", "opera"], ["hadoop", "incast"]]
    cells = {tuple(cell[:3]): cell[3:] for cell in data["cells"]["mean"]}
    assert set(cells) == {(0, 0, 0), (1, 1, 1), (1, 0, 0)}
    mean, low, high = cells[0, 0, 0]
    assert mean == pytest.approx(2.02)
    # Student's t of three seeds, 4.303, times 0.02 / sqrt(3)
    assert (high - low) / 2 == pytest.approx(4.303 * 0.02 / math.sqrt(3), rel=0.02)


@pytest.mark.slow
@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (tdtcp.notices, {"architectures": ["rotor-6", "jupiter"], "workloads": ["hadoop", "incast"]}),
        (tdtcp.slices, {"architectures": ["rotor-6", "rotornet-direct"], "days": ["2 ms"]}),
        (tdtcp.rankings, {"architectures": ["leaf-spine", "jupiter"], "workloads": ["hadoop"]}),
    ],
    ids=lambda one: getattr(one, "id", ""),
)
def test_the_questions_are_drawn_and_judged(
    kind: type[Item], given: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("store")
    store = Store(directory / "runs", shipped=Shipped(directory / "none"))
    item = kind(**given, seeds=2, changes={"probes.bin": "100 us"})
    runs = item.run(store=store, progress=False)
    assert item.plot(runs)._repr_png_().startswith(b"\x89PNG")
    rows = item.rows(runs)
    assert [row.claim for row in rows] == [claim.id for claim in item.claims.claims]
    assert any(row.verdict != "not run" for row in rows)
