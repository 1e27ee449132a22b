# SPDX-License-Identifier: Apache-2.0
"""Links that Linux's queueing disciplines serve, by devices of the kind ocs_line."""

import contextlib
import hashlib
import random
import socket
import time

from accounts import check, lost, places
from lab import HEADERS, TIMER, Net, Trace, Transfer, burst, equal, gone, inside, line, main, punctual, sh
from life import kernel_log
from netlink import os_error
from ocs import DARK, slot
from ocs_steps import rates, trace

L = 1000
ECT, CE = 2, 3
MS = 10**6


#: A table of 16 places: packets and the holes that choke makes among them fill it.
CHOKE = "choke limit 15 bandwidth 1mbit min 5 max 14 burst 8 probability 0.02"


def through(net: Net, **link: object) -> None:
    """Lead what h0 and h1 send through link 0."""
    net.ocs.link_set(0, **link)
    net.ocs.class_set(0, [slot(0, 0)])
    for i in range(2):
        net.ocs.rule_add(0, in_if=f"p{i}")


def story(net: Net, seed: int) -> list[tuple[object, ...]]:
    """Send random datagrams from two hosts; return what happened on link 0, with instants from the first event."""
    rng = random.Random(seed)
    # both hosts have a slow way to the switch, so that arrivals and ends of serialisation meet at one instant
    for i in range(2):
        net.ocs.port_set(f"p{i}", ingress={"rate": 2 * 10**7})
    socks = [net.udp(i) for i in range(2)]
    with Trace("ocs_enqueue", "ocs_dequeue", "ocs_drop") as rows:
        punctual()
        for _ in range(300):
            for sock in socks:
                burst(sock, 2, rng.randrange(4), rng.choice((100, 500, 976, 976, 1476)))
            if rng.random() < 0.3:
                time.sleep(rng.random() / 300)
    mine = [r for r in rows if r["link"] == 0]
    return [
        (r["t"] - mine[0]["t"], r["event"], r["len"], r["qlen"], r["sport"] == socks[0].getsockname()[1]) for r in mine
    ]


def case_bfifo_is_the_built_in_queue_to_the_nanosecond() -> str:
    """Instants, lengths, drops and order of 900 datagrams are the same with bfifo as with limit_bytes."""
    seen = []
    for device in (False, True):
        with Net(3) as net:
            # 1000 bytes on the line take 800 us; those on the ingress links 400 us: instants coincide
            queue = {"limit_bytes": 9000}
            through(net, rate=10**7, delay=50_000, queue=queue, dev=line(qdisc="bfifo limit 9000") if device else None)
            seen.append(story(net, 1))
            stats = net.ocs.stats()["links"][0]["queue"]
            drops = sum(event == "ocs_drop" for _, event, *_ in seen[-1])
            counted = stats["drops_qdisc"] if device else stats["drops_tail"]
            equal(drops, counted, "counter")
            seen[-1].append(tuple(stats[name] for name in ("enqueued", "enqueued_bytes", "max_bytes", "max_packets")))
            if device:
                gone()
    equal(len(seen[0]) > 900 and drops > 50, True, f"{len(seen[0])} events, {drops} drops")
    equal(seen[1], seen[0], "with bfifo")
    return f"{len(seen[0])} events, {drops} drops"


