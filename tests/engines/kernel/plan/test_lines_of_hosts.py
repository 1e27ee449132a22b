# SPDX-License-Identifier: Apache-2.0
"""Hosts with several lines in a guest: MPTCP over them, the share of each line, and by which line packets leave."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest, Seen
from tests.scenario.access import access_network

pytestmark = [pytest.mark.guest, pytest.mark.slow]

#: Payload of a full frame with the headers of MPTCP: IP 20, TCP 20, time stamps 12, data sequence signal 20 (with a
#: checksum less). A frame needs 1538 B on the wire.
PAYLOAD, FRAME = 1500 - 20 - 20 - 12 - 20, 1538


def access(*flows: dict[str, Any], **fields: Any) -> Scenario:
    """Return a phone with lines of 50 and 20 Mb/s, 12 and 62 ms of RTT, and a server behind two links."""
    return Scenario.from_dict({"network": access_network(), "flows": list(flows), "limit": "30 s", **fields})


def transfer(src: str = "server", dst: str = "phone", **fields: Any) -> dict[str, Any]:
    return {"name": "f", "src": src, "dst": dst, "protocol": "mptcp", "size": "20 MB", **fields}


def sent(seen: Seen, where: str, first: float = 0, last: float = 1e9) -> int:
    """Return the bytes on the wire that a line carried between two instants in s."""
    table = seen.tables["throughput"]
    at = table["bin"] * 1e-3
    return int(table.loc[(table["where"] == where) & (at >= first) & (at < last), "bytes"].sum())


def shares(seen: Seen, first: float, last: float) -> tuple[float, float]:
    """Return the rates of both lines to the phone in bit/s between two instants in s."""
    wifi, lte = (sent(seen, where, first, last) * 8 / (last - first) for where in ("phone@wifi", "phone_lte@lte"))
    return wifi, lte


def counters(answer: str) -> dict[str, int]:
    """Return the counters of a file such as /proc/net/netstat."""
    lines = [line.split() for line in answer.splitlines()]
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return {name: int(value) for names, values in pairs for name, value in zip(names[1:], values[1:], strict=True)}


def test_a_flow_has_nearly_the_sum_of_both_lines(run_guest: RunGuest) -> None:
    scenario = access(transfer())
    seen = run_guest(scenario)
    (flow,) = seen.tables["flows"].to_dict("records")
    assert flow["finished"]
    goodput, sum_of_lines = 20e6 * 8 / flow["fct_s"], 70e6 * PAYLOAD / FRAME
    # less the slow starts of both subflows
    assert 0.85 * sum_of_lines < goodput < sum_of_lines
    # in the middle both lines are busy, as their own counters and those of the links before them say
    wifi, lte = shares(seen, 1, 2)
    assert wifi == pytest.approx(50e6, rel=0.02)
    assert lte == pytest.approx(20e6, rel=0.05)
    for line, link in (("phone@wifi", "dsl@core"), ("phone_lte@lte", "cell@core")):
        assert sent(seen, line) == pytest.approx(sent(seen, link), rel=0.01)
    assert {"phone@wifi", "phone_lte@lte"} <= set(seen.tables["queues"]["link"])
    assert run_guest(scenario).digest == seen.digest


def test_what_the_phone_sends_leaves_by_both_lines(run_guest: RunGuest) -> None:
    # MPTCP's send buffer grows too little to fill both lines, see docs/multihomed.md
    seen = run_guest(access(transfer("phone", "server"), transport={"wmem": ["4 KiB", "4 MB", "4 MB"]}))
    assert seen.tables["flows"]["finished"].all()
    assert sent(seen, "dsl@wifi", 1, 2) * 8 == pytest.approx(50e6, rel=0.02)
    assert sent(seen, "cell@lte", 1, 2) * 8 == pytest.approx(20e6, rel=0.02)


def test_a_line_that_goes_down_leaves_everything_to_the_other(run_guest: RunGuest) -> None:
    data = access(transfer()).to_dict()
    data["network"]["links"][0]["down"] = [[1_000_000_000, 30_000_000_000]]
    seen = run_guest(Scenario.from_dict(data))
    (flow,) = seen.tables["flows"].to_dict("records")
    assert flow["finished"]
    assert flow["timeouts"] > 0
    assert sent(seen, "phone@wifi", 0, 1) > 3e6
    # what had passed the link arrives within 6 ms and the time of the queue behind it; then nothing comes this way
    assert sent(seen, "phone@wifi", 1.5) == 0
    assert shares(seen, 3, 6)[1] == pytest.approx(20e6, rel=0.05)


def test_plain_tcp_uses_the_first_address(run_guest: RunGuest) -> None:
    seen = run_guest(access(transfer(protocol="tcp", size="2 MB")))
    assert sent(seen, "phone@wifi") > 2e6
    assert sent(seen, "phone_lte@lte") == sent(seen, "cell@core") == 0


def test_packets_leave_by_the_line_of_their_address(run_guest: RunGuest) -> None:
    """A ping from the second address, and to it, takes 62 ms; one of the first takes 12 ms."""
    commands = [
        ("phone", "ping -n -c 1 -I 10.1.0.2 10.2.0.3"),
        ("phone", "ping -n -c 1 10.2.0.3"),
        ("server", "ping -n -c 1 10.1.0.2"),
        ("server", "ping -n -c 1 10.0.0.1"),
    ]
    scenario = access(transfer(protocol="tcp", size="10 kB"), probes={"capture": ["phone_lte"]})
    seen = run_guest(scenario, commands=commands)
    times = [float(answer.split("time=")[1].split()[0]) for answer in seen.answers]
    assert times == pytest.approx([62, 12, 62, 12], abs=0.5)


def test_a_capture_is_of_one_line(run_guest: RunGuest) -> None:
    scenario = access(transfer(size="2 MB"), probes={"capture": ["phone", "phone_lte"]})
    events = run_guest(scenario).tables["events"]
    captured = events[events["event"].str.startswith("capture")].groupby(["link", "event"])["value"].sum()
    assert captured["phone", "capture_in"] > captured["phone_lte", "capture_in"] > 10_000
    assert captured["phone_lte", "capture_out"] > 500


@pytest.mark.parametrize(
    ("manager", "joined"),
    [
        ({}, 1),
        ({"subflows": 0}, 0),
        ({"endpoints": []}, 0),
        ({"endpoints": [{"line": line, "subflow": True, "fullmesh": True} for line in ("phone", "phone_lte")]}, 1),
    ],
)
def test_the_path_manager_does_what_its_host_says(run_guest: RunGuest, manager: dict[str, Any], joined: int) -> None:
    scenario = access(transfer("phone", "server", size="500 kB"), hosts=[{"name": "phone", "mptcp": manager}])
    seen = run_guest(scenario, commands=[("server", "cat /proc/net/netstat"), ("phone", "sysctl net.mptcp.scheduler")])
    assert counters(seen.answers[0])["MPJoinAckRx"] == joined
    assert seen.answers[1].strip().endswith("= default")


def test_two_hosts_with_two_lines_each_have_four_subflows_in_a_full_mesh(run_guest: RunGuest) -> None:
    data = access(transfer("phone", "server", size="5 MB")).to_dict()
    data["network"]["hosts"].append({"name": "server_b", "of": "server", "at": "lte", "rate": "1 Gb/s"})
    mesh = [{"line": line, "subflow": True, "fullmesh": True} for line in ("phone", "phone_lte")]
    data["hosts"] = [{"name": "phone", "mptcp": {"endpoints": mesh}}]
    seen = run_guest(Scenario.from_dict(data), commands=[("server", "cat /proc/net/netstat")])
    assert counters(seen.answers[0])["MPJoinAckRx"] == 3
    assert seen.tables["flows"]["finished"].all()
    both = seen.tables["throughput"].groupby("where")["bytes"].sum()
    assert min(both["server@core"], both["server_b@lte"]) > 100_000


def test_a_backup_line_waits_until_the_other_is_down(run_guest: RunGuest) -> None:
    data = access(transfer(size="10 MB")).to_dict()
    data["hosts"] = [{"name": "phone", "mptcp": {"endpoints": [{"line": "phone_lte", "signal": True, "backup": True}]}}]
    seen = run_guest(Scenario.from_dict(data))
    assert sent(seen, "phone_lte@lte") < 10_000
    data["network"]["links"][0]["down"] = [[1_000_000_000, 30_000_000_000]]
    seen = run_guest(Scenario.from_dict(data))
    assert seen.tables["flows"]["finished"].all()
    assert sent(seen, "phone_lte@lte", 0, 1) < 10_000
    assert sent(seen, "phone_lte@lte", 1) > 3e6
