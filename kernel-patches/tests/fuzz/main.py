# SPDX-License-Identifier: Apache-2.0
"""Random requests to the switch, random links and random socket options, in a guest of its own.

PID 1 starts this as ``main.py DIRECTORY``; ``case.json`` there has the seed and the number of requests.  The kernel may
refuse whatever it likes.  It must not complain, lose memory, or end; and afterwards a new switch passes frames.
"""

import contextlib
import ctypes
import json
import os
import random
import socket
import struct
import sys
import time
from pathlib import Path

import books
from alone import alone
from lab import Net, burst, inside, sh
from ocs import BYPASS, slot
from ocs_netlink import SPEC, attr

#: Numbers that are at the edge of something: of a type, of a frame, of time, of a table.
EDGES = (0, 1, 2, 3, 7, 8, 15, 16, 63, 64, 99, 100, 127, 128, 255, 256, 999, 1000, 1023, 1024, 1500, 9000)
EDGES += (16_383, 16_384, 32_767, 32_768)
EDGES += tuple(
    2**bits + by for bits in (15, 16, 20, 31, 32, 40, 62, 63, 64) for by in (-1, 0, 1) if 2**bits + by < 2**64
)
#: Commands of the family ``ocs``, and some that it does not have.
COMMANDS = range(20)
#: Options of TCP: two of time-division TCP, the congestion control, and some that meet them in the kernel.
TDTCP, TDTCP_CONGESTION, CONGESTION = 120, 121, 13
OPTIONS = (TDTCP, TDTCP, TDTCP_CONGESTION, TDTCP_CONGESTION, CONGESTION, 1, 2, 3, 10, 12, 18, 25, 37)
CONTROLS = (b"cubic", b"reno", b"dctcp", b"nuftcp", b"bbr", b"retcp", b"westwood", b"none", b"", b"x" * 20, b"\xff\xfe")
SYSCTLS = ("tcp_tdtcp", "tcp_tdtcp_pace", "tcp_nuftcp_factor", "tcp_nuftcp_weight", "tcp_nuftcp_quiet",
           "tcp_nuftcp_readings", "tcp_version_hold_us", "tcp_version_hold_sack")  # fmt: skip
#: What a request may say; replies have counters, too.
ASKED = {
    "link": "id rate overhead delay queue port steps seed faults dev flood",
    "queue": "limit_bytes limit_packets ecn red_min red_max red_prob pool mark_min mark_max mark_prob",
    "pool": "id bytes",
    "port": "ifindex link number ingress flood notify hops_max",
    "class": "id dark phase voq slots echo versions",
    "notify": "class dst mac src delay inband prefix prefix_len",
    "echo": "class tdn in_advance",
    "card": "ifindex rate overhead buffer",
    "faults": "loss good_bad bad_good loss_good loss_bad corrupt duplicate jitter reorder",
}
#: What a request hardly goes without.
NEEDED = ("id", "ifindex", "mac", "duration", "target", "slots", "class")
#: Numbers that such fields mostly have.
USUAL = (0, 1, 2, 3, 10, 100, 1000, 10_000, 10**6, 10**9)
_LIBC = ctypes.CDLL(None, use_errno=True)


