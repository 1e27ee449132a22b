# SPDX-License-Identifier: Apache-2.0
"""When hosts are told which network is active, in which words, and what they make of it."""

import contextlib
import socket
import struct
import time
from pathlib import Path

from lab import Net, Trace, burst, equal, hold, inside, main, sh, until
from netlink import refused
from ocs import BYPASS, DARK, NO_CLASS, slot

US, MS = 1_000, 1_000_000
FRAME = 14 + 20 + 8
ETH_P_ALL = socket.htons(3)


def soon() -> int:
    """A round instant a little ahead."""
    return (time.monotonic_ns() // (10 * MS) + 2) * 10 * MS


def follow(net: Net, port: int, cls: int = 0, **options: object) -> None:
    """Tell the host at a port about a class."""
    net.ocs.port_set(f"p{port}", notify={"class": cls, "dst": f"10.0.0.{port + 1}", **options})


def told(rows: list[dict], port: int) -> list[tuple[int, int]]:
    """What the host at a port was told, as (instant, TDN)."""
    return [(r["t"], r["tdn"]) for r in rows if r["event"] == "ocs_notify" and r["port"] == port]


def boundaries(epoch: int, slots: list[dict], n: int, tdn: int | None = None) -> list[tuple[int, int]]:
    """The first `n` changes of TDN of a timetable, as (instant, TDN), after `tdn`."""
    out, at, i = [], epoch, 0
    while len(out) < n:
        if slots[i]["tdn"] != tdn:
            tdn = slots[i]["tdn"]
            out.append((at, tdn))
        at += slots[i]["duration"]
        i = (i + 1) % len(slots)
    return out


def tap(dev: str, host: int) -> socket.socket:
    """Make a packet socket that sees what comes to a host."""
    with inside(f"h{host}"):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, ETH_P_ALL)
        sock.bind((dev, 3))
    sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
    sock.setblocking(False)
    return sock


def drain(sock: socket.socket) -> list[bytes]:
    """Read all frames that have come in."""
    out = []
    with contextlib.suppress(BlockingIOError):
        while True:
            frame, where = sock.recvfrom(65536)
            if where[2] != socket.PACKET_OUTGOING:
                out.append(frame)
    return out


def ones(data: bytes) -> int:
    """Sum of 16-bit words in ones' complement: 0xffff if a checksum in them is right."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def sysctl(host: int, name: str, value: int | str | None = None) -> int:
    """Read, or write and read, a setting of a host; 0 for an address."""
    with inside(f"h{host}"):
        path = Path("/proc/sys/net/ipv4") / name
        if value is not None:
            path.write_text(str(value))
        text = path.read_text().strip()
        return int(text) if text.isdigit() else 0


def count(host: int, group: str, name: str) -> int:
    """Read a counter of a host's stack."""
    for file in ("snmp", "netstat"):
        with inside(f"h{host}"):
            lines = Path(f"/proc/thread-self/net/{file}").read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            if names.startswith(f"{group}: ") and name in names.split():
                return int(values.split()[names.split().index(name)])
    raise KeyError(name)


def case_told_to_the_ns() -> str:
    """Each host is told its own delay after each change, from the epoch on, though many are on their way."""
    slots = [slot(180 * US, 0, tdn=0), slot(20 * US, DARK, tdn=0), slot(77_777, BYPASS, tdn=1), slot(100, 0, tdn=5)]
    delays = [0, 12_345, 3 * MS + 1]
    with Net(3) as net:
        net.ocs.link_set(0)
        net.ocs.class_set(0, slots, phase=4321)
        for port, delay in enumerate(delays):
            follow(net, port, delay=delay)
        epoch = soon()
        with Trace() as rows:
            net.ocs.start(epoch)
            until(epoch + 50 * MS)
            for port in range(3):
                net.ocs.port_set(f"p{port}", notify={"class": NO_CLASS})
        for port, delay in enumerate(delays):
            seen = told(rows, port)
            if len(seen) < 500:
                raise AssertionError(f"{len(seen)} messages only")
            expected = boundaries(epoch + 4321, slots, len(seen))
            equal(seen, [(t + delay, tdn) for t, tdn in expected], f"messages to host {port}")
        equal({r["event"] for r in rows}, {"ocs_notify", "ocs_slot"}, "events: no queue is concerned")
        return f"{len(rows)} events"


