# SPDX-License-Identifier: Apache-2.0
"""What the tests of time-division TCP share: two hosts, two networks that take turns, and what a socket says.

    h0 (10.0.0.1) --- ocs0 === link 0: packet network, 10 Gb/s, 50 us one way ===--- h1 (10.0.0.2)
                           === link 1: circuit,       100 Gb/s, 20 us one way ===

Both directions change at the same instants, which a timetable of the switch says, and so do both hosts,
which a thread tells.  Everything runs in virtual time; standard library only.
"""

import contextlib
import ctypes
import os
import socket
import struct
import threading
import time
from pathlib import Path

from lab import Net, inside, until
from ocs import slot

LIBC = ctypes.CDLL(None, use_errno=True)
US, MS = 1_000, 1_000_000
TCP_TDTCP, TCP_TDTCP_CONGESTION = 120, 121
PACKET, CIRCUIT = 0, 1
FIELDS = (
    *("tdn", "ca_state", "known", "pad", "cwnd", "ssthresh", "packets_out", "sacked_out", "lost_out", "retrans_out"),
    *("srtt_us", "rttvar_us", "min_rtt_us", "delivered", "lost", "reord_seen", "ca"),
)
PATH = struct.Struct("<4B12I16s")


class Rack:
    """The network above; gone at the end of the block.

    Parameters
    ----------
    count : int
        ``net.ipv4.tdn_count`` of both hosts.
    voq : int
        Packets that wait for either direction, at most.
    """

    def __init__(self, count: int = 2, voq: int = 16, **sysctls: object) -> None:
        self.net = Net(2, mtu=9000)
        self.count = count
        self.files: list[list[int]] = []
        for host in range(2):
            self.sysctl(host, "tdn_count", count)
            for name, value in {
                "tdn_source": "0.0.0.0",  # the tests send messages from hosts
                "tcp_tdtcp": 1,
                "tcp_rmem": "4096 6291456 33554432",
                "tcp_wmem": "4096 4194304 33554432",
                "tcp_no_metrics_save": 1,
                **sysctls,
            }.items():
                self.sysctl(host, name, value)
        with inside("h0"):
            self.here = os.open("/proc/sys/net/ipv4/tdn_current", os.O_WRONLY)
        with inside("h1"):
            self.there = os.open("/proc/sys/net/ipv4/tdn_current", os.O_WRONLY)
        ocs = self.net.ocs
        self.voq = voq
        with ocs:
            ocs.link_set(PACKET, rate=10**10, delay=50 * US)
            ocs.link_set(CIRCUIT, rate=10**11, delay=20 * US)
            ocs.link_set(2, rate=10**10, delay=50 * US)
            ocs.link_set(3, rate=10**11, delay=20 * US)
        self.always(PACKET)
        with ocs:
            ocs.rule_add(0, in_if="p0")
            ocs.rule_add(1, in_if="p1")

    def __enter__(self) -> "Rack":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.here)
        os.close(self.there)
        self.net.__exit__()

    def sysctl(self, host: int, name: str, value: object) -> None:
        """Set net.ipv4.NAME in a host."""
        with inside(f"h{host}"):
            Path(f"/proc/sys/net/ipv4/{name}").write_text(f"{value}\n")

    def tell(self, tdn: int) -> None:
        """Tell both hosts now."""
        for file in (self.here, self.there):
            os.pwrite(file, b"%d\n" % tdn, 0)

    def always(self, network: int) -> None:
        """Stay on one network from now on."""
        with self.net.ocs as ocs:
            ocs.class_set(0, [slot(0, network)], hold=True, voq={"limit_packets": self.voq})
            ocs.class_set(1, [slot(0, network + 2)], hold=True, voq={"limit_packets": 1000})
        self.tell(network)

    @contextlib.contextmanager
    def turns(self, *slots: tuple[int, int], night: int = 0, hosts: tuple[int, ...] = (0, 1)):
        """Change networks by a timetable of (ns, network), with nights of `night` ns before each, until the block ends.

        Hosts are told when a night ends.
        """
        there, back, at, changes = [], [], 0, []
        for duration, network in slots:
            if night:
                there.append(slot(night, 0xFFFF))
                back.append(slot(night, 0xFFFF))
            there.append(slot(duration, network))
            back.append(slot(duration, network + 2))
            changes.append((at + night, network))
            at += night + duration
        with self.net.ocs as ocs:
            ocs.class_set(0, there, hold=True, voq={"limit_packets": self.voq})
            ocs.class_set(1, back, hold=True, voq={"limit_packets": 1000})
        epoch = (time.monotonic_ns() // MS + 2) * MS
        self.net.ocs.start(epoch)
        over = threading.Event()

        def tell() -> None:
            week = 0
            while not over.is_set():
                for offset, network in changes:
                    until(epoch + week * at + offset)
                    for host in hosts:
                        os.pwrite((self.here, self.there)[host], b"%d\n" % network, 0)
                week += 1

        thread = threading.Thread(target=tell)
        thread.start()
        try:
            yield epoch
        finally:
            over.set()
            thread.join()
            self.always(slots[-1][1])

    def connect(self, port: int = 5001, server: int = 1, cc: str = "cubic") -> tuple[socket.socket, socket.socket]:
        """Return both ends of a connection, the client's first; the client is h0 unless `server` is 0."""
        with inside(f"h{server}"):
            listener = socket.create_server((f"10.0.0.{server + 1}", port))
        listener.setsockopt(socket.SOL_TCP, socket.TCP_CONGESTION, cc.encode())
        with inside(f"h{1 - server}"):
            client = socket.socket()
        client.setsockopt(socket.SOL_TCP, socket.TCP_CONGESTION, cc.encode())
        client.connect((f"10.0.0.{server + 1}", port))
        end, _ = listener.accept()
        listener.close()
        return client, end


def info(sock: socket.socket) -> dict:
    """Return what a socket says of its networks: count, active, switches, and a path for each."""
    # Python's own getsockopt takes 1024 bytes at most; an entry may be longer than what is read of it here
    buffer = ctypes.create_string_buffer(12 + 255 * 256)
    length = ctypes.c_uint32(len(buffer))
    if LIBC.getsockopt(sock.fileno(), socket.SOL_TCP, TCP_TDTCP, buffer, ctypes.byref(length)):
        raise OSError(ctypes.get_errno(), "getsockopt(TCP_TDTCP)")
    raw = buffer.raw[: length.value]
    count, active, stride, switches, change = struct.unpack_from("<BBHII", raw)
    if count and stride < PATH.size:
        raise AssertionError(f"entries of {stride} B are shorter than the {PATH.size} B of the first version")
    paths = []
    for i in range(count):
        values = PATH.unpack_from(raw, 12 + i * stride)
        path = dict(zip(FIELDS, values, strict=True))
        path["ca"] = path["ca"].rstrip(b"\0").decode()
        (path["looked"],) = struct.unpack_from("<I", raw, 12 + i * stride + PATH.size)
        paths.append(path)
    return {"count": count, "active": active, "switches": switches, "change_seq": change, "path": paths}


def icmp(host: int, body: bytes, code: int = 0, ttl: int = 255) -> None:
    """Send a host an ICMP message of type 7, with what follows its checksum, from the host beside it."""
    with inside(f"h{host ^ 1}"):
        sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sock.setsockopt(socket.SOL_IP, socket.IP_TTL, ttl)
    message = struct.pack(">BBH", 7, code, 0) + body
    total = sum(struct.unpack(f">{len(message) // 2}H", message))
    total = (total & 0xFFFF) + (total >> 16)
    message = struct.pack(">BBH", 7, code, ~total & 0xFFFF) + body
    sock.sendto(message, (f"10.0.0.{host + 1}", 0))
    sock.close()
    time.sleep(0.001)


class Capture:
    """TCP segments that go through a port of the switch within a block: both directions, as dictionaries."""

    def __init__(self, port: str = "p0") -> None:
        self.port = port

    def __enter__(self) -> list[dict]:
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 28)  # SO_RCVBUFFORCE
        self.sock.bind((self.port, 0))
        self.rows: list[dict] = []
        return self.rows

    def __exit__(self, *_: object) -> None:
        time.sleep(0.01)  # what is on its way
        self.sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.rows += segment(self.sock.recv(128))
        self.sock.close()


def segment(frame: bytes) -> list[dict]:
    """Take a TCP segment apart; empty for other frames."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return []
    ip, tcp = frame[14:34], frame[34:]
    header = (tcp[12] >> 4) * 4
    options, at = {}, 20
    while at < header:
        kind = tcp[at]
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        options.setdefault(kind, []).append(tcp[at : at + tcp[at + 1]])
        at += tcp[at + 1]
    return [
        {
            "src": ip[15],
            "ce": ip[1] & 3 == 3,
            "flags": tcp[13],
            "seq": struct.unpack_from(">I", tcp, 4)[0],
            "ack": struct.unpack_from(">I", tcp, 8)[0],
            "data": struct.unpack_from(">H", ip, 2)[0] - 20 - header,
            "options": options,
            "header": header,
        }
    ]
