# SPDX-License-Identifier: Apache-2.0
"""The benchmark measures all that it names, in parts; the shapes of long runs fit small machines."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from rdcnlab.app import bench, bench_engines
from rdcnlab.app.bench_rounds import Row, Say, row
from rdcnlab.app.cli import main
from rdcnlab.app.packet_cost import shapes
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.ns3 import build as ns3_build
from rdcnlab.engines.ns3 import check as ns3_check
from rdcnlab.fields.errors import RunError
from rdcnlab.system import entry_points


def test_what_a_score_takes_is_measured() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.app.bench import scoring

    wall, cores, peak = scoring(["tdtcp/fig13"])
    assert wall["measure"] == "rdcnlab score tdtcp/fig13"
    assert wall["value"] > 0
    assert cores["value"] > 0
    # MiB: Python with pandas needs more than 50, and a machine for tests has less than 10 GB
    assert 50 < peak["value"] < 10_000
    assert wall["goal"] is None


def test_an_interrupted_benchmark_shows_what_it_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def first(say: Say) -> Iterator[Row]:
        say("something")
        yield row("first", [2.0, 1.0, 4.0], "s")

    def second(_say: Say) -> Iterator[Row]:
        yield row("second", [1.0], "s")
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "PARTS", {"first": first, "second": second})
    monkeypatch.setattr(entry_points, "points", lambda group: {})
    monkeypatch.setattr("sys.argv", ["rdcnlab", "bench", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    seen = capsys.readouterr()
    first_row, second_row = json.loads(seen.out)
    assert [first_row[name] for name in ("value", "minimum", "maximum", "rounds")] == [2, 1, 4, 3]
    assert second_row["measure"] == "second"
    assert "1/2" in seen.err  # the bar's parts


def test_a_part_that_fails_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def bad(_say: Say) -> Iterator[Row]:
        yield row("begun", [1.0], "s")
        raise RunError("no memory")

    def good(_say: Say) -> Iterator[Row]:
        yield row("good", [1.0], "s")

    monkeypatch.setattr(bench, "PARTS", {"bad": bad, "good": good})
    monkeypatch.setattr(entry_points, "points", lambda group: {})
    rows = bench.measure(shown=False)
    measures = [next(rows)["measure"] for _ in range(3)]
    with pytest.raises(RunError, match="parts of the benchmark failed: bad"):
        next(rows)
    assert measures == ["begun", "bad: not measured, it failed: no memory", "good"]


def test_a_score_that_fails_is_not_measured() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.app.bench import scoring

    with pytest.raises(RunError, match="ended with 2"):
        list(scoring(["nobody"]))


def test_shapes_are_scenarios_that_small_machines_can_run() -> None:
    """No flow ends before the limit, so the last two thirds of a run have packets of all flows."""
    for name, scenario in shapes().items():
        asked = compile_plan(compile_network(scenario))
        assert asked["memory_kB"] < 1_000_000, name
        most = scenario.limit * scenario.network.host(scenario.flows[0].src).rate / 8e9
        assert all(flow.size > most for flow in scenario.flows), name


@pytest.mark.parametrize("kind", ["kernel", "ns3"])
def test_both_engines_run_the_setting_that_they_are_compared_on(kind: str) -> None:
    """The setting itself takes ns-3 an hour; a check of it does not."""
    asked = bench_engines.setting(8).with_(**{"engine.kind": kind})
    if kind == "ns3":
        ns3_check.check(asked)
    else:
        compile_plan(compile_network(asked))
    assert asked.network.link("shared").rate == 12_500_000_000


def test_the_setting_is_that_of_the_paper_whose_documents_have_its_times() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.vargas import space

    of_paper = space.Setting(ecn_kB=150, min_kB=800, max_kB=800, rate_gbps=12.5, rtt_ms=50)
    assert bench_engines.setting(8).hash == space.scenario(of_paper, length_s=8).hash


def test_the_comparison_has_the_ratio_and_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {"kernel": [(50.0, 310.0), (40.0, 300.0)], "ns3": [(800.0, 2000.0)]}
    monkeypatch.setattr(bench_engines, "_apart", lambda asked, core: costs[asked.engine.kind].pop())
    rows = {row["measure"]: row for row in bench_engines.compare(2)}
    # how ns-3 is built stands in the name of the row, so that nobody reads the ratio without it
    ratio = rows[f"ns3 ({ns3_build.words()}) over kernel, wall clock"]
    # the kernel before and after ns-3
    assert (ratio["minimum"], ratio["maximum"], ratio["rounds"], ratio["holds"]) == (16, 20, 2, True)
    memory = rows["kernel: 12.5 Gb/s, 50 ms, 2 s: memory"]
    assert (memory["value"], memory["holds"]) == (305, True)
    costs |= {"kernel": [(80.0, 1100.0)] * 2, "ns3": [(800.0, 2000.0)]}
    assert [row["holds"] for row in bench_engines.compare(2) if row["goal"]] == [False, False]