def case_the_frame() -> str:
    """A whole ICMP message in an IPv4 packet, from the switch to the host, with right checksums."""
    with Net(3) as net:
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=7)])
        taps = [tap("eth0", i) for i in range(3)]
        follow(net, 0)
        follow(net, 1, src="10.0.0.77", mac="02:00:00:00:00:99")
        net.ocs.start(0)
        frames = [drain(t) for t in taps]
        equal([len(f) for f in frames], [1, 1, 0], "frames")
        own = bytes.fromhex(Path("/sys/class/net/ocs0/address").read_text().strip().replace(":", ""))
        for frame, mac, src, dst in (
            (frames[0][0], "020000000001", "192.0.0.8", "10.0.0.1"),
            (frames[1][0], "020000000099", "10.0.0.77", "10.0.0.2"),
        ):
            equal(len(frame), FRAME, "length")
            equal(frame[:14], bytes.fromhex(mac) + own + b"\x08\x00", "Ethernet header")
            expected = bytes.fromhex("45c0001c00004000ff0100 00".replace(" ", ""))
            expected = expected[:10] + frame[24:26] + socket.inet_aton(src) + socket.inet_aton(dst)
            equal(frame[14:34], expected, "IPv4 header")
            equal(ones(frame[14:34]), 0xFFFF, "its checksum")
            equal(frame[34:36] + frame[38:], bytes([7, 0, 7, 0, 0, 0]), "ICMP message")
            equal(ones(frame[34:]), 0xFFFF, "its checksum")
        return ""


def denied(call, *args: object, **kwargs: object) -> str:
    """Return the text of the OSError that a call must raise."""
    try:
        call(*args, **kwargs)
    except OSError as error:
        return str(error.strerror).removeprefix("ocs0: ")
    raise AssertionError(f"{call.__name__} {args} {kwargs} was accepted")


def case_prefixes() -> str:
    """A port follows a class for each prefix, and one for the rest; each message names its prefix and nothing else."""
    slots = [slot(180 * US, BYPASS, tdn=0), slot(20 * US, BYPASS, tdn=1), slot(50 * US, BYPASS, tdn=3)]
    rest = [slot(70 * US, BYPASS, tdn=5), slot(30 * US, BYPASS, tdn=6)]
    with Net(2) as net:
        net.ocs.class_set(0, slots)
        net.ocs.class_set(1, slots, phase=33 * US)
        net.ocs.class_set(2, rest)
        follows = (("10.1.0.0/16", 0, 0), ("10.2.3.0/24", 1, 7 * US), (None, 2, 0))
        for prefix, cls, delay in follows:
            follow(net, 0, cls, delay=delay, **({"prefix": prefix} if prefix else {}))
        socket_ = tap("eth0", 0)
        epoch = soon()
        with Trace("ocs_notify") as rows:
            net.ocs.start(epoch)
            until(epoch + 10 * MS)
            for prefix, _, _ in follows:
                net.ocs.port_set("p0", notify={"class": NO_CLASS, **({"prefix": prefix} if prefix else {})})
        frames = drain(socket_)
        for (prefix, cls, delay), table in zip(follows, (slots, slots, rest), strict=True):
            address, _, length = (prefix or "0.0.0.0/0").partition("/")
            told_of = (int(length), socket.inet_aton(address))
            seen = [(r["t"], r["tdn"]) for r in rows if (r["prefix_len"], r["prefix"]) == told_of]
            if len(seen) < 100:
                raise AssertionError(f"{len(seen)} messages only about {prefix}")
            phase = 33 * US if cls == 1 else 0
            expected = [(t + delay, tdn) for t, tdn in boundaries(epoch + phase, table, len(seen))]
            equal(seen, expected, f"messages about {prefix}")
            bodies = [f[38:] for f in frames if f[39] == told_of[0] and f[42:46] == (told_of[1] if prefix else b"")]
            equal([body[0] for body in bodies], [tdn for _, tdn in seen], f"networks in the frames about {prefix}")
            equal({body[1:] for body in bodies}, {bytes([told_of[0], 0, 0]) + (told_of[1] if prefix else b"")}, "rest")
        equal(
            {(len(f), ones(f[14:34]), ones(f[34:])) for f in frames},
            {(42, 0xFFFF, 0xFFFF), (46, 0xFFFF, 0xFFFF)},
            "sums",
        )
        equal({f[22] for f in frames}, {255}, "TTL")
        return f"{len(frames)} frames"


