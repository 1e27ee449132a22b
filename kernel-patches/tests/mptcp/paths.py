# SPDX-License-Identifier: Apache-2.0
"""What the tests of the scheduler share: two hosts with two networks between them.

      ns a                                    ns b
    +-------+                              +-------+
    | eth0  |------- TDN 0, 10.0.0.x ------|  eth0 |    a: 10.0.x.1, b: 10.0.x.2
    | eth1  |------- TDN 1, 10.0.1.x ------|  eth1 |    100 Mb/s, 1 ms each way
    +-------+                              +-------+

The first subflow is made by connect(), the second by the path manager: b tells its second address, a
joins from its own there.  Both networks are there all the time, so that what is on a link is what the
scheduler put on it.
"""

import re
import socket
import struct
import time
from pathlib import Path

from lab import inside, sh

MPTCP = 262  # IPPROTO_MPTCP
RATE = 100_000_000
#: What a link carries of a connection that sends on another one [B]: acknowledgements and options.
QUIET = 3_000


class Paths:
    """Two namespaces, two links; gone at the end of the block."""

    def __init__(self, scheduler: str = "tdm", tdns: int = 2, ends: str = "ab") -> None:
        lines = ["ip netns add a", "ip netns add b"]
        for i in (0, 1):
            lines += [f"ip link add eth{i} netns a type veth peer name eth{i} netns b"]
        for ns, host in (("a", 1), ("b", 2)):
            lines += [
                f"ip netns exec {ns} sysctl -qw net.ipv6.conf.all.disable_ipv6=1",
                f"ip netns exec {ns} sysctl -qw net.ipv4.tcp_no_metrics_save=1",
                f"ip netns exec {ns} sysctl -qw net.mptcp.scheduler={scheduler if ns in ends else 'default'}",
                f"ip netns exec {ns} sysctl -qw net.ipv4.tdn_count={tdns} net.ipv4.tdn_source=0.0.0.0",
                f"ip -n {ns} mptcp limits set subflow 1 add_addr_accepted 1",
            ]
            for i in (0, 1):
                lines += [
                    f"ip -n {ns} addr add 10.0.{i}.{host}/24 dev eth{i}",
                    f"ip netns exec {ns} ethtool -K eth{i} tso off gso off gro off tx off rx off sg off",
                    f"tc -n {ns} qdisc add dev eth{i} root netem delay 1ms rate {RATE} limit 100",
                    f"tc -n {ns} qdisc add dev eth{i} clsact",
                    f"ip -n {ns} link set eth{i} up",
                ]
        lines += ["ip -n b mptcp endpoint add 10.0.1.2 signal"]
        lines += [f"ip netns exec a ping -qnc 1 10.0.{i}.2" for i in (0, 1)]
        sh(*lines)
        self.sockets: list[socket.socket] = []

    def __enter__(self) -> "Paths":
        return self

    def __exit__(self, *_: object) -> None:
        for sock in self.sockets:
            sock.close()
        sh("ip -n a link del eth0", "ip -n a link del eth1", "ip netns del a", "ip netns del b")

    def active(self, tdn: int, namespaces: str = "ab") -> None:
        """Change the network, as the switch's message does."""
        for ns in namespaces:
            with inside(ns):
                Path("/proc/sys/net/ipv4/tdn_current").write_text(str(tdn))

    def active_towards(self, prefix: str, tdn: int) -> None:
        """Tell a by a message from b which network is active on the way to some destinations."""
        address, _, length = prefix.partition("/")
        body = struct.pack("BBH4s", tdn, int(length), 0, socket.inet_aton(address))
        total = sum(struct.unpack(">4H", body)) + 0x0700
        total = (total & 0xFFFF) + (total >> 16)
        with inside("b"):
            sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        with sock:
            sock.setsockopt(socket.SOL_IP, socket.IP_TTL, 255)
            sock.sendto(struct.pack(">BBH", 7, 0, ~total & 0xFFFF) + body, ("10.0.0.1", 0))

    def connect(self, plain: bool = False) -> tuple[socket.socket, socket.socket]:
        """Return both ends of a connection whose second subflow is there; `plain`: b has no MPTCP."""
        with inside("b"):
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0 if plain else MPTCP)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("", 5000))  # the second subflow comes to the other address
            listener.listen()
        with inside("a"):
            near = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
        near.connect(("10.0.0.2", 5000))
        far = listener.accept()[0]
        self.sockets += [near, far, listener]
        near.send(b"\0")  # the connection is whole only after the first data
        if far.recv(1) != b"\0":
            raise AssertionError("the first byte did not come")
        time.sleep(0.1)
        return near, far

    def lose(self, on: bool, link: int) -> None:
        """Drop what arrives over a link from now on, both ways."""
        for ns in "ab":
            if on:
                sh(f"tc -n {ns} filter add dev eth{link} ingress pref 1 matchall action drop")
            else:
                sh(f"tc -n {ns} filter del dev eth{link} ingress pref 1")

    def carried(self, ns: str = "a") -> list[int]:
        """Return the bytes that a host has sent on each link."""
        with inside(ns):
            text = Path("/proc/thread-self/net/dev").read_text()
        return [int(re.search(rf"eth{i}:(?:\s+\d+){{8}}\s+(\d+)", text)[1]) for i in (0, 1)]
