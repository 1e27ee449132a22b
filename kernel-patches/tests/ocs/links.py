# SPDX-License-Identifier: Apache-2.0
"""Rate, overhead and delay of a link; the way of a frame without links."""

import socket
import struct
import threading
import time
from pathlib import Path

from lab import Net, Trace, burst, equal, hold, inside, main, sh
from ocs import DARK, slot

FRAMES, LENGTH = 2000, 1514


def rate_of(rate: int, overhead: int | None = None) -> str:
    """Check that n frames back to back take n (L + overhead) 8 / rate, to the ns."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=rate, overhead=overhead)
        start = hold(net, 0)
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 1, FRAMES, LENGTH)
        bits = (LENGTH + (24 if overhead is None else overhead)) * 8
        starts = [row["t"] - start for row in rows]
        equal(starts, [n * bits * 10**9 // rate for n in range(FRAMES)], "starts of serialisation")
        link = net.ocs.stats()["links"][0]
        equal((link["tx_packets"], link["tx_bytes"]), (FRAMES, FRAMES * LENGTH), "counters")
        return f"{(FRAMES - 1) * bits * 1e9 / starts[-1]:.0f} bit/s on the line"


def case_rate_10g() -> str:
    """1230.4 ns a frame: the remainder is carried."""
    return rate_of(10_000_000_000)


def case_rate_odd() -> str:
    """A rate that divides nothing."""
    return rate_of(9_999_999_937)


def case_rate_without_overhead() -> str:
    """The overhead is a setting."""
    return rate_of(1_000_000_000, overhead=0)


def case_delay_of_ping() -> str:
    """100 us there and 100 us back."""
    with Net(2) as net:
        net.ocs.link_set(0, delay=100_000)
        net.ocs.link_set(1, delay=100_000)
        for i in (0, 1):
            net.ocs.class_set(i, [slot(0, i)])
            net.ocs.rule_add(i, in_if=f"p{i}")
        out = sh("ip netns exec h0 ping -n -c 3 -i 0.01 10.0.0.2")
        times = [float(line.split("time=")[1].split()[0]) for line in out.splitlines() if "time=" in line]
        equal(len(times), 3, "replies")
        if not all(0.200 <= t <= 0.202 for t in times):
            raise AssertionError(f"round trips {times} ms")
        return f"{times} ms"


def case_egress_and_internal_link_in_series() -> str:
    """Store and forward: s0 + d0 + s1 + d1."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**10, delay=5_000)
        net.ocs.port_set("p1", rate=10**9, delay=7_000)
        start = hold(net, 0)
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 1, 3, LENGTH)
        inner = [row["t"] for row in rows if row["link"] == 0]
        outer = [row["t"] for row in rows if row["link"] == 0x8001]
        equal(inner, [start, start + 1230, start + 2460], "starts on the internal link")
        first = start + 1230 + 5_000
        equal(outer, [first, first + 12_304, first + 24_608], "starts on the egress link")
        return ""


