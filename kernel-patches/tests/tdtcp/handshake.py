# SPDX-License-Identifier: Apache-2.0
"""Who speaks time-division TCP with whom, and what it looks like on the wire."""

import socket
import time
from pathlib import Path

from lab import Transfer, counter, equal, inside, main, sh
from rack import CIRCUIT, PACKET, TCP_TDTCP, Capture, Rack, icmp, info

SYN, ACK = 0x02, 0x10


def capable(row: dict) -> list[bytes]:
    """Return the TD_CAPABLE options of a segment."""
    return [o for o in row["options"].get(35, []) if o[2] >> 4 == 1]


def case_both_offer() -> str:
    """SYN and SYN/ACK carry the number of networks, the third ACK does not, all later ones carry TD_DATA_ACK."""
    with Rack(count=3) as rack:
        with Capture() as rows:
            client, server = rack.connect()
            Transfer(client, server, 100_000).wait()
        equal([info(client)["count"], info(server)["count"]], [3, 3], "networks")
        equal([capable(r) for r in rows[:3]], [[b"\x23\x04\x10\x03"], [b"\x23\x04\x10\x03"], []], "TD_CAPABLE")
        equal([r["flags"] & (SYN | ACK) for r in rows[:3]], [SYN, SYN | ACK, ACK], "flags")
        for row in rows[2:]:
            (option,) = row["options"][35]
            data = row["data"] > 0
            equal(option[:3], b"\x23\x08\x20", "kind, length, subtype")
            equal(option[3] & 1, 1, "flag A")
            equal(bool(option[3] & 2), data, "flag D")
            equal(option[4], 0 if data else 0xFF, "data TDN")
            equal((option[5], option[6], option[7]), (0, 0, 0), "zero, ACK TDN, zero")
        return f"{len(rows)} segments"


def plain(rack: Rack, what: str) -> None:
    """Fail unless a new connection is plain TCP and works."""
    with Capture() as rows:
        client, server = rack.connect()
        Transfer(client, server, 100_000).wait()
    equal([info(client)["count"], info(server)["count"]], [0, 0], what)
    if any(35 in row["options"] for row in rows[2:]):
        raise AssertionError(f"{what}: options on a plain connection")
    client.close()
    server.close()


def case_one_end_only() -> str:
    """Plain TCP if either end does not offer it, says another number, or has no SACK."""
    for host in (0, 1):
        with Rack() as rack:
            rack.sysctl(host, "tcp_tdtcp", 0)
            plain(rack, f"h{host} has it off")
        with Rack() as rack:
            rack.sysctl(host, "tdn_count", 3)
            plain(rack, f"h{host} sees three networks")
        with Rack() as rack:
            rack.sysctl(host, "tdn_count", 1)
            plain(rack, f"h{host} sees one network")
        with Rack() as rack:
            rack.sysctl(host, "tcp_sack", 0)
            plain(rack, f"h{host} has no SACK")
    return ""


def case_off_by_default() -> str:
    """A new namespace offers nothing and sees no networks."""
    names = ("tcp_tdtcp", "tcp_tdtcp_push", "tcp_tdtcp_pace", "tdn_count", "tdn_current")
    sh("ip netns add fresh")
    try:
        with inside("fresh"):
            values = [Path(f"/proc/sys/net/ipv4/{name}").read_text().strip() for name in names]
    finally:
        sh("ip netns del fresh")
    equal(values, ["0"] * 5, "sysctls")
    return ""


def case_back_to_plain() -> str:
    """An established connection becomes plain TCP at one end; the other goes on with options, and data arrive."""
    with Rack() as rack:
        client, server = rack.connect()
        with rack.turns((300_000, PACKET), (200_000, CIRCUIT), night=20_000):
            transfer = Transfer(client, server, 20_000_000)
            while info(client)["switches"] < 5:
                time.sleep(0.0001)
            client.setsockopt(socket.SOL_TCP, TCP_TDTCP, 0)
            equal(info(client)["count"], 0, "networks after the downgrade")
            seconds = transfer.wait()
        equal(info(server)["count"], 2, "networks at the other end")
        with Capture() as rows:
            Transfer(client, server, 100_000).wait()
        equal({35 in r["options"] for r in rows if r["src"] == 1}, {False}, "options of the end that went back")
        equal({35 in r["options"] for r in rows if r["src"] == 2}, {True}, "options of the other end")
        try:
            client.setsockopt(socket.SOL_TCP, TCP_TDTCP, 1)
        except OSError as error:
            equal(error.errno, 22, "error")
        else:
            raise AssertionError("a connection cannot be upgraded")
        return f"{seconds:.4f} s"