def case_prefixes_read_back() -> str:
    """Each prefix has settings and counters of its own, which a dump shows; there is a limit, and room after it."""
    with Net(2) as net:
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=1)])
        net.ocs.class_set(1, [slot(0, BYPASS, tdn=2)])

        def seen() -> dict:
            return net.ocs.stats()["ports"]["p0"]

        follow(net, 0, prefix="10.1.0.0/16", delay=5)
        equal("notify" in seen(), False, "nothing about the rest")
        follow(net, 0, 1, prefix="10.2.0.0/16", inband=1)
        follow(net, 0)
        net.ocs.start(soon())
        time.sleep(0.03)
        net.ocs.port_set("p0", notify={"prefix": "10.1.0.0/16", "delay": 6})  # tells again
        time.sleep(0.001)
        fixed = {"dst": "10.0.0.1", "mac": "02:00:00:00:00:01", "src": "192.0.0.8", "drops": 0}
        equal(
            seen()["prefixes"],
            {
                "10.1.0.0/16": {**fixed, "class": 0, "delay": 6, "inband": 0, "tdn": 1, "sent": 2},
                "10.2.0.0/16": {**fixed, "class": 1, "delay": 0, "inband": 1, "tdn": 2, "sent": 1},
            },
            "prefixes",
        )
        equal(seen()["notify"]["sent"], 1, "messages about the rest")
        words = denied(net.ocs.class_del, 1)
        equal(words, "class_del: class.id: CLASS 1 is in use by the notification of a port", "a class that is told of")
        net.ocs.port_set("p0", notify={"class": NO_CLASS, "prefix": "10.2.0.0/16"})
        net.ocs.class_del(1)
        equal(list(seen()["prefixes"]), ["10.1.0.0/16"], "prefixes that are left")
        for number in range(254):
            follow(net, 0, prefix=f"10.9.{number}.0/24")
        equal(len(seen()["prefixes"]), 255, "prefixes, beside the rest")
        words = denied(net.ocs.port_set, "p0", notify={"class": 0, "dst": "10.0.0.1", "prefix": "10.10.0.0/16"})
        equal(words, "port_set: port.notify: the port tells of 256 prefixes already", "one more")
        net.ocs.port_set("p0", notify={"class": NO_CLASS, "prefix": "10.9.7.0/24"})
        follow(net, 0, prefix="10.10.0.0/16")
        time.sleep(0.001)
        equal(seen()["prefixes"]["10.10.0.0/16"]["sent"], 1, "messages about one that took the room of another")
        for prefix, words in (
            ("10.1.0.1/16", "port_set: port.notify.prefix: PREFIX 10.1.0.1 has more bits than PREFIX_LEN 16"),
            ("10.1.0.0/33", "port_set: port.notify.prefix_len: integer out of range (allowed 0..32)"),
        ):
            equal(refused(net.ocs.port_set, "p0", notify={"class": 0, "prefix": prefix}), words, prefix)
        return ""


def case_hosts_follow() -> str:
    """tdn_current of a host that knows the network follows, to the instant; others do not care."""
    slots = [slot(10 * MS, BYPASS, tdn=0), slot(10 * MS, DARK, tdn=1), slot(10 * MS, BYPASS, tdn=2)]
    with Net(4) as net:
        for host, networks in enumerate((2, 3, 0, 3)):
            sysctl(host, "tdn_count", networks)
        net.ocs.class_set(0, slots)
        for port in range(3):
            follow(net, port, delay=port * MS)
        epoch = soon()
        net.ocs.start(epoch)
        seen = []
        for ms in (5, 9, 10, 11, 15, 20, 21, 25, 31, 35):
            until(epoch + ms * MS + 500 * US)
            seen.append((ms, *(sysctl(host, "tdn_current") for host in range(4))))
        equal(
            seen,
            [
                (5, 0, 0, 0, 0),
                (9, 0, 0, 0, 0),
                (10, 1, 0, 0, 0),  # host 1 is told 1 ms later
                (11, 1, 1, 0, 0),
                (15, 1, 1, 0, 0),
                (20, 1, 1, 0, 0),  # host 0 knows of two networks only
                (21, 1, 2, 0, 0),
                (25, 1, 2, 0, 0),
                (31, 0, 0, 0, 0),
                (35, 0, 0, 0, 0),
            ],
            "(ms, tdn_current of hosts 0 to 3)",
        )
        equal(count(0, "Icmp", "InErrors") > 0, True, "host 0 counts TDN 2 as an error")
        equal([count(1, "Icmp", n) for n in ("InErrors", "InCsumErrors")], [0, 0], "host 1 has no errors")
        return ""


