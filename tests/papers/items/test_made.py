# SPDX-License-Identifier: Apache-2.0
"""The scenarios of items are made once, and those with files of the user's own each time."""

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.kernel.build import patches
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.ideal import ideal_ns
from rdcnlab_papers import tdtcp
from rdcnlab_papers.items import made
from rdcnlab_papers.items.item import Item


def count_points(monkeypatch: pytest.MonkeyPatch, kind: type[Item]) -> list[str]:
    """Return a list that gets an entry for each time that an item of a kind makes its scenarios."""
    calls: list[str] = []
    points = kind.points

    def counted(item: Any) -> list[Scenario]:
        calls.append(item.profile)
        return points(item)

    monkeypatch.setattr(kind, "points", counted)
    return calls


def test_an_item_with_the_same_parameters_makes_its_scenarios_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = tdtcp.fig9
    calls = count_points(monkeypatch, kind)
    first, again = kind().scenarios(), kind().scenarios()
    assert first == again
    assert first is not again, "a caller may change its list"
    assert len(calls) == 1
    assert kind(seeds=1).scenarios() != kind(seeds=2).scenarios()
    assert len(calls) == 3


def test_another_number_of_runs_makes_other_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = tdtcp.fig9
    before = len(kind().scenarios())
    monkeypatch.setattr(kind, "runs_of_profile", {"quick": 7, "paper": 7})
    assert len(kind().scenarios()) > before


def test_another_function_makes_other_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = tdtcp.fig9
    before = kind().scenarios()
    monkeypatch.setattr(kind, "points", lambda _item: [scenario.with_(seed=99) for scenario in before])
    assert kind().scenarios() != before


def test_only_so_many_scenarios_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = tdtcp.fig9
    calls = count_points(monkeypatch, kind)
    monkeypatch.setattr(made, "_MOST_KEPT", 1)
    for seeds in (1, 2, 1):
        kind(seeds=seeds).scenarios()
    assert len(calls) == 3


def test_scenarios_with_files_of_the_users_own_are_made_each_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, two_flows: Scenario
) -> None:
    file = tmp_path / "mine.c"
    file.write_text((patches.root() / "examples" / "tcp_gentle.c").read_text())
    scenario = two_flows.with_(**{"engine.algorithm": str(file)})
    assert scenario.user_files
    item = tdtcp.fig9()
    calls: list[int] = []

    def make() -> list[Scenario]:
        calls.append(1)
        return [scenario]

    assert made.once(item, make) == made.once(item, make)
    assert len(calls) == 2


def test_cases_of_a_comparison_have_the_scenarios_that_they_have_alone() -> None:
    """Cases share checked networks; a scenario from plain data alone has the same hash and the same flows."""
    item = tdtcp.architectures(architectures=("rotor",), workloads=("web-search",), profile="paper", seeds=2)
    for scenario in item.points():
        alone = Scenario.from_dict(scenario.to_dict())
        assert alone.hash == scenario.hash
        assert alone.flows == scenario.flows


@pytest.mark.parametrize("architecture", ["rotor", "jupiter", "opera"])
def test_transports_of_a_case_have_the_same_ideal_times(architecture: Any) -> None:
    """Comparisons compute the ideal times of one transport for all."""
    item = tdtcp.architectures(architectures=(architecture,), workloads=("web-search",), profile="paper", seeds=2)
    scenarios = item.scenarios()
    assert len(scenarios) > 2 * 2
    by_seed: dict[int, set[tuple[float, ...]]] = {}
    for scenario in scenarios:
        times = tuple(ideal_ns(scenario, flow) for flow in scenario.flows)
        by_seed.setdefault(scenario.seed, set()).add(times)
    assert [len(times) for times in by_seed.values()] == [1, 1]
    assert by_seed[0] != by_seed[1]
