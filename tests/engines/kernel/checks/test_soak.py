# SPDX-License-Identifier: Apache-2.0
"""The soak: the cases that seeds draw, the report of their results, and that a soak can fail."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.checks import selftests, soak

#: SHA-256 of the cases of seeds 0 to 99, as they were before hosts had cards and queues of their own.
BEFORE = "3cf5d7079c7471a3d6c7df5fb73a4db4929bce4159d407136198b5ea5d3aa5d1"


def test_a_seed_says_all() -> None:
    assert soak.draw(7) == soak.draw(7)
    assert soak.draw(7) != soak.draw(8)
    assert soak.draw(7, "retcp")["kind"] == "retcp"


def test_cases_are_wide_and_bounded() -> None:
    cases = soak.draw_all(range(30))
    assert {case["kind"] for case in cases} == set(soak.KINDS)
    for case in cases:
        assert 2 <= len(case["networks"]) <= 8
        week = sum(duration for duration, *_ in case["slots"])
        assert case["lasts"] * len(case["slots"]) / week < 40_000


def test_cards_queues_and_forgeries_are_drawn() -> None:
    cases = soak.draw_all(range(100))
    hosts = [host for case in cases for host in case["hosts"] or ()]
    cards = [host["card"] for host in hosts]
    assert 60 < len(hosts) < 140
    assert {host["fq"] is None for host in hosts} == {True, False}
    assert {name for host in hosts for name in host["fq"] or ()} == {"flow_limit", "quantum", "maxrate", "horizon"}
    for field in ("tso", "gro", "coalesce", "frames"):
        assert {bool(card[field]) for card in cards} == {True, False}, field
    assert all(card["gro"] or not card["coalesce"] for card in cards)
    assert all(card["coalesce"] or not card["frames"] for card in cards)
    counts = {card["frames"] for card in cards}
    assert {0, 1} < counts <= set(range(129))
    assert {bool(rate) for case in cases for flow in case["flows"] for rate in flow.get("pacing", ())} == {True, False}
    forged = [(case, values) for case in cases for *_, what, values in case["events"] if what == "forge"]
    assert {values["prefixes"] for _, values in forged} == {0, 1, 10, 300}
    assert 30 < len({case["seed"] for case, _ in forged}) < 70
    for case in cases:
        assert [event[:2] for event in case["events"]] == sorted(event[:2] for event in case["events"])


def test_a_seed_keeps_its_network_and_its_traffic() -> None:
    """Cards, queues and forgeries have draws of their own: what seeds 0 to 99 drew before is as it was."""
    cases = soak.draw_all(range(100))
    for case in cases:
        del case["hosts"], case["offload"]  # hosts with cards have all features
        case["events"] = [event for event in case["events"] if event[2] != "forge"]
        for flow in case["flows"]:
            flow.pop("pacing", None)
    assert hashlib.sha256(json.dumps(cases, sort_keys=True).encode()).hexdigest() == BEFORE


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
