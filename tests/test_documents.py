# SPDX-License-Identifier: Apache-2.0
"""Every block of YAML, Python and shell commands in the documents works.

Files that a document writes (their first line is ``# name.yaml: ...``) are there for its commands. Blocks of Python of
a document run one after the other and share their names. Runs are made by the engine for tests, so this takes seconds.
A block that cannot run here has a comment before it, ``<!-- not executed: reason -->``.
"""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rdcnlab.app.cli import main
from rdcnlab.scenario import Scenario, described
from rdcnlab.scenario.cautions import cautions
from rdcnlab.scenario.document import read
from tests.conftest import TWO_FLOWS
from tests.runs.machines import Machines

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "p4/README.md"))]
)
_BLOCK = re.compile(
    r"^(?:<!-- not executed: ([^\n]+) -->\n)?```(yaml|python|sh|bash|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
_NAMED = re.compile(r"# ([a-z0-9-]+\.(?:yaml|py|txt))\b")
#: Commands that change the machine, with the reason why they are not executed.
_NOT_HERE = {
    "sudo": "needs root",
    "git": "clones this repository",
    "make": "its target is checked to exist",
    "docker": "needs Docker",
    "mkdir": "makes a directory for Docker",
    ".venv/bin/uv": "changes the lock file",
    "dask": "a cluster of this test is used instead",
    "cd": "is part of the line before",
}


@dataclass(frozen=True)
class Block:
    """A block of a document: its line, its language, its text, and why it is not executed."""

    line: int
    language: str
    text: str
    reason: str

    @property
    def name(self) -> str:
        """The file that the block is, or nothing."""
        found = _NAMED.match(self.text)
        return found[1] if found else ""


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(text[: found.start()].count("\n") + 1, found[2], found[3], found[1] or "")
        for found in _BLOCK.finditer(text)
    ]


def of(languages: str) -> list[Any]:
    """Return the blocks that are executed, as parameters of a test."""
    return [
        pytest.param(document, block, id=f"{document.relative_to(ROOT)}:{block.line}")
        for document in DOCUMENTS
        for block in blocks(document)
        if block.language in languages.split() and not block.reason
    ]


def in_one_line(document: Path) -> str:
    """Return the text of a document without its line ends."""
    return " ".join(document.read_text(encoding="utf-8").split())


def assert_says(text: str, sentence: str, *values: float) -> None:
    """Assert that a text has a sentence once, with these values at each ``#``, rounded to the decimals written."""
    (match,) = re.finditer(re.escape(sentence).replace(r"\#", r"(\d+(?:\.\d+)?)"), text)
    for written, value in zip(match.groups(), values, strict=True):
        half = 0.5 * 10.0 ** -len(written.partition(".")[2])
        assert abs(value - float(written)) <= half * (1 + 1e-9), (match[0], value)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_engine: None, pool_here: None) -> Path:
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cluster(here: Path) -> Iterator[Callable[[], str]]:
    """A function that starts a cluster with one worker, and returns its address."""
    started: list[Machines] = []

    def start() -> str:
        pytest.importorskip("distributed")
        started.append(Machines(here / "machines"))
        started[-1].add("worker")
        return started[-1].address

    yield start
    for machines in started:
        machines.end()


def write_files(document: Path, folder: Path) -> None:
    """Write the files that a document shows, and those that its scenarios name."""
    for block in blocks(document):
        if block.name:
            (folder / block.name).write_text(block.text)
    for name in ("parity.json", "forward.json"):
        shutil.copy(ROOT / "p4" / "examples" / name, folder)


