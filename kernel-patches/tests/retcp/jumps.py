# SPDX-License-Identifier: Apache-2.0
"""The jumps: a window of 10 is 20 from the first ACK with ECE on, and 10 from the first one without."""

import errno
import time

from lab import equal, main, sh
from path import INFINITE, MSS, PARAMETERS, Way, edges, info, journal, name, parameter, send, window


def toggled(way: Way, sock, *states: bool) -> list[int]:
    """Return the window after each state of ECE."""
    seen = []
    for on in states:
        way.ece(on)
        send(sock)
        seen.append(info(sock)["cwnd"])
    return seen


def case_rising_edge_doubles_once() -> None:
    """The first ACK with ECE doubles the window, those after it do nothing."""
    with Way() as way:
        sock = way.connect()
        send(sock)
        equal(window(sock), (10, INFINITE), "before")
        way.ece(True)
        for _ in range(10):
            send(sock)
            equal(window(sock), (20, INFINITE), "with ECE")
        equal(edges(sock), 1, "edges")


def case_falling_edge_halves_once() -> None:
    """The first ACK without ECE halves the window, those after it do nothing."""
    with Way() as way:
        sock = way.connect()
        equal(toggled(way, sock, True, False), [20, 10], "windows")
        for _ in range(10):
            send(sock)
            equal(window(sock), (10, INFINITE), "without ECE")
        equal(edges(sock), 2, "edges")


def case_many_edges_leave_no_trace() -> None:
    """What a window went in with it comes out with."""
    with Way() as way:
        equal(toggled(way, way.connect(), *[True, False] * 20), [20, 10] * 20, "windows")


def case_no_ecn_negotiated() -> None:
    """It works without ECN, and takes ECE for no congestion: the state stays open, nothing is sent again."""
    with Way() as way:
        sock = way.connect()
        equal(toggled(way, sock, True), [20], "window")
        equal(info(sock), {"state": 0, "ecn": False, "ssthresh": INFINITE, "cwnd": 20, "retrans": 0}, "state")


def case_ecn_negotiated_is_reno() -> None:
    """Where ECE has its own meaning it keeps it, and the name says so."""
    with Way("ip netns exec NS sysctl -qw net.ipv4.tcp_ecn=1") as way:
        sock = way.connect()
        equal((name(sock), info(sock)["ecn"]), ("retcp-reno", True), "congestion control")
        send(sock)
        way.ece(True)
        send(sock, 2)
        seen = info(sock)
        if not (seen["cwnd"] < 10 and seen["ssthresh"] == 5):
            raise AssertionError(f"congestion, as ECE says here, changes nothing: {seen}")


def case_circuit_before_the_connection() -> None:
    """ECE on the handshake is no edge; on the first ACK of data it is, on either side."""
    with Way() as way:
        way.ece(True)
        sock = way.connect()
        equal((window(sock), edges(sock)), ((10, INFINITE), 0), "after the handshake")
        send(sock)
        equal((window(sock), edges(sock)), ((20, INFINITE), 1), "after data")
    with Way() as way:
        way.ece(True, ns="a")
        sock = way.connect(sender="b")
        equal((window(sock), edges(sock)), ((10, INFINITE), 0), "accepted")
        send(sock)
        equal((window(sock), edges(sock)), ((20, INFINITE), 1), "accepted, after data")
    equal([line for line in journal().splitlines() if "WARNING" in line], [], "warnings")


def case_parameters() -> None:
    """A connection keeps the parameters it began with."""
    parameter("jump_up", 5)
    parameter("jump_down", 4)
    try:
        with Way() as way:
            sock = way.connect()
            equal(toggled(way, sock, True, False), [50, 12], "windows, times 5 and by 4")
            parameter("jump_up", 3)
            parameter("jump_down", 1)
            equal(toggled(way, sock, True, False), [60, 15], "windows, still times 5 and by 4")
        with Way() as way:
            equal(toggled(way, way.connect(), True, False), [30, 30], "windows, times 3 and by 1")
    finally:
        parameter("jump_up", 2)
        parameter("jump_down", 2)


def case_parameters_out_of_range_are_refused() -> None:
    """1 to 100; a divisor of 0 above all."""
    for which in ("jump_up", "jump_down"):
        for value in ("0", "101", "-1", "4294967296", "two", ""):
            try:
                parameter(which, value)
                if value:
                    raise AssertionError(f"{which}={value} is taken")
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.ERANGE):
                    raise
            equal((PARAMETERS / which).read_text(), "2\n", which)


def case_never_below_two() -> None:
    """The largest divisor leaves two segments."""
    parameter("jump_down", 100)
    try:
        with Way() as way:
            equal(toggled(way, way.connect(), True, False, True, False), [20, 2, 4, 2], "windows")
    finally:
        parameter("jump_down", 2)


def case_never_above_the_clamp() -> None:
    """A route may lock the largest window."""
    with Way() as way:
        # what a route locks gets to a connection by what an earlier one left
        sh("ip netns exec a sysctl -qw net.ipv4.tcp_no_metrics_save=0")
        sh("ip -n a route change 10.0.0.0/24 dev eth0 src 10.0.0.1 cwnd lock 15")
        first = way.connect("reno")
        send(first)
        way.receiver.recv(MSS)
        first.close()
        way.receiver.close()
        time.sleep(1)
        equal(toggled(way, way.connect(), True, False), [15, 7], "windows")


def case_no_overflow() -> None:
    """Up a hundredfold ten times and never down: it stops where a window is still positive."""
    parameter("jump_up", 100)
    parameter("jump_down", 1)
    try:
        with Way() as way:
            seen = toggled(way, way.connect(), *[True, False] * 10)[::2]
            equal(seen, [min(10 * 100**n, INFINITE) for n in range(1, 11)], "windows")
    finally:
        parameter("jump_up", 2)
        parameter("jump_down", 2)
    equal([line for line in journal().splitlines() if "WARNING" in line], [], "warnings")


if __name__ == "__main__":
    main(globals())
