# SPDX-License-Identifier: Apache-2.0
"""When packets that come back carry ECE, which of them, and what else becomes of them.

Most cases send one burst of segments, which the ingress link of a port spreads over time: one a
nanosecond, if need be.  The trace says when each left that link, which is when it passed the switch.
"""

import ctypes
import socket
import struct
import threading
import time
from collections.abc import Callable

from lab import Net, Trace, burst, equal, inside, main, until
from netlink import refused
from notify import count, drain, ones, soon, tap
from ocs import BYPASS, DARK, NO_CLASS, slot

US, MS = 1_000, 1_000_000
FIN, SYN, RST, PSH, ACK, ECE, CWR = 1, 2, 4, 8, 16, 64, 128
BARE = 14 + 20 + 20
SLOW = 10**5  # bit/s at which it takes 6 ms
SPREAD = (BARE + 24) * 8 * 10**9  # bit/s at which a bare segment takes 1 ns


def segment(number: int, flags: int = ACK, payload: bytes = b"", proto: int = 6, offset: int = 0) -> bytes:
    """Make a frame from h1 to h0; `number` is its sequence number."""
    src, dst = socket.inet_aton("10.0.0.2"), socket.inet_aton("10.0.0.1")
    tcp = struct.pack(">HHIIBBHHH", 80, 9, number, 0, 5 << 4, flags, 1000, 0, 0) + payload
    even = tcp + bytes(len(tcp) % 2)
    check = 0xFFFF - ones(src + dst + struct.pack(">HH", proto, len(tcp)) + even)
    tcp = tcp[:16] + struct.pack(">H", check) + tcp[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, offset, 64, proto, 0) + src + dst
    ip = ip[:10] + struct.pack(">H", 0xFFFF - ones(ip)) + ip[12:]
    return bytes.fromhex("0200000000010200000000020800") + ip + tcp


def check(frame: bytes) -> None:
    """Fail unless the checksums of a frame are right."""
    tcp = frame[34:] + bytes(len(frame) % 2)
    equal(ones(frame[14:34]), 0xFFFF, "IPv4 checksum")
    equal(ones(frame[26:34] + struct.pack(">HH", 6, len(frame) - 34) + tcp), 0xFFFF, "TCP checksum")


def sender() -> socket.socket:
    """Make a packet socket that sends from h1, with room for all."""
    sock = tap("eth0", 1)
    sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 26)  # SO_SNDBUFFORCE
    sock.setblocking(True)
    return sock


def bind(net: Net, slots: list[dict], **echo: int) -> None:
    """Class 0 from h0 with these slots, class 1 from h1 that echoes its TDN 1."""
    net.ocs.class_set(0, slots)
    net.ocs.rule_add(0, in_if="p0")
    net.ocs.class_set(1, [slot(0, BYPASS)], echo={"class": 0, "tdn": 1, **echo})
    net.ocs.rule_add(1, in_if="p1")


