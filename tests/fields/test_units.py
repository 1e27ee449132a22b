# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdcnlab.fields.units import DURATION, RATE, SHARE, SIZE, Quantity

ALL = [DURATION, RATE, SHARE, SIZE]


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (DURATION, "50 ms", 50_000_000),
        (DURATION, "50ms", 50_000_000),
        (DURATION, "0.3 us", 300),
        (DURATION, "0.3 µs", 300),
        (RATE, "10 Gb/s", 10**10),
        (RATE, "12.5 Gbit/s", 12_500_000_000),
        (SIZE, "2 GiB", 2**31),
        (SIZE, "2 GB", 2 * 10**9),
        (SIZE, "5 kB", 5000),
        (SHARE, "80 %", 800_000),
    ],
)
def test_reads_exactly(quantity: Quantity, text: str, value: int) -> None:
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    "text", ["", "50", "ms", "-1 ms", "1e3 ms", "5 m", "1 MS", "0.5 ns", "1 ms 2", "٣ ms", "1/2 s"]
)
def test_refuses_and_names_the_units(text: str) -> None:
    with pytest.raises(ValueError, match=r"ns"):
        DURATION.parse(text)


@pytest.mark.parametrize("quantity", ALL, ids=lambda quantity: quantity.name)
@given(value=st.integers(0, 2**50))
def test_what_is_written_is_read_back(quantity: Quantity, value: int) -> None:
    assert quantity.parse(quantity.format(value)) == value


def test_writes_the_shortest_text() -> None:
    assert SIZE.format(2**31) == "2 GiB"
    assert SIZE.format(5000) == "5 kB"
    assert DURATION.format(2_500_000) == "2500 us"
    assert DURATION.format(0) == "0 ns"
