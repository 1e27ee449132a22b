# SPDX-License-Identifier: Apache-2.0
"""What a shell offers after TAB."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from rdcnlab.app.cli import app
from tests.conftest import with_papers


def offered(line: str) -> list[str]:
    """Return what bash offers at the end of a line."""
    words = line.split(" ")
    asked = {"_RDCNLAB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    answer = CliRunner().invoke(app, [], prog_name="rdcnlab", env=asked)
    assert answer.exit_code == 0, answer.output
    return answer.output.split()


@with_papers
def test_papers_and_then_the_items_of_one() -> None:
    from rdcnlab_papers import select

    assert offered("rdcnlab score a") == ["aykurt"]
    assert set(offered("rdcnlab reproduce tdtcp/")) == {f"tdtcp/{kind.id}" for kind in select(["tdtcp"])}
    assert offered("rdcnlab reproduce tdtcp/fig7") == ["tdtcp/fig7a", "tdtcp/fig7b"]
    assert offered("rdcnlab reproduce nobody/") == []


def test_networks_files_and_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rotary.yaml").touch()
    (tmp_path / "rough").mkdir()
    (tmp_path / "road.txt").touch()
    assert offered("rdcnlab show ro") == ["rotor", "rotornet", "rough/", "rotary.yaml"]
    assert offered("rdcnlab run ro") == ["rough/", "rotary.yaml"]
    assert offered("rdcnlab run rotary.yaml --switch o") == ["ocs", "ovs"]
    assert offered("rdcnlab run rotary.yaml --profile q") == ["quick"]
