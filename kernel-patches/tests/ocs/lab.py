# SPDX-License-Identifier: Apache-2.0
"""What the tests of the switch share: hosts, a trace in ns, a runner.

      ns h0            root namespace            ns h1
    +---------+     +------------------+     +---------+
    | eth0    |-----| p0    ocs0    p1 |-----|    eth0 |    h<i>: 10.0.0.<i + 1>,
    +---------+     |        ...       |     +---------+          02:00:00:00:00:<i + 1>
                    +------------------+

Everything runs in a guest whose clock stands still while something computes, so the tests compare
nanoseconds for equality, not within a tolerance.  Standard library only.
"""

import contextlib
import hashlib
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from ocs import DARK, Ocs, slot

TRACE = Path("/sys/kernel/tracing")
FIELDS = {
    "ocs_enqueue": ("IHHIIHH", "dev link cls len qlen sport dport"),
    "ocs_dequeue": ("IHHIIHH", "dev link cls len qlen sport dport"),
    "ocs_mark": ("IHHIIHH", "dev link cls len qlen sport dport"),
    "ocs_drop": ("IHHIIHHB", "dev link cls len qlen sport dport reason"),
    "ocs_slot": ("IHHHB", "dev cls slot target tdn"),
    "ocs_notify": ("IHBB4s", "dev port tdn prefix_len prefix"),
}
TIMER = "hrtimer_expire_entry"  # a timer of the kernel fires; in a trace only if it is asked for
HEADERS = 14 + 20 + 8  # Ethernet, IPv4, UDP


