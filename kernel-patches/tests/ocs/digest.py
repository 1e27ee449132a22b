# SPDX-License-Identifier: Apache-2.0
"""One digest of 84 000 trace events, time stamps included: the same in every guest of one kernel.

Compare the printed line over boots, cores, memory sizes, users.  Ports are fixed and all instants absolute, so
nothing of it depends on when or how the guest came up.
"""

import hashlib
import os

from lab import Net, Trace, equal, main, until
from life import configure

START, STEP, BURSTS = 60_000_000_000, 500_000, 400


def send(net: Net, host: int) -> int:
    """Start a process that sends bursts to all others at absolute instants; return its number."""
    child = os.fork()
    if child:
        return child
    sock = net.udp(host, 1000 + host)
    for k in range(BURSTS):
        until(START + k * STEP + host * 1000)
        for to in range(net.n):
            for _ in range(20 if to != host else 0):
                sock.sendto(bytes(1158), (f"10.0.0.{to + 1}", 9))
    os._exit(0)


def case_digest() -> str:
    """Three senders, two links, four slots, pools, drops."""
    with Net(3) as net:
        configure(net)
        net.ocs.start(START)
        sinks = [net.udp(i, 9) for i in range(net.n)]
        children = [send(net, i) for i in range(net.n)]
        until(START - 1_000_000_000)
        with Trace() as rows:
            equal([os.waitpid(child, 0)[1] for child in children], [0] * 3, "senders' ends")
        # what comes after depends on when this process asks for it
        rows = [tuple({**r, "t": r["t"] - START}.values()) for r in rows if 0 <= r["t"] - START < (BURSTS - 40) * STEP]
        for sink in sinks:
            sink.close()
        return f"{len(rows)} events, {hashlib.sha256(repr(rows).encode()).hexdigest()}"


if __name__ == "__main__":
    main(globals())