def completed(data: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario that has what a fragment leaves out: flows of the README, or a flow between two hosts."""
    if "network" not in data:
        return {**TWO_FLOWS, **data}
    if "flows" not in data:
        network = data["network"]
        if isinstance(network, dict) and "fabric" not in network and "hosts" not in network:
            ends = {"name": "s1", "at": "left", "rate": "1 Gb/s"}, {"name": "r1", "at": "right", "rate": "1 Gb/s"}
            link = {"name": "l1", "between": ["left", "right"], "rate": "1 Gb/s", "buffer": "1 MB"}
            data = {**data, "network": {**network, "hosts": list(ends), "links": [link]}}
            return {**data, "flows": [{"name": "f", "src": "s1", "dst": "r1", "size": "1 MB"}]}
        return {**data, "flows": [{"name": "f", "src": "h1", "dst": "h9", "size": "1 MB"}]}
    return data


@pytest.mark.parametrize(("document", "block"), of("yaml"))
def test_yaml(document: Path, block: Block, here: Path) -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.items.claims import ItemClaims

    write_files(document, here)
    (here / "block.yaml").write_text(block.text)
    data = read(here / "block.yaml").data
    if isinstance(data, list):
        for item in data:
            ItemClaims.model_validate(item)
        return
    whole = completed(data)
    scenario = Scenario.from_dict(whole, text=True, directory=here)
    # flows that `completed` adds to a fragment are not an example
    # bins that are long beside slots are a matter of pictures
    mistakes = [one for one in cautions(scenario) if one.field != "probes.bin"]
    assert "flows" not in data or not mistakes, "an example must not do what is nearly always a mistake"
    jsonschema.Draft202012Validator(described.schema()).validate(whole)


@pytest.mark.parametrize("document", dict.fromkeys(each.values[0] for each in of("python")), ids=lambda path: path.name)
def test_python(document: Path, here: Path) -> None:
    write_files(document, here)
    names: dict[str, Any] = {"scenario": Scenario.from_dict(TWO_FLOWS)}
    for block in blocks(document):
        if block.language == "python" and not block.reason:
            if block.name:
                compile(block.text, block.name, "exec")  # a file of its own, which another process imports
            else:
                exec(compile(block.text, f"{document.name}:{block.line}", "exec"), names)


@pytest.mark.parametrize(("document", "block"), of("sh bash"))
def test_commands(
    document: Path, block: Block, here: Path, monkeypatch: pytest.MonkeyPatch, cluster: Callable[[], str]
) -> None:
    write_files(document, here)
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in block.text.splitlines():
        for command in line.split(" && "):
            words = shlex.split(command, comments=True)
            if not words:
                continue
            if words[0] == "make":
                assert set(words[1:]) <= targets, line
            elif words[0] not in _NOT_HERE:
                assert words[0].endswith("rdcnlab"), f"{line}: a command that this test does not know"
                if "--cluster" in words:
                    words[words.index("--cluster") + 1] = cluster()
                run(words[1:], here, monkeypatch)


def run(arguments: list[str], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command line in this process, with what follows ``>`` as a file for its output."""
    if ">" in arguments:
        arguments = arguments[: arguments.index(">")]
    monkeypatch.setattr(sys, "argv", ["rdcnlab", *arguments])
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert not code, arguments


def test_the_documents_have_blocks_and_reasons_are_few() -> None:
    found = [block for document in DOCUMENTS for block in blocks(document)]
    assert len(found) > 30
    fenced = sum(
        len(re.findall(r"^```(?:yaml|python|sh|bash|text)$", each.read_text(), re.MULTILINE)) for each in DOCUMENTS
    )
    assert len(found) == fenced  # no block escapes this test
    assert sum(bool(block.reason) for block in found) * 3 < len(found)


@pytest.mark.parametrize("tutorial", sorted((ROOT / "docs" / "tutorial").glob("*.md")), ids=lambda path: path.stem)
def test_a_tutorial_shows_the_picture_that_its_reader_gets(tutorial: Path) -> None:
    """It has the tutorial's name and a text that says what is seen, and is small."""
    pictures = re.findall(r"^!\[([^]]+)\]\((\S+)\)$", tutorial.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for _, name in pictures] == [f"{tutorial.stem}.png"]
    assert all(len(words) > 60 for words, _ in pictures)
    assert tutorial.with_suffix(".png").stat().st_size < 60_000


def test_the_readme_counts_tutorials_and_exercises() -> None:
    count = len(list((ROOT / "docs" / "tutorial").glob("*.md")))
    exercises = len(re.findall(r"^## \d\. ", (ROOT / "docs" / "exercises.md").read_text(), re.MULTILINE))
    words = {5: "Five", 6: "Six", 7: "Seven", 8: "Eight", 9: "Nine", 10: "Ten"}
    text = in_one_line(ROOT / "README.md")
    assert f"[{words[count]} tutorials]" in text
    assert f"[{words[exercises]} exercises with solutions]" in text


def test_every_environment_variable_is_described() -> None:
    """A variable that the code reads is in the table, and one that is in the table is read."""
    files = [*(ROOT / "lib" / "rdcnlab").rglob("*.py"), ROOT / "tools" / "setup"]
    code = "".join(path.read_text() for path in files)
    read = set(re.findall(r"environ(?:\.get\(|\[)\"((?:RDCNLAB|KERNEL)_[A-Z0-9_]+)\"", code))
    described_here = re.findall(r"^\| `([A-Z0-9_]+)` \|", (ROOT / "docs" / "environment.md").read_text(), re.MULTILINE)
    assert sorted(read) == sorted(described_here)


def test_the_list_of_decisions_has_their_titles_and_dates() -> None:
    rows = re.findall(
        r"^\| \[(.+?)\]\((decisions/.+?)\) \| (.+?) \|$", (ROOT / "docs/README.md").read_text(), re.MULTILINE
    )
    assert {name for _, name, _ in rows} == {
        f"decisions/{path.name}" for path in (ROOT / "docs/decisions").glob("*.md")
    }
    for title, name, dates in rows:
        first, *lines = (ROOT / "docs" / name).read_text().splitlines()
        assert first == f"# {title}", name
        dated = [line for line in lines if re.match(r"\*Decided|\*\*2026|(## |\*\*).*\(2026", line)]
        given = set(re.findall(r"\d{4}-\d\d-\d\d", " ".join(dated)))
        # a range has its ends only
        assert " to " in dates or given <= set(dates.split(", ")), name
