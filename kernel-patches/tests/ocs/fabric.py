# SPDX-License-Identifier: Apache-2.0
"""Two switches: links that end at a port, frames to everybody, which switch an event is of.

h0 -- p0 [ocs0] t0 ----- t1 [ocs1] p1 -- h1
h2 -- p2 [    ] u0 ----- u1 [    ]
"""

import socket
import struct
import time

from lab import Net, Trace, burst, equal, inside, main, patiently, sh, until
from netlink import os_error
from ocs import Ocs, slot

MS = 1_000_000


class Fabric(Net):
    """Hosts 0 and 2 at ``ocs0``, host 1 at ``ocs1`` (`far`), two trunks, of which the second is not flooded."""

    def __init__(self) -> None:
        super().__init__(3)
        lines = ["ip link add ocs1 type ocs", "ip link set p1 nomaster", "ip link set p1 master ocs1"]
        for a, b in (("t0", "t1"), ("u0", "u1")):
            lines += [f"ip link add {a} type veth peer name {b}"]
            lines += [f"sysctl -qw net.ipv6.conf.{end}.disable_ipv6=1" for end in (a, b)]
            lines += [f"ip link set {a} master ocs0 up", f"ip link set {b} master ocs1 up"]
        sh(*lines, "sysctl -qw net.ipv6.conf.ocs1.disable_ipv6=1", "ip link set ocs1 up")
        for end in ("t0", "t1", "u0", "u1"):
            patiently(f"{end} is up", lambda end=end: "state UP" in sh(f"ip -o link show {end}"))
        self.far = Ocs("ocs1")
        with self.ocs, self.far:
            self.ocs.fdb_set("02:00:00:00:00:02", "t0")
            self.ocs.port_set("u0", flood=False)
            self.far.port_set("u1", flood=False)
            self.far.fdb_set("02:00:00:00:00:02", "p1")
            self.far.fdb_set("02:00:00:00:00:01", "t1")

    def __exit__(self, *_: object) -> None:
        self.far.close()
        sh("ip link del ocs1", "ip link del t0", "ip link del u0")
        super().__exit__()


def sent(ocs: Ocs, *ports: str) -> list[object]:
    """Return how many frames left by each of these ports."""
    stats = ocs.stats()["ports"]
    return [stats[port]["link"]["tx_packets"] for port in ports]


def case_the_next_station_of_a_frame() -> str:
    """A rule asks which station has the destination MAC address, whatever address the packet goes to, if any."""
    with Net(3) as net:
        net.ocs.link_set(0, rate=10**9)
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, station="10.9.0.0/16")
        net.ocs.fdb_set("02:00:00:00:00:02", "p1", "10.9.0.1")
        net.ocs.fdb_set("02:00:00:00:00:03", "p2", "10.8.0.1")
        with inside("h0"):
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            sock.bind(("eth0", 0))
        packet = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 72, 0, 0, 64, 253, 0, bytes(4), socket.inet_aton("10.7.7.7"))
        frames = [
            bytes.fromhex(f"0200000000{mac} 020000000001") + kind + packet + bytes(52)
            for mac in ("02", "03")
            for kind in (b"\x08\x00", b"\x88\xb5")
        ]
        for frame in frames:
            sock.send(frame)
            time.sleep(0.001)
        stats = net.ocs.stats()
        equal([stats["links"][0]["tx_packets"], stats["classes"][0]["packets"]], [2, 2], "frames to the first station")
        equal([stats["ports"][p]["link"]["tx_packets"] for p in ("p1", "p2")], [2, 2], "frames that left by each port")
        # what the switch remembers of a frame holds for the station that it went to
        net.ocs.fdb_set("02:00:00:00:00:02", "p1", "10.8.0.1")
        sock.send(frames[0])
        time.sleep(0.001)
        equal(net.ocs.stats()["links"][0]["tx_packets"], 2, "frames to the first station, which moved")
        sock.close()
    return ""


