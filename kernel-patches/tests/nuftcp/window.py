# SPDX-License-Identifier: Apache-2.0
"""What NUFTCP may have in flight, when it forgets its threshold, and that the rest is DCTCP.

The path is that of the tests of reTCP: 10 ms in each direction, and ECE in the ACKs when we say so.
"""

import contextlib
import errno
import itertools
import socket
import struct
import time
from pathlib import Path

from lab import equal, inside, main, sh
from path import DELAY_S, INFINITE, MSS, OPEN, RECOVERY, Way, course, info, name, send

RTT_S = 2 * DELAY_S
PARAMETERS = Path("/sys/module/tcp_nuftcp/parameters")
PAPER = {"factor": 1500, "weight": 200, "quiet": 10, "readings": 0}
#: Buffers that never limit.
ROOM = (
    "ip netns exec NS sysctl -qw net.ipv4.tcp_rmem='4096 8388608 16777216'",
    "ip netns exec NS sysctl -qw net.ipv4.tcp_wmem='4096 8388608 16777216'",
)


class Ecn(Way):
    """The path with buffers that never limit, and with ECN at both ends.

    The SYN of a congestion control that needs ECN is ECN-capable itself, and only such a one accepts that.
    """

    def __init__(self) -> None:
        super().__init__(*ROOM)

    def connect(self, cc: str = "nuftcp", sender: str = "a") -> socket.socket:
        """Connect a to b, whose congestion control is DCTCP."""
        with inside("b"):
            listener = socket.create_server(("10.0.0.2", 5000))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"dctcp")
        with inside(sender):
            sock = socket.socket()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect(("10.0.0.2", 5000))
        self.receiver = listener.accept()[0]
        listener.close()
        self.sockets += [sock, self.receiver]
        return sock


def settings(**values: int) -> None:
    """Set the module's parameters; those not named are the paper's."""
    for which, value in (PAPER | values).items():
        (PARAMETERS / which).write_text(str(value))


def flight(way: Way, cc: str, rounds: int) -> list[int]:
    """Return the segments in flight in the middle of each round of a bulk transfer."""
    sock = way.connect(cc)
    sock.setblocking(False)
    start = time.monotonic()
    way.receiver.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 25)  # SO_SNDBUFFORCE
    sock.send(bytes(1 << 24))
    seen = []
    for number in range(rounds):
        time.sleep(max(start + (number + 0.5) * RTT_S - time.monotonic(), 0))
        seen.append(unacked(sock))
        with contextlib.suppress(BlockingIOError):
            while way.receiver.recv(1 << 20):
                pass
    return seen


def unacked(sock: socket.socket) -> int:
    """Return the segments that a socket has in flight."""
    return struct.unpack_from("24I", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 8)[4]


def case_flight_grows_by_a_tenth() -> str:
    """A round brings what was in flight, and the limit is 1.5 times an average with weight 0.2: 1.1 times the last.

    The first round has no limit, so 10 segments and then 20 are in flight.  From there the average, and with it the
    limit, grows by at most 1 + 0.2 * (1.5 - 1) = 1.1 in a round.  ACKs come for two segments.
    """
    settings()
    with Ecn() as way:
        seen = flight(way, "nuftcp", 14)
    equal(seen[0], 10, f"first window {seen}")
    for before, after in itertools.pairwise(seen[2:]):
        if not before - 2 <= after <= 1.1 * before + 2:
            raise AssertionError(f"from {before} to {after} in {seen}")
    if not 1.5 * seen[2] <= seen[-1] <= 1.1**11 * seen[2] + 2:
        raise AssertionError(f"it does not grow as it should: {seen}")
    settings(factor=1_000_000)
    with Ecn() as way:
        free = flight(way, "nuftcp", 7)
    if free[-1] < 400:
        raise AssertionError(f"without a limit it does not double: {free}")
    return f"{seen}, without a limit {free}"


def case_without_limit_and_reset_it_is_dctcp() -> str:
    """Marks, no marks, losses: window, threshold and state are DCTCP's every 7 ms."""
    settings(factor=1_000_000, quiet=0)
    found = []
    for cc in ("dctcp", "nuftcp"):
        with Ecn() as way:
            way.narrow(packets=40)
            sock = way.connect(cc)
            toggles = {70: lambda way=way: way.ece(True), 210: lambda way=way: way.ece(False)}
            found.append(course(sock, way.receiver, 4_000_000, toggles))
            equal(name(sock), cc, "congestion control")
    settings()
    equal(found[1], found[0], "course")
    states = {row["state"] for row in found[0]}
    if len(states) < 3:
        raise AssertionError(f"nothing happened: {states}")
    return f"states {sorted(states)}"