def case_a_device_has_no_timer_in_vain() -> str:
    """A link's timer fires at the same instants with bfifo as with limit_bytes: others may have some slack.

    TCP's timer for compressed acknowledgments has 100 us, and fires with any other timer that comes in this time.
    """
    seen = []
    for device in (False, True):
        with Net(2) as net:
            through(net, rate=10**7, delay=50_000, dev=line(qdisc="bfifo limit 90000") if device else None)
            out, sink, rng = net.udp(0), net.udp(1, 9), random.Random(2)
            with Trace(TIMER, "ocs_dequeue") as rows:
                punctual()
                for _ in range(200):
                    burst(out, 1, rng.choice((1, 1, 2, 5)), L)
                    time.sleep(rng.choice((0.0003, 0.002, 0.01)))
            sink.close()
            begin = [r["t"] for r in rows if r["event"] == "ocs_dequeue"]
            fired: dict[int, list[int]] = {}
            for row in rows:
                if row["event"] == TIMER:
                    fired.setdefault(row["function"], []).append(row["now"] - begin[0])
            # the timer of links is the one that fires where most frames begin
            seen.append(max(fired.values(), key=lambda times: len({t - begin[0] for t in begin} & set(times))))
            if device:
                gone()
    equal(len(seen[0]) > 400, True, f"{len(seen[0])} instants")
    equal(seen[1], seen[0], "instants with bfifo")
    return f"{len(seen[0])} instants"


#: Disciplines in their usual form, and what lets none of them drop 25 frames of two flows that arrive at once.
ROOMY = ("bfifo limit 100000", "pfifo limit 100", "choke limit 1000 bandwidth 1mbit min 800 max 900 probability 0.02",
         "cake rtt 10s", "codel limit 100 target 1s", "ets bands 3", "fq", "fq maxrate 400kbit", "fq_codel target 1s",
         "fq_pie target 1s", "hhf", "pie target 1s", "prio",
         "red limit 400000 min 300000 max 390000 avpkt 1000 probability 0.02", "sfb", "sfq", "drr")  # fmt: skip


def case_all_that_a_discipline_has_room_for_arrives() -> str:
    """Each discipline passes 25 frames of two hosts, each flow in order, also those that orphan frames."""
    for qdisc in ROOMY:
        with Net(3) as net:
            through(net, rate=10**6, dev=line(qdisc=qdisc))
            sink = net.udp(2, 9)
            socks = [net.udp(i) for i in range(2)]
            for n in range(25):
                socks[n % 2].sendto(bytes([n % 2, n]) + bytes(L - HEADERS - 2), ("10.0.0.3", 9))
            time.sleep(1)
            sink.setblocking(False)
            got = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    got.append(tuple(sink.recv(2000)[:2]))
            # drr without a class has no room at all: it loses what it cannot classify, and its drops are counted
            frames = 0 if qdisc == "drr" else 25
            for host in range(2):
                mine = [n for who, n in got if who == host]
                equal(mine, list(range(host, frames, 2)), f"frames of h{host} through {qdisc}")
            account = check(net)["links"][0]
            equal(places(account, "entered", "delivered"), [(25, 25 * L), (frames, frames * L)], qdisc)
            lost(account, **({} if frames else {"qdisc": 25}))
            gone()
    return f"{len(ROOMY)} disciplines"


def case_rate_steps_and_delay_are_the_links() -> str:
    """A line with steps, one with a trace: starts are those of the built-in queue."""
    for steps in (rates([(MS, 10**7), (2 * MS, 0), (3 * MS, 10**6)]), trace([n * MS for n in (1, 1, 2, 7)])):
        seen = []
        for device in (False, True):
            with Net(2) as net:
                through(net, steps=steps, dev=line() if device else None)
                net.ocs.start(epoch := time.monotonic_ns() + 100 * MS)
                with Trace("ocs_dequeue") as rows:
                    time.sleep(0.1)
                    burst(net.udp(0), 1, 60, L)
                seen.append([r["t"] - epoch for r in rows if r["len"] == L])
                if device:
                    gone()
        equal(len(seen[0]), 60, "frames")
        equal(seen[1], seen[0], "starts")
    return ""


def tos_received(net: Net, frames: int, tos: int) -> list[int]:
    """Send frames and return the ECN fields that arrive."""
    sink = net.udp(1, 9)
    sink.setsockopt(socket.SOL_IP, 13, 1)  # IP_RECVTOS
    burst(net.udp(0, tos=tos), 1, frames, L)
    time.sleep(2)
    sink.setblocking(False)
    fields = []
    while True:
        try:
            fields.append(sink.recvmsg(2000, 64)[1][0][2][0] & 3)
        except BlockingIOError:
            return fields