def sh(*lines: str) -> str:
    """Run shell lines; raise with their output when one fails."""
    done = subprocess.run(["sh", "-ec", "\n".join(lines)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{lines}: {done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def inside(name: str):
    """Be in a network namespace; sockets made here stay there."""
    setns = __import__("ctypes").CDLL(None, use_errno=True).setns
    with Path("/proc/self/ns/net").open() as home, Path(f"/run/netns/{name}").open() as there:
        setns(there.fileno(), 0)
        try:
            yield
        finally:
            setns(home.fileno(), 0)


def patiently(what: str, holds: Callable[[], bool]) -> None:
    """Wait for a condition, 5 s of virtual time at most."""
    for _ in range(500):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError(f"not within 5 s: {what}")


class Net:
    """A switch with `n` hosts, addresses known to all, offloads off; gone at the end of the block."""

    def __init__(self, n: int, mtu: int = 1500, offload: bool = False) -> None:
        self.n = n
        lines = ["ip link add ocs0 type ocs"]
        for i in range(n):
            mac = f"02:00:00:00:00:{i + 1:02x}"
            lines += [
                f"ip netns add h{i}",
                f"ip link add p{i} mtu {mtu} type veth peer name eth0 netns h{i} mtu {mtu} address {mac}",
                f"ip -n h{i} addr add 10.0.0.{i + 1}/24 dev eth0",
                f"ip netns exec h{i} sysctl -qw net.ipv6.conf.all.disable_ipv6=1",
                f"sysctl -qw net.ipv6.conf.p{i}.disable_ipv6=1",
                f"ip -n h{i} link set eth0 up",
                f"ip link set p{i} master ocs0 up",
            ]
            if not offload:
                lines += [f"ip netns exec h{i} ethtool -K eth0 tso off gso off gro off tx off rx off sg off"]
                lines += [f"ethtool -K p{i} tso off gso off gro off tx off rx off sg off"]
            for j in range(n):
                if i != j:
                    lines += [f"ip -n h{i} neigh add 10.0.0.{j + 1} dev eth0 lladdr 02:00:00:00:00:{j + 1:02x}"]
        lines += ["sysctl -qw net.ipv6.conf.ocs0.disable_ipv6=1", "ip link set ocs0 up"]
        sh(*lines)
        # the kernel gives a link its queue some time after it is up; until then it drops what is sent
        for i in range(n):
            patiently(f"eth0 of h{i} is up", lambda i=i: "state UP" in sh(f"ip -n h{i} -o link show eth0"))
        self.ocs = Ocs("ocs0")
        with self.ocs:
            for i in range(n):
                self.ocs.fdb_set(f"02:00:00:00:00:{i + 1:02x}", f"p{i}")

    def __enter__(self) -> "Net":
        return self

    def __exit__(self, *_: object) -> None:
        self.ocs.close()
        gone = ["ocs0"] + [f"p{i}" for i in range(self.n)]
        sh(*[f"ip link del {d} || true" for d in gone], *[f"ip netns del h{i} || true" for i in range(self.n)])

    def udp(self, host: int, port: int = 0, tos: int = 0) -> socket.socket:
        """Make a UDP socket in a host."""
        with inside(f"h{host}"):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_IP, socket.IP_TOS, tos)
        sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)  # SO_SNDBUFFORCE
        sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
        sock.bind(("0.0.0.0", port))
        sock.settimeout(1)
        return sock


def line(name: str = "line0", qdisc: str = "", mtu: int = 1500) -> str:
    """Make a line device, with a discipline; return its name."""
    chosen = [f"tc qdisc replace dev {name} root {qdisc}"] if qdisc else []
    sh(f"ip link del {name} 2> /dev/null || true", f"ip link add {name} mtu {mtu} type ocs_line", *chosen)
    return name


def gone(*names: str) -> None:
    """Delete line devices."""
    sh(*[f"ip link del {name}" for name in names or ["line0"]])


def burst(sock: socket.socket, host: int, frames: int, length: int, port: int = 9) -> None:
    """Send frames of `length` bytes (Ethernet header included) to a host, as fast as they go."""
    data, to = bytes(length - HEADERS), (f"10.0.0.{host + 1}", port)
    for _ in range(frames):
        sock.sendto(data, to)


def until(instant: int) -> None:
    """Sleep until an instant [ns of CLOCK_MONOTONIC]."""
    while (left := instant - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)


def punctual() -> None:
    """Let this process sleep to the nanosecond, from an instant on that nothing has read the clock at.

    Otherwise a sleep ends up to 50 us late, with any other timer, and a process that has read the clock 1000 times
    while it stood still, such as one that has imported much, moves it.
    """
    __import__("ctypes").CDLL(None).prctl(29, 1)  # PR_SET_TIMERSLACK
    until((time.monotonic_ns() // 10**8 + 2) * 10**8)


def hold(net: Net, target: int, **options: object) -> int:
    """Make class 0, what comes from h0, wait, and return the instant [ns] at which `target` serves it.

    A process that reads the clock moves it, and then timers may come up to 256 ns late: to see exact
    instants, send first, sleep, and let the timetable begin.
    """
    epoch = time.monotonic_ns()
    net.ocs.class_set(0, [slot(100_000_000, DARK), slot(100_000_000_000, target)], hold=True, **options)
    net.ocs.rule_add(0, in_if="p0")
    net.ocs.start(epoch)
    return epoch + 100_000_000


def counter(name: str, group: str, which: str) -> int:
    """Return a counter of /proc/net/snmp or netstat in a namespace, such as ``TcpExt``, ``TCPTimeouts``."""
    with inside(name):
        text = "".join(Path(f"/proc/thread-self/net/{file}").read_text() for file in ("snmp", "netstat"))
    names, values = (line.split() for line in text.splitlines() if line.startswith(f"{group}:"))
    return int(dict(zip(names, values, strict=True))[which])


def payload(size: int, key: bytes = b"") -> Iterator[bytes]:
    """Yield `size` bytes in blocks, no two alike; another `key` gives others."""
    for at in range(0, size, 1 << 16):
        yield hashlib.shake_128(key + at.to_bytes(8, "big")).digest(min(1 << 16, size - at))


class Transfer:
    """`size` bytes, no two blocks alike, from one end of a connection to the other, in a thread for each end."""

    def __init__(self, sender: socket.socket, receiver: socket.socket, size: int) -> None:
        self.ends, self.size = (sender, receiver), size
        self.sent, self.received, self.took_s = hashlib.sha256(), hashlib.sha256(), 0.0
        self.begun = time.monotonic()
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self._send, self._receive)]
        for thread in self.threads:
            thread.start()

    def _send(self) -> None:
        for block in payload(self.size):
            self.sent.update(block)
            self.ends[0].sendall(block)

    def _receive(self) -> None:
        left = self.size
        while left and (block := self.ends[1].recv(min(left, 1 << 20))):
            self.received.update(block)
            left -= len(block)
        self.took_s = time.monotonic() - self.begun

    def wait(self, limit_s: float = 60) -> float:
        """Return the seconds it took; raise unless it ends within `limit_s` and what came is what was sent."""
        for thread in self.threads:
            thread.join(limit_s)
        if not self.took_s:
            raise AssertionError(f"the transfer does not end within {limit_s} s")
        if self.sent.digest() != self.received.digest():
            raise AssertionError("what came is not what was sent")
        return self.took_s


class Trace:
    """The switch's trace events within a block, as dictionaries with `t` [ns] and `event`.

    The block ends a virtual second after its last statement, so that queues have drained.
    """

    def __init__(self, *events: str) -> None:
        group = {TIMER: "timer"}
        self.events = {name: TRACE / "events" / group.get(name, "ocs") / name for name in events or FIELDS}
        self.rows: list[dict] = []

    def __enter__(self) -> list[dict]:
        self.kinds = {}
        (TRACE / "trace_clock").write_text("mono")
        (TRACE / "buffer_size_kb").write_text("32768")
        (TRACE / "trace").write_text("")
        for event, place in self.events.items():
            form = (place / "format").read_text()
            self.kinds[int(form.split("ID:")[1].split()[0])] = event
            (place / "enable").write_text("1")
        return self.rows

    def __exit__(self, *_: object) -> None:
        time.sleep(1)
        for place in self.events.values():
            (place / "enable").write_text("0")
        fd = os.open(TRACE / "per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            while page := os.read(fd, 4096):
                self.rows += self._page(page)
        os.close(fd)

    def _page(self, page: bytes):
        """Yield the events of a ring buffer page: a time stamp, the length used, records."""
        now, used = struct.unpack_from("QQ", page)
        at, end = 16, 16 + (used & 0xFFFFF)
        while at < end:
            (head,) = struct.unpack_from("I", page, at)
            kind, delta = head & 31, head >> 5
            if kind == 30:  # the delta did not fit in 27 bits
                now += (struct.unpack_from("I", page, at + 4)[0] << 27) + delta
                at += 8
                continue
            if kind == 31:
                now = (now & ~((1 << 59) - 1)) | (struct.unpack_from("I", page, at + 4)[0] << 27) + delta
                at += 8
                continue
            now += delta
            size, body = kind * 4, at + 4
            if kind in (0, 29):
                size, body = struct.unpack_from("I", page, at + 4)[0] - 4, at + 8
                if kind == 29 and not delta:
                    return
            event = self.kinds.get(struct.unpack_from("H", page, body)[0]) if kind != 29 else None
            if event:
                code, names = ("QQQ", "timer now function") if event == TIMER else FIELDS[event]
                yield {
                    "t": now,
                    "event": event,
                    **dict(zip(names.split(), struct.unpack_from(code, page, body + 8), strict=True)),
                }
            at = body + size


def equal(got: object, expected: object, what: str) -> None:
    """Fail unless two things are the same."""
    if got == expected:
        return
    if isinstance(got, list) and isinstance(expected, list):
        n = next(
            (i for i, pair in enumerate(zip(got, expected, strict=False)) if pair[0] != pair[1]),
            min(len(got), len(expected)),
        )
        what += f" ({len(got)} of {len(expected)}), from number {n}"
        got, expected = got[n : n + 5], expected[n : n + 5]
    raise AssertionError(f"{what}: {got!r}, expected {expected!r}")


def main(cases: dict) -> None:
    """Run the functions named ``case_*`` (or those named on the command line); print a line for each."""
    chosen = sys.argv[1:] or [name for name in cases if name.startswith("case_")]
    failed = 0
    for name in chosen:
        try:
            note = cases[name]()
            print(f"ok {name}{': ' + str(note) if note else ''}", flush=True)
        except Exception:  # noqa: BLE001  (a case may fail in any way, the next one runs)
            failed += 1
            print(f"not ok {name}\n{traceback.format_exc()}", flush=True)
    sys.exit(failed > 0)
