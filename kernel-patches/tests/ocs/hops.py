# SPDX-License-Identifier: Apache-2.0
"""Frames whose address no port has: rules for them, copies over links, and the count of switches they passed.

h0 -- p0 [ocs0] t0 ----- t1 [ocs1] p1 -- h1
h2 -- p2 [    ] u0 ----- u1 [    ]
"""

import socket
import struct
import time

from fabric import Fabric, sent
from lab import Trace, equal, inside, main, sh
from netlink import refused

LLDP, EXPERIMENTAL, ARP, IPV6, VLAN = 0x88CC, 0x88B5, 0x0806, 0x86DD, 0x8100
EVERYBODY, NEIGHBOUR, NOBODY = b"\xff" * 6, bytes.fromhex("0180c200000e"), bytes.fromhex("020000009999")
TO_H1 = bytes.fromhex("020000000002")
#: EtherType and address of frames that are not IPv4; the payload of a tagged frame begins with the tag.
KINDS = [(LLDP, NEIGHBOUR), (ARP, EVERYBODY), (EXPERIMENTAL, NOBODY), (EXPERIMENTAL, TO_H1), (IPV6, EVERYBODY),
         (VLAN, EVERYBODY)]  # fmt: skip


def raw(host: int) -> socket.socket:
    """Return a socket for whole frames at a host; it also gets frames to other addresses."""
    with inside(f"h{host}"):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind(("eth0", 3))
    sock.settimeout(0.05)
    return sock


def frame(kind: int, to: bytes, number: int = 0) -> bytes:
    """Return a frame of 200 bytes from h0."""
    tag = struct.pack("!HH", 7, EXPERIMENTAL) if kind == VLAN else b""
    head = to + bytes.fromhex("020000000001") + struct.pack("!H", kind) + tag + struct.pack("!I", number)
    return head.ljust(200, b"\0")


def received(sock: socket.socket) -> list[bytes]:
    """Return the frames that a host received, without their tags, which the kernel takes off."""
    found = []
    while True:
        try:
            data, where = sock.recvfrom(2000)
        except TimeoutError:
            return found
        if where[2] != socket.PACKET_OUTGOING:
            found.append(data)


def case_copies_take_links() -> str:
    """Each frame crosses once, by the link that floods, in its time; the host at the same switch gets it at once."""
    with Fabric() as net:
        net.ocs.port_set("t0", flood=False)
        net.far.port_set("t1", flood=False)
        net.ocs.link_set(0, rate=10**9, delay=50_000, port="t0", flood=True)
        net.ocs.link_set(1, rate=10**9, port="u0")
        net.far.link_set(0, rate=10**9, port="t1", flood=True)
        equal({i: link.get("flood", 0) for i, link in net.ocs.stats()["links"].items()}, {0: 1, 1: 0}, "settings")
        sink, near, sender = raw(1), raw(2), raw(0)
        before = sent(net.ocs, "t0", "u0", "p2") + sent(net.far, "p1", "t1")
        with Trace("ocs_dequeue") as rows:
            for kind, to in KINDS:
                sender.send(frame(kind, to))
        after = sent(net.ocs, "t0", "u0", "p2") + sent(net.far, "p1", "t1")
        # LLDP is for the neighbour; one of the others is known: it goes to p1 by its address, without a copy
        equal([a - b for a, b in zip(after, before, strict=True)], [5, 0, 4, 5, 0], "frames")
        equal([len(received(sink)), len(received(near))], [5, 4], "frames received")
        equal({row["link"] for row in rows}, {0}, "links")
        said = refused(net.ocs.link_set, 1, port="", flood=True)
        equal(said, "link_set: link.flood: FLOOD needs a PORT that the link ends at", "refusal")
        return f"{len(rows)} copies on the link"


def case_rules_for_any_address() -> str:
    """A rule with the flag catches all that comes in; without it, only what is known; a link without an end loses."""
    with Fabric() as net:
        ocs, sender, sink = net.ocs, raw(0), raw(1)
        ocs.link_set(0, delay=1000, port="t0")
        ocs.class_set(0, [{"duration": 0, "target": 0}])
        ocs.rule_add(0, in_if="p0", any=True)
        equal(ocs.rules(), [{"prio": 0, "class_id": 0, "in_if": "p0", "any": True}], "rules")
        before = sent(ocs, "t0", "u0", "p2")
        for kind, to in KINDS:
            sender.send(frame(kind, to))
        equal(len(received(sink)), 5, "frames received")  # LLDP ends at the next switch, which has no such rule
        equal([a - b for a, b in zip(sent(ocs, "t0", "u0", "p2"), before, strict=True)], [6, 0, 0], "frames")
        ocs.link_set(0, port="")
        with Trace("ocs_drop") as rows:
            for kind, to in KINDS:
                sender.send(frame(kind, to))
        equal([row["reason"] for row in rows], [4] * 5, "drops at a link without an end")
        ocs.rule_del(0, in_if="p0", any=True)
        ocs.rule_add(0, in_if="p0")
        before = sent(ocs, "t0", "p2")
        sender.send(frame(ARP, EVERYBODY))
        time.sleep(0.01)
        equal([a - b for a, b in zip(sent(ocs, "t0", "p2"), before, strict=True)], [1, 1], "copies without the flag")
        return ""