def case_a_discipline_marks() -> str:
    """Codel marks ECT packets that waited; each is an event, counted, and arrives as CE."""
    with Net(2) as net:
        through(net, rate=10**7, dev=line(qdisc="codel limit 1000 target 5ms interval 20ms ecn"))
        with Trace("ocs_mark", "ocs_drop") as rows:
            fields = tos_received(net, 300, ECT)
        marks = [r for r in rows if r["event"] == "ocs_mark"]
        equal((len(fields), fields.count(CE)), (300, len(marks)), "frames, marks")
        equal(net.ocs.stats()["links"][0]["queue"]["marks"], len(marks), "counter")
        if len(marks) < 3:
            raise AssertionError(f"{len(marks)} marks")
        gone()
    return f"{len(marks)} marks"


def case_drops_of_a_discipline_are_events() -> str:
    """What enters the discipline leaves it, as dequeued or as dropped with reason 9, and the books balance."""
    kinds = ("pfifo limit 5", "codel limit 30", "fq_codel limit 30", "pie limit 40", "sfq limit 20", "cake",
             "fq limit 10", "prio", "red limit 60000 min 5000 max 15000 avpkt 1000 burst 8 probability 0.5",
             "fq_pie limit 40", "sfb limit 40", "hhf limit 40", "ets bands 3", CHOKE)  # fmt: skip
    for qdisc in kinds:
        with Net(3) as net:
            through(net, rate=10**6, dev=line(qdisc=qdisc))
            with Trace("ocs_enqueue", "ocs_dequeue", "ocs_drop") as rows:
                for i in range(2):
                    burst(net.udp(i), 2, 100, L)
                time.sleep(2)
            count = {
                e: sum(r["event"] == e and r["link"] == 0 for r in rows)
                for e in ("ocs_enqueue", "ocs_dequeue", "ocs_drop")
            }
            equal({r["reason"] for r in rows if r["event"] == "ocs_drop"} - {9}, set(), f"reasons with {qdisc}")
            queue = net.ocs.stats()["links"][0]["queue"]
            left = (queue["bytes"], queue["packets"])
            equal(left, (0, 0), f"left with {qdisc}, {count}, {sh('tc -s qdisc show dev line0')}")
            equal(count["ocs_dequeue"] + count["ocs_drop"], 200, f"sum with {qdisc}: {count}")
            # those after the first in a full discipline are never in it, others are in it first
            if not count["ocs_dequeue"] <= count["ocs_enqueue"] <= 200:
                raise AssertionError(f"{qdisc}: {count}")
            gone()
    return ""


def case_choke_leaves_nothing_behind() -> str:
    """A table that packets and holes fill is full, not empty: all that entered it leaves or is dropped."""
    with Net(3) as net:
        through(net, rate=10**6, dev=line(qdisc=CHOKE))
        socks = [net.udp(i) for i in range(2)]
        with Trace("ocs_dequeue", "ocs_drop") as rows:
            for number in range(200):
                burst(socks[number % 2], 2, 1, L)
            time.sleep(2)
        queue = net.ocs.stats()["links"][0]["queue"]
        count = {e: sum(r["event"] == e and r["link"] == 0 for r in rows) for e in ("ocs_dequeue", "ocs_drop")}
        equal(
            (sum(count.values()), queue["packets"]), (200, 0), f"frames that left or were dropped, left behind, {count}"
        )
        gone()
    return f"{count['ocs_drop']} dropped"