def calm(rounds: int, **values: int) -> int:
    """Return the threshold some rounds after the last ECE; a segment that is sent alone makes a round."""
    settings(**values)
    with Ecn() as way:
        sock = way.connect("nuftcp")
        for _ in range(3):
            send(sock)
        equal(info(sock)["ssthresh"], INFINITE, "threshold before the first mark")
        way.ece(True)
        for _ in range(3):
            send(sock)
        equal(info(sock)["ssthresh"] < INFINITE, True, "a mark sets the threshold")
        way.ece(False)
        for _ in range(rounds):
            send(sock)
        settings()
        equal(info(sock)["state"], OPEN, "state")
        return info(sock)["ssthresh"]


def case_ten_calm_rounds_end_the_threshold() -> str:
    """After 10 rounds without ECE there is none; before, it is still there; with quiet 0 it stays; or the average."""
    kept = calm(9)
    equal(2 < kept < INFINITE, True, f"after 9 rounds: {kept}")
    equal(calm(10), INFINITE, "after 10 rounds")
    equal(calm(14, quiet=0), kept, "never")
    equal(calm(14, quiet=16), kept, "later")
    equal(calm(10, readings=1 << 3), 2, "the average of algorithm 2: one segment, and the least is two")
    return f"threshold {kept}"


def losses(**values: int) -> tuple[list[dict], dict]:
    """Return the course of a transfer whose queue overflows, and what it said when the recovery had begun."""
    settings(**values)
    with Ecn() as way:
        way.narrow(packets=40)
        rows = course(way.connect("nuftcp"), way.receiver, 4_000_000, {})
    settings()
    return rows, next(row for row in rows if row["state"] == RECOVERY)


def case_a_loss_cuts_to_the_average() -> str:
    """With reading 2 a loss leaves the average as threshold, not half of the window: what a round trip brings."""
    no_limit = {"factor": 1_000_000, "quiet": 0, "weight": 1000}
    rows, plain = losses(**no_limit)
    before = [row["cwnd"] for row in rows[: rows.index(plain)]]
    equal(abs(plain["ssthresh"] - max(before) / 2) < 0.1 * max(before), True, f"half of {before}: {plain}")
    _, cut = losses(**no_limit, readings=1 << 2)
    carried = 50e6 * RTT_S / 8 / (MSS + 66)  # of the narrow link, in a round trip without a queue
    equal(0.5 * carried < cut["ssthresh"] < 1.1 * carried, True, f"the average, at most {carried} segments: {cut}")
    equal(cut["ssthresh"] != plain["ssthresh"], True, f"{cut} and {plain}")
    return f"{cut['ssthresh']} instead of {plain['ssthresh']}"


def case_retransmissions_are_limited() -> str:
    """What is retransmitted counts as all that is in flight: after a round that brought two segments it is two."""
    settings(factor=1000, weight=1000, quiet=0)  # in flight is what the last round brought
    most = 0
    with Ecn() as way:
        sh("ip netns exec a sysctl -qw net.ipv4.tcp_early_retrans=0")  # no loss probes: a timeout, then slow start
        sock = way.connect("nuftcp")
        send(sock, 10)
        sock.send(bytes(2 * MSS))
        time.sleep(0.005)
        sock.send(bytes(8 * MSS))
        time.sleep(0.006)
        way.lose(True)  # the two have arrived
        time.sleep(0.008)
        way.lose(False)
        begin = info(sock)["retrans"]
        for _ in range(300):
            time.sleep(0.005)
            words = struct.unpack_from("24I", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 8)
            most = max(most, words[7])  # tcpi_retrans
        equal(info(sock)["retrans"] - begin, 8, "segments that were lost")
    settings()
    equal(most, 2, "retransmissions in flight at most")
    return ""


def case_needs_ecn() -> str:
    """Without ECN it is Reno and says so."""
    with Way() as way:
        equal(name(way.connect("nuftcp")), "nuftcp-reno", "name")
    with Ecn() as way:
        equal(name(way.connect("nuftcp")), "nuftcp", "name where both ends have ECN")
    return ""


def case_parameters_are_bounded() -> str:
    """Each parameter refuses what is beyond its bounds, and keeps its value."""
    settings()
    wrong = [("factor", 999), ("factor", 1_000_001), ("weight", 0), ("weight", 1001), ("quiet", 65_536)]
    wrong += [("readings", 1), ("readings", 128), ("factor", "x"), ("readings", -2)]
    for which, value in wrong:
        try:
            (PARAMETERS / which).write_text(str(value))
        except OSError as error:
            equal(error.errno in (errno.EINVAL, errno.ERANGE), True, f"{which} {value}: {error}")
        else:
            raise AssertionError(f"{which} takes {value}")
        equal((PARAMETERS / which).read_text().strip(), str(PAPER[which]), which)
    for which, value in (
        ("factor", 1000),
        ("factor", 1_000_000),
        ("weight", 1000),
        ("quiet", 65_535),
        ("readings", 126),
    ):
        (PARAMETERS / which).write_text(str(value))
    settings()
    return ""


if __name__ == "__main__":
    main(globals())