def packed(net: Net, port: str, at: int, rate: int, first: int, send: Callable[[], None]) -> None:
    """Have what `send` sends pass the switch without a gap from about an instant on.

    The first frame, of `first` bytes, keeps the port's ingress link busy until then, so that nothing but
    the link's own timer says when the others pass.
    """
    ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK: wake on time
    net.ocs.port_set(port, ingress={"rate": SLOW})
    until(at - (first + 24) * 8 * 10**9 // SLOW)
    send()
    net.ocs.port_set(port, ingress={"rate": rate})


def passes(net: Net, at: int, frames: list[bytes], rate: int = SPREAD) -> list[tuple[int, bytes, bytes]]:
    """Send frames from h1 from about an instant on: (when it passed the switch, as sent, as received) of each."""
    source, sink = sender(), tap("eth0", 0)
    ends = segment(0, SYN)  # when one begins the one before has passed

    def send() -> None:
        for frame in (ends, *frames, ends):
            source.send(frame)

    with Trace("ocs_dequeue") as rows:
        packed(net, "p1", at, rate, len(ends), send)
    left = [r for r in rows if r["link"] == 0x4001]
    equal([r["len"] for r in left], [len(ends), *map(len, frames), len(ends)], "frames on the ingress link")
    got = drain(sink)
    source.close()
    sink.close()
    return list(zip([r["t"] for r in left[2:]], frames, got[1:-1], strict=True))


def sweep(net: Net, instant: int, n: int = 3000) -> str:
    """Have one segment a nanosecond pass around an instant: (offset of the first, ECE or not) of each run of equals."""
    seen = passes(net, instant - n // 2 - 800, [segment(i) for i in range(n)])
    equal([t - seen[0][0] for t, _, _ in seen], list(range(n)), "instants")
    if not seen[0][0] < instant - 10 < instant + 10 < seen[-1][0]:
        raise AssertionError(f"the sweep of {instant} went from {seen[0][0]} to {seen[-1][0]}")
    equal([struct.unpack(">I", got[38:42])[0] for _, _, got in seen], list(range(n)), "order")
    for _, _, got in seen[:: n // 50]:
        check(got)
    runs: list[tuple[int, int]] = []
    for t, _, got in seen:
        flag = int(bool(got[47] & ECE))
        if not runs or runs[-1][1] != flag:
            runs.append((t - instant, flag))
    return "".join(str(flag) for _, flag in runs) + "@" + ",".join(str(t) for t, _ in runs[1:])


def week() -> list[dict]:
    """180 us on the packet network, 20 us of night, six times; then the circuit and its night."""
    return [slot(180 * US, BYPASS), slot(20 * US, DARK)] * 6 + [slot(180 * US, BYPASS, tdn=1), slot(20 * US, DARK)]


def case_to_the_ns() -> str:
    """ECE from in_advance before the circuit until it ends, not a nanosecond more or less, cycle after cycle."""
    with Net(2) as net:
        bind(net, week())
        epoch = soon()
        net.ocs.start(epoch)
        at, seen = epoch + 14 * MS, []
        for advance in (0, 1, 150 * US, 1200 * US, 1219_999, 1220 * US, 10 * MS):
            net.ocs.class_set(1, echo={"in_advance": advance})
            here = []
            for edge in (1200 * US - advance, 1380 * US):
                at = (time.monotonic_ns() - epoch) // 1_400_000 * 1_400_000 + 28 * MS + epoch
                here.append(sweep(net, at + edge))
            seen.append((advance, *here))
        equal(
            seen,
            [
                (0, "01@0", "10@0"),
                (1, "01@0", "10@0"),
                (150 * US, "01@0", "10@0"),
                (1200 * US, "01@0", "10@0"),
                (1219_999, "101@-1,0", "101@0,1"),  # dark for the flag for 1 ns
                (1220 * US, "1@", "1@"),
                (10 * MS, "1@", "1@"),
            ],
            "(in_advance, edge that rises, edge that falls)",
        )
        return ""


def case_before_the_epoch() -> str:
    """Before the epoch slot 0 is in force, and the timetable ahead is known."""
    with Net(2) as net:
        bind(net, [slot(MS, BYPASS), slot(MS, BYPASS, tdn=1)], in_advance=5 * MS)
        seen = [int(passes(net, 0, [segment(0)])[0][2][47] & ECE)]
        epoch = soon() + 1000 * MS
        net.ocs.start(epoch)
        seen += [sweep(net, epoch + MS - 5 * MS)]
        net.ocs.class_set(0, [slot(MS, BYPASS, tdn=1), slot(MS, BYPASS)])
        epoch = soon() + 2000 * MS
        net.ocs.start(epoch)
        seen += [int(passes(net, soon(), [segment(0)])[0][2][47] & ECE)]
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=2)])
        seen += [int(passes(net, soon(), [segment(0)])[0][2][47] & ECE)]
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=1)])
        seen += [int(passes(net, soon(), [segment(0)])[0][2][47] & ECE)]
        equal(seen, [0, "01@0", ECE, 0, ECE], "flags")
        return ""


