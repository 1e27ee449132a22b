# SPDX-License-Identifier: Apache-2.0
"""Documents say what a scenario gives on every machine; the guest gives it."""

from __future__ import annotations

import re

import yaml

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.test_documents import ROOT, blocks

_TIMES = {
    "docs/artifact-appendix.md": r"`fct_s` of ([0-9.]+) for `main` and ([0-9.]+) for `migrated`",
    "docs/tutorial/1-first-scenario.md": r"It should be ([0-9.]+) s and ([0-9.]+) s on every machine",
}
_RETRANSMITS = r"with (\d+) retransmissions of `migrated`"


def test_the_first_scenario_gives_the_numbers_that_readers_compare_with(run_guest: RunGuest) -> None:
    texts = {name: " ".join((ROOT / name).read_text(encoding="utf-8").split()) for name in _TIMES}
    shown = [next(block.text for block in blocks(ROOT / name) if block.name == "two-flows.yaml") for name in _TIMES]
    scenario, other = (Scenario.from_dict(yaml.safe_load(text), text=True) for text in shown)
    assert scenario.hash == other.hash
    flows = run_guest(scenario).tables["flows"].set_index("flow")
    times = [f"{flows.loc[flow, 'fct_s']:.4f}" for flow in ("main", "migrated")]
    for name, numbers in _TIMES.items():
        assert re.findall(numbers, texts[name]) == [tuple(times)], name
    assert re.findall(_RETRANSMITS, texts["docs/artifact-appendix.md"]) == [str(flows.loc["migrated", "retransmits"])]
