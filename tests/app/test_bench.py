# SPDX-License-Identifier: Apache-2.0
"""The benchmark of scoring measures a separate process."""

from __future__ import annotations

import pytest

from rdcnlab.app.bench import scoring
from rdcnlab.fields.errors import RunError


def test_what_a_score_takes_is_measured() -> None:
    wall, cores, peak = scoring(["tdtcp/fig13"])
    assert wall["measure"] == "rdcnlab score tdtcp/fig13"
    assert wall["value"] > 0
    assert cores["value"] > 0
    # MiB: Python with pandas needs more than 50, and a machine for tests has less than 10 GB
    assert 50 < peak["value"] < 10_000
    assert wall["goal"] is None


def test_a_score_that_fails_is_not_measured() -> None:
    with pytest.raises(RunError, match="ended with 2"):
        list(scoring(["nobody"]))
