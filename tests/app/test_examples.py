# SPDX-License-Identifier: Apache-2.0
"""`rdcnlab examples`: each file that is written runs. Each block of the documents is run by `tests.test_documents`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from rdcnlab import Scenario, campaign
from rdcnlab.app import examples
from rdcnlab.app.cli import app
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.store import Store


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_each_example_runs(tmp_path: Path) -> None:
    written = examples.copy(tmp_path / "here")
    paths = [tmp_path / "here" / one.path for one in written]
    assert len(set(paths)) == len(paths) > 35
    assert all(one.about for one in written)
    scenarios = [Scenario.load(path) for path in paths if path.suffix == ".yaml"]
    assert len({scenario.hash for scenario in scenarios}) == len(scenarios)
    runs = campaign(scenarios, store=Store(tmp_path / "runs"), progress=False)
    assert len(runs) == len(scenarios)


def test_what_belongs_beside_an_example_is_there(tmp_path: Path) -> None:
    examples.copy(tmp_path)
    assert (tmp_path / "4-own-p4-program" / "parity.json").is_file()
    assert (tmp_path / "4-own-p4-program" / "parity.p4").is_file()
    assert (tmp_path / "7-own-program" / "server.py").read_text().startswith("# server.py: answers each line")


def test_an_example_that_was_changed_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(InputError, match="empty or does not exist"):
        examples.copy(tmp_path)


def test_the_command_lists_them_and_names_the_first(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["examples", str(tmp_path / "new")])
    assert result.exit_code == 0
    assert "two switches, a fast path and a slow one" in result.output
    assert "rdcnlab run" in result.output.splitlines()[-1]
