# SPDX-License-Identifier: Apache-2.0
"""When a slot begins, what it does to packets that wait, and what comes first at one instant."""

import time

from lab import Net, Trace, burst, equal, hold, main, until
from ocs import BYPASS, DARK, slot

US, MS = 1_000, 1_000_000


def soon() -> int:
    """A round instant a little ahead."""
    return (time.monotonic_ns() // (10 * MS) + 2) * 10 * MS


def case_slots_begin_to_the_ns() -> str:
    """Boundaries are epoch + phase + sums of durations, for ever."""
    durations = [180 * US, 20 * US, 333, 100, 7 * US + 1]
    with Net(2) as net:
        net.ocs.link_set(0)
        slots = [slot(d, DARK if i % 2 else 0, tdn=i) for i, d in enumerate(durations)]
        net.ocs.class_set(3, slots)
        net.ocs.class_set(5, slots, phase=12_345)
        net.ocs.class_set(6, slots, phase=-12_345)
        epoch = soon()
        with Trace("ocs_slot") as rows:
            net.ocs.start(epoch)
            until(epoch + 50 * MS)
            net.ocs.class_set(3, [slot(0, 0)])
            net.ocs.class_set(5, [slot(0, 0)])
            net.ocs.class_set(6, [slot(0, 0)])
        for cls, phase in ((3, 0), (5, 12_345), (6, -12_345)):
            seen = [(r["t"], r["slot"], r["target"], r["tdn"]) for r in rows if r["cls"] == cls][:-1]
            expected, at, i = [], epoch + phase, 0
            while len(expected) < len(seen):
                expected.append((at, i, DARK if i % 2 else 0, i))
                at, i = at + durations[i], (i + 1) % len(durations)
            equal(seen, expected, f"slots of class {cls}")
            if len(seen) < 1000:
                raise AssertionError(f"{len(seen)} slots only")
        return f"{len(rows)} slots"


def case_epoch_in_the_past() -> str:
    """The timetable is a function of time: a late start finds the slot of that time."""
    with Net(2) as net:
        for i in range(3):
            net.ocs.link_set(i)
        net.ocs.class_set(0, [slot(10 * MS, i) for i in range(3)])
        epoch = soon() - 600 * MS  # a multiple of the cycle
        until(epoch + 600 * MS + 15 * MS)
        net.ocs.start(epoch)
        equal(net.ocs.stats()["classes"][0]["target"], 1, "target")
        return ""


def case_change_before_arrival() -> str:
    """A packet that arrives at the very instant of a change takes the new link; 1 ns earlier, the old."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**9)
        net.ocs.link_set(1, rate=10**9)
        net.ocs.link_set(2, rate=10**9)
        sock = net.udp(0)
        # When does a frame sent at a round instant arrive?  Always after the same delay.
        net.ocs.class_set(0, [slot(0, 2)])
        net.ocs.rule_add(0, in_if="p0")
        offsets = []
        for _ in range(3):
            at = soon()
            with Trace("ocs_enqueue") as rows:
                until(at)
                burst(sock, 1, 1, 100)
            offsets.append(rows[0]["t"] - at)
        equal(offsets[1:], offsets[:1] * 2, "time from a sender's wake-up to the switch")
        links = []
        for early in (0, 1):
            at = soon() + 40 * MS
            net.ocs.class_set(0, [slot(20 * MS, 0), slot(1000 * MS, 1)])
            net.ocs.start(at + offsets[0] + early - 20 * MS)
            with Trace("ocs_enqueue") as rows:
                until(at)
                burst(sock, 1, 1, 100)
            links.append((rows[0]["link"], rows[0]["t"] - at - offsets[0]))
        equal(links, [(1, 0), (0, 0)], "(link, lateness)")
        return f"{offsets[0]} ns from wake-up to switch"


def case_many_rules() -> str:
    """Among many rules the first that matches decides; a change of the rules counts for flows that were seen before."""
    with Net(2) as net:
        for number in range(3):
            net.ocs.class_set(number, [slot(0, BYPASS)])
        with net.ocs:
            for port in range(2000, 3000):
                net.ocs.rule_add(0, dport=port, prio=1)
        sock = net.udp(0)

        def seen(*ports: int) -> list[int]:
            before = net.ocs.stats()["classes"]
            for port in ports:
                burst(sock, 1, 1, 100, port)
            after = net.ocs.stats()["classes"]
            return [after[number]["packets"] - before[number]["packets"] for number in range(3)]

        some = (2000, 2500, 2999, 3000)
        equal([seen(*some), seen(*some)], [[3, 0, 0]] * 2, "packets of each class")
        net.ocs.rule_add(1, dport=2500)
        equal(seen(*some), [2, 1, 0], "after a rule that comes first")
        net.ocs.rule_add(2, prio=2, in_if="p0")
        equal(seen(*some), [2, 1, 1], "after a rule that comes last and matches all that the host sends")
        net.ocs.rule_del(1, dport=2500)
        equal(seen(*some), [3, 0, 1], "without the first rule")
        # more flows than the switch remembers
        every = range(1, 7001)
        equal([seen(*every), seen(*every)], [[1000, 0, 6000]] * 2, "packets of 7000 flows")
        net.ocs.rule_flush()
        equal(seen(*some), [0, 0, 0], "without rules")
        with net.ocs:
            for port in range(2000, 3000):
                net.ocs.rule_add(1, dport=port)
        equal(seen(*some), [0, 3, 0], "with rules again")
    return ""


def case_dark_drops() -> str:
    """Without hold, what arrives in the dark is lost and counted."""
    with Net(2) as net:
        net.ocs.class_set(0, [slot(0, DARK)])
        net.ocs.rule_add(0, in_if="p0")
        with Trace("ocs_drop") as rows:
            burst(net.udp(0), 1, 7, 500)
        equal([(r["reason"], r["link"], r["len"], r["dport"]) for r in rows], [(3, DARK, 500, 9)] * 7, "drops")
        equal(net.ocs.stats()["classes"][0]["drops_dark"], 7, "counter")
        return ""


def case_dark_holds() -> str:
    """With hold, it waits, in order, and the next slot takes it at once."""
    for target in (0, BYPASS):
        with Net(2) as net:
            net.ocs.link_set(0, rate=10**9)
            sink = net.udp(1, 9)
            start = hold(net, target)
            with Trace("ocs_dequeue") as rows:
                for n in range(5):
                    net.udp(0).sendto(bytes([n]) * 458, ("10.0.0.2", 9))
            step = 4192 if target == 0 else 0
            equal([r["t"] for r in rows], [start + n * step for n in range(5)], "starts")
            equal([sink.recv(999)[0] for _ in range(5)], list(range(5)), "order")
    return ""


def case_own_queue_stays() -> str:
    """What waits in a link's own queue leaves by that link although the class has moved."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**7)
        net.ocs.link_set(1, rate=10**9)
        epoch = soon()
        net.ocs.class_set(0, [slot(10 * MS, 0), slot(1000 * MS, 1)])
        net.ocs.rule_add(0, in_if="p0")
        net.ocs.start(epoch)
        sock = net.udp(0)
        with Trace("ocs_dequeue") as rows:
            until(epoch)
            burst(sock, 1, 50, 1250)
            until(epoch + 20 * MS)
            burst(sock, 1, 1, 1000)
        equal([r["link"] for r in rows].count(0), 50, "frames on the old link")
        equal([r["link"] for r in rows].count(1), 1, "frames on the new link")
        return ""


def case_voq_moves() -> str:
    """A queue of the class's own follows the class: what has not begun leaves by the new link."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**7)
        net.ocs.link_set(1, rate=10**9)
        epoch = soon()
        net.ocs.class_set(0, [slot(10 * MS, 0), slot(1000 * MS, 1)], voq={})
        net.ocs.rule_add(0, in_if="p0")
        net.ocs.start(epoch)
        sock = net.udp(0)
        with Trace("ocs_dequeue") as rows:
            until(epoch)
            burst(sock, 1, 50, 1226)  # 1 ms each on link 0
        equal([r["link"] for r in rows], [0] * 10 + [1] * 40, "links")
        equal(rows[10]["t"], epoch + 10 * MS, "first start on the new link")
        return ""


def case_round_robin() -> str:
    """Two waiting classes share a link frame by frame."""
    with Net(3) as net:
        net.ocs.link_set(0, rate=10**9)
        epoch = time.monotonic_ns()
        for i in range(2):
            net.ocs.class_set(i, [slot(100 * MS, DARK), slot(10_000 * MS, 0)], hold=True)
            net.ocs.rule_add(i, in_if=f"p{i}")
        net.ocs.start(epoch)
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 2, 10, 1000)
            burst(net.udp(1), 2, 5, 1000)
        equal([r["cls"] for r in rows if r["cls"] < 2], [0, 1] * 5 + [0] * 5, "classes")
        return ""


def case_ranks_come_first() -> str:
    """Of three classes that wait, two of rank 1 take turns, and that of rank 2 is last; ranks change with slots."""
    with Net(4) as net:
        net.ocs.link_set(0, rate=10**8)
        epoch = time.monotonic_ns()
        for i, rank in enumerate((2, 1, 1)):
            first = slot(100 * MS, DARK)
            # a frame of 1226 bytes takes 100 us; after 1.05 ms class 0 comes first
            table = [first, slot(1050 * US, 0, rank=rank), slot(10_000 * MS, 0, rank=0 if i == 0 else rank)]
            net.ocs.class_set(i, table, hold=True)
            net.ocs.rule_add(i, in_if=f"p{i}")
        equal([one.get("rank") for one in net.ocs.timetables()[0]], [None, 2, None], "ranks in a dump")
        net.ocs.start(epoch)
        with Trace("ocs_dequeue") as rows:
            for i in range(3):
                burst(net.udp(i), 3, 8 - i, 1226)
        found = [r["cls"] for r in rows if r["cls"] < 3]
        # eleven frames have begun by 1.05 ms; then class 0 has all of its eight, and two of the others are left
        equal(found, [1, 2] * 5 + [1] + [0] * 8 + [2, 1], "classes")
    return ""


def case_a_lower_rank_overtakes_what_waits() -> str:
    """A frame of rank 0 that arrives later leaves after the one under way, before all of rank 1."""
    with Net(3) as net:
        net.ocs.link_set(0, rate=10**7)
        for i in range(2):
            net.ocs.class_set(i, [slot(0, 0, rank=1 - i)], voq={})
            net.ocs.rule_add(i, in_if=f"p{i}")
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 2, 5, 1226)
            burst(net.udp(1), 2, 2, 1226)
        equal([r["cls"] for r in rows if r["cls"] < 2], [0, 1, 1, 0, 0, 0, 0], "classes")
    return ""


def case_two_classes_swap_at_once() -> str:
    """At one instant class 0 leaves link 0 and class 1 takes it; no packet of class 0 slips through."""
    with Net(3) as net:
        net.ocs.link_set(0, rate=10**9)
        net.ocs.link_set(1, rate=10**9)
        epoch = soon() + 100 * MS
        for i in range(2):
            table = [slot(10 * MS, DARK), slot(10 * US, i), slot(10_000 * MS, 1 - i)]
            net.ocs.class_set(i, table, hold=True)
            net.ocs.rule_add(i, in_if=f"p{i}")
        net.ocs.start(epoch)
        with Trace("ocs_dequeue") as rows:
            for i in range(2):
                burst(net.udp(i), 2, 4, 1226)  # 10 us each
        t = epoch + 10 * MS
        got = sorted((r["t"] - t, r["link"], r["cls"]) for r in rows if r["cls"] < 2)
        equal(got, sorted((n * 10 * US, i if n == 0 else 1 - i, i) for n in range(4) for i in range(2)), "starts")
        return ""


def case_voq_resizes_on_time() -> str:
    """Slots set the limits and the threshold of the class's queue when they begin."""
    with Net(2) as net:
        epoch = soon()
        table = [
            slot(10 * MS, DARK, voq_packets=16),
            slot(10 * MS, DARK, voq_packets=50, voq_ecn=20_000),
            slot(10 * MS, DARK, voq_packets=0, voq_bytes=60_000),
        ]
        net.ocs.class_set(0, table, hold=True)
        net.ocs.rule_add(0, in_if="p0")
        net.ocs.start(epoch)
        sock = net.udp(0, tos=2)
        seen = []
        for i in range(3):
            until(epoch + (10 * i + 5) * MS)
            burst(sock, 1, 60, 1000)
            voq = net.ocs.stats()["classes"][0]["voq"]
            seen.append((voq["packets"], voq["marks"], voq["drops_tail"]))
        # 16 of 60; 34 more, those that find more than 20 000 bytes marked; up to 60 000 bytes
        equal(seen, [(16, 0, 44), (50, 29, 70), (60, 39, 120)], "(packets, marks, drops)")
        return ""


if __name__ == "__main__":
    main(globals())