def case_which_packets() -> str:
    """Segments with ACK, without SYN and RST; nothing else changes, and ECE is never cleared."""
    frames = [
        segment(0, ACK),
        segment(1, ACK | PSH, b"data"),
        segment(2, ACK | FIN),
        segment(3, ACK | CWR),
        segment(4, ACK | ECE),
        segment(5, SYN),
        segment(6, SYN | ECE | CWR),
        segment(7, SYN | ACK),
        segment(8, RST | ACK),
        segment(9, RST),
        segment(10, PSH, b"none"),
        segment(11, ACK, proto=17),
        segment(12, ACK, offset=100),
        segment(13, ACK, offset=0x2000),  # first of a fragmented packet
        segment(14, ACK)[:-8],
        segment(15, ACK, b"odd"),
        segment(16, ACK, bytes(1400)),
    ]
    with Net(2) as net:
        bind(net, [slot(0, BYPASS, tdn=1)])
        tapped = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # makes clones of what comes in
        tapped.bind(("p1", 3))
        tapped.setblocking(False)
        net.ocs.start(0)
        seen = passes(net, soon(), frames)
        marked = [i for i, (_, sent, got) in enumerate(seen) if sent != got]
        equal(marked, [0, 1, 2, 3, 13, 15, 16], "which were marked")
        for i in marked:
            _, sent, got = seen[i]
            equal(got[47], sent[47] | ECE, "flags")
            equal(got[:47] + got[48:50] + got[52:], sent[:47] + sent[48:50] + sent[52:], "all but flags and checksum")
            if i != 13:
                check(got)
        equal(net.ocs.stats()["classes"][1]["echo"]["marks"], len(marked), "counter")
        equal(drain(tapped)[1:-1], frames, "a packet socket on the port, before the switch")
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=0)])
        seen = passes(net, soon(), frames)
        equal([sent == got for _, sent, got in seen], [True] * len(frames), "without a circuit all pass as they are")
        net.ocs.class_set(1, echo={"class": NO_CLASS})
        equal("echo" in net.ocs.stats()["classes"][1], False, "dump")
        return ""


