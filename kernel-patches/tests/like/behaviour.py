# SPDX-License-Identifier: Apache-2.0
"""What older kernels do with losses and buffers, and in DCTCP, BBR and CUBIC; each setting against its default."""

import socket
import struct
import time

from lab import Transfer, counter, equal, main
from older import Older, departures, info, lost
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


def recovery(**sysctls: object) -> list:
    """Return the course of a transfer through a short queue, which loses many segments."""
    with Older(20_000, **sysctls) as way:
        way.narrow()
        sock = way.connect("reno")
        return course(sock, way.receiver, 5_000_000, {})


def case_recovery_by_delivery() -> str:
    """Proportional rate reduction sends less after further losses: another course, with no larger a window in it."""
    usual, conservative, again = recovery(), recovery(prr_conservative=1), recovery()
    equal(again, usual, "the same course twice")
    equal(conservative != usual, True, "another course")
    ends = [max(row["retrans"] for row in rows) for rows in (usual, conservative)]
    return f"{ends} segments sent again"


def window(**sysctls: object) -> int:
    """Return the receive window at the end of a transfer whose receiver reads at once."""
    with Older(2000, rmem="4096 87380 6291456", wmem="4096 16384 16777216", **sysctls) as way:
        sock = way.connect("reno")
        Transfer(sock, way.receiver, 60_000_000).wait()
        return info(sock)["snd_wnd"]


def case_half_of_the_buffer() -> str:
    """Half of the largest buffer of 6 MiB is 3 MiB; the share of payload in segments of 1500 B is more."""
    half, share = window(half_rcvbuf=1), window()
    # what is not read yet, and rounding to the window scale, are missing
    equal(0.95 * 3 * 2**20 <= half <= 3 * 2**20, True, f"half {half}")
    equal(share > 3.3 * 2**20, True, f"share {share}")
    return f"{half} and {share} B"


def dctcp_loss(**sysctls: object) -> int:
    """Lose a segment after round trips without marks; return ssthresh of a window of ten."""
    # both ends: a listener that does not need ECN refuses a SYN whose IP header has it (tcp_ecn_create_request())
    with Older(2000, ecn=1, congestion_control="dctcp", slow_start_after_idle=0, **sysctls) as way:
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


def slow_start(**sysctls: object) -> int:
    """Return the window at which slow start ends, huge if it does not within the transfer."""
    with Older(800, wmem="4096 4194304 16777216", rmem="4096 4194304 16777216", **sysctls) as way:
        sock = way.connect("cubic")
        Transfer(sock, way.receiver, 3_000_000).wait()
        return info(sock)["ssthresh"]


def case_hystart_in_milliseconds() -> str:
    """With a round trip of 0.8 ms the first millisecond that ends ends slow start, from a window of 16 on."""
    now, older = slow_start(), slow_start(cubic_clock_ms=1)
    equal(16 <= older <= 64 < now, True, f"windows {older} and {now}")
    return f"{older}"


if __name__ == "__main__":
    main(dict(globals()))
