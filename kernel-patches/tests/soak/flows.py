# SPDX-License-Identifier: Apache-2.0
"""A connection of a case: what each end sends is a stream of its own, and the other end compares it byte for byte."""

import contextlib
import ctypes
import hashlib
import socket
import struct
import threading
import time

from lab import inside, payload, until
from paths import MPTCP
from rack import LIBC, TCP_TDTCP_CONGESTION, info

AF_UNSPEC = bytes(16)
SO_MAX_PACING_RATE = 47
#: Seconds that the other end of a connection that was cut off waits: the reset may have been lost.
PATIENCE_S = 5


class Flow:
    """A connection; `trouble` says what went wrong with it, and `moved` counts the bytes that were compared."""

    def __init__(self, number: int, plan: dict, epoch: int) -> None:
        self.number, self.plan, self.epoch = number, plan, epoch
        self.trouble: list[str] = []
        self.moved = 0
        self.networks = 0
        self.come = [0, 0]  # to the client, to the server
        self.ends: list[socket.socket | None] = [None, None]  # client's and server's
        self.deadline: list[float | None] = [None, None]
        self.stage = "waits"
        self.garble = False  # for the test of the test
        client = plan["client"]
        self.hosts = (client, 1 - client)
        with inside(f"h{1 - client}"):
            self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP if plan["mptcp"] else 0)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._options(self.listener, 1)
        self.listener.bind(("", 5000 + number))
        self.listener.listen()
        with inside(f"h{client}"):
            self.client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP if plan["mptcp"] else 0)
        self._options(self.client, 0)
        self.calm = threading.Event()
        self.thread = threading.Thread(target=self._life, daemon=True)
        self.thread.start()

    def _options(self, sock: socket.socket, end: int) -> None:
        sock.setsockopt(socket.SOL_TCP, socket.TCP_CONGESTION, self.plan["controls"][end].encode())
        sock.setsockopt(socket.SOL_TCP, socket.TCP_NODELAY, self.plan["nodelay"][end])
        if rate := self.plan.get("pacing", (0, 0))[end]:
            with contextlib.suppress(OSError):  # MPTCP may refuse
                sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate)
        if self.plan["buffer"][end]:
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                sock.setsockopt(socket.SOL_SOCKET, option, self.plan["buffer"][end])

    def control(self, end: int, tdn: int | None, name: str) -> None:
        """Change the congestion control in the midst of it, of one network or of all; the socket may refuse."""
        sock = self.ends[end]
        if sock is None:
            return
        try:
            if tdn is None:
                sock.setsockopt(socket.SOL_TCP, socket.TCP_CONGESTION, name.encode())
            else:
                sock.setsockopt(socket.SOL_TCP, TCP_TDTCP_CONGESTION, struct.pack("B16s", tdn, name.encode()))
        except OSError:
            pass

    def _life(self) -> None:
        try:
            until(self.epoch + self.plan["begin"])
            for turn in range(2 if self.plan["end"] == "again" else 1):
                self._once(turn)
            self.stage = "over"
        except Exception as error:  # noqa: BLE001  whatever it is, the case fails with it
            self.trouble.append(f"{self.stage}: {type(error).__name__}: {error}")
        finally:
            for sock in (self.listener, self.client, *self.ends):
                if sock is not None:
                    sock.close()

    def _once(self, turn: int) -> None:
        self.stage = "connects"
        self.client.connect((f"10.0.0.{self.hosts[1] + 1}", 5000 + self.number))
        self.ends = [self.client, self.listener.accept()[0]]
        self.stage = "transfers"
        with contextlib.suppress(OSError):  # plain TCP
            self.networks = info(self.client)["count"]
        how = self.plan["end"]
        if how == "reset":
            cut, first = self.plan["cut"]
            now = time.monotonic()
            for end in range(2):
                self.deadline[end] = now + cut / 1e9 + (0 if end == first else PATIENCE_S)
        jobs = [threading.Thread(target=self._job, args=(work, end, turn), daemon=True)
                for work in (self._write, self._read) for end in range(2)]  # fmt: skip
        for job in jobs:
            job.start()
        if how == "reset":
            self._cut(jobs, self.plan["cut"][1])
        for job in jobs:
            job.join()
        self.stage = "closes"
        if how == "again" and not turn:
            self.ends[1].close()
            # the socket stays, and connects anew
            if LIBC.connect(self.client.fileno(), AF_UNSPEC, len(AF_UNSPEC)):
                raise OSError(ctypes.get_errno(), "disconnect")

    def _cut(self, jobs: list[threading.Thread], end: int) -> None:
        """Wait until one end's time is over, and reset the connection from there."""
        for job in (jobs[end], jobs[2 + end]):
            job.join()
        sock = self.ends[end]
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()

    def _job(self, work, end: int, turn: int) -> None:
        try:
            work(end, turn)
        except Exception as error:  # noqa: BLE001  as above
            if self.plan["end"] != "reset" or not isinstance(error, OSError):
                self.trouble.append(f"{work.__name__[1:]} at end {end}: {type(error).__name__}: {error}")

    def _key(self, end: int, turn: int) -> bytes:
        return b"%d %d %d " % (self.number, end, turn)

    def _ready(self, end: int) -> bool:
        """Set how long the end may wait; whether it may at all."""
        deadline = self.deadline[end]
        if deadline is None:
            return True
        left = deadline - time.monotonic()
        if left > 0:
            self.ends[end].settimeout(left)
        return left > 0

    def _write(self, end: int, turn: int) -> None:
        sock, size = self.ends[end], self.plan["chunk"][end]
        for block in payload(self.plan["sizes"][end], self._key(end, turn)):
            for at in range(0, len(block), size):
                chunk = block[at : at + size]
                while chunk:
                    if not self._ready(end):
                        return
                    chunk = chunk[sock.send(chunk) :]
        if self.plan["end"] == "stay":
            self.calm.wait()
        if self.plan["end"] == "close" and self.plan["sizes"][end]:
            sock.close()
        elif self.plan["end"] != "reset":
            sock.shutdown(socket.SHUT_WR)

    def _read(self, end: int, turn: int) -> None:
        """Read the other end's stream to its end, or as far as it came before a cut, and compare it."""
        if self.plan["end"] == "close" and self.plan["sizes"][end]:
            return  # closed: nobody reads here
        sock, asked = self.ends[end], self.plan["sizes"][1 - end]
        got, count = hashlib.sha256(), 0
        try:
            while self._ready(end) and (block := sock.recv(1 << 18)):
                if self.garble and count:
                    block = block[:-1] + bytes([block[-1] ^ 1])
                got.update(block)
                count += len(block)
                self.come[end] = count
                if self.plan["pause"][end]:
                    time.sleep(self.plan["pause"][end] / 1e9)
        finally:
            sent, left = hashlib.sha256(), count
            for block in payload(asked, self._key(1 - end, turn)):
                sent.update(block[:left])
                left -= min(left, len(block))
            if count > asked or got.digest() != sent.digest():
                self.trouble.append(f"what end {end} read is not what was sent: {count} of {asked} B")
            elif count < asked and self.plan["end"] != "reset":
                self.trouble.append(f"end {end} read {count} of {asked} B")
            self.moved += count
