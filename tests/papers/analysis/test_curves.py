# SPDX-License-Identifier: Apache-2.0
"""Throughput over time: nothing is clipped, teeth are drawn from near, and what needs a word has one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import CARRIED
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import curves, drawn

pytestmark = pytest.mark.usefixtures("fake_engine")


@pytest.fixture
def cases(two_flows: Scenario, tmp_path: Path) -> curves.Cases:
    """Runs of three periods; the slots of the last are as short as a bin."""
    found = {}
    for ms in (50, 10, 1):
        asked = [two_flows.with_(period=f"{ms} ms", size="128 MiB", seed=seed) for seed in range(2)]
        runs = campaign(asked, store=Store(tmp_path), workers=1, progress=False)
        found[f"period {ms} ms"] = (Runs(tuple(runs), {"throughput": CARRIED}), ms)
    return found


def test_every_case_has_its_whole_runs_and_three_cycles(cases: curves.Cases) -> None:
    figure = curves.plot(cases, stated={"period 50 ms": {"apart": (10.0, "paper")}})
    for (runs, ms), near in zip(cases.values(), figure.axes[len(cases) :], strict=True):
        spans = [patch for patch in near.patches if patch.get_label() == "both on one link"]
        if ms == 1:
            assert "too wide" in near.texts[0].get_text()
            assert not near.lines
            continue
        assert len(spans) == 3
        begin, end = near.get_xlim()
        assert end - begin == 6 * ms
        assert end / 1e3 <= runs.flows["end_s"].max() + 6e-3 * ms
    (stated,) = {tuple(line.get_ydata()) for line in figure.axes[3].lines if line.get_label() == "paper"}
    assert set(stated) == {10.0}
    table = drawn.table(figure)
    assert {"period 50 ms", "period 50 ms, three cycles"} <= set(table["panel"])


@pytest.mark.parametrize("each_run", [False, True])
def test_nothing_is_clipped_and_what_is_above_the_line_rate_is_explained(cases: curves.Cases, each_run: bool) -> None:
    figure = curves.plot(cases, each_run=each_run)
    highest = 0.0
    for ax in figure.axes:
        low, high = ax.get_ylim()
        for line in ax.lines:
            rates = np.asarray(line.get_ydata(), dtype=float)
            assert rates.min() >= low
            assert rates.max() <= high
            highest = max(highest, rates.max() if line.get_label() != "half the line rate" else 0.0)
    line_rate = 10
    notes = [text.get_text() for text in figure.texts]
    assert any(words.startswith(f"Above {line_rate} Gb/s") for words in notes) == (highest > 1.01 * line_rate)
