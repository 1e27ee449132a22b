# SPDX-License-Identifier: Apache-2.0
"""What older kernels do with losses and buffers, and in DCTCP, BBR and CUBIC; each setting against its default."""

import socket
import struct
import time

from lab import Transfer, counter, equal, main, sh
from older import Older, aligned, departures, info, lost
from path import RECOVERY, course

DISORDER = 1
MSS = 1448


def after_timeout(**sysctls: object) -> int:
    """Lose a segment, and another one that leaves just before its timeout; return how many are taken for lost then."""
    with Older(40_000, early_retrans=0, **sysctls) as way:
        sock = way.warm()
        (rto_us,) = struct.unpack_from("I", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 8)
        lost(sock, True)
        sock.send(bytes(MSS))
        time.sleep(rto_us / 1e6 - 0.015)
        sock.send(bytes(MSS))
        before = counter("a", "TcpExt", "TCPTimeouts")
        while counter("a", "TcpExt", "TCPTimeouts") == before:
            time.sleep(0.001)
        return info(sock)["lost"]


def case_timeout_takes_all_for_lost() -> str:
    """A timeout spares what left within the last round trip; an older kernel's does not."""
    found = [after_timeout(loss_detection=detection) for detection in (0, 1, 2)]
    equal(found, [1, 2, 2], "segments lost")
    return ""


def one_duplicate(rtt_us: int, **sysctls: object) -> tuple[int, float]:
    """Lose the first of two segments; return the state after a round trip, and ms until it comes again."""
    with Older(rtt_us, early_retrans=0, **sysctls) as way:
        sock = way.warm()
        with departures() as seen:
            time.sleep(0.1)
            lost(sock, True)
            sock.send(bytes(MSS))
            lost(sock, False)
            sock.send(bytes(MSS))
            time.sleep(rtt_us / 1e6 + 0.0005)
            state = info(sock)["state"]
            time.sleep(0.6)
        equal([seq - seen[0][1] for _, seq in seen], [0, MSS, 0], f"segments {seen}")
        return state, (seen[2][0] - seen[1][0]) / 1e6


def case_one_duplicate() -> str:
    """RACK's timer sends the segment again; that of 4.4 to 4.9 waits for a recovery, so that a timeout does."""
    found = [one_duplicate(8000, loss_detection=detection) for detection in (0, 1, 2)]
    equal([state for state, _ in found], [DISORDER] * 3, "states")
    equal([ms < 40 for _, ms in found], [True, True, False], f"ms {found}")
    equal(200 <= found[2][1] <= 240, True, f"a timeout: {found[2][1]} ms")
    return ", ".join(f"{ms:.1f} ms" for _, ms in found)


def case_early_retransmit() -> str:
    """With two segments in flight 4.9 needs one SACK, and waits for a quarter of the round trip.

    That is 2 ms, so the timer is set for a tick and ends at the second one from the SACK.
    """
    found = [one_duplicate(8000, loss_detection=2, rfc5827=early) for early in (0, 1, 2)]
    equal([state for state, _ in found], [DISORDER, RECOVERY, DISORDER], f"states {found}")
    (_, timeout), (_, at_once), (_, waited) = found
    equal((200 <= timeout <= 240, round(at_once, 2), 12 < waited <= 16), (True, 8.0, True), f"ms {found}")
    return ", ".join(f"{ms:.1f} ms" for _, ms in found)


def late(way: Older, sock: socket.socket, ms: float) -> None:
    """Send a segment that takes `ms` longer than others, which may overtake it."""
    for more in (ms, 0):
        sh(f"tc -n a qdisc change dev eth0 root netem delay {way.rtt_us / 2000 + more:g}ms limit 100000")
        if more:
            sock.send(bytes(MSS))


def overtaken(**sysctls: object) -> int:
    """Send two segments that change places for 1 ms; return how many leave in all."""
    with Older(8000, early_retrans=0, loss_detection=2, **sysctls) as way:
        sock = way.warm()
        with departures() as seen:
            time.sleep(0.1)
            late(way, sock, 1)
            sock.send(bytes(MSS))
            time.sleep(0.1)
        return len(seen)


def case_early_retransmit_waits_for_what_is_late() -> str:
    """A segment that is overtaken is sent again at once, or comes while early retransmit waits."""
    equal([overtaken(rfc5827=early) for early in (0, 1, 2)], [2, 3, 2], "segments")
    return ""


