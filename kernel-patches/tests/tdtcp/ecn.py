# SPDX-License-Identifier: Apache-2.0
"""Marks of congestion: what a receiver owes its peer does not depend on the network that is active.

DCTCP's receiver says ECE for exactly the bytes that came with CE: when the mark changes it first acknowledges what came
before (RFC 8257, Sec. 3.2).  The state for this is about the stream; only the sender's alpha is about a network.
"""

import os
import time

from lab import Transfer, equal, main
from rack import CIRCUIT, PACKET, US, Capture, Rack, info

ECE = 0x40


def wrong_bytes(rows: list[dict]) -> tuple[int, int, int]:
    """Return bytes that came with CE, bytes that came without, and bytes whose ACK says the other thing."""
    marks: dict[int, tuple[int, bool]] = {}
    counts, wrong, acked = [0, 0], 0, None
    for row in rows:
        if row["src"] == 1 and row["data"]:
            marks[row["seq"]] = (row["data"], row["ce"])
            acked = row["seq"] if acked is None else acked
        elif row["src"] == 2 and acked is not None:
            while acked < row["ack"] and acked in marks:
                size, ce = marks.pop(acked)
                counts[ce] += size
                wrong += size * (ce != bool(row["flags"] & ECE))
                acked += size
    return counts[1], counts[0], wrong


def answered(changes: int) -> str:
    """Transfer with marks while the receiver changes its network so often, the sender never; return what was seen."""
    with Rack(voq=256, tcp_ecn=1) as rack:
        with rack.net.ocs as ocs:
            ocs.class_set(0, voq={"ecn": 30_000})
        client, server = rack.connect(cc="dctcp")
        with Capture("p1") as rows:
            transfer = Transfer(client, server, 30_000_000)
            for change in range(changes):
                time.sleep(10 * US / 1e9)
                os.pwrite(rack.there, b"%d\n" % (PACKET if change % 2 else CIRCUIT), 0)
            transfer.wait()
        marked, clear, wrong = wrong_bytes(rows)
        equal(min(marked, clear) > 1_000_000, True, f"{marked} B marked, {clear} B not")
        equal(wrong, 0, f"bytes answered wrongly, of {marked} marked and {clear} not")
        return f"{marked} B marked, {clear} B not"


def case_dctcp_answers_exactly() -> str:
    """Each ACK tells the mark of its bytes, on one network."""
    return answered(0)


def case_dctcp_answers_exactly_over_changes() -> str:
    """And if the receiver changes its network at every other segment or so, and so at each end of a run of marks."""
    return answered(2500)


def case_alpha_is_each_networks_own() -> str:
    """Marks on the packet network do not shrink the circuit's window."""
    with Rack(voq=256, tcp_ecn=1) as rack:
        client, server = rack.connect(cc="dctcp")
        rack.always(CIRCUIT)
        Transfer(client, server, 20_000_000).wait()
        time.sleep(0.01)
        before = info(client)["path"][CIRCUIT]
        rack.always(PACKET)
        with rack.net.ocs as ocs:
            ocs.class_set(0, voq={"ecn": 30_000})
        with Capture("p1") as rows:
            Transfer(client, server, 20_000_000).wait()
        time.sleep(0.01)
        equal(wrong_bytes(rows)[0] > 100_000, True, "bytes marked on the packet network")
        after = info(client)["path"]
        equal(after[CIRCUIT], before, "the circuit's state")
        equal(after[PACKET]["cwnd"] < before["cwnd"], True, "a window that marks have held down")
        return f"windows {after[PACKET]['cwnd']} and {before['cwnd']}"


if __name__ == "__main__":
    main(globals())
