# SPDX-License-Identifier: Apache-2.0
"""Records of tests of the shared buffer's models: made once for rows and settings, and read as they were made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rdcnlab_papers.analysis.sharing import OUTCOMES
from rdcnlab_papers.models import active, buffers_records, gaussian
from tests.papers.models.test_buffers import rows


@pytest.fixture(autouse=True)
def own_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RDCNLAB_MODELS", str(tmp_path))


def test_coverage_is_computed_once_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    data, calls = rows(24), []

    def covered(asked: pd.DataFrame) -> pd.DataFrame:
        calls.append(len(asked))
        return pd.DataFrame({name: np.arange(len(asked)) > 5 for name in OUTCOMES}, index=asked.index)

    monkeypatch.setattr(gaussian, "coverage", covered)
    first = buffers_records.read(buffers_records.coverage(data))
    pd.testing.assert_frame_equal(first, buffers_records.read(buffers_records.coverage(data)))
    assert calls == [24]
    assert first.mean().tolist() == [0.75] * 4
    buffers_records.coverage(data.iloc[:20])
    buffers_records.coverage(data.assign(share=0.0))
    assert calls == [24, 20, 24]


def test_active_choice_saves_runs_where_it_reaches_the_level_earlier() -> None:
    """Seed 0: 25 over 30 runs. Seed 1: active needs more than all 30, which counts as 35, over 25. Seed 2: unknown."""
    curves = pd.DataFrame(
        [
            {"seed": seed, "active": by_doubt, "runs": runs, "r2": r2}
            for seed, by_doubt, scores in (
                (0, True, (0.5, 0.95, 0.8)), (0, False, (0.5, 0.85, 0.9)),
                (1, True, (0.5, 0.6, 0.7)), (1, False, (0.5, 0.9, 0.95)),
                (2, True, (0.5, 0.6, 0.7)), (2, False, (0.5, 0.6, 0.7)),
            )
            for runs, r2 in zip((20, 25, 30), scores, strict=True)
        ]
    )  # fmt: skip
    assert buffers_records.saving(curves).tolist() == pytest.approx([25 / 30, 35 / 25, np.nan], nan_ok=True)


def test_curves_are_those_of_both_kinds_of_choice_from_the_same_beginnings(monkeypatch: pytest.MonkeyPatch) -> None:
    def learning(asked: pd.DataFrame, *, active: bool, seed: int, most: int, **_: int) -> pd.DataFrame:
        return pd.DataFrame({"runs": [20, most], "r2": [seed / 10, seed / 10 + 0.1 * active]})

    monkeypatch.setattr(active, "learning", learning)
    found = buffers_records.read(buffers_records.learning(rows(24)))
    assert found.groupby(["seed", "active"]).ngroups == 2 * buffers_records.SEEDS
    assert buffers_records.SEEDS >= 5
    assert found.groupby("seed")["r2"].first().tolist() == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