def case_source_address() -> str:
    """The default does without a route back; a host with rp_filter wants an address it would answer."""
    with Net(2) as net:
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=1)])
        seen = []
        for check, src in ((0, None), (1, None), (2, None), (1, "10.0.0.99"), (1, "10.9.0.1"), (0, "10.0.0.2")):
            sysctl(0, "conf/all/rp_filter", check)
            sysctl(0, "tdn_count", 2)
            sysctl(0, "tdn_source", src or "192.0.0.8")
            follow(net, 0, **({"src": src} if src else {}))
            net.ocs.start(0)
            time.sleep(0.001)
            seen.append((check, src, sysctl(0, "tdn_current")))
            net.ocs.port_set("p0", notify={"class": NO_CLASS})
        equal(
            seen,
            [(0, None, 1), (1, None, 0), (2, None, 0), (1, "10.0.0.99", 1), (1, "10.9.0.1", 0), (0, "10.0.0.2", 1)],
            "(rp_filter, src, tdn_current)",
        )
        return ""


def case_told_once() -> str:
    """Slots of the same TDN, such as one that was divided to resize a queue, are no news."""
    with Net(2) as net:
        table = [slot(1 * MS, BYPASS, tdn=0), slot(1 * MS, BYPASS, tdn=0, voq_packets=5), slot(1 * MS, DARK, tdn=1)]
        net.ocs.class_set(0, table)
        follow(net, 0)
        epoch = soon()
        with Trace("ocs_notify") as rows:
            net.ocs.start(epoch)
            until(epoch + 8 * MS + 500 * US)
            net.ocs.port_set("p0", notify={"class": NO_CLASS})
        equal(told(rows, 0), [(epoch + n * MS, tdn) for n, tdn in enumerate((0, None, 1) * 3) if tdn is not None], "")
        return ""


def case_start() -> str:
    """Nothing before the start; a timetable of one slot tells at once; each start and each setting tells anew."""
    with Net(3) as net:
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=3)])
        net.ocs.class_set(1, [slot(1000 * MS, BYPASS, tdn=4), slot(1000 * MS, BYPASS, tdn=5)])
        with Trace("ocs_notify") as rows:
            follow(net, 0, delay=MS)
            follow(net, 1, 1, delay=MS)
            time.sleep(0.01)
        equal(rows, [], "before the start")
        equal("tdn" in net.ocs.stats()["ports"]["p0"]["notify"], False, "TDN last told")
        epoch = soon() + 100 * MS
        with Trace("ocs_notify") as rows:
            net.ocs.start(epoch)
            follow(net, 0)  # again
            until(epoch + 5 * MS)
            follow(net, 2, 1)  # while it runs
            sh("ip link set ocs0 down")
            until(epoch + 1001 * MS)
            sh("ip link set ocs0 up")
            net.ocs.start(epoch)
            net.ocs.class_set(1, [slot(0, BYPASS, tdn=9)])
        equal([tdn for _, tdn in told(rows, 0)], [3, 3, 3], "host 0")
        equal(told(rows, 0)[0][0] < epoch, True, "host 0: at once")
        equal(told(rows, 1)[0], (epoch + MS, 4), "host 1: at the epoch")
        equal([tdn for _, tdn in told(rows, 1)], [4, 5, 9], "host 1")
        equal([tdn for _, tdn in told(rows, 2)], [4, 5, 9], "host 2")
        notify = net.ocs.stats()["ports"]["p1"]["notify"]
        equal((notify["tdn"], notify["sent"], notify["drops"]), (9, 3, 0), "counters")
        return ""


