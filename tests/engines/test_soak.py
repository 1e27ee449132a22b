# SPDX-License-Identifier: Apache-2.0
"""The soak: the cases that seeds draw, the report of their results, and that a soak can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.checks import selftests, soak


def test_a_seed_says_all() -> None:
    assert soak.draw(7) == soak.draw(7)
    assert soak.draw(7) != soak.draw(8)
    assert soak.draw(7, "retcp")["kind"] == "retcp"


def test_cases_are_wide_and_bounded() -> None:
    cases = [soak.draw(seed) for seed in range(30)]
    assert {case["kind"] for case in cases} == set(soak.KINDS)
    for case in cases:
        assert 2 <= len(case["networks"]) <= 8
        week = sum(duration for duration, *_ in case["slots"])
        assert case["lasts"] * len(case["slots"]) / week < 40_000


def test_the_debug_build_is_another_and_changes_no_other() -> None:
    assert build.identity(debug=True) != build.identity()
    plain, debug = build.config(hz=250).splitlines(), build.config(hz=250, debug=True).splitlines()
    assert set(plain) < set(debug)
    assert "CONFIG_KASAN=y" in debug
    assert "CONFIG_KASAN=y" not in plain


def test_the_first_complaint_is_told(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    assert soak.complaint(log) == ""
    log.write_text("calm\nBUG: KASAN: slab-use-after-free in tcp_ack+0x1/0x2\nKernel panic - not syncing\n")
    assert soak.complaint(log) == "BUG: KASAN: slab-use-after-free in tcp_ack+0x1/0x2"


def test_a_selftest_is_judged_by_status_and_taps() -> None:
    test = selftests.Test("mptcp", "./diag.sh")
    said = "ok 1 - one\n# ok 2 - two # SKIP no ip\nnot ok 3 - three\n"
    row = selftests.row(test, 1, said, "")
    assert (row["test"], row["result"]) == ("mptcp/diag", "fail")
    assert (row["passed"], row["failed"], row["skipped"]) == (1, 1, 1)
    assert row["reason"] == "not ok 3 - three"
    assert selftests.row(test, 4, "no nft", "")["result"] == "skip"
    assert selftests.row(test, 0, "", "WARNING: at net/")["result"] == "fail"
    ends_well = selftests.row(test, 0, "ok 1 a\nnot ok 2 b: no such key\nnot ok 3 c # XFAIL", "")
    assert (ends_well["result"], ends_well["failed"], ends_well["reason"]) == ("fail", 1, "not ok 2 b: no such key")


@pytest.mark.guest
@pytest.mark.slow
@pytest.mark.parametrize("kind", soak.KINDS)
def test_a_case_of_each_kind_on_the_ordinary_build(kernel: build.Kernel, tmp_path: Path, kind: str) -> None:
    ended = soak.run(kernel, 4, tmp_path / kind, kind=kind)
    assert not ended.error, ended
    assert ended.facts["bytes"] > 100_000


@pytest.mark.guest
@pytest.mark.slow
def test_a_corrupted_byte_is_found(kernel: build.Kernel, tmp_path: Path) -> None:
    ended = soak.run(kernel, 4, tmp_path / "run", fault="payload")
    assert "is not what was sent" in ended.error
