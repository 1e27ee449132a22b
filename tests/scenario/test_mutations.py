# SPDX-License-Identifier: Apache-2.0
"""A short run of `tests.scenario.mutate`; the long one has 200 000 mutations."""

from __future__ import annotations

import pytest

from tests.scenario.mutate import FILES, fault, mutations


@pytest.mark.parametrize("seed", range(3))
def test_mutated_scenarios_end_with_a_sentence_or_are_read(seed: int) -> None:
    faults = [(number, fault(data, bool(number % 2))) for number, data in enumerate(mutations(300, seed))]
    assert [each for each in faults if each[1] is not None] == []


def test_the_originals_are_scenarios_and_a_traceback_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    from rdcnlab.scenario import Scenario

    for text in FILES:
        Scenario.from_dict(yaml.safe_load(text), text=True)
    monkeypatch.setattr(Scenario, "from_dict", lambda data, text: {}[str(data)])
    assert "KeyError" in str(fault({}, True))