def four_lost(is_reordered: bool, **sysctls: object) -> tuple[int, int]:
    """Lose four segments of five; return the state after a round trip, and how many are taken for lost."""
    with Older(8000, early_retrans=0, comp_sack_nr=0, **sysctls) as way:
        sock = way.warm()
        if is_reordered:
            # 0 comes after 4, when it was sent again; 5 is lost, so that the ACK of 0 to 4 ends no recovery
            late(way, sock, 2)
            for number in range(1, 8):
                lost(sock, number == 5)
                sock.send(bytes(MSS))
            time.sleep(1)
            # the loss took half of the window; it grows until five segments fit again
            way.receiver.recv(8 * MSS)
            sock.send(bytes(30 * MSS))
            time.sleep(0.15)
        lost(sock, True)
        for _ in range(4):
            sock.send(bytes(MSS))
        lost(sock, False)
        sock.send(bytes(MSS))
        time.sleep(0.0085)
        seen = info(sock)
        equal(seen["unacked"], 5, "segments in flight")
        return seen["state"], seen["lost"]


def case_forward_acknowledgments() -> str:
    """A SACK of the fifth segment takes two of the four below it for lost with FACK, and none by counting.

    Reordering turns FACK off.
    """
    found = [four_lost(False, loss_detection=2, fack=fack) for fack in (0, 1)]
    equal(found, [(DISORDER, 0), (RECOVERY, 2)], "state, lost")
    equal(four_lost(False, fack=1), four_lost(False, fack=0), "RACK alone does not ask for it")
    equal(four_lost(True, loss_detection=2, fack=1), (DISORDER, 0), "after reordering")
    return ""


def three_duplicates(**sysctls: object) -> tuple[int, float]:
    """Lose the first of four segments; return the state after a round trip, and ms until it comes again."""
    with Older(8000, early_retrans=0, **sysctls) as way:
        sock = way.warm()
        with departures() as seen:
            time.sleep(0.1)
            lost(sock, True)
            sock.send(bytes(MSS))
            lost(sock, False)
            for _ in range(3):
                sock.send(bytes(MSS))
            time.sleep(0.0085)
            state = info(sock)["state"]
            time.sleep(0.3)
        return state, (seen[4][0] - seen[3][0]) / 1e6


def case_three_duplicates() -> str:
    """Three duplicates are enough in every kernel: the segment comes again a round trip after they left."""
    found = [three_duplicates(loss_detection=detection) for detection in (0, 1, 2)]
    equal([(state, round(ms, 2)) for state, ms in found], [(RECOVERY, 8.0)] * 3, "state, ms")
    return ""


def recovery(**sysctls: object) -> int:
    """Lose segments 0 and 21 to 37 of a window of 40; return how many leave in the round trip of their SACKs."""
    rtt_us = 20_000
    # each segment out of order is acknowledged by itself
    with Older(rtt_us, early_retrans=0, comp_sack_nr=0, rmem="4096 4194304 16777216", **sysctls) as way:
        sh("ip -n a route replace 10.0.0.0/24 dev eth0 src 10.0.0.1 initcwnd 40")
        sock = way.warm()
        equal(info(sock)["cwnd"], 40, "window")
        with departures() as seen:
            time.sleep(0.1)
            for number in range(40):
                lost(sock, number == 0 or 21 <= number < 38)
                sock.send(bytes(MSS))
            lost(sock, False)
            time.sleep(3 * rtt_us / 1e6)
        since = [instant - seen[0][0] for instant, _ in seen]
        equal(len([ns for ns in since if ns < rtt_us * 500]), 40, "segments of the window")
        return len([ns for ns in since if rtt_us * 500 <= ns < rtt_us * 1500])


def case_recovery_by_delivery() -> str:
    """After further losses proportional rate reduction sends as much as was delivered; conservatively 1 an ACK.

    Recovery begins at the third SACK, with ssthresh 20, half of the window.  Only segment 0 is lost then and leaves.
    The SACK of segment 38, the 19th in recovery, tells that 17 more are lost, so that 2 are in flight.  What was
    delivered and not yet made up for is 19 - 1, so all 17 leave at once.  Conservatively 1 leaves now, and 1 at the
    SACK of segment 39.
    """
    found = [recovery(prr_conservative=conservative) for conservative in (0, 1)]
    equal(found, [18, 3], "segments in the round trip after the losses")
    return ""


def window(**sysctls: object) -> int:
    """Return the receive window at the end of a transfer whose receiver reads at once."""
    with Older(2000, rmem="4096 87380 6291456", wmem="4096 16384 16777216", **sysctls) as way:
        # Segments of a line come one by one. If a whole window came at one instant, all but its first segment would
        # wait unread whenever tcp_rcv_space_adjust() counts what was read, and the buffer would never grow.
        way.narrow("10gbit", 100_000)
        sock = way.connect("reno")
        Transfer(sock, way.receiver, 60_000_000).wait()
        return info(sock)["snd_wnd"]