def delays(net: Net, load_mb: int) -> tuple[list[int], list[int]]:
    """Return the queueing delays [ns] of a bulk flow from h0 and of a sparse flow from h1, of 100 bytes each 20 ms."""
    bulk, sparse = net.udp(0), net.udp(1)
    with Trace("ocs_enqueue", "ocs_dequeue") as rows:
        for _ in range(100):
            burst(bulk, 2, load_mb * 10**6 // 50 // 8 // L, L)
            burst(sparse, 2, 1, 100)
            time.sleep(0.02)
    ports = [sock.getsockname()[1] for sock in (bulk, sparse)]
    waits: list[list[int]] = []
    for port in ports:
        put = [r["t"] for r in rows if r["event"] == "ocs_enqueue" and r["sport"] == port and r["link"] == 0]
        got = [r["t"] for r in rows if r["event"] == "ocs_dequeue" and r["sport"] == port and r["link"] == 0]
        waits.append([b - a for a, b in zip(put, got, strict=False)])
    return waits[0], waits[1]


def case_fq_codel_lets_a_sparse_flow_pass() -> str:
    """Beside a bulk flow of 12 Mb/s at 10 Mb/s a sparse flow waits for one bulk frame at most, and not in bfifo."""
    longest = {}
    for qdisc in ("fq_codel", "bfifo limit 200000"):
        with Net(3) as net:
            through(net, rate=10**7, dev=line(qdisc=qdisc))
            longest[qdisc] = max(delays(net, 12)[1][5:])
            gone()
    frame = (L + 24) * 8 * 100
    if not longest["fq_codel"] <= 2 * frame < 20 * MS < longest["bfifo limit 200000"]:
        raise AssertionError(f"{longest}")
    return f"{ {name: f'{ns / MS:.2f} ms' for name, ns in longest.items()} }"


def case_a_strict_priority() -> str:
    """With prio, what a filter puts into the first band passes all that wait in a lower one."""
    with Net(3) as net:
        through(net, rate=10**6, dev=line(qdisc="handle 1: prio"))
        # the priority of a socket ends at its host's interface, so a filter decides
        sh("tc filter add dev line0 parent 1: protocol ip prio 1 flower src_ip 10.0.0.2 classid 1:1")
        low, high = net.udp(0), net.udp(1)
        with Trace("ocs_dequeue") as rows:
            burst(low, 2, 20, L)
            burst(high, 2, 3, L)
        order = [r["sport"] == high.getsockname()[1] for r in rows if r["link"] == 0 and r["len"] == L]
        equal(order, [False] + [True] * 3 + [False] * 19, "order: one was in service")
        gone()
    return ""


def case_a_class_with_a_queue_of_its_own_shares_the_link() -> str:
    """A VOQ and a device take turns frame by frame; the link is never idle while one of them has frames."""
    with Net(3) as net:
        net.ocs.link_set(0, rate=10**7, dev=line(qdisc="pfifo limit 100"))
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.class_set(1, [slot(0, 0)], voq={"limit_packets": 100})
        for i in range(2):
            net.ocs.rule_add(i, in_if=f"p{i}")
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 2, 30, L)
            burst(net.udp(1), 2, 30, L)
        mine = [r for r in rows if r["link"] == 0]
        took = (L + 24) * 8 * 100
        starts = [r["t"] - mine[0]["t"] for r in mine]
        equal(starts[1:], [starts[1] + n * took for n in range(59)], "starts")
        order = [r["cls"] for r in mine]
        equal(order[2:58:2], [order[2]] * 28, "every second frame")
        equal(order[3:59:2], [1 - order[2]] * 28, "the others")
        gone()
    return ""


