# SPDX-License-Identifier: Apache-2.0
"""Shipped networks of several switches: rates, delays and instants are exact to the nanosecond."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

#: Bytes on the wire, including 38 of Ethernet: SYN and SYN-ACK (20 of IP, 40 of TCP), ACK (32 of TCP), 1000 B of data.
SYN, ACK, DATA = 98, 90, 1090
HOST_DELAY = 1000


def time_ns(frame: int, gbps: int) -> int:
    """Return the time of a frame on a line in whole ns. A fraction matters only if another frame follows at once."""
    return frame * 8 // gbps


def host_ns(frame: int) -> int:
    """Return the time of a frame on a host's own line of 10 Gb/s, which rounds up."""
    return -(-frame * 8 // 10)


def expected_ns(lines: list[tuple[int, int]], *, exact: bool = True) -> int:
    """Return the time until 1000 B have arrived: SYN, its answer, and the data, which follow an ACK on the first line.

    `lines` has rates in Gb/s (0: the switch passes light on) and delays in ns. Hosts have 10 Gb/s and 1 us. The first
    line is that of the host if its end is `exact`, and no other is slow enough to let the data wait for the ACK again.
    """
    total = host_ns(ACK) if exact else time_ns(ACK, lines[0][0])
    for frame in (SYN, SYN, DATA):
        total += 2 * HOST_DELAY + time_ns(frame, 10) + (host_ns(frame) if exact else 0)
        total += sum((time_ns(frame, rate) if rate else 0) + delay for rate, delay in lines)
    return total


def fct_ns(run_guest: RunGuest, network: Any, src: str, dst: str, **more: Any) -> int:
    flow = {"name": "f", "src": src, "dst": dst, "size": "1 kB", **more}
    seen = run_guest(Scenario.from_dict({"network": network, "flows": [flow], "limit": "1 s"}))
    return round(seen.tables["flows"]["fct_s"].iloc[0] * 1e9)


def test_dumbbell(run_guest: RunGuest) -> None:
    network = {"fabric": "dumbbell", "rate": "1 Gb/s", "delay": "7 us", "pairs": 3}
    assert fct_ns(run_guest, network, "s2", "r3") == expected_ns([(1, 7_000)])


def test_two_switches(run_guest: RunGuest) -> None:
    assert fct_ns(run_guest, "two-switches", "s2", "r1", path="l_m", back="l_n") == expected_ns(
        [(10, 1_000)], exact=False
    )


@pytest.mark.parametrize("path", ["ecmp", "spine2"])
def test_leaf_spine(run_guest: RunGuest, path: str) -> None:
    network = {"fabric": "leaf-spine", "leaves": 3, "spines": 2, "delay": "3 us", "rate": "40 Gb/s"}
    assert fct_ns(run_guest, network, "h1", "h6", path=path) == expected_ns([(40, 3_000)] * 2)


@pytest.mark.parametrize(("dst", "day"), [("h16", 0), ("h3", 6), ("h9", 3)])
def test_rotor(run_guest: RunGuest, dst: str, day: int) -> None:
    """A SYN waits in its rack for the circuit of its pair. After that, light passes through."""
    through = expected_ns([(10, 1_000), (0, 1_000)])
    # meanwhile the SYN has reached the rack
    expected = through if day == 0 else through - HOST_DELAY - host_ns(SYN) + day * 200_000
    assert fct_ns(run_guest, "rotor", "h1", dst) == expected