def exchange(data: list[bytes]) -> list[bytes]:
    """Send data over one connection, from h0 and from h1 at once; return what arrived of each."""
    with inside("h0"):
        server = socket.create_server(("10.0.0.1", 5000))
    with inside("h1"):
        ends = [socket.create_connection(("10.0.0.1", 5000))]
    ends.insert(0, server.accept()[0])
    got = [b"", b""]

    def read(side: int) -> None:
        got[side] = ends[1 - side].recv(len(data[side]), socket.MSG_WAITALL)

    def write(side: int) -> None:
        ends[side].sendall(data[side])
        ends[side].shutdown(socket.SHUT_WR)

    threads = [threading.Thread(target=job, args=(side,)) for job in (read, write) for side in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for sock in (*ends, server):
        sock.close()
    return got


def case_a_flow() -> str:
    """Data in both directions arrives whole, with checksums by the sender, and by the switch's segmentation."""
    marks = []
    for offload in (False, True):
        with Net(2, offload=offload) as net:
            for port in ("p0", "p1"):
                net.ocs.port_set(port, rate=10**9)
            for i in range(2):
                table = [slot(300 * US, BYPASS), slot(200 * US, BYPASS, tdn=1)]
                net.ocs.class_set(i, table)
                net.ocs.rule_add(i, in_if=f"p{i}")
            for i in range(2):
                net.ocs.class_set(i, echo={"class": 1 - i, "tdn": 1, "in_advance": 50 * US})
            net.ocs.start(time.monotonic_ns())
            data = [bytes((n * (7 + 6 * side)) % 251 for n in range(251)) * 12_000 for side in range(2)]
            equal([got == sent for got, sent in zip(exchange(data), data, strict=True)], [True, True], "data is whole")
            bad = [count(i, "Tcp", "InCsumErrors") + count(i, "Tcp", "InErrs") for i in range(2)]
            equal(bad, [0, 0], "errors")
            classes = net.ocs.stats()["classes"]
            marks += [classes[i]["echo"]["marks"] for i in range(2)]
            if min(marks) < 100:
                raise AssertionError(f"{marks} marks only")
    return f"{marks} marks"


def case_room_ahead() -> str:
    """A slot divided in two makes room 150 us ahead of the circuit, and tells of it by ECE at the same instant."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**6)
        net.ocs.link_set(1, rate=10**10)
        table = [
            slot(1050 * US, 0, voq_packets=16),
            slot(150 * US, 0, voq_packets=50),
            slot(180 * US, 1, tdn=1),
            slot(20 * US, DARK),
        ]
        net.ocs.class_set(0, table, hold=True)
        bind(net, table, in_advance=150 * US)
        epoch = soon() + 100 * MS
        net.ocs.start(epoch)
        at = epoch + 1050 * US
        sock = net.udp(0)
        with Trace("ocs_enqueue", "ocs_drop", "ocs_dequeue") as rows:
            packed(
                net, "p0", at - 2 * US, (1000 + 24) * 8 * 10**9, 1000, lambda: burst(sock, 1, 4000, 1000)
            )  # a ns each
        times = {"ocs_enqueue": [], "ocs_drop": []}
        for row in rows:
            if row["cls"] == 0 and row["event"] in times:
                times[row["event"]].append(row["t"] - at)
        entered = [t for t in times["ocs_enqueue"] if t < 0]
        equal(len(entered), 17, "frames that found room at first: one on the link and 16 behind it")
        equal([t for t in times["ocs_enqueue"] if 0 <= t < 100 * US], list(range(34)), "those that found new room")
        equal(times["ocs_drop"][-1] < 150 * US, True, "all before the circuit")
        starts = [r["t"] - at for r in rows if r["event"] == "ocs_dequeue" and r["link"] == 1]
        equal(len([t for t in starts if 150 * US <= t < 330 * US]), 50, "frames that the circuit takes")
        at = (time.monotonic_ns() - epoch) // 1_400_000 * 1_400_000 + 28 * MS + epoch
        equal(sweep(net, at + 1050 * US), "01@0", "ECE")
        return ""


def case_refusals() -> str:
    """Each wrong value is refused, with its name and what is allowed."""
    with Net(2) as net:
        net.ocs.class_set(0, [slot(0, BYPASS)])

        def no(**echo: int) -> str:
            return refused(net.ocs.class_set, 0, echo=echo).removeprefix("class_set: class.echo")

        equal(
            [
                no(tdn=1),
                no(**{"class": 0}),
                no(**{"class": 7}, tdn=1),
                no(**{"class": 5000}, tdn=1),
                no(**{"class": 0}, tdn=1, in_advance=10**12 + 1),
                no(**{"class": 0}, tdn=1, marks=5),
                refused(net.ocs.class_set, 9, [slot(0, BYPASS)], echo={"class": 9, "tdn": 1}),
            ],
            [
                ": CLASS of a new echo is missing",
                ": TDN of a new echo is missing",
                ".class: CLASS 7 does not exist",
                ".class: CLASS 5000 does not exist",
                ".in_advance: integer out of range (allowed 0..1000000000000)",
                ".marks: Unknown attribute type",
                "class_set: class.echo.class: CLASS 9 does not exist",
            ],
            "refusals",
        )
        equal(list(net.ocs.stats()["classes"]), [0], "classes")
        equal("echo" in net.ocs.stats()["classes"][0], False, "dump")
        net.ocs.class_set(0, echo={"class": 0, "tdn": 3})
        net.ocs.class_set(0, echo={"in_advance": 10**12})
        echo = net.ocs.stats()["classes"][0]["echo"]
        equal(echo, {"class": 0, "tdn": 3, "in_advance": 10**12, "marks": 0}, "dump")
        return ""


if __name__ == "__main__":
    main(globals())