def case_ingress_link() -> str:
    """A link before the switch: rate, delay, threshold; the timetable is asked when a frame comes out of it."""
    with Net(2) as net:
        for i in range(2):
            net.ocs.link_set(i, rate=10**10)
        net.ocs.port_set("p0", ingress={"rate": 10**9, "delay": 100_000, "queue": {"ecn": 2 * LENGTH}})
        net.ocs.class_set(0, [slot(37_000, 0), slot(37_000, 1)])
        net.ocs.rule_add(0, in_if="p0")
        epoch = time.monotonic_ns()
        net.ocs.start(epoch)
        with Trace("ocs_enqueue", "ocs_dequeue", "ocs_mark") as rows:
            burst(net.udp(0, tos=2), 1, 20, LENGTH)
        began = [r["t"] for r in rows if r["event"] == "ocs_dequeue" and r["link"] == 0x4000]
        inner = [(r["t"], r["link"]) for r in rows if r["event"] == "ocs_enqueue" and r["cls"] == 0]
        # the sender is still running when the second frame starts, so the trace may see that late; see hold()
        first = began[0] + 12_304 + 100_000
        equal([t for t, _ in inner], [first + 12_304 * n for n in range(20)], "arrivals in the switch")
        equal([link for _, link in inner], [(t - epoch) // 37_000 % 2 for t, _ in inner], "links")
        marks = [r["link"] for r in rows if r["event"] == "ocs_mark"]
        equal(marks, [0x4000] * 16, "marks")  # all but the first four find more than two frames
        return ""


def case_bypass_flood_and_no_way_back() -> str:
    """No rule: to the port at once.  Unknown address: everywhere.  Own port: dropped and counted."""
    with Net(3) as net:
        one, two = net.udp(1, 9), net.udp(2, 9)
        with Trace() as rows:
            burst(net.udp(0), 1, 1, 100)
        equal((rows, one.recv(2000)), ([], bytes(58)), "trace of an unlimited way")
        net.ocs.fdb_set("02:00:00:00:00:02", None)
        sh("ip netns exec h2 ip link set eth0 promisc on")
        before = net.ocs.stats()["ports"]["p2"]["link"]["tx_packets"]
        burst(net.udp(0), 1, 1, 100)
        equal(one.recv(2000), bytes(58), "flooded")
        equal(net.ocs.stats()["ports"]["p2"]["link"]["tx_packets"], before + 1, "flooded to p2")
        net.ocs.fdb_set("02:00:00:00:00:02", "p0")
        burst(net.udp(0), 1, 1, 100)
        equal(net.ocs.stats()["ports"]["p0"]["drops"], 1, "drops of p0")
        two.close()
        return ""


def case_segmentation_offload() -> str:
    """A sender that leaves segmentation to its device still sends frames."""
    with Net(2, offload=True) as net:
        net.ocs.link_set(0, rate=10**10, delay=10_000)
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, dport=5001)
        with inside("h1"):
            server = socket.create_server(("10.0.0.2", 5001))
        got = bytearray()

        def receive() -> None:
            peer, _ = server.accept()
            while data := peer.recv(1 << 16):
                got.extend(data)

        thread = threading.Thread(target=receive, daemon=True)
        thread.start()
        data = bytes(range(256)) * 4096
        with Trace("ocs_dequeue") as rows:
            with inside("h0"):
                client = socket.create_connection(("10.0.0.2", 5001))
            client.sendall(data)
            client.close()
            thread.join(5)
        equal(bytes(got) == data, True, "bytes received")
        longest = max(row["len"] for row in rows)
        equal(longest, 1514, "longest frame")
        return f"{len(rows)} frames"


def case_mtu() -> str:
    """The switch's MTU is that of its ports; what is too long for a port is dropped there."""
    with Net(2, mtu=9000) as net:
        equal(sh("cat /sys/class/net/ocs0/mtu"), "9000\n", "MTU")
        sh("ip link set p1 mtu 1500")
        equal(sh("cat /sys/class/net/ocs0/mtu"), "1500\n", "MTU")
        with Trace("ocs_drop") as rows:
            burst(net.udp(0), 1, 1, 5000)
        equal([row["reason"] for row in rows], [5], "reasons")
        equal(net.ocs.stats()["ports"]["p1"]["tx_drops"], 1, "tx_drops")
        return ""


def tagged(sock: socket.socket, size: int) -> tuple[int, bytes]:
    """Return the VLAN tag and the payload of the next frame of a size [bytes after the Ethernet header]."""
    while True:
        data, extra, _, _ = sock.recvmsg(4096, 256)
        if len(data) == 14 + size:
            status, _, _, _, _, tci, _ = struct.unpack("=IIIHHHH", next(d for _, kind, d in extra if kind == 8))
            return (tci if status & 0x10 else -1), data[14:]  # TP_STATUS_VLAN_VALID


def case_a_tag_stays() -> str:
    """A frame with a VLAN tag from a packet socket has it behind the switch, whatever its length."""
    with Net(2) as net:
        with inside("h0"):
            out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            out.bind(("eth0", 0))
        with inside("h1"):
            sink = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
            sink.bind(("eth0", 3))
            sink.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA
        sink.settimeout(1)
        net.ocs.link_set(0, rate=10**9)
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, in_if="p0")
        for size in (60, 400, 1400):
            body = bytes(range(256)) * 6
            head = bytes.fromhex("0200000000020200000000018100600588b5")
            out.send(head + body[:size])
            equal(tagged(sink, size), (0x6005, body[:size]), f"tag and payload of {size} bytes")
        return ""


def case_frames_on_their_way_take_so_much_memory() -> str:
    """Beyond wire_bytes frames are lost, which the trace and the link's counter tell; what arrives makes room."""
    limit = Path("/sys/module/ocs/parameters/wire_bytes")
    with Net(2) as net:
        net.ocs.link_set(0, delay=100_000_000)
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, in_if="p0")
        lost = []
        try:
            for bound in (100_000, 100_000, 0):
                limit.write_text(str(bound))
                with Trace("ocs_drop") as rows:
                    burst(net.udp(0), 1, 200, LENGTH)
                equal({(r["link"], r["reason"]) for r in rows} - {(0, 6)}, set(), "reasons")
                lost.append(len(rows))
        finally:
            limit.write_text("0")
        equal((lost[0], lost[2]), (lost[1], 0), "drops")
        took = 100_000 / (200 - lost[0])
        if not LENGTH <= took < 2 * 4096:
            raise AssertionError(f"{took} bytes of memory a frame")
        equal(net.ocs.stats()["links"][0]["drops"], sum(lost), "counter")
        return f"{took:.0f} bytes a frame"


def case_queues_without_a_limit_are_bounded() -> str:
    """What waits in queues, in the dark too, and what is on its way share wire_bytes."""
    limit = Path("/sys/module/ocs/parameters/wire_bytes")
    counts = []
    with Net(2) as net:
        net.ocs.link_set(0, rate=1000)  # it hardly serves a frame in this test
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.class_set(1, [slot(0, DARK)], hold=True)
        net.ocs.rule_add(0, in_if="p0")
        net.ocs.rule_add(1, in_if="p1")
        limit.write_text("1000000")
        try:
            for host in (0, 1):
                with Trace("ocs_drop") as rows:
                    burst(net.udp(host), 1 - host, 2000, LENGTH)
                equal({r["reason"] for r in rows}, {6}, "reasons")
                counts.append(2000 - len(rows))
        finally:
            limit.write_text("0")
        equal(0 < counts[0] <= 1_000_000 // LENGTH, True, f"frames that wait: {counts}")
        equal(counts[1] <= counts[0] // 50, True, f"the other queue finds the memory taken: {counts}")
        return f"{counts}"


if __name__ == "__main__":
    main(globals())
