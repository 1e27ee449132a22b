# SPDX-License-Identifier: Apache-2.0
"""A network for each destination: a notification names a prefix, and each connection sees the network of its own.

    h0 (10.0.0.1) ---+
    h1 (10.0.0.2) ---+--- ocs0      the prefix 10.0.0.2/31 has h1 and h2
    h2 (10.0.0.3) ---+
    h3 (10.0.0.4) ---+

`table` reads /proc/net/tdn of h0, which says of each prefix how many connections follow it, and how many were told.
"""

import contextlib
import socket
import time
from pathlib import Path

from lab import Net, counter, equal, inside, main, sh
from ocs import BYPASS, slot
from rack import MS, icmp, info

NEAR, FAR = "10.0.0.2/31", "10.0.0.4/32"
ALL = "0.0.0.0/0"


def sysctl(host: int, name: str, value: object) -> None:
    """Set net.ipv4.NAME in a host."""
    with inside(f"h{host}"):
        Path(f"/proc/sys/net/ipv4/{name}").write_text(f"{value}\n")


@contextlib.contextmanager
def hosts(networks: int = 4, push: int = 0):
    """Have the network above, whose hosts know of some networks."""
    with Net(4) as net:
        for host in range(4):
            sysctl(host, "tdn_count", networks)
            sysctl(host, "tdn_source", "0.0.0.0")  # the tests send messages from hosts
            sysctl(host, "tcp_tdtcp", 1)
            sysctl(host, "tcp_tdtcp_push", push)
        yield net


def connect(server: int, port: int = 5001, client: int = 0) -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection, the client's first; either closes when nobody has it any more."""
    with inside(f"h{server}"):
        listener = socket.create_server((f"10.0.0.{server + 1}", port))
    with inside(f"h{client}"):
        near = socket.create_connection((f"10.0.0.{server + 1}", port))
    far, _ = listener.accept()
    listener.close()
    return near, far


class Clients(list):
    """Clients of h0; the other ends of their connections stay open as long."""

    def __init__(self, *servers: int, port: int = 5001) -> None:
        self.ends = [connect(server, port + n) for n, server in enumerate(servers)]
        super().__init__(near for near, _ in self.ends)


def table(host: int = 0) -> dict[str, tuple[int, ...]]:
    """Return (active, changes, sockets, told) of each prefix, in the order of the file."""
    with inside(f"h{host}"):
        lines = Path("/proc/thread-self/net/tdn").read_text().splitlines()
    equal(lines[0], "prefix active changes sockets told", "titles")
    return {line.split()[0]: tuple(map(int, line.split()[1:])) for line in lines[1:]}


def tell(prefix: str, tdn: int, host: int = 0, **how: int) -> None:
    """Send a host a notification about a prefix."""
    address, _, length = prefix.partition("/")
    body = bytes([tdn, int(length), 0, 0])
    icmp(host, body + (socket.inet_aton(address) if int(length) else b""), **how)


def active(*ends: socket.socket) -> list[int]:
    """Return the network that each connection sees, after it has sent a byte."""
    for end in ends:
        end.send(b"x")
    time.sleep(0.001)
    return [info(end)["active"] for end in ends]


def case_the_longest_prefix() -> str:
    """Of all prefixes with a destination the longest counts, whenever it came; without any, the default does."""
    with hosts():
        ends = Clients(1, 2, 3)
        equal(active(*ends), [0, 0, 0], "at first")
        tell(FAR, 3)
        equal(active(*ends), [0, 0, 3], "a prefix of 32 bits")
        tell("10.0.0.0/24", 1)
        equal(active(*ends), [1, 1, 3], "a shorter one")
        tell(NEAR, 2)
        equal(active(*ends), [2, 2, 3], "one between them")
        tell(ALL, 3)
        equal(active(*ends), [2, 2, 3], "the default is for others")
        later = Clients(1, 2, 3, port=5011)
        equal(active(*later), [2, 2, 3], "connections that came later")
        tell("10.0.0.0/24", 0)
        tell(NEAR, 0)
        equal(active(*ends, *later), [0, 0, 3] * 2, "changes")
        equal(list(table()), [FAR, NEAR, "10.0.0.0/24", ALL], "order of the table")
        sysctl(0, "tdn_count", 4)
        equal(active(*ends, *later), [0] * 6, "after tdn_count was written")
        equal(list(table()), [ALL], "the table, then")
        return ""


