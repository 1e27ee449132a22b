# SPDX-License-Identifier: Apache-2.0
"""Each network has its own time at which the next paced segment may leave.

A segment of 9000 B at 100 Mb/s holds back the next one for about 600 us. On the circuit of 100 Gb/s it would have
taken 1 us. So after a change to the circuit a segment leaves at once, whatever the packet network would still have
waited for.
"""

import itertools
import time

from lab import Trace, Transfer, equal, main, until
from ocs import slot
from rack import CIRCUIT, MS, PACKET, US, Rack

#: The packet network here, so slow that one segment is paced for longer than a circuit's day of 180 us.
SLOW = 10**8
CHANGES = 10
#: From a notification to the first segment: nothing but the clock that a process reads stands between them.
AT_ONCE = 2 * US


def waits(cc: str, **sysctls: int) -> list[int]:
    """Return how long [ns] the first segment of each circuit's day waits after the notification."""
    with Rack(tcp_tdtcp_push=1, voq=64, **sysctls) as rack:
        with rack.net.ocs as ocs:
            ocs.link_set(PACKET, rate=SLOW)
        client, server = rack.connect(cc=cc)
        rack.always(CIRCUIT)
        Transfer(client, server, 20_000_000).wait()
        rack.always(PACKET)
        transfer = Transfer(client, server, 60_000_000)
        time.sleep(0.1)
        begins = []
        with Trace("ocs_enqueue") as rows:
            for change in range(CHANGES):
                # at another part of the segment's 720 us each time
                until((time.monotonic_ns() // MS + 20) * MS + change * 72 * US)
                with rack.net.ocs as ocs:
                    ocs.class_set(0, [slot(0, CIRCUIT)], hold=True, voq={"limit_packets": rack.voq})
                begins.append(time.monotonic_ns())
                rack.tell(CIRCUIT)
                until(begins[-1] + 180 * US)
                rack.always(PACKET)
        rack.always(CIRCUIT)
        transfer.wait()
        data = [row["t"] for row in rows if row["cls"] == 0 and row["len"] > 1000]
        return [min(t for t in data if t >= begin) - begin for begin in begins]


def case_paced_cubic_does_not_wait_for_the_other_network() -> str:
    """With tcp_tdtcp_pace the stamp of the packet network does not hold the circuit back."""
    seen = waits("cubic", tcp_tdtcp_pace=1)
    equal([t for t in seen if t > AT_ONCE], [], f"waits of more than {AT_ONCE} ns, of {seen}")
    return f"at most {max(seen)} ns"


def case_bbr_does_not_wait_for_the_other_network() -> str:
    """BBR paces by itself."""
    seen = waits("bbr")
    equal([t for t in seen if t > AT_ONCE], [], f"waits of more than {AT_ONCE} ns, of {seen}")
    return f"at most {max(seen)} ns"


def case_the_slow_network_is_still_paced() -> str:
    """The circuit's stamp, which has long passed, lets no burst into the packet network."""
    with Rack(tcp_tdtcp_push=1, tcp_tdtcp_pace=1, voq=64) as rack:
        with rack.net.ocs as ocs:
            ocs.link_set(PACKET, rate=SLOW)
        client, server = rack.connect()
        transfer = Transfer(client, server, 5_000_000)
        time.sleep(0.1)
        with Trace("ocs_enqueue") as rows:
            rack.always(CIRCUIT)
            until(time.monotonic_ns() + 20 * US)
            begin = time.monotonic_ns()
            rack.always(PACKET)
            until(begin + 10 * MS)
            end = time.monotonic_ns()
        rack.always(CIRCUIT)
        transfer.wait()
        times = sorted(row["t"] for row in rows if row["cls"] == 0 and row["len"] > 1000 and begin < row["t"] < end)
        gaps = [b - a for a, b in itertools.pairwise(times)]
        equal(len(gaps) > 5, True, f"{len(gaps)} gaps")
        # In slow start the pace is twice what the window gives, and a segment that left late is credited with half its
        # time. A burst has gaps of 1 us.
        equal([gap for gap in gaps if gap < 100 * US], [], f"gaps below 100 us, of {gaps}")
        return f"{min(gaps)} ns at least between segments"


if __name__ == "__main__":
    main(globals())