def case_links_that_end_at_a_port() -> str:
    """Two links lead to one trunk in turn, although the frames' address is bound to another port."""
    with Fabric() as net:
        ocs = net.ocs
        ocs.fdb_set("02:00:00:00:00:02", "p2")
        ocs.link_set(0, rate=10**9, delay=5_000, port="t0")
        ocs.link_set(1, rate=10**10, delay=1_000, port="t0")
        net.far.port_set("p1", rate=10**10)
        epoch = (time.monotonic_ns() // MS + 50) * MS
        ocs.class_set(0, [slot(MS, 0), slot(MS, 1)])
        ocs.rule_add(0, in_if="p0")
        ocs.start(epoch)
        before = sent(ocs, "t0", "u0", "p2")
        sock, sink = net.udp(0), net.udp(1, 9)
        with Trace("ocs_enqueue") as rows:
            for n in range(40):
                until(epoch + n * MS // 10 + 1)
                burst(sock, 1, 1, 1000)
        near, far = (socket.if_nametoindex(name) for name in ("ocs0", "ocs1"))
        inner = [r for r in rows if r["dev"] == near]
        equal([r["link"] for r in inner], [(r["t"] - epoch) // MS % 2 for r in inner], "links")
        stats = ocs.stats()
        counts = [stats["links"][i]["tx_packets"] for i in range(2)]
        ends = [stats["links"][i]["port"] for i in range(2)]
        equal((counts, ends), ([20, 20], ["t0"] * 2), "frames and ends of links")
        equal([a - b for a, b in zip(sent(ocs, "t0", "u0", "p2"), before, strict=True)], [40, 0, 0], "frames out")
        equal(len([r for r in rows if r["dev"] == far]), 40, "frames in the queue of the other switch")
        equal([len(sink.recv(2000)) for _ in range(40)], [958] * 40, "frames received")

        for i in range(2):
            ocs.link_set(i, port="")
        burst(sock, 1, 10, 1000)
        time.sleep(0.01)
        equal([a - b for a, b in zip(sent(ocs, "t0", "u0", "p2"), before, strict=True)], [40, 0, 10], "without an end")
        return f"{counts} frames"


def case_the_port_at_the_end_goes() -> str:
    """Frames on the link are dropped and counted; a port that returns counts when it is set again."""
    with Fabric() as net:
        ocs, sink = net.ocs, net.udp(1, 9)
        ocs.link_set(0, delay=100 * MS, port="t0")
        ocs.class_set(0, [slot(0, 0)])
        ocs.rule_add(0, in_if="p0")
        with Trace("ocs_drop") as rows:
            burst(net.udp(0), 1, 7, 1000)
            sh("ip link set t0 nomaster")
        equal([(r["link"], r["reason"]) for r in rows], [(0, 4)] * 7, "drops")
        equal((ocs.stats()["links"][0]["drops"], ocs.stats()["links"][0]["port"]), (7, "t0"), "counter and port")
        sh("ip link set t0 master ocs0")
        ocs.fdb_set("02:00:00:00:00:02", "t0")
        burst(net.udp(0), 1, 3, 1000)
        time.sleep(0.2)
        equal(ocs.stats()["links"][0]["drops"], 10, "counter while the port is back, and not set")
        ocs.link_set(0, port="t0")
        burst(net.udp(0), 1, 3, 1000)
        equal([len(sink.recv(2000)) for _ in range(3)], [958] * 3, "frames received")
        return ""


def case_ends_that_cannot_be() -> str:
    """A port of another switch, a device that is no port, an end for a port's own link."""
    with Fabric() as net:
        for name in ("p1", "ocs1"):
            number = socket.if_nametoindex(name)
            said = os_error(lambda name=name: net.ocs.link_set(0, port=name))
            equal(said, f"link.port: ifindex {number} is not a port of ocs0", "refusal")
        equal(net.ocs.stats()["links"], {}, "links after refusals")
        return ""


def case_a_broadcast_ends() -> str:
    """With two trunks, one of which is not flooded, each host gets a broadcast once."""
    with Fabric() as net:
        flooded = {name: port["flood"] for name, port in net.ocs.stats()["ports"].items()}
        equal(flooded, {"p0": 1, "p2": 1, "t0": 1, "u0": 0}, "flooding")
        sinks = [net.udp(1, 9), net.udp(2, 9)]
        before = sent(net.ocs, "p0", "p2", "t0", "u0") + sent(net.far, "p1", "t1", "u1")
        sock = net.udp(0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        for n in range(5):
            sock.sendto(bytes([n]) * 100, ("10.0.0.255", 9))
        time.sleep(1)
        after = sent(net.ocs, "p0", "p2", "t0", "u0") + sent(net.far, "p1", "t1", "u1")
        equal([a - b for a, b in zip(after, before, strict=True)], [0, 5, 5, 0, 5, 0, 0], "copies")
        for sink in sinks:
            equal([sink.recv(999)[0] for _ in range(5)], list(range(5)), "received")
        return ""


if __name__ == "__main__":
    main(globals())
