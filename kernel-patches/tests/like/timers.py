# SPDX-License-Identifier: Apache-2.0
"""When loss probes and RACK's timer expire: tcp_loss_timers and tcp_tlp_limited."""

import time

from lab import counter, equal, main, sh
from older import TICK, Older, aligned, departures, info, lost

MS = 1_000_000


def ticks(first: int, again: int, rtt_us: int = 0) -> int:
    """Return the number of ticks that a timer was set for at `first`, if what it sent left at `again`.

    It ended at the (n + 1)th tick after `first`, so n is the number of whole ticks between.
    """
    return (again - first - rtt_us * 1000) // TICK


def tail_loss(phase: int, rtt_us: int, segments: int, **sysctls: object) -> tuple[int, int]:
    """Lose `segments` that leave `phase` ns after a tick; return the ticks and ns until a probe leaves."""
    with Older(rtt_us, **sysctls) as way:
        sock = way.warm()
        lost(sock, True)
        with departures() as seen:
            aligned(phase)
            sock.send(bytes(segments * 1448))
            time.sleep(0.35)
        equal(counter("a", "TcpExt", "TCPLossProbes") > 0, True, "a probe was sent")
        instants = [instant for instant, _ in seen]
        equal(len(instants) > segments, True, f"segments {seen}")
        return ticks(instants[segments - 1], instants[segments]), instants[segments] - instants[0]


def probes(rtt_us: int, segments: int, **sysctls: object) -> tuple[int, str]:
    """Return the ticks of a probe's timer, the same for four instants within a tick, and the intervals."""
    found = [tail_loss(phase, rtt_us, segments, **sysctls) for phase in range(MS // 2, TICK, MS)]
    intervals = sorted(ns / 1e6 for _, ns in found)
    counts = {count for count, _ in found}
    equal(len(counts), 1, f"ticks {found}")
    return counts.pop(), f"{intervals[0]:.3f} to {intervals[-1]:.3f} ms"


def case_probe_now() -> str:
    """Two round trips and 2 ms, rounded up: 3.6 ms are 1 tick, 8 ms are 2; one segment adds 200 ms."""
    notes = []
    for rtt_us, segments, expected in ((800, 10, 1), (2900, 10, 2), (800, 1, 51)):
        count, note = probes(rtt_us, segments)
        equal(count, expected, f"ticks, RTT {rtt_us} us, {segments} segments")
        notes.append(note)
    return "; ".join(notes)


def case_probe_of_4_15() -> str:
    """Two round trips rounded up, and 2 ticks: 1.6 ms are 1 + 2 ticks, 5.8 ms are 2 + 2; one segment 1 + 50."""
    notes = []
    for rtt_us, segments, expected in ((800, 10, 3), (2900, 10, 4), (800, 1, 51)):
        count, note = probes(rtt_us, segments, loss_timers=1)
        equal(count, expected, f"ticks, RTT {rtt_us} us, {segments} segments")
        notes.append(note)
    return "; ".join(notes)


def case_probe_of_4_9() -> str:
    """Two round trips of 1 tick, and 10 ms at least, 3 ticks; 9 ms are 3 ticks, twice; one segment 1 + 50."""
    notes = []
    for rtt_us, segments, expected in ((800, 10, 3), (2900, 10, 3), (9000, 10, 6), (800, 1, 51)):
        count, note = probes(rtt_us, segments, loss_timers=2)
        equal(count, expected, f"ticks, RTT {rtt_us} us, {segments} segments")
        notes.append(note)
    return "; ".join(notes)


def reordering(phase: int, **sysctls: object) -> int:
    """Lose the first of two segments; return the ticks from the SACK of the second to the retransmission."""
    with Older(800, **sysctls) as way:
        sock = way.warm()
        with departures() as seen:
            aligned(phase)
            lost(sock, True)
            sock.send(bytes(1448))
            lost(sock, False)
            sock.send(bytes(1448))
            time.sleep(0.35)
        equal(counter("a", "TcpExt", "TCPLossProbes"), 0, "probes")
        equal([seq - seen[0][1] for _, seq in seen[:3]], [0, 1448, 0], f"segments {seen}")
        return ticks(seen[1][0], seen[2][0], way.rtt_us)


def case_rack_timer() -> str:
    """A quarter of a round trip, 200 us, and 2 ms are 1 tick; rounded first it is 1 + 2 ticks."""
    found = {}
    for timers in (0, 1):
        counts = {reordering(phase, loss_timers=timers) for phase in range(MS // 2, TICK - MS, MS)}
        equal(counts, {3 if timers else 1}, f"ticks, tcp_loss_timers {timers}")
        found[timers] = counts.pop()
    return f"{found}"


def limited_by_receiver(**sysctls: object) -> int:
    """Lose what leaves when the receive window opens while data wait; return the number of probes.

    What a socket call sends leaves segment by segment with nothing behind it, so the data have to wait before.
    """
    with Older(800, rmem="4096 65536 65536", **sysctls) as way:
        sh("ip -n a route replace 10.0.0.0/24 dev eth0 src 10.0.0.1 initcwnd 60")
        sock = way.warm(times=5)  # so few ACKs are not delayed
        sock.setblocking(False)
        sock.send(bytes(80 * 1448))
        time.sleep(0.1)  # a delayed ACK takes 40 ms
        seen = info(sock)
        equal((seen["unacked"], seen["snd_wnd"] < 1448), (0, True), f"the window is full: {seen}")
        before = counter("a", "TcpExt", "TCPLossProbes")
        lost(sock, True)
        way.receiver.recv(1 << 20)
        time.sleep(0.1)  # enough for a probe, too short for a timeout
        seen = info(sock)
        equal(0 < seen["unacked"] < seen["cwnd"], True, f"in flight, below the window: {seen}")
        return counter("a", "TcpExt", "TCPLossProbes") - before


def case_probes_when_limited() -> str:
    """While window and data allow to send more and only the receiver does not, older kernels send no probe."""
    found = [limited_by_receiver(tlp_limited=limited) for limited in (0, 1)]
    equal(found, [1, 0], "probes")
    return ""


def case_probe_when_window_is_used_up() -> str:
    """With the window or the data used up they do."""
    equal(tail_loss(MS, 800, 10, tlp_limited=1)[0], 1, "ticks, nothing left to send")
    return ""


def case_bounds() -> str:
    """Values that mean nothing are refused, and all settings are off."""
    with Older() as way:
        for name, highest in {
            "loss_timers": 2,
            "loss_detection": 2,
            "tlp_limited": 1,
            "prr_conservative": 1,
            "half_rcvbuf": 1,
            "dctcp_loss_by_alpha": 1,
            "bbr_plain": 1,
            "cubic_clock_ms": 1,
        }.items():
            equal(way.setting(name), 0, name)
            for value, taken in ((highest, True), (highest + 1, False), (-1, False)):
                equal(way.accepts(name, value), taken, f"{name} {value}")
    return ""


if __name__ == "__main__":
    main(dict(globals()))
