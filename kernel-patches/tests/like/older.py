# SPDX-License-Identifier: Apache-2.0
"""What the tests of older kernels' behaviour share: a path with a delay, sysctls, and when segments leave.

The path is that of reTCP's tests: two namespaces, a and b, and netem with a delay each way.  The guest's HZ is 250.
Segments leave at an instant within a tick of 4 ms that the test chooses, and timers end at ticks, so that intervals
tell how many ticks a timer was set for.  A timer of n ticks ends at the (n + 1)th tick from now, since it may not end
early (calc_index() in kernel/time/timer.c, Linux 4.8 and later).
"""

import contextlib
import ctypes
import socket
import struct
import threading
import time
from collections.abc import Iterator

from lab import inside, sh
from path import MSS, Way

TICK = 4_000_000  # ns, of HZ 250
LOST = 0x20  # the TOS of segments that b never sees


class Older(Way):
    """The path, with sysctls ``net.ipv4.tcp_*`` at both ends; b drops segments whose TOS is `LOST` on arrival."""

    def __init__(self, rtt_us: int = 800, **sysctls: object) -> None:
        self.rtt_us = rtt_us
        set_them = [
            f"ip netns exec NS sysctl -qw 'net.ipv4.tcp_{name}={value}'"
            for name, value in {"early_retrans": 3, **sysctls}.items()
        ]
        super().__init__(*set_them, delay_s=rtt_us / 2e6)
        sh(f"tc -n b filter add dev eth0 ingress pref 5 protocol ip flower ip_proto tcp ip_tos {LOST}/0xfc action drop")

    def warm(self, cc: str = "reno", times: int = 20) -> socket.socket:
        """Return a connection whose round-trip time is known, all acknowledged."""
        sock = self.connect(cc)
        for _ in range(times):
            sock.send(bytes(MSS))
            time.sleep(0.05)
            self.receiver.recv(MSS)  # a window that fills up would be another reason to wait
        return sock

    def setting(self, name: str) -> int:
        """Return net.ipv4.tcp_NAME of a."""
        return int(sh(f"ip netns exec a sysctl -n net.ipv4.tcp_{name}"))

    def accepts(self, name: str, value: int) -> bool:
        """Set net.ipv4.tcp_NAME of a; return whether the kernel takes the value."""
        sh(f"ip netns exec a sysctl -qw net.ipv4.tcp_{name}={value} 2>&1 || true")
        return self.setting(name) == value


def lost(sock: socket.socket, is_lost: bool) -> None:
    """Let what the socket sends from now on be lost, or arrive."""
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, LOST if is_lost else 0)


def info(sock: socket.socket) -> dict:
    """Return what the kernel says of a connection; `struct tcp_info` of Linux 6.12."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 240)
    words = struct.unpack_from("24I", raw, 8)
    return {
        "state": raw[1],
        "unacked": words[4],
        "lost": words[6],
        "srtt_us": words[15],
        "ssthresh": words[17],
        "cwnd": words[18],
        "pacing": struct.unpack_from("Q", raw, 104)[0],
        "snd_wnd": struct.unpack_from("I", raw, 228)[0],
    }


@contextlib.contextmanager
def departures() -> Iterator[list[tuple[int, int]]]:
    """Record (instant [ns], sequence number) of data segments that leave a, half a round trip after TCP sent them."""
    seen: list[tuple[int, int]] = []
    with inside("a"):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
    tap.bind(("eth0", 0x0003))
    tap.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    tap.settimeout(0.5)
    over = threading.Event()

    def record() -> None:
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                frame, control, _, address = tap.recvmsg(20_000, 64)
                length = struct.unpack_from("!H", frame, 16)[0] - 20 - (frame[46] >> 4) * 4
                if address[2] != socket.PACKET_OUTGOING or frame[23] != socket.IPPROTO_TCP or length <= 0:
                    continue
                s, ns = struct.unpack("qq", control[0][2])
                seen.append((s * 10**9 + ns, struct.unpack_from("!I", frame, 38)[0]))

    thread = threading.Thread(target=record)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
        tap.close()


def aligned(phase: int) -> None:
    """Sleep until `phase` ns after a multiple of a tick on the monotonic clock, at which the kernel's timers end."""
    ctypes.CDLL(None).prctl(29, 1)  # PR_SET_TIMERSLACK: otherwise sleeps end 50 us late
    now = time.monotonic_ns()
    to = (now // TICK + 10) * TICK + phase
    while (left := to - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)
