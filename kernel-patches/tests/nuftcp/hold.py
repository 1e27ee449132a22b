# SPDX-License-Identifier: Apache-2.0
"""Duplicate ACKs after a change of version: which are held, when they are forgotten, when sent, what SACK tells.

      ns a                                          ns b
    +-------+  data, 5 ms (band 1) or 8, 9 ms     +-------+
    | eth0  |------------------------------------>|  eth0 |    a: 10.0.0.1, b: 10.0.0.2
    |       |<------------------------------------|       |
    +-------+  ACKs, 5 ms                         +-------+

A socket's priority says which way a segment takes, its TTL which version the segment has.  Each segment
is one call, so the test says which one overtakes which.
"""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator

from lab import counter, equal, inside, main, sh
from path import MSS, info

FAST, SLOW, SLOWER = 0, 1, 2
DELAYS_MS = {FAST: 5, SLOW: 8, SLOWER: 9}
COUNTERS = ("TCPVersionChange", "TCPHeldAcks", "TCPHeldAcksForgotten", "TCPHeldAcksSent")


class Ways:
    """Two namespaces with three ways for data; a connection between them."""

    def __init__(self, *, hold_us: int = 0, sack: int = 1, hold_sack: int = 0) -> None:
        rest = " ".join("0" for _ in range(13))
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
                    f"ip netns exec NS sysctl -qw net.ipv4.tcp_sack={sack}",
                    "ip netns exec NS sysctl -qw net.ipv4.tcp_no_metrics_save=1",
                    "ip netns exec NS sysctl -qw net.ipv4.tcp_comp_sack_nr=0",
                    "ip netns exec NS sysctl -qw net.ipv4.tcp_early_retrans=0",
                    "ip netns exec NS ethtool -K eth0 tso off gso off gro off tx off rx off sg off",
                    "ip -n NS link set eth0 up",
                )
            ),
            f"tc -n a qdisc add dev eth0 root handle 1: prio bands 3 priomap 0 1 2 {rest}",
            *(
                f"tc -n a qdisc add dev eth0 parent 1:{band + 1} netem delay {ms}ms limit 10000"
                for band, ms in DELAYS_MS.items()
            ),
            "tc -n b qdisc add dev eth0 root netem delay 5ms limit 10000",
            f"ip netns exec b sysctl -qw net.ipv4.tcp_version_hold_us={hold_us}",
            f"ip netns exec b sysctl -qw net.ipv4.tcp_version_hold_sack={hold_sack}",
            "ip netns exec a ping -qnc 1 10.0.0.2",
        )
        with inside("b"):
            listener = socket.create_server(("10.0.0.2", 5000))
        with inside("a"):
            self.sock = socket.socket()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        self.sock.setsockopt(socket.SOL_IP, socket.IP_TTL, 15)
        self.sock.connect(("10.0.0.2", 5000))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer = listener.accept()[0]
        listener.close()
        self.sent = 0
        for _ in range(4):  # a window to send in, and no quick ACKs at the beginning
            self.send(FAST, 0)
            time.sleep(0.06)

    def __enter__(self) -> "Ways":
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()
        self.peer.close()
        sh("ip -n a link del eth0", "ip netns del a", "ip netns del b")

    def send(self, band: int, version: int) -> None:
        """Send a segment by a way, with a version."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, band)
        self.sock.setsockopt(socket.SOL_IP, socket.IP_TTL, 16 * version + 15)
        self.sock.send(bytes(MSS))
        self.sent += MSS

    def whole(self) -> None:
        """Fail unless all has arrived."""
        self.peer.settimeout(2)
        left = self.sent
        while left:
            left -= len(self.peer.recv(min(left, 1 << 20)))

    def counts(self) -> list[int]:
        """Return changes of version, and ACKs held, forgotten, sent."""
        return [counter("b", "TcpExt", which) for which in COUNTERS]


def overtake(way: Ways, version: int, segments: int = 4, band: int = SLOW) -> None:
    """Send a segment of the old version by a slow way, and some of a new one by the fast way."""
    way.send(band, version - 1)
    for _ in range(segments):
        way.send(FAST, version)


@contextlib.contextmanager
def acks() -> Iterator[list[tuple[float, int, int]]]:
    """Collect the ACKs that b sends: (s, acknowledged, blocks of SACK)."""
    with inside("b"):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    tap.bind(("eth0", 3))
    tap.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
    tap.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    found: list[tuple[float, int, int]] = []
    yield found
    tap.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            frame, more, _, address = tap.recvmsg(2000, 200)
            if address[2] != 4 or frame[23] != 6:  # PACKET_OUTGOING, TCP
                continue
            seconds, ns = struct.unpack("qq", more[0][2])
            tcp = frame[34:]
            options, blocks = tcp[20 : (tcp[12] >> 4) * 4], 0
            while options and options[0]:
                if options[0] == 1:
                    options = options[1:]
                    continue
                if options[0] == 5:
                    blocks = (options[1] - 2) // 8
                options = options[options[1] :]
            found.append((seconds + ns / 1e9, struct.unpack(">I", tcp[8:12])[0], blocks))
    tap.close()


def case_off_by_default() -> str:
    """Nothing is counted or held, and the sender takes the segment that was overtaken for lost."""
    with Ways(sack=0) as way:
        overtake(way, 1)
        time.sleep(0.1)
        equal(way.counts(), [0] * 4, "counters")
        equal(info(way.sock)["retrans"], 1, "sent again")
        way.whole()
    return ""


def case_forgotten_when_the_hole_is_filled() -> str:
    """Four overtake by 3 ms; T is 10 ms. No duplicate leaves, nothing is sent again."""
    for sack in (0, 1):
        with Ways(hold_us=10_000, sack=sack) as way:
            with acks() as seen:
                overtake(way, 1)
                time.sleep(0.1)
            equal(way.counts(), [1, 4, 4, 0], f"counters, SACK {sack}")
            equal(info(way.sock)["retrans"], 0, "sent again")
            numbers = [number for _, number, _ in seen]
            equal(len(numbers), len(set(numbers)), f"duplicates in {seen}")
            way.whole()
    return ""


def case_sent_when_time_is_over() -> str:
    """T is 1 ms, the hole lasts for 3 ms: the ACKs leave 1 ms after the first; with SACK one speaks for all."""
    for sack, count in ((0, 4), (1, 1)):
        with Ways(hold_us=1000, sack=sack) as way:
            begun = time.time()
            with acks() as seen:
                overtake(way, 1)
                time.sleep(0.1)
            equal(way.counts(), [1, 4, 0, 4], f"counters, SACK {sack}")
            first = seen[0][1]
            duplicates = [row for row in seen if row[1] == first]
            equal(len(duplicates), count, f"duplicates, SACK {sack}: {seen}")
            late_ms = [(instant - begun) * 1000 for instant, _, _ in duplicates]
            # they are seen where they leave the delay of the way back
            if not all(abs(ms - 11) <= 0.01 for ms in late_ms):
                raise AssertionError(f"they left after {late_ms} ms, not 5 + 1 + 5")
            equal(duplicates[0][2], sack, "blocks of SACK")
            equal(info(way.sock)["retrans"], 1, "sent again")
            way.whole()
    return ""


def case_only_after_a_change() -> str:
    """With the old version, or long after a change, duplicates leave at once."""
    with Ways(hold_us=2000, sack=0) as way:
        way.send(SLOW, 0)
        for _ in range(4):
            way.send(FAST, 0)
        time.sleep(0.1)
        equal(way.counts(), [0] * 4, "without a change")
        way.send(FAST, 1)
        time.sleep(0.1)
        overtake(way, 1)
        time.sleep(0.1)
        equal(way.counts(), [1, 0, 0, 0], "the change is 0.1 s ago")
        way.whole()
    return ""


def case_newer_is_ahead_by_one_to_seven() -> str:
    """From each of 4 versions, versions ahead by 0 to 15: 1 to 7 of them are newer, also beyond 15."""
    with Ways(hold_us=1000) as way:
        newest = 0

        def show(version: int) -> int:
            """Send a segment; return whether the receiver took its version for newer."""
            before = way.counts()[0]
            way.send(FAST, version)
            time.sleep(0.012)
            # a full buffer would stop the sender
            way.sent -= len(way.peer.recv(1 << 20))
            return way.counts()[0] - before

        for begin in (0, 5, 12, 15):
            for ahead in range(16):
                while newest != begin:
                    newest = (newest + min((begin - newest) % 16, 7)) % 16
                    equal(show(newest), 1, f"a change to {newest}")
                version = (begin + ahead) % 16
                equal(show(version), int(1 <= ahead <= 7), f"version {version} after {begin}")
                newest = version if 1 <= ahead <= 7 else newest
        way.whole()
    return ""


def case_sack_is_kept_back() -> str:
    """Two segments come 3 and 4 ms late. The ACK that fills the first hole tells of the rest, unless told not to."""
    told = []
    for hold_sack in (0, 1):
        with Ways(hold_us=10_000, hold_sack=hold_sack) as way:
            with acks() as seen:
                way.send(SLOW, 0)
                way.send(SLOWER, 0)
                for _ in range(4):
                    way.send(FAST, 1)
                time.sleep(0.1)
            told.append(max(blocks for _, _, blocks in seen))
            equal(way.counts(), [1, 4, 4, 0], f"counters, hold_sack {hold_sack}")
            if hold_sack:
                equal(info(way.sock)["retrans"], 0, "sent again")
            way.whole()
    equal(told, [1, 0], "blocks of SACK")
    return ""


def case_lost_after_all() -> str:
    """A segment that is lost is sent again T after the first duplicate, not later; with SACK blocks again."""
    for hold_sack in (0, 1):
        with Ways(hold_us=2000, hold_sack=hold_sack) as way:
            sh("tc -n a qdisc change dev eth0 parent 1:2 netem loss 100%")
            begun = time.monotonic()
            overtake(way, 1, segments=5)
            while info(way.sock)["retrans"] == 0 and time.monotonic() < begun + 1:
                time.sleep(0.0005)
            took_ms = (time.monotonic() - begun) * 1000
            # it is sent again by the way of the socket's present priority, the fast one
            if not 12 <= took_ms <= 25:
                raise AssertionError(f"sent again after {took_ms:.1f} ms")
            way.whole()
    return f"{took_ms:.1f} ms"


def case_bounded_and_per_namespace() -> str:
    """0 to 100000 and 0 or 1; others are refused; another namespace has its own."""
    with Ways(hold_us=100_000, hold_sack=1):
        for field, value in (("us", -1), ("us", 100_001), ("sack", 2), ("sack", -1)):
            line = f"ip netns exec b sysctl -qw net.ipv4.tcp_version_hold_{field}={value}"
            try:
                sh(line)
            except AssertionError:
                continue
            raise AssertionError(f"taken: {line}")
        found = [sh(f"ip netns exec {ns} sysctl -n net.ipv4.tcp_version_hold_us").strip() for ns in "ab"]
        equal(found, ["0", "100000"], "settings of a and b")
    return ""


if __name__ == "__main__":
    main(globals())