def case_half_of_the_buffer() -> str:
    """Half of the largest buffer of 6 MiB is 3 MiB; the share of payload in segments of 1500 B is more."""
    half, share = window(half_rcvbuf=1), window()
    # the segment that arrives takes half of its memory, which is less than two segments' payload, from the window
    equal(3 * 2**20 - MSS < half <= 3 * 2**20, True, f"half {half}")
    equal(share > 3.3 * 2**20, True, f"share {share}")
    return f"{half} and {share} B"


def dctcp_loss(**sysctls: object) -> int:
    """Lose a segment after round trips without marks; return ssthresh of a window of ten."""
    with Older(2000, ecn=1, slow_start_after_idle=0, **sysctls) as way:
        # b too: a listener that does not need ECN refuses a SYN whose IP header has it (tcp_ecn_create_request())
        sh("ip -n b route replace 10.0.0.0/24 dev eth0 src 10.0.0.2 congctl dctcp")
        sock = way.warm("dctcp", 200)  # alpha sinks by a sixteenth each, from 1 to 0
        sock.send(bytes(MSS))
        time.sleep(0.05)
        cwnd = info(sock)["cwnd"]
        equal(cwnd, 10, "window: nothing comes near to filling it")
        lost(sock, True)
        sock.send(bytes(MSS))
        lost(sock, False)
        for _ in range(9):
            sock.send(bytes(MSS))
        time.sleep(0.1)
        return info(sock)["ssthresh"]


def case_dctcp_after_a_loss() -> str:
    """Without marks alpha is 0, so an older DCTCP reduces nothing; that of 6.12 halves."""
    found = [dctcp_loss(dctcp_loss_by_alpha=by_alpha) for by_alpha in (0, 1)]
    equal(found, [5, 10], "ssthresh")
    return ""


def bbr(**sysctls: object) -> tuple[float, int]:
    """Return the largest share of the bandwidth that BBR paces at while it cruises, and its largest window then."""
    with Older(20_000, **sysctls) as way:
        way.narrow()
        sock = way.connect("bbr")
        rows = []

        def look() -> None:
            low, high, _, gain, _ = struct.unpack("5I", sock.getsockopt(socket.IPPROTO_TCP, 26, 20))  # TCP_CC_INFO
            if gain == 256:  # BBR_UNIT
                seen = info(sock)
                rows.append((seen["pacing"] / (low + (high << 32)), seen["cwnd"]))

        course(sock, way.receiver, 5_000_000, dict.fromkeys(range(406, 700, 7), look))
        return max(share for share, _ in rows), max(cwnd for _, cwnd in rows)


def case_bbr_without_margin() -> str:
    """BBR paces at 99 % of the bandwidth with a window for aggregated ACKs, or at 100 % without."""
    (share, cwnd), (plain_share, plain_cwnd) = bbr(), bbr(bbr_plain=1)
    equal((round(share, 3), round(plain_share, 3)), (0.99, 1.0), "share of the bandwidth")
    return f"windows {cwnd} and {plain_cwnd}"


def slow_start(phase: int, **sysctls: object) -> int:
    """Start `phase` ns after a millisecond; return the window at which slow start ends, huge if it does not."""
    with Older(1000, wmem="4096 4194304 16777216", rmem="4096 4194304 16777216", **sysctls) as way:
        way.narrow("10gbit", 100_000)  # ACKs come one by one
        sock = way.connect("cubic")
        aligned(phase)
        Transfer(sock, way.receiver, 3_000_000).wait()
        return info(sock)["ssthresh"]


def case_hystart_in_milliseconds() -> str:
    """Half of a round trip of 1 ms is 0 ms, so a millisecond that ends among ACKs ends slow start; from 16 on.

    ACKs come 1 ms after their segments, up to one in 1.2 us.  Those of the first window begin 10 us before a
    millisecond ends, or 900 us before.  In microseconds their instant does not matter: ACKs must last for half of the
    round trip and of what 256 KiB take, 1 ms at most; that is more than 800 segments while windows grow.
    """
    (late, early), (late_ms, early_ms) = (
        [slow_start(phase, cubic_clock_ms=ms) for phase in (990_000, 100_000)] for ms in (0, 1)
    )
    equal(late, early, "windows by microseconds")
    equal(late > 800, True, f"window {late}")
    equal(16 <= late_ms <= 20, True, f"10 us before a millisecond: window {late_ms}")
    equal(early_ms > 40, True, f"900 us before a millisecond: window {early_ms}")
    return f"{late}, {late_ms}"


if __name__ == "__main__":
    main(dict(globals()))