def case_order() -> str:
    """A delay that was made shorter lets no message overtake; the last one told is the last to come."""
    slots = [slot(MS, BYPASS, tdn=0), slot(MS, BYPASS, tdn=1), slot(MS, BYPASS, tdn=2)]
    with Net(2) as net:
        net.ocs.class_set(0, slots)
        follow(net, 0, delay=50 * MS)
        epoch = soon()
        with Trace("ocs_notify") as rows:
            net.ocs.start(epoch)
            until(epoch + 10 * MS + 500 * US)
            follow(net, 0, delay=0)  # tells TDN 1 once more
            until(epoch + 70 * MS + 500 * US)
            net.ocs.port_set("p0", notify={"class": NO_CLASS})
        seen = told(rows, 0)
        first = [(t + 50 * MS, tdn) for t, tdn in boundaries(epoch, slots, 11)]
        wait = [(first[-1][0], tdn) for _, tdn in [(0, 1), *boundaries(epoch, slots, 61)[11:]]]
        late = boundaries(epoch, slots, 71)[61:]
        equal(seen, first + wait + late, "messages")
        return f"{len(seen)} messages"


def case_in_band() -> str:
    """Out of band a message passes all data; in band it waits behind what was there first."""
    seen = []
    for inband, delay in ((0, 500), (1, 500), (1, 0)):
        with Net(2) as net:
            net.ocs.link_set(0)
            net.ocs.port_set("p1", rate=10**7)
            follower = {"class": 0, "dst": "10.0.0.2", "delay": delay, "inband": inband}
            start = hold(net, 0)
            with Trace("ocs_notify") as rows:
                burst(net.udp(0), 1, 20, 1226)  # 1 ms each
                net.ocs.class_set(1, [slot(0, DARK, tdn=9)])
                net.ocs.port_set("p1", notify={**follower, "class": 1})  # told while nothing waits
                time.sleep(0.01)
                net.ocs.class_set(0, [slot(100 * MS, DARK, tdn=9), slot(100_000 * MS, 0, tdn=1)])
                net.ocs.port_set("p1", notify=follower)
            stats = net.ocs.stats()["ports"]["p1"]
            seen.append(([(t - start, tdn) for t, tdn in told(rows, 1) if tdn == 1], stats["link"]["tx_packets"]))
    frame = (FRAME + 24) * 800
    equal(
        seen,
        [([(500, 1)], 20), ([(500 + 20 * MS - 500 + frame, 1)], 23), ([(frame, 1)], 23)],
        "(instant, TDN), frames on the egress link",
    )
    return ""


def case_in_band_lost() -> str:
    """In band a message may find the queue full, as any frame."""
    with Net(2) as net:
        net.ocs.link_set(0)
        net.ocs.port_set("p1", rate=10**7, queue={"limit_packets": 20})
        start = hold(net, 0)
        with Trace("ocs_notify", "ocs_drop") as rows:
            burst(net.udp(0), 1, 30, 1226)
            net.ocs.class_set(0, [slot(100 * MS, DARK), slot(100_000 * MS, 0, tdn=1)])
            follow(net, 1, inband=1, delay=500)
        drops = [r for r in rows if r["event"] == "ocs_drop"]
        equal([r["len"] for r in drops], [1226] * 9 + [FRAME], "drops")
        equal((drops[-1]["t"], drops[-1]["reason"], drops[-1]["cls"]), (start + 500, 0, 0xFFFF), "the message's")
        return ""


def case_limit() -> str:
    """At most 1024 messages are on their way to a port."""
    with Net(2) as net:
        net.ocs.class_set(0, [slot(100, BYPASS, tdn=0), slot(100, BYPASS, tdn=1)])
        follow(net, 0, delay=10**12)
        net.ocs.start(soon())
        time.sleep(0.03)
        notify = net.ocs.stats()["ports"]["p0"]["notify"]
        equal((notify["sent"], notify["drops"] > 10_000), (1024, True), "(sent, dropped)")
        net.ocs.class_set(0, [slot(0, BYPASS)])
        return f"{notify['drops']} dropped"


def case_gone() -> str:
    """Ports, notifications and the switch may go while messages are on their way."""
    with Net(3) as net:
        net.ocs.class_set(0, [slot(10 * US, BYPASS, tdn=0), slot(10 * US, BYPASS, tdn=1)])
        for port in range(3):
            follow(net, port, delay=3 * MS, inband=port % 2)
        net.ocs.start(soon())
        time.sleep(0.05)
        sh("ip link set p0 nomaster")
        net.ocs.port_set("p1", notify={"class": NO_CLASS})
        time.sleep(0.01)
        equal(["notify" in p for p in net.ocs.stats()["ports"].values()], [False, True], "who is told")
        sh("ip link set p0 master ocs0")
        equal("notify" in net.ocs.stats()["ports"]["p0"], False, "a port that returns")
        sh("ip link del p2")
        time.sleep(0.01)
    words = ("WARNING", "BUG", "Call Trace", "unregister_netdevice: waiting", "refcount")
    equal([line for line in sh("dmesg").splitlines() if any(word in line for word in words)], [], "kernel log")
    return ""


