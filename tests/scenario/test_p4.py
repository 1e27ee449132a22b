# SPDX-License-Identifier: Apache-2.0
"""The settings of a P4 switch in a scenario are checked before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from tests.conftest import TWO_FLOWS

BASE = Scenario.from_dict(TWO_FLOWS)
#: The smallest text that is accepted as a compiled program.
COMPILED = json.dumps({"parsers": [], "deparsers": [], "pipelines": [], "actions": []})
#: One flow without a path.
YAML = """
network: aykurt
flows:
- {name: main, size: 1 MiB}
switch: {kind: bmv2, program: programs/mine.json}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with ``study/s.yaml`` and its program ``study/programs/mine.json``; tests run beside it."""
    (tmp_path / "study" / "programs").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "study" / "s.yaml").write_text(YAML)
    (tmp_path / "study" / "programs" / "mine.json").write_text(COMPILED)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def test_a_program_is_found_beside_the_scenarios_file(here: Path) -> None:
    program = Scenario.load("../study/s.yaml").switch.program
    assert program is not None
    assert Path(program.path).resolve() == here / "study" / "programs" / "mine.json"


def test_a_dumped_scenario_finds_its_program_from_anywhere(here: Path) -> None:
    scenario = Scenario.load("../study/s.yaml")
    (here / "elsewhere" / "again.yaml").write_text(scenario.dump())
    again = Scenario.load(here / "elsewhere" / "again.yaml")
    assert again == scenario
    assert again.switch.program == scenario.switch.program


def test_in_python_a_program_is_found_from_the_working_directory(here: Path) -> None:
    (here / "elsewhere" / "mine.json").write_text(COMPILED)
    scenario = BASE.with_(**{"switch.kind": "bmv2"}).with_(**{"switch.program": "mine.json"})
    assert scenario.switch.program is not None
    assert scenario.switch.program.path == str(here / "elsewhere" / "mine.json")


def test_a_program_that_is_not_there_is_named_with_its_whole_path(here: Path) -> None:
    (here / "study" / "programs" / "mine.json").unlink()
    with pytest.raises(InputError, match=r"switch\.program: there is no file '.*programs/mine\.json'") as caught:
        Scenario.load("../study/s.yaml")
    assert "study/programs/mine.json" in caught.value.problems[0].allowed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"header_types": [}', "no JSON"),
        ("[1, 2]", "no JSON object"),
        ('{"pkgInfo": {"arch": "v1model"}, "tables": []}', "has no parsers, deparsers, pipelines, actions"),
        (COMPILED.replace("pipelines", "pipeline"), "has no pipelines"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_compiled_program_is_refused_by_name(here: Path, text: str, words: str) -> None:
    (here / "study" / "programs" / "mine.json").write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        Scenario.load("../study/s.yaml")
    (problem,) = caught.value.problems
    assert problem.field == "switch.program"
    assert "mine.json" in problem.value
    assert "p4c-bm2-ss" in problem.allowed


def test_a_flow_through_a_program_of_ones_own_takes_the_bypass(here: Path) -> None:
    scenario = Scenario.load("../study/s.yaml")
    assert [flow.path for flow in scenario.flows] == ["bypass"]
    # stating the default explicitly gives the same scenario
    (here / "study" / "s.yaml").write_text(YAML.replace("size: 1 MiB", "size: 1 MiB, path: bypass"))
    assert Scenario.load("../study/s.yaml").hash == scenario.hash


def test_without_such_a_program_a_path_is_needed(here: Path) -> None:
    (here / "study" / "s.yaml").write_text(YAML.replace(", program: programs/mine.json", ""))
    with pytest.raises(InputError, match=r"flows\.[a-z0-9-]+\.path"):
        Scenario.load("../study/s.yaml")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("", "empty line"),
        ("  \t", "empty line"),
        ("table_add t a 1 => 2\ntable_add t a 2 => 3", "one command"),
        ("table_add t a 1 => 2\n", "one command"),
        ("table_add t a 1 => 2\rregister_write r 0 1", "one command"),
        ("# hosts", "no comments"),
    ],
)
def test_an_entry_is_one_command(entry: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        BASE.with_(**{"switch.kind": "bmv2"}).with_(**{"switch.entries": ["table_add t a 0 => 1", entry]})
    assert [problem.field for problem in caught.value.problems] == ["switch.entries[1]"]


def test_hashes_of_scenarios_with_a_program_are_what_they_were() -> None:
    """Shipped and stored runs are found by these hashes. The values are from before a path had a default."""
    switch = {
        "kind": "bmv2",
        "program": {"path": "x.json", "sha256": "0" * 64},
        "entries": ["table_add a b 1 => {green}"],
    }
    scenario = Scenario.from_dict({**TWO_FLOWS, "switch": switch})
    assert scenario.hash == "485c5d897f6500d0b8389d48461a5363eeac3c4ea7dcaf91eedd3c59b9d2f65f"


GRAPH = """
network:
  name: n
  switches: [{name: a, program: programs/mine.json, entries: a.txt}, {name: b}]
  hosts: [{name: h1, at: a, rate: 1 Gb/s}, {name: h2, at: b, rate: 1 Gb/s}]
  links: [{name: l, between: [a, b], rate: 1 Gb/s, buffer: 1 MB}]