def current(host: int) -> int:
    """Return the active network of a host."""
    with inside(f"h{host}"):
        return int(Path("/proc/sys/net/ipv4/tdn_current").read_text())


def charged() -> int:
    """Return the memory of all TCP sockets, in pages."""
    line = next(s for s in Path("/proc/net/sockstat").read_text().splitlines() if s.startswith("TCP:"))
    return int(line.split()[line.split().index("mem") + 1])


def case_memory_is_the_sockets() -> str:
    """The state of 255 networks is charged to the socket, and given back when it closes."""
    batch = 256  # pages by which the kernel's sum may be behind
    with Rack(count=255) as rack:
        before = charged()
        ends = [rack.connect(port=5001 + n) for n in range(20)]
        for network in range(255):
            rack.tell(network)
            for client, server in ends:
                client.send(b"x")
                server.recv(1)
        took = charged() - before
        for client, server in ends:
            client.close()
            server.close()
        time.sleep(0.1)
        equal(took > 40 * 255 * 400 / 4096 - batch, True, f"pages for 40 ends: {took}")
        equal(abs(charged() - before) <= batch, True, f"pages when all are closed: {charged()}, before: {before}")
        return f"{took} pages"


def case_dump_has_all() -> str:
    """A dump of sock_diag has all connections, however many networks they have."""
    with Rack(count=255) as rack:
        ends = [rack.connect(port=5001 + n) for n in range(20)]
        lines = sh("ip netns exec h0 ss -tinH").splitlines()
        equal(sum(line.startswith("ESTAB") for line in lines), len(ends), "connections that ss prints")
        return ""


def case_notification() -> str:
    """A message changes its own namespace; ids that are not there and garbage are refused and counted."""
    with Rack(count=4) as rack:
        icmp(1, b"\3\0\0\0")
        equal([current(0), current(1)], [0, 3], "active network of h0, h1")
        before = counter("h1", "Icmp", "InErrors")
        for body, code in ((b"\4\0\0\0", 0), (b"\xff\0\0\0", 0), (b"\2\0\0\1", 0), (b"\2\0\0\0", 1)):
            icmp(1, body, code)
            equal(current(1), 3, f"after {body!r}, code {code}")
        for ttl in (64, 254):  # a router was on its way
            icmp(1, b"\2\0\0\0", ttl=ttl)
            equal(current(1), 3, f"after a message with TTL {ttl}")
        equal(counter("h1", "Icmp", "InErrors") - before, 6, "errors counted")
        for value in ("4", "-1", "x"):
            try:
                rack.sysctl(1, "tdn_current", value)
            except OSError:
                continue
            raise AssertionError(f"tdn_current took {value}")
        rack.sysctl(1, "tdn_count", 2)
        equal(current(1), 0, "after another number of networks")
        rack.sysctl(1, "tdn_count", 0)
        icmp(1, b"\0\0\0\0")
        return ""


def case_255_networks() -> str:
    """As many networks as fit in the byte, each with a state of its own; 0xff is none."""
    with Rack(count=255) as rack:
        client, server = rack.connect()
        for tdn in range(255):
            rack.tell(tdn)
            Transfer(client, server, 20_000).wait()
        time.sleep(0.01)
        seen = info(client)
        equal(seen["count"], 255, "networks")
        equal([p["known"] for p in seen["path"]], [1] * 255, "known")
        equal(sum(p["delivered"] > 0 for p in seen["path"]), 255, "networks that delivered something")
        equal(sum(p["packets_out"] for p in seen["path"]), 0, "packets out")
        return ""


def case_sack_at_full_option_space() -> str:
    """With time stamps and TD_DATA_ACK two SACK blocks fit, and no header is longer than 60 bytes."""
    with Rack(voq=6) as rack:
        client, server = rack.connect()
        with Capture() as rows:
            Transfer(client, server, 30_000_000).wait()
        acks = [r for r in rows if r["src"] == 2 and 5 in r["options"]]
        blocks = {(len(r["options"][5][0]) - 2) // 8 for r in acks}
        equal(max(r["header"] for r in rows) <= 60, True, "header")
        equal(all(35 in r["options"] for r in acks), True, "TD_DATA_ACK beside SACK")
        if not blocks or max(blocks) > 2:
            raise AssertionError(f"SACK blocks: {blocks}")
        return f"{len(acks)} ACKs with {sorted(blocks)} blocks"


main(globals())
