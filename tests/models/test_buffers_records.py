# SPDX-License-Identifier: Apache-2.0
"""Records of tests of the shared buffer's models: made once for rows and settings, and read as they were made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rdcnlab.analysis.sharing import OUTCOMES
from rdcnlab.models import buffers_records, gaussian
from tests.models.test_buffers import rows


@pytest.fixture(autouse=True)
def own_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RDCNLAB_MODELS", str(tmp_path))


def test_coverage_is_computed_once_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    data, calls = rows(24), []

    def covered(asked: pd.DataFrame) -> pd.DataFrame:
        calls.append(len(asked))
        return pd.DataFrame({name: np.arange(len(asked)) > 5 for name in OUTCOMES}, index=asked.index)

    monkeypatch.setattr(gaussian, "covered", covered)
    first = buffers_records.read(buffers_records.coverage(data))
    pd.testing.assert_frame_equal(first, buffers_records.read(buffers_records.coverage(data)))
    assert calls == [24]
    assert first.mean().tolist() == [0.75] * 4
    buffers_records.coverage(data.iloc[:20])
    buffers_records.coverage(data.assign(share=0.0))
    assert calls == [24, 20, 24]