def case_refusals() -> str:
    """Each wrong value is refused, with its name and what is allowed."""
    with Net(2) as net:
        net.ocs.class_set(0, [slot(0, BYPASS)])

        def no(**notify: object) -> str:
            return refused(net.ocs.port_set, "p0", notify=notify).removeprefix("port_set: port.notify")

        good = {"class": 0, "dst": "10.0.0.1"}
        equal(
            [
                no(dst="10.0.0.1"),
                no(**{"class": 0}),
                no(**{**good, "class": 5}),
                no(**good, delay=10**12 + 1),
                no(**good, inband=2),
                no(**{**good, "dst": "0.0.0.0"}),
                no(**{**good, "dst": "255.255.255.255"}),
                no(**good, src="224.0.0.1"),
                no(**good, src="127.0.0.1"),
                no(**good, src="10.0.0.1"),
                no(**good, mac="01:00:5e:00:00:01"),
                no(**good, mac="02:00:00:00:00"),
                no(**good, sent=1),
            ],
            [
                ": CLASS of a new notification is missing",
                ": DST of a new notification is missing",
                ".class: CLASS 5 does not exist",
                ".delay: integer out of range (allowed 0..1000000000000)",
                ".inband: integer out of range (allowed 0..1)",
                ".dst: DST 0.0.0.0 is not the address of a host",
                ".dst: DST 255.255.255.255 is not the address of a host",
                ".src: SRC 224.0.0.1 is not the address of a host",
                ".src: SRC 127.0.0.1 is not the address of a host",
                ".src: SRC and DST are both 10.0.0.1",
                ".mac: MAC 01:00:5e:00:00:01 is not the address of a station",
                ".mac: binary attribute size out of range",
                ".sent: Unknown attribute type",
            ],
            "refusals",
        )
        net.ocs.fdb_set("02:00:00:00:00:77", "p0")
        equal(no(**good), ": MAC is missing, and 2 addresses are bound to the port", "two addresses")
        for mac in ("02:00:00:00:00:77", "02:00:00:00:00:01"):
            net.ocs.fdb_set(mac, None)
        equal(no(**good), ": MAC is missing, and 0 addresses are bound to the port", "no address")
        equal(["notify" in p for p in net.ocs.stats()["ports"].values()], [False, False], "who is told")
        follow(net, 0, mac="02:00:00:00:00:01", delay=10**12, inband=1)
        net.ocs.port_set("p0", notify={"src": "10.0.0.9"})
        equal(
            net.ocs.stats()["ports"]["p0"]["notify"],
            {
                "class": 0,
                "dst": "10.0.0.1",
                "mac": "02:00:00:00:00:01",
                "src": "10.0.0.9",
                "delay": 10**12,
                "inband": 1,
                "sent": 0,
                "drops": 0,
            },
            "dump",
        )
        return ""


def case_silent_by_default() -> str:
    """Who asks for nothing is told nothing."""
    with Net(2) as net:
        sysctl(0, "tdn_count", 2)
        taps = [tap("eth0", i) for i in range(2)]
        net.ocs.class_set(0, [slot(MS, BYPASS, tdn=0), slot(MS, DARK, tdn=1)])
        with Trace("ocs_notify") as rows:
            net.ocs.start(soon())
            time.sleep(0.1)
        equal((rows, [drain(t) for t in taps]), ([], [[], []]), "messages")
        equal(["notify" in p for p in net.ocs.stats()["ports"].values()], [False, False], "dump")
        equal(sysctl(0, "tdn_current"), 0, "tdn_current")
        return ""


