# SPDX-License-Identifier: Apache-2.0
"""Nobody else sees the ECE of a circuit: the same course, segment for segment, with it and without."""

import functools

from lab import equal, main
from path import Way, course


def of(cc: str, circuits: bool) -> list:
    """Return the course of a transfer; `circuits`: with ECE for 98 ms, without for 98 ms, and so on."""
    with Way() as way:
        way.narrow()
        sock = way.connect(cc)
        switch = {7 * n: functools.partial(way.ece, n % 28 == 14) for n in range(14, 140, 14)} if circuits else {}
        return course(sock, way.receiver, 5_000_000, switch)


def check(cc: str, same: bool) -> str:
    """Compare the two courses."""
    without, with_ = of(cc, circuits=False), of(cc, circuits=True)
    if same:
        equal(with_, without, cc)
    elif with_ == without:
        raise AssertionError(f"{cc} sees no ECE")
    return f"{without[-1]['retrans']} segments sent again"


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
