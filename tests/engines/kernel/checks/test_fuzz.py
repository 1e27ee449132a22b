# SPDX-License-Identifier: Apache-2.0
"""Random requests to the switch, to links and to TCP's options: the kernel refuses them, and does not complain."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.checks import fuzz
from tests.conftest import all_cores

pytestmark = pytest.mark.guest


def test_random_requests_do_no_harm(kernel: build.Kernel, tmp_path: Path) -> None:
    ended = fuzz.run(kernel, 1, 1500, tmp_path / "run")
    assert not ended.error, ended
    # some are accepted, or nothing is reached behind the checks
    for name, least in (("request", 50), ("link", 10), ("option", 200)):
        assert ended.facts[f"{name} ok"] > least
        assert ended.facts[f"{name} refused"] > least


def test_a_seed_sends_the_same_again(kernel: build.Kernel, tmp_path: Path) -> None:
    facts = [fuzz.run(kernel, 5, 300, tmp_path / "run").facts for _ in range(2)]
    assert facts[0] == facts[1]


def test_a_complaint_of_the_kernel_is_found(kernel: build.Kernel, tmp_path: Path) -> None:
    assert "made on purpose" in fuzz.run(kernel, 1, 10, tmp_path / "run", fault=True).error


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_random_requests_do_no_harm_on_the_build_that_checks_itself(seed: int, tmp_path: Path) -> None:
    with all_cores():
        kernel = build.build(debug=True)
    ended = fuzz.run(kernel, seed, 5000, tmp_path / "run")
    assert not ended.error, ended
