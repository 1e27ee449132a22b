# SPDX-License-Identifier: Apache-2.0
"""Nobody else sees the ECE of a circuit: the same course to the segment, with it and without."""

import threading
import time

from lab import equal, main, sh
from losses import MS, at
from path import Way, info, name


def course(cc: str, circuits: bool) -> list:
    """Return windows, thresholds and retransmissions of a transfer every 7 ms; `circuits`: with 49 ms of ECE in 98."""
    with Way() as way:
        sh("tc -n a qdisc change dev eth0 root netem delay 10ms rate 50mbit limit 60")
        sock, seen = way.connect(cc), []
        reader = threading.Thread(target=lambda: [None for _ in iter(lambda: way.receiver.recv(1 << 20), b"")])
        reader.start()
        writer = threading.Thread(target=lambda: (sock.sendall(bytes(5_000_000)), sock.shutdown(1)))
        start = time.monotonic()
        writer.start()
        for n in range(1, 100):
            at(start + 7 * MS * n)
            if n % 7 == 0 and circuits:
                way.ece(n % 14 == 7)
            seen.append((name(sock), *info(sock).values()))
        writer.join()
        reader.join()
        return seen


def check(cc: str, same: bool) -> str:
    """Compare the two courses."""
    without, with_ = course(cc, circuits=False), course(cc, circuits=True)
    if same:
        equal(with_, without, cc)
    elif with_ == without:
        raise AssertionError(f"{cc} sees no ECE")
    return f"{without[-1][-1]} segments sent again"


def case_reno() -> str:
    """Reno."""
    return check("reno", same=True)


def case_cubic() -> str:
    """CUBIC."""
    return check("cubic", same=True)


def case_westwood() -> str:
    """Westwood, which has an eye on every ACK."""
    return check("westwood", same=True)


def case_dctcp_without_ecn() -> str:
    """DCTCP where ECN was not negotiated."""
    return check("dctcp", same=True)


def case_retcp_does() -> str:
    """And reTCP does see it, lest the comparison show nothing."""
    return check("retcp", same=False)


if __name__ == "__main__":
    main(globals())