class Fuzzer:
    """What is drawn from a seed, and sent."""

    def __init__(self, seed: int, net: Net) -> None:
        self.draw = random.Random(seed)
        self.net = net
        self.counts: dict[str, int] = {}
        self.devices = [net.ocs.ifindex, *(socket.if_nametoindex(f"p{i}") for i in range(net.n)), 1, 0, 9999, 2**31]
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        for option in (10, 11):  # NETLINK_CAP_ACK, NETLINK_EXT_ACK
            self.sock.setsockopt(270, option, 1)
        self.sock.bind((0, 0))
        self.sock.setblocking(False)
        self.route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.route.bind((0, 0))
        self.route.setblocking(False)
        self.careful = False
        self.pairs: list[tuple[socket.socket, socket.socket]] = []

    def count(self, what: str) -> None:
        """Count what the kernel has answered."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def number(self) -> int:
        """Draw a number: near an edge, or small, or any."""
        kind = self.draw.randrange(4)
        if self.careful and kind:
            return self.draw.choice(USUAL)
        if kind == 0:
            return self.draw.choice(EDGES)
        return self.draw.randrange((4, 1000, 2**64)[kind - 1])

    def value(self, kind: str, field: str = "") -> bytes:
        """Draw the bytes of a value, mostly of the right length."""
        if self.careful and kind == "u8":
            return bytes([self.draw.randrange(3)])
        if self.careful and kind == "raw":
            return self.draw.randbytes(6 if field in ("mac", "station") else 4)
        lengths = {"u8": 1, "u16": 2, "be16": 2, "u32": 4, "flag": 0, "uint": 8, "sint": 8}
        lengths |= {"raw": self.draw.choice((4, 6)), "binary": self.draw.randrange(200), "count": 16}
        length = lengths.get(kind, 4)
        if not self.careful and self.draw.random() < 0.05:
            length = self.draw.choice((0, 1, 2, 3, 5, 7, 9, 16, 200, 4000))
        if kind in ("raw", "binary"):
            return self.draw.randbytes(length)
        return self.number().to_bytes(8, "little")[:length].ljust(length, b"\0")

    def nest(self, name: str, depth: int = 0) -> bytes:
        """Draw the attributes of a set of `SPEC`, some of them twice, unknown, or nested where they are not."""
        out = b""
        items = list(SPEC[name].items())
        if self.careful and name in ASKED:
            items = [item for item in items if item[0] in ASKED[name].split()]
        if self.careful and name != "slots":
            self.draw.shuffle(items)
            items.sort(key=lambda item: item[0] not in NEEDED)
        most = 40 if name == "slots" else len(items)
        chosen = items[: self.draw.randrange(1, most + 1)] if self.careful and name != "slots" else ()
        for field, (number, kind) in chosen or self.draw.choices(items, k=self.draw.randrange(most + 1)):
            if not self.careful and self.draw.random() < 0.03:
                number = self.draw.choice((0, number + 1, 0x3FFF, 200))
            if kind in SPEC and depth < 6 and (self.careful or self.draw.random() < 0.97):
                out += attr(number | 0x8000, self.nest(kind, depth + 1))
            elif field in ("ifindex", "port", "in_ifindex", "dev"):
                out += attr(number, struct.pack("=I", self.draw.choice(self.devices)))
            elif field in ("id", "class", "target", "link") and kind in ("u16", "u32"):
                out += attr(number, self.draw.randrange(6).to_bytes(2 if kind == "u16" else 4, "little"))
            elif field == "duration" and self.draw.random() < 0.9:
                out += attr(number, struct.pack("=Q", self.draw.choice((100, 1000, 20_000, 10**6))))
            elif not self.careful and self.draw.random() < 0.02:
                out += attr(number | 0x8000, self.draw.randbytes(self.draw.randrange(64)))
            else:
                out += attr(number, self.value(kind, field))
        return out[:60_000]

    def request(self) -> None:
        """Send a message of the family ``ocs``."""
        self.careful = self.draw.random() < 0.7
        command = self.draw.choice(range(1, 15) if self.careful else COMMANDS)
        whole = attr(
            1, struct.pack("=I", self.devices[0] if self.draw.random() < 0.9 else self.draw.choice(self.devices))
        )
        # the part that this command takes, or anything
        part = {1: "link", 2: "pool", 3: "port", 4: "class", 5: "rule", 7: "fdb", 10: "link", 11: "class", 12: "rule",
                13: "card"}.get(command)  # fmt: skip
        if self.careful and command in (10, 11):
            whole += attr(SPEC["message"][part][0] | 0x8000, attr(1, struct.pack("=H", self.draw.randrange(6))))
        elif part is not None and (self.careful or self.draw.random() < 0.85):
            whole += attr(SPEC["message"][part][0] | 0x8000, self.nest(part))
        else:
            whole += self.nest("message")
        if command == 8 and self.draw.random() < 0.8:  # timetables begin now, not in some hundred years
            whole = attr(1, struct.pack("=I", self.devices[0])) + attr(8, struct.pack("=Q", time.monotonic_ns() + 1000))
        body = struct.pack("=BBH", command, 1, 0) + whole
        if not self.careful and self.draw.random() < 0.2:
            spoiled = bytearray(body)
            for _ in range(self.draw.randrange(1, 8)):
                spoiled[self.draw.randrange(len(spoiled))] = self.draw.randrange(256)
            body = bytes(spoiled[: self.draw.randrange(4, len(spoiled) + 1)])
        flags = 1 | (self.draw.choice((0x300, 0x304, 4)) if command in (9, 14) else 4)
        self._send(
            self.sock, struct.pack("=IHHII", 16 + len(body), self.net.ocs._family, flags, 1, 0) + body, "request"
        )

    def link(self) -> None:
        """Make, change or remove a device by rtnetlink, with random options of its kind."""
        kind = self.draw.choice((b"ocs", b"ocs", b"ocs_line", b"ocs_line", b"veth"))
        name = self.draw.choice((b"ocs0", b"fz0", b"fz1", b"fz2", b"p0", b"p1"))
        info = attr(1, kind + b"\0")
        if self.draw.random() < 0.7:
            data = b"".join(
                attr(self.draw.randrange(8), self.draw.randbytes(self.draw.randrange(17)))
                for _ in range(self.draw.randrange(5))
            )
            info += attr(2 | 0x8000, data)
        parts = attr(3, name + b"\0") + attr(18 | 0x8000, info)
        if self.draw.random() < 0.3:
            parts += attr(
                4, struct.pack("=I", self.draw.choice((0, 67, 68, 576, 1500, 9000, 65535, 65536, 2**31)))
            )  # MTU
        if self.draw.random() < 0.3:
            parts += attr(10, struct.pack("=I", self.draw.choice(self.devices)))  # MASTER
        if self.draw.random() < 0.2:
            parts += attr(self.draw.choice((1, 13, 31, 40, 41)), self.value("u32"))
        up = self.draw.choice((0, 1))
        header = struct.pack("=BBHiII", 0, 0, 0, 0, up, 1)
        command, flags = self.draw.choice(((16, 0x605), (16, 5), (16, 0x605), (17, 5)))
        if command == 17 and name in (b"ocs0", b"p0", b"p1") and self.draw.random() < 0.95:
            return  # without them, nothing else is reached
        body = header + parts
        self._send(self.route, struct.pack("=IHHII", 16 + len(body), command, flags, 1, 0) + body, "link")

    def _send(self, sock: socket.socket, message: bytes, what: str) -> None:
        with contextlib.suppress(OSError):
            sock.send(message)
        with contextlib.suppress(BlockingIOError, OSError):
            while True:
                data = sock.recv(1 << 18)
                kind = struct.unpack_from("=H", data, 4)[0] if len(data) >= 20 else 0
                code = -struct.unpack_from("=i", data, 16)[0] if kind == 2 else 0
                self.count(f"{what} {'ok' if code == 0 else 'refused'}")

    def connect(self) -> None:
        """Open a connection between the hosts, or close one."""
        if len(self.pairs) > 5:
            for sock in self.pairs.pop(self.draw.randrange(len(self.pairs))):
                sock.close()
            return
        with inside("h1"):
            server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        with inside("h0"):
            client = socket.socket()
        for sock in (server, client):
            sock.setblocking(False)
            self.options(sock)
        with contextlib.suppress(OSError):
            server.bind(("0.0.0.0", 0))
            server.listen(1)
            client.connect(("10.0.0.2", server.getsockname()[1]))
        self.pairs.append((client, server))

    def options(self, sock: socket.socket) -> None:
        """Set and get options with random lengths and values; on a connection, and before there is one."""
        for _ in range(self.draw.randrange(6)):
            option = self.draw.choice(OPTIONS)
            length = self.draw.choice((0, 1, 3, 4, 5, 8, 16, 17, 18, 64, 200, 4096))
            data = self.draw.randbytes(length)
            if option == CONGESTION and self.draw.random() < 0.8:
                data = self.draw.choice(CONTROLS)
            if option == TDTCP_CONGESTION and self.draw.random() < 0.8:
                data = bytes([self.draw.choice((0, 1, 2, 7, 8, 255))]) + self.draw.choice(CONTROLS)[:16].ljust(
                    16, b"\0"
                )
            if option == TDTCP and self.draw.random() < 0.7:
                data = struct.pack("=i", self.draw.choice((0, 1, 2, 8, -1, 255, 2**31 - 1)))
            said = self.draw.choice((len(data), len(data), len(data), 0, 2**31 - 1, 0xFFFFFFFF, 0x80000000))
            buffer = ctypes.create_string_buffer(data, max(len(data), 1))
            status = _LIBC.setsockopt(sock.fileno(), 6, option, buffer, ctypes.c_uint(said))
            self.count("option ok" if status == 0 else "option refused")
            answer, size = (
                ctypes.create_string_buffer(8192),
                ctypes.c_int(self.draw.choice((0, 1, 4, 7, 8, 100, 8192, -1))),
            )
            _LIBC.getsockopt(sock.fileno(), 6, option, answer, ctypes.byref(size))

    def traffic(self) -> None:
        """Send frames, so that settings meet packets."""
        for client, server in self.pairs:
            with contextlib.suppress(OSError):
                peer, _ = server.accept()
                peer.setblocking(False)
                self.options(peer)
                peer.close()
            with contextlib.suppress(OSError):
                client.send(bytes(self.draw.randrange(1, 30_000)))
            if self.draw.random() < 0.3:
                self.options(client)
        with contextlib.suppress(OSError):
            burst(self.net.udp(0), 1, self.draw.randrange(1, 10), self.draw.choice((60, 1000, 1514)))
        time.sleep(self.draw.choice((0, 1e-5, 1e-3, 5e-3)))

    def sysctl(self) -> None:
        """Write a number or a text to a setting of a host."""
        value = self.draw.choice((str(self.number()), "-1", "", "a b c", "1 2 3", "9" * 30))
        with inside(f"h{self.draw.randrange(2)}"), contextlib.suppress(OSError):
            Path(f"/proc/sys/net/ipv4/{self.draw.choice(SYSCTLS)}").write_text(value)

    def close(self) -> None:
        """Close all sockets."""
        for pair in self.pairs:
            for sock in pair:
                sock.close()
        self.sock.close()
        self.route.close()


def passes() -> list[str]:
    """Say what is wrong with a new switch that gets a frame every 10 ms, with a timetable of two slots."""
    with Net(2) as net:
        net.ocs.class_set(0, [slot(1_000_000, BYPASS), slot(1_000_000, BYPASS, tdn=1)])
        net.ocs.rule_add(0, in_if="p0")
        net.ocs.start(time.monotonic_ns() + 1_000_000)
        sender, receiver = net.udp(0), net.udp(1, 9)
        came = 0
        for _ in range(20):
            time.sleep(0.01)
            sender.sendto(b"frame", ("10.0.0.2", 9))
            with contextlib.suppress(OSError):
                came += receiver.recv(100) == b"frame"
        sender.close()
        receiver.close()
    return [] if came == 20 else [f"{came} of 20 frames passed a new switch"]


def run(case: dict) -> dict:
    """Run a case; return what was wrong and some facts."""
    with Net(2) as net:
        fuzzer = Fuzzer(case["seed"], net)
        for _ in range(case["requests"]):
            fuzzer.draw.choices(
                (fuzzer.request, fuzzer.link, fuzzer.connect, fuzzer.traffic, fuzzer.sysctl), (60, 10, 10, 15, 5)
            )[0]()
        fuzzer.close()
    for name in ("fz0", "fz1", "fz2"):
        sh(f"ip link del {name} 2> /dev/null || true")
    wrong = passes()
    time.sleep(200)  # TIME_WAIT, and what is freed late
    wrong += books.kernel() + books.leaks()
    return {"ok": not wrong, "error": "; ".join(wrong), "facts": fuzzer.counts}


def work(directory: Path) -> dict:
    """Run the case; whatever the kernel complains about from now on ends the guest."""
    case = json.loads((directory / "case.json").read_text())
    sh("mount -t debugfs none /sys/kernel/debug || true")
    Path("/proc/sys/kernel/panic_on_warn").write_text("1")
    if case.get("fault"):
        Path("/dev/kmsg").write_text("BUG: made on purpose")
    return run(case)


if __name__ == "__main__":
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    alone(work, Path(sys.argv[1]))
