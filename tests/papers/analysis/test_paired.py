# SPDX-License-Identifier: Apache-2.0
"""Transports compared flow by flow, on flows whose ratios are known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from rdcnlab_papers.benchmarks import paired

SEEDS = (0, 1, 2, 3)


def flows(**factor: Callable[[int, int], float]) -> pd.DataFrame:
    """Return flows that take 1 ms to 10 s by their draw, times a transport's factor of seed and number."""
    rows = []
    for seed in SEEDS:
        draws = 10 ** np.random.default_rng(seed).uniform(-3, 1, 20)
        for name, of in factor.items():
            for number, draw in enumerate(draws):
                place = {"architecture": "n", "workload": "w", "load": 30, "transport": name, "seed": seed}
                rows.append({**place, "fct_s": draw * of(seed, number)})
    return pd.DataFrame(rows)


def test_what_a_seed_draws_is_no_difference() -> None:
    """Flows that all take 10 % longer have the ratio 1.1 exactly, however much they differ among themselves."""
    (row,) = paired.pairs(flows(bbr=lambda *_: 1.1, cubic=lambda *_: 1.0)).to_dict("records")
    assert (row["upper"], row["lower"], row["seeds"]) == ("bbr", "cubic", len(SEEDS))
    assert [row["ratio"], row["low"], row["high"]] == pytest.approx([1.1] * 3)
    assert row["p"] < 1e-9 < 0.5 < row["unpaired"]


def test_the_interval_is_students_over_seeds() -> None:
    """Seeds whose logarithms differ by +-0.1 about 0.2: t of 3 degrees at 95 % is 3.182."""
    shift = (0.1, -0.1, 0.1, -0.1)
    (row,) = paired.pairs(flows(reno=lambda seed, _: math.exp(0.2 + shift[seed]), cubic=lambda *_: 1.0)).to_dict(
        "records"
    )
    half = 3.182 * np.std(shift, ddof=1) / 2
    assert math.log(row["ratio"]) == pytest.approx(0.2)
    assert math.log(row["high"]) == pytest.approx(0.2 + half, rel=1e-3)


def test_flows_that_do_not_end_are_counted_and_left_out() -> None:
    three = flows(bbr=lambda _, number: math.nan if number == 3 else 2.0, cubic=lambda *_: 1.0, reno=lambda *_: 1.0)
    rows = {(row["upper"], row["lower"]): row for row in paired.pairs(three).to_dict("records")}
    assert {pair: row["unfinished"] for pair, row in rows.items()} == {
        ("bbr", "cubic"): len(SEEDS), ("bbr", "reno"): len(SEEDS), ("cubic", "reno"): 0,
    }  # fmt: skip
    assert rows["bbr", "cubic"]["ratio"] == pytest.approx(2)
    assert rows["cubic", "reno"]["p"] == 1, "equal transports are no difference"


def test_the_table_has_ratios_to_one_transport_whichever_came_first() -> None:
    found = paired.pairs(flows(bbr=lambda *_: 1.25, cubic=lambda *_: 1.0, reno=lambda *_: 1.0))
    head, _, row, _, words = paired.markdown(found, "w", 30, "cubic").splitlines()
    assert head == "| network (4 seeds) | BBR / CUBIC | Reno / CUBIC |"
    assert row == "| n | **1.25** (1.25 to 1.25) | 1.00 (1.00 to 1.00) |"
    assert all(part in words for part in ("Of 3 pairs", "2 are decided", "2 remain (w 2)"))
    assert paired.markdown(found, "w", 30, "bbr").splitlines()[2].startswith("| n | **0.80** (0.80 to 0.80)")