flows: [{name: f, src: h1, dst: h2, size: 1 MB}]
switch: {kind: bmv2}
"""


class TestSeveralSwitches:
    def test_each_has_its_own_program_and_entries(self, here: Path) -> None:
        (here / "study" / "s.yaml").write_text(GRAPH)
        (here / "study" / "a.txt").write_text("# hosts\ntable_add t x 1 => {h1}\n\n  table_add t x 2 => {l}\n")
        scenario = Scenario.load("../study/s.yaml")
        program = scenario.program_at("a")
        assert program is not None
        assert Path(program.path).resolve() == here / "study" / "programs" / "mine.json"
        assert scenario.program_at("b") is None
        assert scenario.entries_at("a")[1] == ("table_add t x 1 => {h1}", "table_add t x 2 => {l}")
        assert [flow.path for flow in scenario.flows] == ["ecmp"]
        # the commands are part of the scenario, the path of a program is not
        (here / "study" / "a.txt").unlink()
        assert Scenario.from_dict(scenario.to_dict()).hash == scenario.hash
        moved = here / "elsewhere" / "moved.json"
        moved.write_text(COMPILED)
        assert scenario.with_(**{"network.switches.a.program": str(moved)}).hash == scenario.hash

    def test_a_switch_that_states_nothing_has_what_all_have(self, here: Path) -> None:
        (here / "study" / "s.yaml").write_text(
            GRAPH.replace(", entries: a.txt", "").replace("kind: bmv2", "kind: bmv2, program: all.json, entries: [t]")
        )
        (here / "study" / "all.json").write_text(COMPILED)
        scenario = Scenario.load("../study/s.yaml")
        names = [Path(program.path).name for node in "ab" if (program := scenario.program_at(node)) is not None]
        assert names == ["mine.json", "all.json"]
        assert scenario.entries_at("a") == ("switch.entries", ("t",))

    def test_a_file_that_is_not_there_is_named(self, here: Path) -> None:
        (here / "study" / "s.yaml").write_text(GRAPH)
        with pytest.raises(InputError, match=r"network\.switches\.a\.entries: there is no file '.*study/a\.txt'"):
            Scenario.load("../study/s.yaml")

    def test_only_bmv2_runs_programs(self, here: Path) -> None:
        (here / "study" / "s.yaml").write_text(GRAPH.replace("{kind: bmv2}", "{kind: ocs}"))
        (here / "study" / "a.txt").write_text("t\n")
        with pytest.raises(InputError, match=r"network\.switches\.a\.program: .* because a is ocs, and only bmv2"):
            Scenario.load("../study/s.yaml")
