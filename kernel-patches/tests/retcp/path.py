# SPDX-License-Identifier: Apache-2.0
"""What the tests of reTCP share: a path whose ACKs bear ECE when we say so.

      ns a                                    ns b
    +-------+  data, 10 ms                 +-------+
    | eth0  |----------------------------->|  eth0 |    a: 10.0.0.1, b: 10.0.0.2
    | (cc)  |<-----------------------------|       |
    +-------+  ACKs, 10 ms, with ECE or not +-------+

A segment that a single call sends tells the whole story: one ACK, and no window ever grows, since
nothing comes near to filling it.  What is left are the jumps, so the tests compare for equality.
"""

import contextlib
import socket
import struct
import time
from pathlib import Path

from lab import inside, sh

DELAY_S = 0.010  # one way
MSS = 1448
INFINITE = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
PARAMETERS = Path("/sys/module/tcp_retcp/parameters")


class Way:
    """Two namespaces and the path between them; gone at the end of the block."""

    def __init__(self, *options: str, delay_s: float = DELAY_S) -> None:
        sh(
            "ip netns add a",
            "ip netns add b",
            "ip link add eth0 netns a type veth peer name eth0 netns b",
            "ip -n a addr add 10.0.0.1/24 dev eth0",
            "ip -n b addr add 10.0.0.2/24 dev eth0",
            *(
                line.replace("NS", ns)
                for ns in "ab"
                for line in (
                    "ip netns exec NS sysctl -qw net.ipv6.conf.all.disable_ipv6=1",
                    # an application that pauses is no reason for another window here, nor what an earlier test saw
                    "ip netns exec NS sysctl -qw net.ipv4.tcp_slow_start_after_idle=0",
                    "ip netns exec NS sysctl -qw net.ipv4.tcp_no_metrics_save=1",
                    "ip netns exec NS ethtool -K eth0 tso off gso off gro off tx off rx off sg off",
                    f"tc -n NS qdisc add dev eth0 root netem delay {delay_s * 1000:g}ms limit 100000",
                    "tc -n NS qdisc add dev eth0 clsact",
                    "ip -n NS link set eth0 up",
                    *options,
                )
            ),
            "ip netns exec a ping -qnc 1 10.0.0.2",  # the neighbours know each other
        )
        self.sockets: list[socket.socket] = []

    def __enter__(self) -> "Way":
        return self

    def __exit__(self, *_: object) -> None:
        for sock in self.sockets:
            sock.close()
        sh("ip -n a link del eth0", "ip -n b link del ifb0 || true", "ip netns del a", "ip netns del b")

    def connect(self, cc: str = "retcp", sender: str = "a") -> socket.socket:
        """Connect a to b and return the end that is to send, which has a congestion control."""
        ends = {}
        with inside("b"):
            listener = socket.create_server(("10.0.0.2", 5000))
        if sender == "b":
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        with inside("a"):
            ends["a"] = socket.socket()
        if sender == "a":
            ends["a"].setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        ends["a"].connect(("10.0.0.2", 5000))
        ends["b"] = listener.accept()[0]
        listener.close()
        self.sockets += ends.values()
        ends[sender].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.receiver = ends["b" if sender == "a" else "a"]
        return ends[sender]

    def ece(self, on: bool, ns: str = "b") -> None:
        """Set ECE in all TCP segments that b sends from now on, as the switch does, or leave it."""
        if on:
            # the 14th byte of the TCP header; the stack fills in the checksum later
            edit = "action pedit munge offset 33 u8 set 0x40 retain 0x40 pipe action pass"
            sh(f"tc -n {ns} filter add dev eth0 egress pref 1 protocol ip flower ip_proto tcp {edit}")
        else:
            sh(f"tc -n {ns} filter del dev eth0 egress pref 1")

    def narrow(self, rate: str = "50mbit", packets: int = 60) -> None:
        """Give the way of the data a rate and a queue, out of the sender's sight."""
        sh(
            "ip -n b link add ifb0 type ifb",
            "ip -n b link set ifb0 up",
            f"tc -n b qdisc add dev ifb0 root netem rate {rate} limit {packets}",
            "tc -n b filter add dev eth0 ingress pref 3 matchall action mirred egress redirect dev ifb0",
        )

    def lose(self, on: bool, ns: str = "b") -> None:
        """Drop what arrives at b from now on; not at a, which would notice."""
        if on:
            sh(f"tc -n {ns} filter add dev eth0 ingress pref 2 protocol ip flower ip_proto tcp action drop")
        else:
            sh(f"tc -n {ns} filter del dev eth0 ingress pref 2")


def info(sock: socket.socket) -> dict:
    """Return what the kernel says of a connection: state, window, threshold, segments sent again."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    words = struct.unpack_from("24I", raw, 8)
    return {
        "state": raw[1],
        "ecn": bool(raw[5] & 8),
        "ssthresh": words[17],
        "cwnd": words[18],
        "retrans": words[23],
    }


def window(sock: socket.socket) -> tuple[int, int]:
    """Return window and threshold."""
    seen = info(sock)
    return seen["cwnd"], seen["ssthresh"]


def edges(sock: socket.socket) -> int:
    """Return the number of edges that reTCP counted."""
    enabled, count, _, _ = struct.unpack("4I", sock.getsockopt(socket.IPPROTO_TCP, 26, 16))  # TCP_CC_INFO
    if not enabled:
        raise AssertionError("the socket tells nothing of reTCP")
    return count


def course(sock: socket.socket, receiver: socket.socket, size: int, at_ms: dict) -> list:
    """Return what `info` says every 7 ms of a transfer's first second; call `at_ms` at its instants."""
    sock.setsockopt(socket.SOL_SOCKET, 32, 2 * size)  # SO_SNDBUFFORCE: a single call takes it all
    sock.setblocking(False)
    receiver.setblocking(False)
    seen = []
    time.sleep(1 - time.monotonic() % 1)  # timers of the kernel tick alike
    start = time.monotonic()
    left = size - sock.send(bytes(size))
    if left:
        raise AssertionError(f"{left} B were not taken")
    for ms in range(7, 1000, 7):
        time.sleep(max(start + ms / 1000 - time.monotonic(), 0))
        at_ms.get(ms, lambda: None)()
        with contextlib.suppress(BlockingIOError):
            while receiver.recv(1 << 20):
                pass
        seen.append(info(sock))
    return seen


def send(sock: socket.socket, segments: int = 1, wait_s: float = 0.1) -> None:
    """Send full segments at once, and give their ACKs the time to come."""
    sock.send(bytes(segments * MSS))
    time.sleep(wait_s)


def name(sock: socket.socket) -> str:
    """Return the congestion control that is at work."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


def parameter(which: str, value: object) -> None:
    """Set a parameter; raise what the kernel answers."""
    (PARAMETERS / which).write_text(str(value))


def journal() -> str:
    """Return the kernel's log."""
    return sh("dmesg")
