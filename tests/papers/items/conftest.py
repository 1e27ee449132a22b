# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of items."""

from __future__ import annotations

import pytest


@pytest.fixture
def fake_engine(fake_engine: None, pool_here: None) -> None:
    """The engine for tests in this process; tests of campaigns and pools have worker processes."""
