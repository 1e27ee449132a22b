# SPDX-License-Identifier: Apache-2.0
"""What is printed in a terminal of 80 columns: nothing is cut, and lines end between words."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console
from typer.main import get_command

from rdcnlab.app.cli import ORDER, app, tools
from rdcnlab.app.cli.tables import cell, tables
from rdcnlab.system import entry_points
from tests.app.test_cli import Run, here, rdcnlab

__all__ = ["here", "rdcnlab"]  # fixtures
pytestmark = pytest.mark.usefixtures("fake_engine", "pool_here")


def printed(rows: list[dict[str, Any]], width: int) -> list[str]:
    """Return the lines of a table in a terminal."""
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    for table in tables(rows, width):
        console.print(table, markup=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.usefixtures("here")
def test_every_value_of_runs_is_whole_at_every_width(rdcnlab: Run, width: int) -> None:
    flows = json.loads(rdcnlab("run", "s.yaml", "--json").stdout)
    runs = json.loads(rdcnlab("runs", "list", "--json").stdout)
    limits = json.loads(rdcnlab("runs", "show", runs[0]["id"], "--json").stdout)["flows"]
    for rows in (flows, runs, [{**row, "limited_by": ""} for row in limits]):
        lines = printed(rows, width)
        assert max(map(len, lines)) <= width
        # a cell without a space is one word of a line; a name of a column, too
        words = [set(line.split()) for line in lines]
        for text in [*rows[0], *(cell(value) for row in rows for value in row.values())]:
            assert any(set(text.split()) <= found for found in words), text


@pytest.mark.usefixtures("here")
def test_the_table_of_the_first_run_is_one_table_in_80_columns(rdcnlab: Run) -> None:
    rows = json.loads(rdcnlab("run", "s.yaml", "--json").stdout)
    assert len(printed(rows, 80)) == 1 + len(rows)


def test_a_table_that_is_too_wide_repeats_the_columns_that_name_a_row() -> None:
    row = {"seed": 1, "flow": "main", "goodput_Gbps": 7.5, "retransmits": 439, "limited": "by the rate of a green link"}
    lines = [line.split() for line in printed([row], 38)]
    assert lines[:3] == [["seed", "flow", "goodput_Gbps", "retransmits"], ["1", "main", "7.5", "439"],
                         ["seed", "flow", "limited"]]  # fmt: skip
    # a sentence is wrapped at spaces
    assert " ".join(word for line in lines[3:] for word in line) == "1 main by the rate of a green link"


def test_a_table_without_rows_is_nothing() -> None:
    assert printed([], 80) == []


def test_a_sentence_ends_lines_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    message = "migrated: limited by the rate of green (100% used, with main); losses: 682 lost"
    tools.say(message)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert [line.startswith("  ") for line in lines] == [False, True, True]
    assert " ".join(line.strip() for line in lines) == message


@pytest.mark.usefixtures("here")
def test_help_says_each_command_in_a_whole_sentence(rdcnlab: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    commands = rdcnlab("--help").stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in commands[:4]] == ["doctor", "run", "show", "plot"]
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


def test_help_has_an_order_for_each_command() -> None:
    commands = get_command(app).list_commands(None)  # type: ignore[attr-defined]
    assert list(ORDER) == commands[: len(ORDER)]
    # those of other packages follow, by the alphabet
    assert commands[len(ORDER) :] == sorted(entry_points.points("rdcnlab.commands"))


@pytest.mark.usefixtures("here")
def test_what_is_no_run_and_no_file_is_said_so(rdcnlab: Run) -> None:
    done = rdcnlab("runs", "show", "myrun")
    assert done.returncode == 2
    assert '"myrun" is no id of a run, and no file' in done.stderr
    assert "rdcnlab runs" in done.stderr
    assert "Did you mean 's.yaml'?" in rdcnlab("plot", "ss.yaml").stderr
