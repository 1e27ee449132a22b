# SPDX-License-Identifier: Apache-2.0
"""A P4 program on a bench: frames in, frames out, each with its instant. Runs in the guest.

    port 1 === p1 |               |
    port 2 === p2 | simple_switch |
    ...           |               |

``bench.py REQUEST ANSWER``. The request: ``program``, ``bmv2``, ``ports``, ``commands`` (lines of the control
in which ``{epoch}`` is the epoch in us of the switch's clock) and ``frames``: [ns after the epoch, port, hex]. The
answer: ``frames``, as above, and ``answers`` of the commands.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, "/run/rdcnlab")

from bmv2_process import SimpleSwitch
from clock import sleep_until

#: From the last command to the epoch, and from the last frame to the end, ns.
LEAD, REST = 100_000_000, 10_000_000
ALL, OUTGOING = 3, 4


def main(request: str, answer: str) -> None:
    """Carry out a request."""
    asked = json.loads(Path(request).read_text())
    taps = {}
    for port in asked["ports"]:
        lines = [
            f"ip link add t{port} mtu 9000 type veth peer name p{port} mtu 9000",
            f"ethtool -K p{port} tx off rx off",
            f"ip link set t{port} up",
            f"ip link set p{port} up",
        ]
        subprocess.run(" && ".join(["ip link set lo up", *lines]), shell=True, check=True, stdout=subprocess.DEVNULL)
        taps[port] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
        taps[port].setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
        taps[port].setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE
        taps[port].bind((f"t{port}", ALL))
        taps[port].setblocking(False)
    switch = SimpleSwitch(asked["bmv2"], asked["program"], [(f"p{port}", port) for port in asked["ports"]])
    began = switch.began()
    epoch_us = (time.monotonic_ns() + LEAD - began) // 1000
    epoch = began + epoch_us * 1000
    answers = [switch.control.tell(line.replace("{epoch}", str(epoch_us))) for line in asked["commands"]]
    assert time.monotonic_ns() < epoch, "the commands took longer than the lead"
    for instant, port, frame in sorted(asked["frames"]):
        sleep_until(epoch + instant)
        taps[port].send(bytes.fromhex(frame))
    sleep_until(time.monotonic_ns() + REST)
    apart = time.time_ns() - time.monotonic_ns()
    seen = []
    for port, tap in taps.items():
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, ancillary, _, address = tap.recvmsg(16384, 128)
                if address[2] == OUTGOING:  # what the bench itself has sent
                    continue
                seconds, nanoseconds = (int.from_bytes(ancillary[0][2][at : at + 8], "little") for at in (0, 8))
                seen.append([seconds * 10**9 + nanoseconds - apart - epoch, port, frame.hex()])
    more = [switch.control.tell(line) for line in asked.get("afterwards", [])]
    switch.check()
    Path(answer).write_text(json.dumps({"frames": sorted(seen), "answers": answers, "afterwards": more}))


if __name__ == "__main__":
    main(*sys.argv[1:])
