# SPDX-License-Identifier: Apache-2.0
"""The same bytes on every system: the expected digests come from a machine with another compiler and Python."""

from __future__ import annotations

import pytest

from tests.engines import digests

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("name", digests.cases())
def test_tables_are_those_of_other_machines(kernel: object, name: str) -> None:
    case = digests.cases()[name]
    if lacking := digests.missing(case):
        pytest.skip(lacking)
    assert digests.run(case) == case["digests"]
