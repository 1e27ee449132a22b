# SPDX-License-Identifier: Apache-2.0
"""Two paths of a wide-area network in a guest: counts, captures, counters, and a flow that is moved 10 000 times."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from scapy.layers.inet import IP, TCP
from scapy.utils import PcapNgReader

from rdcnlab.engines.kernel import KernelEngine, build, guest, plan
from rdcnlab.engines.kernel.observe import observed
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.network.numbers import DATE_NS, START_NS
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

#: Ethernet header; IPv4 and TCP headers with time stamps.
ETHERNET, HEADERS = 14, 52


def moved(period_s: float, **changes: object) -> Scenario:
    """Return a flow of 3 MB that is moved between paths with RTTs of 4 and 6 ms; it starts at once."""
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.carpa.space import single

    asked = single(4, period_s, seed=1, extra_ms=2, size="3 MB", limit="5 s", starts="0 ns")
    return asked.with_(**changes)


def test_packets_that_are_counted_are_those_that_are_recorded(run_guest: RunGuest) -> None:
    """All links of the backbone, in bins of 10 ms, while the flow is moved every 50 ms; the run lasts longer."""
    bins = {"probes.bin": "10 ms", "probes.tcp": "bin"}
    recorded = run_guest(moved(0.05, **bins, **{"probes.count": []})).tables
    counted = run_guest(moved(0.05, **bins, **{"probes.count": ["short", "long"]})).tables
    links = ["short@left", "long@left"]
    there = recorded["throughput"]
    there = there[there["where"].isin(links)].reset_index(drop=True)
    assert set(there["where"]) == set(links)
    pd.testing.assert_frame_equal(counted["throughput"], there)
    assert len(recorded["tcp"]) > 20
    for name in ("flows", "events", "tcp"):
        pd.testing.assert_frame_equal(counted[name], recorded[name])


def test_counts_go_on_over_several_intervals(run_guest: RunGuest) -> None:
    """At 10 Mb/s the flow takes 2.5 s, ten times as long as the interval after which packets are counted."""
    slow = {"network.links.access1.rate": "10 Mb/s", "probes.bin": "100 ms"}
    seen = run_guest(moved(0.2, **slow, **{"probes.count": ["access1"]})).tables
    counted, flow = seen["throughput"], seen["flows"].iloc[0]
    assert counted["bin"].max() >= 24
    assert counted["bin"].is_monotonic_increasing
    sent = -(-3_000_000 // 1448) + flow["retransmits"]
    lost = seen["events"]["event"].str.startswith("drop").sum()
    # and a SYN, the ACK of the handshake, and the FIN, which may be part of the last segment
    assert 2 <= counted["packets"].sum() + lost - sent <= 4


def test_a_capture_is_read_by_others_and_repeats(kernel: build.Kernel, tmp_path: Path) -> None:
    """Both directions, all packets, with the time of the simulated clock; equal runs give equal bytes."""
    asked = moved(0.05, **{"probes.capture": ["s1", "r1"], "probes.count": []})
    outcomes = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        outcomes.append(KernelEngine(asked).run(tmp_path / name, core=None, wall_limit_s=300))
    files = [outcome.files for outcome in outcomes]
    assert set(files[0]) == {"s1.pcapng", "r1.pcapng"}
    for name in files[0]:
        assert files[0][name].read_bytes() == files[1][name].read_bytes()
    events = outcomes[0].tables["events"].to_pandas()
    for host in ("s1", "r1"):
        with PcapNgReader(str(files[0][f"{host}.pcapng"])) as reader:
            packets = list(reader)
        assert all(packet.haslayer(TCP) for packet in packets)
        mine = events[(events["link"] == host) & events["event"].str.startswith("capture")]
        assert len(packets) == len(mine) > 3000
        # events of one instant have an order of their own
        seen = sorted((round(packet.time * 10**9) - DATE_NS, packet.wirelen) for packet in packets)
        assert seen == sorted(zip(mine["t_ns"], mine["value"], strict=True))
        data = [packet for packet in packets if packet[TCP].dport == 5001 and packet.wirelen > 200]
        assert {packet[IP].dst for packet in data} == {packets[0][IP].dst}
    sent = events[(events["event"] == "capture_out") & (events["link"] == "s1") & (events["value"] > 200)]
    arrivals = events[(events["event"] == "capture_in") & (events["link"] == "r1") & (events["value"] > 200)]
    lost = events["event"].str.startswith("drop").sum()
    assert len(sent) == len(arrivals) + lost
    # the way takes 2 ms, or 3, and the lines
    assert (arrivals["t_ns"].iloc[0] - sent["t_ns"].iloc[0]) / 1e6 == pytest.approx(2 + 1514 * 8 / 1e5, abs=0.05)
    stored = _stored(asked, outcomes[0], tmp_path / "store")
    assert stored.file("s1.pcapng").read_bytes() == files[1]["s1.pcapng"].read_bytes()


def _stored(asked: Scenario, outcome: object, root: Path) -> object:
    store = Store(root)
    with store.workspace("x") as directory:
        return store.put(asked, "identity", outcome, directory)  # type: ignore[arg-type]


def test_counters_tell_of_reordering(run_guest: RunGuest) -> None:
    """Packets overtake each other where the flow moves to the shorter path, and nowhere without moves."""
    seen = {}
    for period in (0.05, 4.0):
        # a queue for all data: nothing is lost
        events = run_guest(moved(period, **{"probes.counters": True, "network.links.access1.buffer": "4 MB"})).tables[
            "events"
        ]
        counters = events[events["event"].str.startswith("counter ")].set_index(["event", "link"])["value"]
        seen[period] = counters.get(("counter TCPOFOQueue", "r1"), 0)
    assert seen[0.05] > 10
    assert seen[4.0] == 0


#: Send what a hash of numbers gives, and check it: digest and length. The port is the flow's, as the rules know it.
_SENDER = """
import hashlib, socket, sys, time
time.sleep(2)
data = b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(int(sys.argv[2]) // 32))
with socket.create_connection((sys.argv[1], 5001)) as peer:
    peer.sendall(data)
    peer.shutdown(socket.SHUT_WR)
    peer.recv(1)
time.sleep(3600)
"""
_RECEIVER = """
import hashlib, socket, sys
wanted, seen, length = hashlib.sha256(), hashlib.sha256(), 0
for n in range(int(sys.argv[1]) // 32):
    wanted.update(hashlib.sha256(b"%d" % n).digest())
with socket.create_server(("", 5001)) as server:
    peer, _ = server.accept()
    while part := peer.recv(1 << 20):
        seen.update(part)
        length += len(part)
    peer.close()
assert length == int(sys.argv[1]), length
assert seen.digest() == wanted.digest(), "the data are not those that were sent"
"""


def test_a_flow_that_is_moved_ten_thousand_times_loses_no_byte(kernel: build.Kernel, tmp_path: Path) -> None:
    """12 MB take a second, with a move every 100 us. Their hash is right, and every packet is accounted for."""
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.carpa.space import single

    size = 12_000_000
    path = [["100 us", "short"], ["100 us", "long"]]
    asked = single(4, 1, seed=1, extra_ms=2, size=f"{size} B", limit="20 s", starts="0 ns").with_(
        **{"flows.g1.path": path, "probes.count": [], "probes.bin": "100 ms"}
    )
    made = plan.compile_plan(compile_network(asked))
    (flow,) = made["flows"]
    words = flow["line"].split()
    # a program does not see the directory of its run, and a line has words
    sender, receiver = (
        f"{sys.executable} -s -c exec(bytes.fromhex('{code.encode().hex()}'))" for code in (_SENDER, _RECEIVER)
    )
    programs = f"{sender} {words[5]} {size} :: {receiver} {size}"
    flow["line"] = " ".join(["program", *words[1:8], "@start", programs])
    guest.run(kernel, made, tmp_path, core=None, wall_limit_s=600, python=sys.executable)
    (row,) = [json.loads(line) for line in (tmp_path / "flows.jsonl").read_text().splitlines()]
    assert not row["error"], (tmp_path / "g1.client.log").read_text()
    assert row["finished"]
    counters = json.loads((tmp_path / "switch.json").read_text())
    tables = _tables(asked, tmp_path)
    events, throughput = tables["events"], tables["throughput"]
    moves = events[(events["event"] == "slot") & (events["t_ns"] < row["end_ns"] - START_NS)]
    assert len(moves) >= 10_000, counters
    packets = throughput.groupby("where")["packets"].sum()
    lost = events[events["event"].str.startswith("drop")].groupby("link").size()
    # nothing is lost on the backbone, and what leaves the slow line takes one of the two paths to the receiver
    assert set(lost.index) <= {"access1@agg1"}
    both = packets["short@left"] + packets["long@left"]
    assert packets["access1@agg1"] == both == packets["receiver"]
    assert min(packets["short@left"], packets["long@left"]) > 0.3 * both
    retransmits = (events["event"] == "retransmit").sum()
    segments = -(-size // 1448)
    # SYN, the handshake's ACK, FIN, the last ACK
    assert 0 <= packets["access1@agg1"] + lost.sum() - retransmits - segments <= 10


def _tables(asked: Scenario, directory: Path) -> dict[str, pd.DataFrame]:
    return {name: table.to_pandas() for name, table in observed.tables(compile_network(asked), directory).items()}
