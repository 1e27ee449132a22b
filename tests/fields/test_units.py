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
        (RATE, "10 Mbps", 10**7),
        (RATE, "10Mbps", 10**7),
        (RATE, "10 Gbps", 10**10),
        (RATE, "10Gbit/s", 10**10),
        (RATE, "64 kbps", 64_000),
        (RATE, "64 Kbps", 64_000),
        (RATE, "9600 bps", 9600),
        (DURATION, "5ms", 5_000_000),
        (DURATION, "5 ms", 5_000_000),
        (SIZE, "1.5 MB", 1_500_000),
        (SIZE, "10kB", 10_000),
        (SIZE, "10KiB", 10_240),
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


@pytest.mark.parametrize(
    ("quantity", "text", "reason"),
    [
        (SIZE, "10KB", "write kB for 1000 B, KiB for 1024 B"),
        (SIZE, "10 Kb", "write kB for 1000 B, KiB for 1024 B"),
        (SIZE, "1 Mb", "b stands for bits, and sizes are in bytes, MB"),
        (SIZE, "1 mib", "write MiB instead of mib"),
        (RATE, "10 MB/s", "1 MB/s is 8 Mb/s"),
        (RATE, "10 KBps", "1 KBps is 8 kb/s"),
        (RATE, "10 mbps", "write Mbps instead of mbps"),
        (DURATION, "5 MS", "write ms instead of MS"),
    ],
)
def test_a_unit_that_could_mean_two_things_is_refused_with_the_reason(
    quantity: Quantity, text: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        quantity.parse(text)


def test_an_alias_is_read_and_never_written() -> None:
    assert RATE.format(RATE.parse("10 Mbps")) == "10 Mb/s"
    assert not set(RATE.aliases) & set(RATE.units)


@pytest.mark.parametrize("quantity", ALL, ids=lambda quantity: quantity.name)
@given(value=st.integers(0, 2**50))
def test_what_is_written_is_read_back(quantity: Quantity, value: int) -> None:
    assert quantity.parse(quantity.format(value)) == value


def test_writes_the_shortest_text() -> None:
    assert SIZE.format(2**31) == "2 GiB"
    assert SIZE.format(5000) == "5 kB"
    assert DURATION.format(2_500_000) == "2500 us"
    assert DURATION.format(0) == "0 ns"