def case_two_networks_at_one_instant() -> str:
    """The switch has a class for each destination; a host with connections to two sees two active networks."""
    week = [slot(10 * MS, BYPASS, tdn=0), slot(10 * MS, BYPASS, tdn=1), slot(10 * MS, BYPASS, tdn=2)]
    with hosts(push=1) as net:
        for number, prefix in enumerate((NEAR, FAR)):
            net.ocs.class_set(number, week, phase=-10 * MS * number)
            net.ocs.port_set("p0", notify={"class": number, "dst": "10.0.0.1", "prefix": prefix})
        near, far = clients = Clients(1, 3)
        epoch = (time.monotonic_ns() // MS + 20) * MS
        net.ocs.start(epoch)
        seen = []
        for day in range(6):
            time.sleep((epoch + day * 10 * MS + 5 * MS - time.monotonic_ns()) / 1e9)
            seen.append((info(near)["active"], info(far)["active"]))
        equal(seen, [(0, 1), (1, 2), (2, 0)] * 2, "(network towards h1, network towards h3), a day each")
        equal([info(end)["switches"] > 3 for end in clients], [True, True], "both have changed")
        return str(seen)


def case_refused() -> str:
    """Messages from beyond a router, and prefixes that are none, change nothing and are counted."""
    with hosts():
        clients = Clients(3)
        far = clients[0]
        tell(FAR, 1)
        before, seen = counter("h0", "Icmp", "InErrors"), table()
        for ttl in (1, 64, 254):
            tell(FAR, 2, ttl=ttl)
        address = socket.inet_aton("10.0.0.4")
        for body in (
            b"\4\x20\0\0" + address,  # no such network
            b"\2\x21\0\0" + address,  # 33 bits
            b"\2\x1d\0\0" + address,  # 29 bits of a prefix that has 30
            b"\2\x20\0\1" + address,  # not 0
            b"\2\x20\0\0",  # without the prefix
            b"\2\x20\0\0" + address[:2],
        ):
            icmp(0, body)
        equal(counter("h0", "Icmp", "InErrors") - before, 9, "errors counted")
        equal(active(far), [1], "network")
        equal(table(), seen, "table")
        return ""


def case_one_source() -> str:
    """Messages count from tdn_source alone, which is the switch's address at first, or from anywhere."""
    with hosts():
        with inside("h1"):
            sh("ip addr add 192.0.0.8/32 dev lo")
        clients = Clients(3)
        sysctl(0, "tdn_source", "192.0.0.8")
        before = counter("h0", "Icmp", "InErrors")
        tell(FAR, 1)
        equal(active(*clients), [0], "from h1")
        equal(counter("h0", "Icmp", "InErrors") - before, 1, "errors counted")
        sysctl(0, "tdn_source", "10.0.0.2")
        tell(FAR, 1)
        equal(active(*clients), [1], "from h1, which is the source now")
        sysctl(0, "tdn_source", "10.0.0.3")
        tell(FAR, 2)
        equal(active(*clients), [1], "when h2 is the source")
        for value in ("10.0.0", "10.0.0.256", "x", ""):
            try:
                sysctl(0, "tdn_source", value)
            except OSError:
                continue
            raise AssertionError(f"tdn_source took {value!r}")
        with inside("h0"):
            equal(Path("/proc/sys/net/ipv4/tdn_source").read_text(), "10.0.0.3\n", "what stays")
        sh("ip netns add fresh")
        try:
            with inside("fresh"):
                equal(Path("/proc/sys/net/ipv4/tdn_source").read_text(), "192.0.0.8\n", "of a new namespace")
        finally:
            sh("ip netns del fresh")
        return ""


def case_bounded() -> str:
    """No more prefixes than tdn_prefix_max: a new one takes the place of that which was not heard of for longest."""
    with hosts(push=1):
        clients = Clients(3)
        far = clients[0]
        sysctl(0, "tdn_prefix_max", 2)
        before = counter("h0", "Icmp", "InErrors")
        tell(ALL, 3)
        for prefix in ("10.1.0.0/16", FAR, "10.1.0.0/16"):
            tell(prefix, 1)
        equal(info(far)["active"], 1, "network of the prefix")
        tell("10.2.0.0/16", 1)
        equal(list(table()), ["10.2.0.0/16", "10.1.0.0/16", ALL], "table")
        equal(info(far)["active"], 3, "network without the prefix, told without a message")
        for number in range(300):  # made up
            tell(f"10.9.{number >> 8}.{number & 255}/32", 1)
        tell(FAR, 2)
        equal(info(far)["active"], 2, "a genuine one finds its place")
        equal(counter("h0", "Icmp", "InErrors") - before, 0, "errors counted")
        sysctl(0, "tdn_prefix_max", 0)
        tell(FAR, 3)
        equal(active(far), [3], "one that is there is told of on")
        tell(NEAR, 3)
        equal(counter("h0", "Icmp", "InErrors") - before, 1, "a new one is refused")
        sysctl(0, "tdn_prefix_max", 1024)
        for number in range(1100):
            tell(f"10.9.{number >> 8}.{number & 255}/32", 1)
        equal(len(table()), 1025, "most prefixes, and the default")
        for value in ("1025", "-1", "x"):
            try:
                sysctl(0, "tdn_prefix_max", value)
            except OSError:
                continue
            raise AssertionError(f"tdn_prefix_max took {value}")
        sysctl(0, "tdn_count", 0)
        equal(table(), {ALL: (0, *table()[ALL][1:])}, "table, after tdn_count was written")
        return ""


def case_push_tells_only_whom_it_concerns() -> str:
    """A push goes through the connections to the prefix and no others; each of them takes notice without sending."""
    with hosts(push=1):
        near, far = Clients(*[1, 2] * 5), Clients(3, 3, 3)
        tell(FAR, 1)
        equal([info(end)["active"] for end in [*near, *far]], [0] * 10 + [1] * 3, "networks")
        equal(table(), {FAR: (1, 1, 3, 3), ALL: (0, 0, 10, 0)}, "(active, changes, sockets, told)")
        for n in range(10):
            tell(FAR, n % 2)
        equal([info(end)["switches"] for end in [*near, *far]], [0] * 10 + [11] * 3, "changes that each has seen")
        equal(table(), {FAR: (1, 11, 3, 33), ALL: (0, 0, 10, 0)}, "after ten changes")
        tell(FAR, 1)
        equal(table()[FAR], (1, 11, 3, 33), "what is no change is no event")
        tell(NEAR, 0)
        equal(table()[NEAR], (0, 0, 10, 0), "a new prefix with the network that was active before")
        tell(ALL, 2)
        equal(table()[ALL], (2, 1, 0, 0), "nobody is at the default any more")
        tell(NEAR, 3)
        equal([info(end)["active"] for end in [*near, *far]], [3] * 10 + [1] * 3, "networks, then")
        equal(table()[NEAR], (3, 1, 10, 10), "(active, changes, sockets, told) of the other prefix")
        return ""


def case_push_reaches_more_than_a_budget() -> str:
    """All connections are told, also when there are more than the kernel tells in one go, and in the middle of it."""
    with hosts(push=1):
        clients = Clients(*[3] * 150)
        for n in range(1, 5):
            tell(FAR, n % 4)
        time.sleep(0.001)
        equal({info(end)["active"] for end in clients}, {0}, "networks")
        equal({info(end)["switches"] for end in clients}, {4}, "changes that each has seen")
        equal(table()[FAR], (0, 4, 150, 600), "(active, changes, sockets, told)")
        return ""


def case_pull_tells_nobody() -> str:
    """Without push a change is one byte, and a connection takes notice when it sends."""
    with hosts():
        clients = Clients(3)
        far = clients[0]
        tell(FAR, 1)
        equal(table()[FAR], (1, 1, 1, 0), "(active, changes, sockets, told)")
        equal(info(far)["active"], 0, "before it sends")
        equal(active(far), [1], "after it has sent")
        return ""


def case_connections_come_and_go() -> str:
    """The books of the table balance while connections, prefixes and changes come and go."""
    with hosts(push=1):
        for n in range(40):
            ends = [connect(server, 5001 + n) for server in (1, 2, 3)]
            tell((FAR, NEAR, "10.0.0.0/24", ALL)[n % 4], n % 3)
            tell("10.0.0.3/32", n % 4)
            if n % 7 == 0:
                sysctl(0, "tdn_count", 4)
            equal(sum(row[2] for row in table().values()), 3, f"sockets, number {n}")
            for near, far in ends:
                far.close()
                near.close()
            time.sleep(0.01)
            equal(sum(row[2] for row in table().values()), 0, f"sockets when all are closed, number {n}")
        return ""


def case_ipv6() -> str:
    """A mapped address has the prefix of its IPv4 address; a destination of IPv6 has the default."""
    with hosts():
        tell(FAR, 1)
        with inside("h3"):
            listener = socket.create_server(("10.0.0.4", 5001))
        with inside("h0"):
            mapped = socket.socket(socket.AF_INET6)
        mapped.connect(("::ffff:10.0.0.4", 5001))
        end, _ = listener.accept()
        equal(active(mapped), [1], "mapped")
        with inside("h0"):
            for name in ("all", "lo"):
                Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("0")
            sh("ip link set lo up")
            there = socket.create_server(("::1", 5002), family=socket.AF_INET6)
            near = socket.create_connection(("::1", 5002))
        far, _ = there.accept()
        tell("127.0.0.0/8", 2)  # what IPv6 sockets have in place of an address of IPv4
        tell(ALL, 3)
        equal(active(near), [3], "IPv6")
        for sock in (mapped, end, listener, near, far, there):
            sock.close()
        return ""


if __name__ == "__main__":
    main(globals())
