# SPDX-License-Identifier: Apache-2.0
"""What follows from a timetable alone: a flow that waits for a timeout each night, and flows that keep one window."""

from __future__ import annotations

import pytest

from rdcnlab_papers.analysis import one_window, standstills
from rdcnlab_papers.aykurt.space import grid
from rdcnlab_papers.tdtcp.space import parameter, scenario


@pytest.mark.parametrize(("period_ms", "periods_apart"), [(10, 21), (50, 5), (100, 3)])
def test_a_flow_that_waits_for_timeouts_sends_in_one_day_of_many(period_ms: int, periods_apart: int) -> None:
    """A timeout of 200 ms that starts at the end of a day ends after 20 periods of 10 ms, within the 21st."""
    (asked,) = grid(cc="reno", period_ms=period_ms, downtime_ms=1, size="256 MB")
    # 256 MiB in segments of 8948 B, each 9038 B on a line of 10 Gb/s
    sending_ms = 2**28 / 8948 * 9038 * 8 / 10e9 * 1e3
    days, rest = divmod(sending_ms, period_ms - 1)
    expected = (days * periods_apart * period_ms + rest) / 1e3
    assert standstills.by_timeouts_s(asked, "migrated") == pytest.approx(expected, rel=1e-6)


def test_one_window_is_sent_once_a_round_trip() -> None:
    """The packet network holds 1 Mbit and its queue 16 frames of 9038 B; the circuit takes both every 40 us."""
    text = scenario("text", "cubic", "both", "500 ms")
    frame = 9038 * 8
    circuit_bps = (10e9 * 100e-6 + 16 * frame) / 40e-6
    expected = (10e9 * 1200 + circuit_bps * 180) / 1400 * 8948 / 9038 / 1e9
    assert one_window.goodput_gbps(text) == pytest.approx(expected, rel=1e-4)


def test_round_trips_follow_both_timetables() -> None:
    """ACKs that take the circuit on the other days make the packet network's RTT shorter, and the circuit's longer."""
    text = scenario("text", "cubic", "both", "500 ms")
    other = text.with_(**parameter("reverse"))
    there, here = one_window.rtts_ns(text), one_window.rtts_ns(other)
    assert (there["packet"], there["circuit"]) == (pytest.approx(100_000, rel=1e-4), pytest.approx(40_000, rel=1e-4))
    # 20 us of the circuit's day are acknowledged by the circuit, the other 160 by the packet network
    slow, fast = 70_000 - 410, 40_000
    assert here["circuit"] == pytest.approx((160 * slow + 20 * fast) / 180, rel=0.01)
    assert 70_000 < here["packet"] < 75_000
    assert one_window.goodput_gbps(other) < one_window.goodput_gbps(text)
