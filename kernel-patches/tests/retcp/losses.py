# SPDX-License-Identifier: Apache-2.0
"""Losses: Reno's, at the scale of the network that is there."""

import socket
import time

from lab import equal, main, sh
from path import INFINITE, LOSS, OPEN, RECOVERY, Way, course, info, send, window

MS = 0.001


def lose_first(way: Way, sock: socket.socket) -> float:
    """Send ten segments of which the first is lost; return the instant.  SACKs are back after 20 ms."""
    way.lose(True)
    sent = time.monotonic()
    send(sock, 1, 11 * MS)
    way.lose(False)
    send(sock, 9, 0)
    return sent


def at(instant: float) -> None:
    """Sleep until an instant."""
    time.sleep(max(instant - time.monotonic(), 0))


def case_reno_without_ece() -> str:
    """As long as no ECE comes it is Reno, loss for loss."""
    courses = {}
    for cc in ("reno", "retcp"):
        with Way() as way:
            way.narrow()
            sock = way.connect(cc)
            courses[cc] = course(sock, way.receiver, 5_000_000, {})
    equal(courses["retcp"], courses["reno"], "course")
    losses = courses["reno"][-1]["retrans"]
    if not losses:
        raise AssertionError("nothing was lost, the test tests nothing")
    return f"{losses} segments sent again"


def case_loss_on_the_packet_network() -> None:
    """A loss halves: 10 to 5."""
    with Way() as way:
        sock = way.connect()
        lose_first(way, sock)
        time.sleep(0.2)
        equal((window(sock), info(sock)["state"]), ((5, 5), OPEN), "after")


def case_loss_during_a_circuit() -> None:
    """A loss halves what the circuit made of the window, and the falling edge takes the threshold along: 20, 10, 5."""
    with Way() as way:
        sock = way.connect()
        way.ece(True)
        send(sock)
        equal(window(sock), (20, INFINITE), "circuit")
        lose_first(way, sock)
        time.sleep(0.2)
        equal(window(sock), (10, 10), "after the loss")
        way.ece(False)
        send(sock)
        equal(window(sock), (5, 5), "after the circuit: not below the threshold, no slow start")


def case_circuit_after_a_loss() -> None:
    """Where the window was the threshold it still is: no slow start at the scale of the circuit either."""
    with Way() as way:
        sock = way.connect()
        lose_first(way, sock)
        time.sleep(0.2)
        for on, expected in ((True, 10), (False, 5), (True, 10)):
            way.ece(on)
            send(sock)
            equal(window(sock), (expected, expected), f"ECE {on}")


def case_rising_edge_in_recovery() -> None:
    """Recovery ends with the window that fits the circuit, and has no burst in between."""
    with Way() as way:
        sock = way.connect()
        sent = lose_first(way, sock)
        at(sent + 34 * MS)  # SACKs have come, the lost segment is on its way again
        seen = info(sock)
        equal((seen["state"], seen["ssthresh"]), (RECOVERY, 5), "in recovery")
        way.ece(True)
        time.sleep(0.2)
        equal((window(sock), info(sock)["state"]), ((10, 10), OPEN), "after")


def case_falling_edge_in_recovery() -> None:
    """And with the one that fits the packet network when the circuit has gone."""
    with Way() as way:
        sock = way.connect()
        way.ece(True)
        send(sock)
        sent = lose_first(way, sock)
        at(sent + 34 * MS)
        seen = info(sock)
        equal((seen["state"], seen["ssthresh"]), (RECOVERY, 10), "in recovery")
        way.ece(False)
        time.sleep(0.2)
        equal((window(sock), info(sock)["state"]), ((5, 5), OPEN), "after")


def case_edges_after_a_timeout() -> None:
    """After a timeout the threshold jumps, and the window, which counts what is in the network, does not."""
    with Way() as way:
        sock = way.connect()
        send(sock)
        way.lose(True)
        send(sock, 5, 0.4)
        seen = info(sock)
        equal((seen["state"], seen["cwnd"], seen["ssthresh"]), (LOSS, 1, 5), "timeout")
        way.lose(False)
        way.ece(True)
        while info(sock)["ssthresh"] == 5:
            time.sleep(MS)
        seen = info(sock)
        equal((seen["state"], seen["cwnd"], seen["ssthresh"]), (LOSS, 2, 10), "rising edge: slow start, no jump")
        way.ece(False)
        send(sock, 1, 1)
        seen = info(sock)
        equal((seen["state"], seen["ssthresh"]), (OPEN, 5), "falling edge")
        if seen["cwnd"] > 6:
            raise AssertionError(f"slow start went beyond its threshold: {seen}")


def case_undo_after_a_jump() -> None:
    """ACKs that are 700 ms late look like a loss; what is given back fits the circuit that came meanwhile."""
    for circuit_first in (False, True):
        with Way() as way:
            sock = way.connect()
            if circuit_first:
                way.ece(True)
            send(sock)
            before = 20 if circuit_first else 10
            equal(window(sock), (before, INFINITE), "before")
            sh("tc -n b qdisc change dev eth0 root netem delay 700ms limit 100000")
            way.ece(not circuit_first)
            send(sock, 5, 0.5)
            seen = info(sock)
            equal((seen["state"], seen["ssthresh"]), (LOSS, before // 2), "a timeout that was none")
            time.sleep(2)
            after = 10 if circuit_first else 20
            equal((window(sock), info(sock)["state"]), ((after, INFINITE), OPEN), "undone")


if __name__ == "__main__":
    main(globals())
