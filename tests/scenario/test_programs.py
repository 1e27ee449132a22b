# SPDX-License-Identifier: Apache-2.0
"""Programs of a scenario: their names, their files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario

NETWORK = "network: {fabric: leaf-spine, leaves: 2, spines: 1, hosts: 2}\n"


def scenario(directory: Path, *programs: str, more: str = "") -> Scenario:
    """Return the scenario of a file with programs, each a line of YAML."""
    lines = "".join(f"  - {program}\n" for program in programs)
    path = directory / "mine.yaml"
    path.write_text(f"{NETWORK}programs:\n{lines}{more}")
    return Scenario.load(path)


def refused(directory: Path, *programs: str, more: str = "") -> str:
    with pytest.raises(InputError) as error:
        scenario(directory, *programs, more=more)
    return str(error.value)


def test_a_range_of_hosts_is_several_programs_and_hosts_in_the_command_advance(tmp_path: Path) -> None:
    made = scenario(tmp_path, '{host: "h[1-2]", run: "client h[3-4] [1-2]"}', "{host: h1, run: server}")
    assert [(one.name, one.host, one.run) for one in made.programs] == [
        ("h1", "h1", "client h3 [1-2]"),
        ("h2", "h2", "client h4 [1-2]"),
        ("h1.2", "h1", "server"),
    ]
    assert made.flows == ()


def test_braces_with_a_host_stand_for_its_address_and_others_stay(tmp_path: Path) -> None:
    made = scenario(tmp_path, """{host: h1, run: "awk '{print}' {h2} {x}"}""")
    assert made.programs[0].command({"h1": "10.0.0.1", "h2": "10.0.0.2"}) == ("awk", "{print}", "10.0.0.2", "{x}")


def test_files_beside_the_scenario_belong_to_its_hash_and_their_paths_do_not(tmp_path: Path) -> None:
    made = []
    for name, text in (("a", "print(1)"), ("b", "print(1)"), ("c", "print(2)")):
        directory = tmp_path / name
        (directory / "www").mkdir(parents=True)
        (directory / "www" / "index.html").write_text("hello")
        (directory / "client.py").write_text(text)
        (directory / "set.conf").write_text("x = 1")
        made.append(scenario(directory, '{host: h1, run: "./client.py --with=set.conf", files: [www]}'))
    names = [file.name for file in made[0].programs[0].files]
    assert names == ["client.py", "set.conf", "www/index.html"]
    assert made[0].hash == made[1].hash != made[2].hash


def test_canonical_data_are_the_scenario_without_its_files(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text("")
    made = scenario(tmp_path, "{host: h1, run: ./client.py}")
    (tmp_path / "client.py").unlink()
    again = Scenario.from_dict(json.loads(made.json()))
    assert again == made
    assert again.programs == made.programs
    with pytest.raises(InputError, match=r"there is no file"):
        again.programs[0].files[0].content("programs[0].files")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text("")
    made = scenario(tmp_path, "{host: h1, run: ./client.py, start: 1 s, cc: bbr, background: true}")
    (tmp_path / "again.yaml").write_text(made.dump())
    assert Scenario.load(tmp_path / "again.yaml") == made


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("{host: h9, run: x}", "programs.h9.host: there is no host 'h9'"),
        ("{host: h1, run: ./client.py}", "programs[0].run: there is no file"),
        ("{host: h1, run: 'a \"b'}", "a quotation mark is not closed"),
        ("{host: h1, run: x, files: [lib.py]}", "programs[0].files[0]: there is no file"),
        ("{host: h1, run: x, files: [../lib.py]}", "is not beside the scenario's file, or below"),
        ("{host: h1, run: x, start: 2 min}", "a duration such as"),
        ("{host: h1, run: x, start: 60 s}", "less than limit (60 s)"),
        ("{host: h1, run: x, cc: nothing}", "there is no congestion control 'nothing'"),
        ("{host: h1, run: x, path: leaf2-spine1}", "programs.h1.path"),
    ],
)
def test_a_message_names_the_field_and_what_is_allowed(tmp_path: Path, program: str, words: str) -> None:
    assert words in refused(tmp_path, program, "{host: h2, run: y}")


@pytest.mark.parametrize(("field", "value"), [("cc", "bbr"), ("path", "spine1")])
def test_programs_of_a_host_share_its_way_and_its_congestion_control(tmp_path: Path, field: str, value: str) -> None:
    words = refused(tmp_path, "{host: h1, run: x}", f"{{host: h1, run: y, {field}: {value}}}")
    assert f"programs.h1.2.{field}" in words
    assert "as that of h1 on h1" in words


def test_counts_are_refused_because_they_do_not_tell_programs_apart(tmp_path: Path) -> None:
    words = refused(tmp_path, "{host: h1, run: x}", more="probes: {count: [leaf1-spine1]}\n")
    assert "probes.count" in words


def test_a_scenario_needs_flows_or_programs() -> None:
    with pytest.raises(InputError, match=r"or a program below programs:"):
        Scenario.from_dict({"network": "aykurt", "flows": []})


def test_programs_leave_other_scenarios_as_they_are(two_flows: Scenario) -> None:
    assert "programs" not in two_flows.to_dict()
    assert two_flows.traffic == two_flows.flows


def test_a_path_of_a_network_of_one_switch_is_a_link(two_flows: Scenario) -> None:
    data: dict[str, Any] = two_flows.to_dict()
    data["programs"] = [{"host": "s1", "run": "x", "path": "green"}, {"host": "r1", "run": "y"}]
    made = Scenario.from_dict(data)
    assert {flow.name: flow.path for flow in made.traffic[2:]} == {
        "s1>r1": "green", "r1>s1": "bypass", "s1>r1/udp": "green", "r1>s1/udp": "bypass",
    }  # fmt: skip


def test_words_and_names_that_are_too_long_for_a_file_are_no_files(tmp_path: Path) -> None:
    long = "x" * 260
    for line in (long, f"echo {long}", f"a --file={long}"):
        assert scenario(tmp_path, f"{{host: h1, run: {line}}}").programs[0].files == ()
    assert f"there is no file '{tmp_path}" in refused(tmp_path, f"{{host: h1, run: ./{long}}}")
    assert "there is no file" in refused(tmp_path, f"{{host: h1, run: ls, files: [{long}]}}")