def forge(
    host: int, tdn: int, ttl: int = 255, proto: int = 1, kind: int = 7, tags: str = "", options: str = ""
) -> None:
    """Have a host send the other one what looks like a message of the switch; tags and IP options in hex."""
    body = bytes([kind, 0, 0, 0, tdn, 0, 0, 0])
    body = body[:2] + struct.pack(">H", 0xFFFF - ones(body)) + body[4:]
    more = bytes.fromhex(options)
    head = bytes([0x45 + len(more) // 4, 0, 0, 20 + len(more) + len(body)]) + bytes.fromhex("00004000")
    head += bytes([ttl, proto, 0, 0])
    head += socket.inet_aton("192.0.0.8") + socket.inet_aton(f"10.0.0.{2 - host}")
    head += more
    head = head[:10] + struct.pack(">H", 0xFFFF - ones(head)) + head[12:]
    macs = bytes.fromhex(f"0200000000{2 - host:02x}0200000000{host + 1:02x}{tags}0800")
    with inside(f"h{host}"):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sock.bind(("eth0", 0))
    sock.send(macs + head + body)
    sock.close()
    time.sleep(0.01)


def case_forged_messages_do_not_pass() -> str:
    """Hosts cannot tell each other which network is active through a switch that tells them."""
    with Net(2) as net:
        for host in range(2):
            with inside(f"h{host}"):
                Path("/proc/sys/net/ipv4/tdn_count").write_text("4")
        forge(1, 2)
        with inside("h0"):
            equal(Path("/proc/sys/net/ipv4/tdn_current").read_text(), "2\n", "a switch that tells nothing is a wire")
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=1)])
        follow(net, 0)
        net.ocs.start(time.monotonic_ns())
        time.sleep(0.01)
        sniffer = tap("eth0", 0)
        with inside("h0"):
            equal(Path("/proc/sys/net/ipv4/tdn_current").read_text(), "1\n", "what the switch says")
        with Trace("ocs_drop") as rows:
            forge(1, 3)
            forge(1, 3, kind=8)  # an ordinary message passes
        with inside("h0"):
            equal(Path("/proc/sys/net/ipv4/tdn_current").read_text(), "1\n", "after the forgery")
        equal([row["reason"] for row in rows], [10], "reasons")
        equal([frame[34] for frame in drain(sniffer) if frame[23] == 1], [8], "messages that arrived")
        equal(net.ocs.stats()["ports"]["p1"]["drops"], 1, "counter of the port")
        sniffer.close()
        return ""


C, S = "8100", "88a8"
#: Tags before the type of IP. A host takes off any number of tags of the id 0, and each that it has a device for.
STACKS = ["", *(a + "0000" for a in (C, S)), *(a + "0000" + b + "0000" for a in (C, S) for b in (C, S)),
          C + "0005", S + "0005", S + "0000" + C + "0005", C + "0005" + C + "0000", S + "2000" + C + "e000",
          "91000000", "92000000" + C + "0000", C + "0000" + "91000000",
          (C + "0000") * 7, (S + "0000") * 8, (C + "0000") * 20, (S + "0000" + C + "0000") * 30]  # fmt: skip


def case_no_tags_hide_a_forged_message() -> str:
    """Behind any tags, with IP options too: none reaches a host, none changes its network; other frames pass."""
    with Net(2) as net:
        for host in range(2):
            with inside(f"h{host}"):
                Path("/proc/sys/net/ipv4/tdn_count").write_text("4")
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=1)])
        follow(net, 0)
        net.ocs.start(time.monotonic_ns())
        time.sleep(0.01)
        sniffer = tap("eth0", 0)
        sent = 0
        for tags in STACKS:
            for options in ("", "01010101", "94040000" * 10):
                forge(1, 3, tags=tags, options=options)
                sent += 1
                with inside("h0"):
                    equal(Path("/proc/sys/net/ipv4/tdn_current").read_text(), "1\n", f"behind {tags}, with {options}")
                equal(net.ocs.stats()["ports"]["p1"]["drops"], sent, f"drops of the port, behind {tags}")
        equal([frame for frame in drain(sniffer) if bytes([7, 0]) in frame[34:]], [], "messages that arrived")
        for tags in STACKS:
            forge(1, 3, tags=tags, kind=8)  # an ordinary message passes behind the same tags
        equal(len(drain(sniffer)) >= len(STACKS), True, "ordinary messages")
        equal(net.ocs.stats()["ports"]["p1"]["drops"], sent, "drops of the port in the end")
        sniffer.close()
    return f"{sent} forgeries"


if __name__ == "__main__":
    main(globals())
