# SPDX-License-Identifier: Apache-2.0
"""Hosts' own ends of their cables are lines: exact, and outside what a host does with ``tc``."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

#: Bytes of a frame with the MTU of 1500 B on the line, and its payload of TCP.
FRAME, PAYLOAD = 1538, 1448


def pair(sender: dict[str, Any], flow: dict[str, Any], **fields: Any) -> Scenario:
    """Return a flow between two hosts."""
    hosts = [{"name": "s", "delay": "10 us", **sender}, {"name": "r", "rate": "400 Gb/s", "port": {"buffer": "1 GB"}}]
    way = {"name": "f", "src": "s", "dst": "r", "path": "bypass"}
    return Scenario.from_dict({"network": {"name": "n", "hosts": hosts}, "flows": [{**way, **flow}], **fields})


@pytest.mark.parametrize("rate", [40, 400])
def test_a_transfer_never_takes_less_than_its_frames_on_the_line(run_guest: RunGuest, rate: int) -> None:
    flow = {"size": "100 MB", "cc": "reno", "connect": "ahead"}
    row = run_guest(pair({"rate": f"{rate} Gb/s", "delay": "0 s"}, flow)).tables["flows"].iloc[0]
    frames = -(-100_000_000 // PAYLOAD)
    least = (100_000_000 + frames * (FRAME - PAYLOAD)) * 8 / rate / 1e9
    assert least <= row["fct_s"] <= least * 1.001 + 1e-5


def arrivals(tables: dict[str, Any]) -> list[int]:
    """Return the bins in which datagrams arrived, one for each datagram."""
    rows = tables["throughput"].query("where == 'receiver'")
    return [place for place, count in zip(rows["bin"], rows["packets"], strict=True) for _ in range(count)]


def test_bursts_of_small_frames_do_not_pass_together(run_guest: RunGuest) -> None:
    """Twenty datagrams of 100 B at 1 Mb/s: 1104 us each on the line, and 10 us more to the other end."""
    flow = {"protocol": "udp", "packet": "100 B", "size": f"{20 * 72} B", "burst": 20, "interval": "1 s"}
    tables = run_guest(pair({"rate": "1 Mb/s"}, flow, probes={"bin": "1104 us"})).tables
    assert arrivals(tables) == list(range(1, 21))


@pytest.mark.parametrize(
    "line", ["pfifo limit 1000", "fq_codel", "fq", "netem limit 10000 rate 50mbit"], ids=lambda line: line.split()[0]
)
def test_a_program_that_replaces_the_discipline_keeps_the_rate(run_guest: RunGuest, line: str) -> None:
    command = {"name": "p", "host": "s", "run": f"tc qdisc replace dev s-eth0 root {line}"}
    flow = {"size": "5 MB", "cc": "cubic", "start": "100 ms"}
    row = run_guest(pair({"rate": "20 Mb/s"}, flow, programs=[command])).tables["flows"].iloc[0]
    frames = -(-5_000_000 // PAYLOAD)
    least = (5_000_000 + frames * (FRAME - PAYLOAD)) * 8 / 20e6
    assert least <= row["fct_s"] <= least * 1.03


def own_queue(tables: dict[str, Any]) -> Any:
    return tables["queues"].query("link == 's@s'").reset_index(drop=True)


def test_a_discipline_may_be_stated_and_its_drops_are_listed(run_guest: RunGuest) -> None:
    """Bursts of 50 datagrams: one is on the line, 20 wait, 29 are dropped, whichever field says so."""
    flow = {"protocol": "udp", "size": f"{1472 * 500} B", "burst": 50, "interval": "10 ms"}
    seen, last = [], {"name": "last", "src": "s", "dst": "r", "path": "bypass", "size": "1 kB", "start": "110 ms"}
    for limit in ({"queue": "20 packets"}, {"qdisc": {"kind": "pfifo", "limit": 20}}):
        sender = {"rate": "100 Mb/s", **limit}
        one = pair(sender, flow, probes={"ports": True})
        tables = run_guest(one.with_(flows=[*one.to_dict()["flows"], last])).tables
        assert tables["flows"].iloc[0]["received_B"] == 10 * 21 * 1472
        seen.append(own_queue(tables))
        assert seen[-1]["drops"].sum() == 290
    assert seen[0].equals(seen[1])


def test_the_memory_of_a_card_holds_frames_besides_the_one_on_the_line(run_guest: RunGuest) -> None:
    """With room for five frames in the card 26 of 50 pass; they leave when they would without it."""
    flow = {"protocol": "udp", "size": f"{1472 * 50} B", "burst": 50, "interval": "10 ms"}
    sender = {"rate": "100 Mb/s", "queue": "20 packets", "nic_buffer": f"{5 * FRAME} B"}
    tables = run_guest(pair(sender, flow, probes={"bin": "123040 ns"})).tables
    assert arrivals(tables) == list(range(1, 27))


def test_frames_that_all_hosts_send_at_one_instant_are_not_dropped(run_guest: RunGuest) -> None:
    """Twenty hosts with deep token buckets send 100 datagrams each at once: more than the backlog of Linux holds."""
    host = {"rate": "10 Gb/s", "delay": "921 ns", "port": {"buffer": "10 MB"}}
    hosts = [{**host, "name": "s[1-20]", "nic_buffer": "1 MB"}, {**host, "name": "r[1-20]"}]
    datagrams = {"protocol": "udp", "size": f"{100 * 1472} B", "burst": 100, "interval": "1 ms"}
    flows = [{**datagrams, "name": "f[1-20]", "src": "s[1-20]", "dst": "r[1-20]", "path": "bypass"}]
    scenario = Scenario.from_dict({"network": {"name": "n", "ends": "bucket", "hosts": hosts}, "flows": flows})
    assert set(run_guest(scenario).tables["flows"]["received_B"]) == {100 * 1472}
