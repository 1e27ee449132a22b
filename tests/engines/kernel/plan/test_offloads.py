# SPDX-License-Identifier: Apache-2.0
"""Offloads of network cards: the line carries frames whatever the kernel hands over or gets."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.kernel.checks.protocols import check

pytestmark = pytest.mark.guest
SIZE = 4_000_000
MTU = 9000
#: Payload of a frame: without headers of IPv4 and TCP with time stamps.
SEGMENT = MTU - 52


def scenario(**fields: Any) -> Scenario:
    """One flow that never waits for its window, and a record of each frame."""
    return Scenario.from_dict(
        {
            "network": {
                "name": "pair",
                "mtu": MTU,
                "hosts": [{"name": name, "rate": "10 Gb/s", "delay": "5 us"} for name in ("a", "b")],
                "links": [{"name": "link", "rate": "10 Gb/s", "buffer": "9 MB"}],
            },
            "flows": [{"name": "flow", "size": SIZE, "path": "link", "src": "a", "dst": "b", "cc": "reno"}],
            "probes": {"capture": ["a", "b"]},
            **fields,
        }
    )


def segments(run_guest: RunGuest, given: Scenario) -> tuple[int, int, float]:
    """Return packets with data that the sender's TCP sent and that the receiver's got, and the completion time."""
    line = "nstat -asz | awk '/TcpOutSegs/ {print $2} /TcpInSegs/ {print $2} /IpInReceives/ {print $2}'"
    seen = run_guest(given, commands=[("a", line), ("b", line)])
    sent, got = ([int(word) for word in answer.split()] for answer in seen.answers)
    return sent[2], got[0], float(seen.tables["flows"]["fct_s"][0])


def test_frames_on_the_line(run_guest: RunGuest) -> None:
    plain = run_guest(scenario())
    offloaded = run_guest(scenario(offload={"tso": 65_535}))
    for seen in (plain, offloaded):
        rows = seen.tables["throughput"]
        framed = rows.loc[(rows["where"] == "link") & (rows["flow"] == "flow"), "bytes"].sum()
        frames = (framed - SIZE) / (52 + 38)
        # some are not full; packets of 64 KB would be 62
        assert SIZE / SEGMENT <= frames <= 1.02 * SIZE / SEGMENT
    # the line is full in both, so the flow takes as long within a burst
    assert offloaded.tables["flows"]["fct_s"][0] == pytest.approx(plain.tables["flows"]["fct_s"][0], rel=0.02)


def test_receiver_gets_fewer_packets(run_guest: RunGuest) -> None:
    frames = -(-SIZE // SEGMENT)
    _, plain, _ = segments(run_guest, scenario())
    _, merged, _ = segments(run_guest, scenario(offload={"gro": True, "coalesce": 30_000}))
    assert plain >= frames
    # 30 us are four frames
    assert merged < plain / 2


def test_a_count_of_frames_ends_the_wait(run_guest: RunGuest) -> None:
    frames, card = -(-SIZE // SEGMENT), {"gro": True, "coalesce": 100_000}
    _, timed, _ = segments(run_guest, scenario(offload=card))
    _, counted, _ = segments(run_guest, scenario(offload={**card, "coalesce_frames": 2}))
    # 100 us are 13 frames, and GRO merges 7 of them
    assert timed < frames / 4
    assert frames / 2 <= counted < 0.6 * frames  # those of slow start wait for the delay, or end a push


@pytest.mark.slow
def test_moderation_to_the_nanosecond(run_guest: RunGuest, two_hosts: Scenario) -> None:
    check(run_guest, two_hosts, "veth", "moderation")


def test_one_host_alone(run_guest: RunGuest) -> None:
    sizes = "ip -d link show $(ls /sys/class/net | grep eth0) | grep -o 'gso_max_s[a-z]* [0-9]*'"
    line = f"{sizes}; sysctl -n net.ipv4.tcp_sack"
    given = scenario(hosts=[{"name": "a", "offload": {"tso": 18_000}, "transport": {"sack": False}}])
    first, second = run_guest(given, commands=[("a", line), ("b", line)]).answers
    assert ("gso_max_size 18000" in first, "gso_max_segs 1\n" in first, first.split()[-1]) == (True, False, "0")
    assert ("gso_max_segs 1" in second, second.split()[-1]) == (True, "1")


def test_a_flow_of_an_older_kernel_beside_a_stock_one(run_guest: RunGuest) -> None:
    """Both flows share the line. Neither end of the older one offers SACK in its SYN, before the time stamps."""
    network = {
        "name": "four",
        "mtu": MTU,
        "hosts": [{"name": "h[1-4]", "rate": "10 Gb/s", "delay": "5 us"}],
        "links": [{"name": "link", "rate": "10 Gb/s", "buffer": "9 MB"}],
    }
    flow = {"size": SIZE, "path": "link", "cc": "reno"}
    flows = [
        {**flow, "name": "old", "src": "h1", "dst": "h2", "transport": {"like": "4.15", "sack": False}},
        {**flow, "name": "new", "src": "h3", "dst": "h4"},
    ]
    given = scenario(network=network, flows=flows, probes={"capture": ["h1", "h3"]})
    line = "sysctl -n net.ipv4.tcp_loss_timers net.ipv4.tcp_sack net.ipv4.tcp_half_rcvbuf"
    seen = run_guest(given, commands=[(f"h{number}", line) for number in (1, 2, 3, 4)])
    assert [answer.split() for answer in seen.answers] == [["1", "0", "1"]] * 2 + [["0", "1", "0"]] * 2
    assert seen.tables["flows"]["fct_s"].notna().all()
    for host, permitted in (("h1", False), ("h3", True)):
        frames = (seen.directory / f"{host}.pcapng").read_bytes()
        assert (bytes([4, 2, 8, 10]) in frames) == permitted


@pytest.mark.parametrize("tso", [0, 65_535])
def test_retransmissions_are_segments_in_flows_and_packets_in_events(run_guest: RunGuest, tso: int) -> None:
    """A packet of at most `tso` bytes has as many segments as frames; without TSO each packet is one.

    The window is lost at once, in the dark, so that whole packets are retransmitted after the timeout: one segment for
    each frame that was lost.
    """
    slots = [["400 us", "link"], ["150 ms", "dark"], ["5 s", "link"]]
    flow = scenario().to_dict()["flows"][0] | {"path": slots}
    lossy = scenario(flows=[flow], offload={"tso": tso})
    seen = run_guest(lossy, commands=[("a", "nstat -asz | awk '/TcpRetransSegs/ {print $2}'")])
    events = seen.tables["events"]
    values = events.loc[events["event"] == "retransmit", "value"]
    packets, segments = len(values), int(seen.tables["flows"]["retransmits"][0])
    assert segments == int(seen.answers[0]) == (events["event"] == "drop_dark").sum()
    assert packets == values.sum() > 0
    if tso:
        assert packets < segments <= packets * -(-tso // SEGMENT)
    else:
        assert packets == segments