def case_delay_near_the_target() -> str:
    """A TCP flow at 10 Mb/s with 20 ms there and back: pie and codel keep near their targets, bfifo fills."""
    said = []
    for qdisc, low, high in (
        ("pie limit 1000 target 15ms tupdate 15ms", 3 * MS, 30 * MS),
        ("codel limit 1000 target 5ms interval 100ms", MS, 15 * MS),
        ("bfifo limit 100000", 40 * MS, 80 * MS),
    ):
        with Net(2) as net:
            net.ocs.link_set(0, rate=10**7, delay=20 * MS, dev=line(qdisc=qdisc))
            net.ocs.class_set(0, [slot(0, 0)])
            net.ocs.rule_add(0, in_if="p0")
            with inside("h1"):
                server = socket.create_server(("10.0.0.2", 5001))
            with inside("h0"):
                client = socket.create_connection(("10.0.0.2", 5001))
            peer, _ = server.accept()
            with Trace("ocs_enqueue") as rows:
                Transfer(client, peer, 5 << 20).wait()
            waits = sorted(r["qlen"] * 800 for r in rows[len(rows) // 2 :])  # 800 ns a byte
            median = waits[len(waits) // 2]
            if not low < median < high:
                raise AssertionError(f"{qdisc}: median {median / MS:.1f} ms, not {low / MS:.0f} to {high / MS:.0f}")
            said.append(f"{qdisc.split()[0]} {median / MS:.1f} ms")
            gone()
    return ", ".join(said)


def case_a_run_can_be_repeated() -> str:
    """Nothing by itself: prints a digest of what five disciplines did, which is to be the same in every guest."""
    told = hashlib.sha256()
    for n, qdisc in enumerate(
        ("fq_codel", "pie limit 40", "sfq limit 20", "cake", "red limit 60000 avpkt 1000 probability 0.1")
    ):
        with Net(3) as net:
            through(net, rate=10**7, dev=line(qdisc=qdisc))
            told.update(repr([event[:4] for event in story(net, n)]).encode())
            gone()
    return told.hexdigest()[:16]


def case_refusals() -> str:
    """Only an ocs_line, and for one link; what was set is read back; empty gives the link its queue back."""
    with Net(2) as net:
        ocs = net.ocs
        ocs.link_set(0, rate=10**7)
        ocs.link_set(1)
        line()
        ocs.link_set(0, dev="line0")
        index = socket.if_nametoindex("line0")
        equal(ocs.stats()["links"][0]["dev"], index, "read back")
        equal(os_error(lambda: ocs.link_set(1, dev="line0")), "link.dev: line0 is the device of another link", "")
        number = socket.if_nametoindex("p0")
        equal(os_error(lambda: ocs.link_set(1, dev="p0")), f"link.dev: ifindex {number} is not an ocs_line device", "")
        ocs.link_set(0, dev="")
        ocs.port_set("p1", dev="line0")
        equal(ocs.stats()["ports"]["p1"]["link"]["dev"], index, "of a port")
        gone()
        equal("dev" in ocs.stats()["ports"]["p1"]["link"], False, "gone")
    return ""


def case_devices_come_and_go_under_load() -> str:
    """Disciplines, devices, links and the switch go in any order with frames in them; the kernel does not complain."""
    rng = random.Random(4)
    kinds = (
        "fq_codel",
        "pie",
        "cake",
        "sfq",
        "fq",
        "bfifo limit 3000",
        "prio",
        "red limit 60000 avpkt 1000 probability 0.1",
    )
    for _ in range(6):
        with Net(3) as net:
            out = net.udp(0)
            line("line0"), line("line1")
            for _ in range(40):
                through(net, rate=rng.choice((10**6, 10**9)), dev=rng.choice(("line0", "")))
                net.ocs.port_set("p2", rate=10**7, dev=rng.choice(("line1", "")))
                burst(out, 2, 30, L)
                if rng.random() < 0.5:
                    sh(f"tc qdisc replace dev line{rng.randrange(2)} root {rng.choice(kinds)}")
                if rng.random() < 0.2:
                    name = f"line{rng.randrange(2)}"
                    gone(name)
                    line(name)
                if rng.random() < 0.1:
                    sh("ip link set line0 down", "ip link set line0 up")
                if rng.random() < 0.2:
                    net.ocs.rule_flush()
                    net.ocs.class_set(0, [slot(0, DARK)])
                    net.ocs.link_del(0)
                time.sleep(rng.random() / 100)
            burst(out, 2, 30, L)
            if rng.random() < 0.5:
                sh("ip link del ocs0")
        gone("line0", "line1")
    time.sleep(1)
    equal(kernel_log(), "", "kernel log")
    return ""


if __name__ == "__main__":
    main(globals())