def circle(net: Fabric, **settings: int) -> None:
    """Let frames go by t0 and come back by u1: t0 -> t1 -> [ocs1] -> u1 -> u0 -> [ocs0] -> t0."""
    for ocs, first, second in ((net.ocs, "u0", "t0"), (net.far, "t1", "u1")):
        ocs.link_set(0, delay=10_000, port=second)
        ocs.class_set(0, [{"duration": 0, "target": 0}])
        ocs.rule_add(0, in_if=first, any=True)
        ocs.port_set(first, **settings)
    net.ocs.rule_add(0, in_if="p0", any=True)


def hops(net: Fabric) -> list[object]:
    """Return the highest counts at t1 and u0."""
    return [net.far.stats()["ports"]["t1"].get("hops"), net.ocs.stats()["ports"]["u0"].get("hops")]


def case_a_circle_ends_at_the_limit() -> str:
    """After 100 passes a frame is dropped, each pass 10 us after the one before; the ports have counted."""
    with Fabric() as net:
        circle(net, hops_max=100)
        with Trace("ocs_drop") as rows:
            raw(0).send(frame(LLDP, NEIGHBOUR))
        equal([(row["reason"], row["dev"]) for row in rows], [(11, socket.if_nametoindex("ocs1"))], "drops")
        equal(hops(net), [101, 100], "counts")
        equal([net.far.stats()["ports"]["t1"][name] for name in ("hops_max", "drops")], [100, 1], "port")
        return f"{rows[0]['t'] % 10**9} ns"


def case_without_a_limit() -> str:
    """A count without a limit drops nothing; a port that was told nothing does not count."""
    with Fabric() as net:
        circle(net, hops_max=0xFFFFFFFF)
        raw(0).send(frame(LLDP, NEIGHBOUR))
        time.sleep(0.01)
        first = hops(net)
        net.ocs.rule_flush()
        if not 900 < first[0] < 1100:
            raise AssertionError(f"counts {first}")
        equal(net.ocs.stats()["ports"]["t0"].get("hops"), None, "count of a port that was told nothing")
        return f"{first} passes in 10 ms"


def returned(wait: float) -> object:
    """Return the highest count at t1 when a process behind u1 has sent a frame back 20 times, each time after a wait.

    p0 -> [ocs0] -> t0 -> t1 -> [ocs1] -> u1 -> u0, the process, u0 -> u1 -> [ocs1] -> t1 -> t0 -> [ocs0] -> t0 ...
    """
    with Fabric() as net:
        sh("ip link set u0 nomaster up")
        for ocs, leads in ((net.ocs, [("p0", "t0"), ("t0", "t0")]), (net.far, [("t1", "u1"), ("u1", "t1")])):
            for number, (first, last) in enumerate(leads):
                ocs.link_set(number, delay=10_000, port=last)
                ocs.class_set(number, [{"duration": 0, "target": number}])
                ocs.rule_add(number, in_if=first, any=True)
        net.ocs.port_set("t0", hops_max=0xFFFFFFFF)
        net.far.port_set("t1", hops_max=0xFFFFFFFF)
        net.far.port_set("u1", trail=1_000_000)
        equal(net.far.stats()["ports"]["u1"]["trail"], 1_000_000, "trail")
        program = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        program.bind(("u0", 3))
        program.settimeout(1)
        raw(0).send(frame(EXPERIMENTAL, NOBODY))
        count = 0
        while count < 20:
            data, where = program.recvfrom(2000)
            if where[2] != socket.PACKET_OUTGOING:
                time.sleep(wait)
                program.send(data)
                count += 1
        time.sleep(0.01)
        return net.far.stats()["ports"]["t1"]["hops"]


def case_a_program_that_sends_anew() -> str:
    """What a process gives back within the time of the trail goes on with its count: two switches in each round."""
    equal(returned(0), 41, "count")
    return ""


def case_a_program_that_waits_longer() -> str:
    """What comes later than the trail holds is a new frame."""
    equal(returned(0.002), 2, "count")
    return ""


if __name__ == "__main__":
    main(globals())
