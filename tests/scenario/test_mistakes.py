# SPDX-License-Identifier: Apache-2.0
"""Mistakes that everybody makes in a file: the message has the file, the line, the value, and what to write instead."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import rdcnlab
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario

PACKAGE = Path(rdcnlab.__file__).parent
FILE = """\
network: aykurt
flows:
  - {name: main, size: 2 GiB, cc: cubic, path: green}
  - name: migrated
    size: 2 GiB
    cc: cubic
    path: [[50 ms, blue], [50 ms, green]]
seed: 1
"""


def message(directory: Path, text: str | bytes) -> str:
    """Return the message on a file."""
    path = directory / "mine.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        Scenario.load(path)
    return str(caught.value).replace(f"{directory}/", "")


def test_the_file_without_a_mistake_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(FILE)
    assert Scenario.load(tmp_path / "mine.yaml").flows[1].size == 2 * 2**30


@pytest.mark.parametrize(
    ("right", "wrong", "line", "words"),
    [
        ("    size: 2 GiB", "    siez: 2 GiB", 5, ["flows.migrated.siez", "Did you mean 'size'?"]),
        ("    size: 2 GiB", "    size: 2", 5, ["flows.migrated.size", "unit", "'2 GiB'"]),
        ("    size: 2 GiB", "    size: '2'", 5, ["flows.migrated.size", "did you mean '2 GiB'?"]),
        ("[50 ms, blue]", "[50 msec, blue]", 7, ["flows.migrated.path[0].duration", "did you mean '50 ms'?"]),
        ("path: green}", "path: green, src: s9}", 3, ["src", "no host 's9'", "s1, s2, r1, r2"]),
        ("    cc: cubic", "    cc: cubik", 6, ["flows.migrated.cc", "no congestion control 'cubik'", "mean 'cubic'?"]),
        ("    cc: cubic", "    cc: CUBIC", 6, ["flows.migrated.cc", "Did you mean 'cubic'?"]),
        ("aykurt", "aykrut", 1, ["no network 'aykrut'", "Did you mean 'aykurt'?"]),
        ("    cc: cubic", "   cc: cubic", 6, ["'cc: cubic'", "column"]),
        ("    cc: cubic", "\tcc: cubic", 6, ["tab", "spaces"]),
        ("    path:", "path:", 7, ["'path' is a field of flows", "indent"]),
        ("    cc: cubic", "    seed: 3", 6, ["'seed' is a field of the whole file", "left edge"]),
        ("migrated", "main", 4, ["'main' occurs twice"]),
        ("seed: 1", "seed: 1\nseed: 2", 9, ["'seed' occurs twice", "line 8", "line 9"]),
        ("seed: 1", f"seed: {'9' * 30}", 8, ["seed", "from 0 to 4294967295"]),
        ("seed: 1", f"seed: {'9' * 5000}", 8, ["too many digits"]),
        ("    size: 2 GiB", "    size: 99999 GiB", 5, ["'99999 GiB'", "1 TiB"]),
        ("path: green", "path: grean", 3, ["no link 'grean'", "Did you mean 'green'?"]),
        ("ms, blue", "ms, bleu", 7, ["no link 'bleu'", "Did you mean 'blue'?"]),
        ("name: main", "name: mine", 3, ["'mine' has no src and no dst", "main, migrated", "s1, s2, r1, r2"]),
        (", path: green", "", 3, ["flow 'main' has no path", "green, blue"]),
        ("path: green}", "path: green", 4, ["'{'", "line 3", "not closed"]),
        ("    size: 2 GiB", "    size 2 GiB", 6, ["colon"]),
        ("seed: 1", "seed: '1'", 8, ["whole number, without quotes"]),
        ("aykurt", "{fabric: rotr}", 1, ["no fabric 'rotr'", "Did you mean 'rotor'?"]),
        ("aykurt", "{fabric: {a: 1}}", 1, ["network.fabric", "rotor"]),
        ("aykurt", "{fabric: [[]]}", 1, ["network.fabric", "rotor"]),
        ("seed: 1", "limit: 2001-99-99", 8, ["2001-99-99"]),
    ],
)
def test_a_mistake_in_a_line(tmp_path: Path, right: str, wrong: str, line: int, words: list[str]) -> None:
    assert right in FILE
    text = message(tmp_path, FILE.replace(right, wrong, 1))
    (said,) = [part for part in text.splitlines() if f"mine.yaml, line {line}: " in part]
    assert [word for word in words if word not in said] == []
    assert len(said) < 400


def test_a_misspelt_field_is_not_reported_as_missing_too(tmp_path: Path) -> None:
    assert len(message(tmp_path, FILE.replace("    size: ", "    siez: ")).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["mine.yaml: ", "empty", "network:", "flows:"]),
        ("# nothing yet\n", ["mine.yaml", "mapping"]),
        ("- network: aykurt\n", ["mine.yaml, line 1: ", "mapping", "'network: aykurt'"]),
        (b"\x89PNG\r\n\x1a\n\xff", ["mine.yaml, line 1: ", "not a text file"]),
        ("network: aykurt\nflows: \x00", ["mine.yaml, line 2: ", "'\\x00'"]),
        ("flows: []\n", ["network: it is missing"]),
    ],
)
def test_a_file_that_is_something_else(tmp_path: Path, content: str | bytes, words: list[str]) -> None:
    said = message(tmp_path, content)
    assert [word for word in words if word not in said] == []


def test_a_path_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "nowhere.yaml").write_text(FILE)
    with pytest.raises(InputError, match=r"there is no file '.*nothere\.yaml'\. Did you mean '.*nowhere\.yaml'\?"):
        Scenario.load(tmp_path / "nothere.yaml")
    with pytest.raises(InputError, match=r"there is no file '.*x\.yaml'\. Files there: nowhere\.yaml"):
        Scenario.load(tmp_path / "x.yaml")
    with pytest.raises(InputError, match=r"there is no directory '.*none'"):
        Scenario.load(tmp_path / "none" / "x.yaml")
    with pytest.raises(InputError, match=r"is a directory; .* nowhere\.yaml"):
        Scenario.load(tmp_path)


def test_the_line_of_a_range_is_that_of_its_item(tmp_path: Path) -> None:
    text = "network: {fabric: dumbbell, pairs: 4}\nflows:\n"
    text += '  - {name: "a[1-3]", src: "s[1-3]", dst: "r[1-3]", size: 1 MB}\n'
    text += "  - {name: b, src: s4, dst: r9, size: 1 MB}\n"
    assert "mine.yaml, line 4: flows.b.dst: there is no host 'r9'" in message(tmp_path, text)
    assert "mine.yaml, line 3: " in message(tmp_path, text.replace("r[1-3]", "q[1-3]"))


def test_a_message_in_python_has_no_file() -> None:
    with pytest.raises(InputError, match=r"^network: there is no network 'aykrut'\. Did you mean 'aykurt'\?"):
        Scenario.from_dict({"network": "aykrut", "flows": []})


NET = "{fabric: leaf-spine, leaves: 2, spines: 2, hosts: 2}"
WORK = "name: w, sizes: 1 kB"
TURNING = "{fabric: rotornet, racks: 4}"
FLOW = "name: f, src: h1, dst: h2, size: 1 kB"
#: Files in which a field must have no value, each with the field, and words of the reason.
LEFT_OUT = [
    (f"network: {NET}\nworkloads: [{{{WORK}, arrivals: once, fan: 2}}]", "workloads.w.fan", "the pattern incast"),
    (
        f"network: {NET}\nworkloads: [{{{WORK}, arrivals: once, stride: 2}}]",
        "workloads.w.stride",
        "the pattern stride",
    ),
    (
        f"network: {NET}\nworkloads: [{{{WORK}, arrivals: once, until: 1 s}}]",
        "workloads.w.until",
        "with arrivals once",
    ),
    (
        f"network: {NET}\nworkloads: [{{{WORK}, arrivals: {{poisson: 1 ms, of: fabric}}}}]",
        "workloads.w.arrivals.of",
        "with poisson: it says what load is the load of",
    ),
    (f"network: {NET}\nflows: [{{{FLOW}, workload: w}}]", "flows.f.workload", "only flows that a workload draws"),
    (
        f"network: {TURNING}\nflows: [{{{FLOW}, path: [[1 ms, rack1-rotor1], [1 ms, dark]]}}]",
        "flows.f.path",
        "because the routing of network.optics chooses the way",
    ),
    (
        f"network: {NET}\nflows: [{{{FLOW}}}]\nengine: {{kind: ns3, parameters: {{cubic: {{beta: 700}}}}}}",
        "engine.parameters",
        "only the engine kernel runs C of the kernel",
    ),
    (
        f"network: {NET}\nprograms: [{{host: h1, run: ls}}]\nprobes: {{count: [leaf1-spine1]}}",
        "probes.count",
        "with programs: a count does not tell",
    ),
]


@pytest.mark.parametrize(("text", "field", "words"), LEFT_OUT, ids=[field for _, field, _ in LEFT_OUT])
def test_a_field_that_must_have_no_value_is_to_be_left_out(tmp_path: Path, text: str, field: str, words: str) -> None:
    said = message(tmp_path, f"{text}\n")
    assert f": {field}: " in said
    assert "must be left out" in said
    assert words in said


def test_no_error_says_that_something_must_be_nothing() -> None:
    """`left_out` phrases that; words of what is allowed complete "it must be ..."."""
    own = {"fields/errors.py", "fields/quantities.py"}  # where it is phrased
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if str(path.relative_to(PACKAGE)) not in own
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.match(r"nothing(, | with )", node.value)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("optics.table", [{"rack": "rack1", "to": "rack2", "slot": 1, "link": "rack1-rotor1"}], "with routing"),
        ("schedules", [{"name": "s", "slots": [{"duration": 10**6, "link": "rack1-rotor1"}]}], "with optics"),
    ],
)
def test_circuits_leave_no_room_for_another_table_or_for_schedules(field: str, value: object, words: str) -> None:
    base = Scenario.from_dict({"network": {"fabric": "rotornet", "racks": 4}, "flows": [
        {"name": "f", "src": "h1", "dst": "h2", "size": 1000}]})  # fmt: skip
    with pytest.raises(InputError, match=rf"network\.{field}: it must be left out, {words}"):
        base.with_(**{f"network.{field}": value})
