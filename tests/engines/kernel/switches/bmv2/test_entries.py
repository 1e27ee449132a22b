# SPDX-License-Identifier: Apache-2.0
"""Names in braces in the entries of a P4 switch. These tests do not need BMv2."""

from __future__ import annotations

import pytest

from rdcnlab.engines.kernel.switches.bmv2.entries import filled
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from tests.conftest import TWO_FLOWS


def entries(*lines: str) -> tuple[list[str], list[list[str | int]]]:
    scenario = Scenario.from_dict({**TWO_FLOWS, "switch": {"kind": "bmv2", "entries": list(lines)}})
    return filled(compile_network(scenario), 0)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("t a {s1} {r2} => {cpu} {dark}", "t a 1 4 => 255 254"),
        ("t a {green} {green.end} => {blue} {blue.end}", "t a 256 257 => 258 259"),
        ("t a {mac:s2} => {ip:r1}", "t a 02:00:00:00:00:02 => 10.0.0.3"),
        ("t a {{1}} => 2", "t a {1} => 2"),
        ("t a 1 => 2", "t a 1 => 2"),
    ],
)
def test_names_stand_for_ports_and_addresses(line: str, expected: str) -> None:
    assert entries(line) == ([expected], [])


def test_entries_with_the_start_wait_for_it() -> None:
    """Entries that are known earlier come first, and each group keeps its order."""
    early, late = entries("r a 0 {start_us}", "t a {s1} => 1", "r b {s2} {start_us+500} {start_us-20}", "t b 2 => 3")
    assert early == ["t a 1 => 1", "t b 2 => 3"]
    assert late == [["r a 0 ", 0], ["r b ", "2", " ", 500, " ", -20]]


@pytest.mark.parametrize(
    "name",
    ["red", "mac:s9", "ip:green", "s1.end", "start", "start_us+", "start_us+1 ms", "start_us*2", "", "s1!r", "0"],
)
def test_an_unknown_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(InputError) as caught:
        entries("t a 1 => 2", f"t a {{{name}}} => 1")
    (problem,) = caught.value.problems
    assert problem.field == "switch.entries[1]"
    for known in ("{s1}", "{green}", "{green.end}", "{mac:s1}", "{ip:s1}", "{start_us+500}", f"(not {{{name}}})"):
        assert known in problem.allowed


@pytest.mark.parametrize("line", ["t a {s1 => 1", "t a s1} => 1"])
def test_a_lone_brace_is_refused(line: str) -> None:
    with pytest.raises(InputError, match="braces around a name"):
        entries(line)
