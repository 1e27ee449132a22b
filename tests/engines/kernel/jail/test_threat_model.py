# SPDX-License-Identifier: Apache-2.0
"""Each promise of the page about threats has a test."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[4]


def test_every_test_that_the_page_names_exists() -> None:
    page = (ROOT / "docs" / "threat-model.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    have = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    assert len(named) > 15
    assert named - have == set()


def test_every_promise_of_the_jail_names_a_test() -> None:
    page = (ROOT / "docs" / "threat-model.md").read_text()
    table = page.split("## The jail")[1].split("| promise | test |\n|---|---|\n")[1].split("\n\n")[0]
    assert all("`test_" in row.split("|")[2] for row in table.splitlines())
