# SPDX-License-Identifier: Apache-2.0
"""Links whose rate changes by a timetable of their own; links that send at the instants of a trace."""

import random
import struct
import time

from lab import HEADERS, Net, Trace, burst, equal, main, patiently
from netlink import refused
from ocs import Ocs, slot
from ocs_steps import NO_STEPS, rates, trace

L, BITS = 1000, (1000 + 24) * 8  # a frame, and its bits on the line with the overhead of Ethernet
MS = 10**6


def through(net: Net, **link: object) -> None:
    """Lead what h0 sends through link 0, in a timetable that never changes."""
    net.ocs.link_set(0, **link)
    net.ocs.class_set(0, [slot(0, 0)])
    net.ocs.rule_add(0, in_if="p0")


def ahead(net: Net, ns: int = 100 * MS) -> int:
    """Let steps begin later, so that frames are sent when no process runs; return the epoch."""
    epoch = time.monotonic_ns() + ns
    net.ocs.start(epoch)
    return epoch


def starts(rows: list[dict], epoch: int, link: int = 0) -> list[int]:
    """Return the instants after the epoch [ns] at which frames began."""
    return [r["t"] - epoch for r in rows if r["event"] == "ocs_dequeue" and r["link"] == link]


def integral(steps: list[tuple[int, int]], frames: int, bits: int = BITS) -> list[int]:
    """Return when each frame ends: the first ns in which the sum of rate x time reaches its bits, rounded down."""
    ends, at, into, done = [], 0, 0, 0  # done: 1e-9 bit served since the epoch
    n = 0
    while len(ends) < frames:
        want = (len(ends) + 1) * bits * 10**9
        duration, rate = steps[n % len(steps)]
        left = duration - into
        if rate and (want - done <= rate * left):
            ends.append(at + (want - done) // rate)
            took = (want - done) // rate
            at, into, done = at + took, into + took, done + took * rate
            if into == duration:
                n, into = n + 1, 0
        else:
            at, into, done, n = at + left, 0, done + rate * left, n + 1
    return ends


def case_a_frame_takes_the_integral_of_the_rates() -> str:
    """Steps that are shorter and longer than a frame: each frame ends where the integral says, to the ns."""
    rng = random.Random(1)
    lengths = {
        "longer": [(rng.randrange(10**6, 10**7), rng.choice((10**7, 3 * 10**7 + 1, 10**9))) for _ in range(9)],
        "shorter": [(rng.randrange(1000, 90_000), rng.choice((10**6, 10**7 + 7, 99_999_999))) for _ in range(70)],
        "with pauses": [(rng.randrange(1000, 300_000), rng.choice((0, 0, 10**7))) for _ in range(50)] + [(7, 10**6)],
    }
    for name, steps in lengths.items():
        with Net(2) as net:
            # down before the epoch, so that all frames wait for it
            through(net, steps=rates([(1, 0), *steps]))
            epoch = ahead(net)
            with Trace("ocs_dequeue") as rows:
                burst(net.udp(0), 1, 300, L)
                time.sleep(3)
            table = [(1, 0), *steps]
            ends = integral(table, 300)
            first, n = 0, 0
            while not table[n][1]:
                first, n = first + table[n][0], n + 1
            equal(starts(rows, epoch)[0], first, f"first start, steps {name}")
            # a frame begins where the one before ended, or when the link is up again
            expected = [first, *[up(table, end) for end in ends[:-1]]]
            equal(starts(rows, epoch), expected, f"starts, steps {name}")
    return ""


def up(steps: list[tuple[int, int]], at: int) -> int:
    """Return the first instant from `at` on in a step that has a rate."""
    cycle = sum(duration for duration, _ in steps)
    begin, n = at - at % cycle, 0
    while True:
        duration, rate = steps[n % len(steps)]
        if begin + duration > at and rate:
            return max(begin, at)
        begin, n = begin + duration, n + 1


def case_one_frame_a_step() -> str:
    """With one frame each in steps of one frame's time at 2, 8, 16 Mb/s, starts are the beginnings of the steps."""
    durations = [BITS * 1000 // mb for mb in (2, 8, 16)]
    equal([BITS * 1000 % mb for mb in (2, 8, 16)], [0, 0, 0], "remainders")
    steps = [(d, mb * 10**6) for d, mb in zip(durations, (2, 8, 16), strict=True)]
    with Net(2) as net:
        through(net, steps=rates([(1, 0), *steps], hold=True))
        epoch = ahead(net)
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 1, 4, L)
        equal(starts(rows, epoch), [1, 1 + durations[0], 1 + sum(durations[:2]), 1 + sum(durations)], "starts")
    return ""


def case_nothing_overtakes_at_a_step() -> str:
    """From 2 to 16 Mb/s and back every 5 ms, with a delay: 400 datagrams keep their order."""
    with Net(2) as net:
        through(net, delay=20 * MS, steps=rates([(5 * MS, 2_000_000), (5 * MS, 16_000_000)]))
        net.ocs.start(time.monotonic_ns())
        sink, out = net.udp(1, 9), net.udp(0)
        for n in range(400):
            out.sendto(n.to_bytes(4, "big") + bytes(L - HEADERS - 4), ("10.0.0.2", 9))
        got = [int.from_bytes(sink.recv(2000)[:4], "big") for _ in range(400)]
        equal(got, list(range(400)), "order")
        return ""


def case_a_link_that_is_down_for_ever() -> str:
    """The frame that is being sent then is lost, with a reason; the others wait until the steps change."""
    with Net(2) as net:
        # the first frame takes 8192 us at 1 Mb/s, the second one does not end within 10 ms
        through(net, steps=rates([(1, 0), (10 * MS, 10**6), (1, 0)], hold=True))
        epoch = ahead(net)
        with Trace("ocs_dequeue", "ocs_drop") as rows:
            burst(net.udp(0), 1, 5, L)
        equal(starts(rows, epoch), [1, 1 + BITS * 1000], "starts")
        equal([(r["link"], r["reason"]) for r in rows if r["event"] == "ocs_drop"], [(0, 7)], "drops")
        with Trace("ocs_dequeue") as rows:
            net.ocs.link_set(0, rate=10**6, steps=NO_STEPS)
        equal(len(rows), 3, "frames sent when the steps are gone")
        equal(net.ocs.stats()["links"][0]["drops"], 1, "counter")
    return ""


def case_after_a_silence_of_many_cycles() -> str:
    """The cursor finds the step of any instant: frames sent now and then take the time of the step that they meet."""
    with Net(2) as net:
        table = [(n * 1000 + 1, (n % 7 + 1) * 10**7) for n in range(100)]
        cycle = sum(duration for duration, _ in table)
        through(net, steps=rates(table))
        net.ocs.port_set("p1", rate=10**12)
        epoch = time.monotonic_ns()
        net.ocs.start(epoch)
        rng = random.Random(3)
        with Trace("ocs_dequeue") as rows:
            for _ in range(60):
                time.sleep(rng.random() / 20)
                burst(net.udp(0), 1, 1, L)
        begun = [r["t"] - epoch for r in rows if r["link"] == 0]
        ended = [r["t"] - epoch for r in rows if r["link"] == 0x8001]
        for begin, end in zip(begun, ended, strict=True):
            into, work = begin % cycle, BITS * 10**9
            n, left = 0, 0
            while into >= table[n][0]:
                into, n = into - table[n][0], n + 1
            at, left = begin, table[n][0] - into
            while table[n][1] * left < work:
                work, at, n = work - table[n][1] * left, at + left, (n + 1) % len(table)
                left = table[n][0]
            equal(end, at + work // table[n][1], f"end of the frame that began at {begin}")
    return ""


def case_upload_of_a_million() -> str:
    """1 048 576 steps in chunks come into force with the last one; as many as 50 000 are read back here."""
    table = [(1000 + n % 5, 10**6 + n) for n in range(50_000)]
    with Net(2) as net:
        through(net, rate=10**9)
        net.ocs.link_set(0, steps={"form": 0, "count": 1 << 20, "data": struct.pack("=QQ", 10, 10**6) * (1 << 20)})
        equal(net.ocs.stats()["links"][0]["steps"], {"count": 1 << 20, "form": 0, "bytes": 1504}, "in a dump")
        net.ocs.link_set(0, steps=rates(table))
        equal(net.ocs.steps()[0, "link"] == table, True, "what is read back")
        net.ocs.port_set("p1", ingress={"steps": rates(table[:9], hold=True)}, steps=trace([5, 5, 9], size=3000))
        read = {key: value for key, value in net.ocs.steps().items() if key[0] == "p1"}
        equal(read, {("p1", "link"): [5, 5, 9], ("p1", "ingress"): table[:9]}, "steps of a port")
    return ""


def case_half_an_upload_changes_nothing() -> str:
    """Until the last chunk is there the old rate is in force; what is out of order or wrong is refused as a whole."""
    one = rates([(1000, 10**6)] * 10)
    data = one["data"]
    with Net(2) as net:
        ocs = net.ocs
        through(net, rate=10**9)
        ocs.link_set(0, steps={"count": 10, "data": data[:32]})
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 1, 1, L)
        equal((len(rows), "steps" in ocs.stats()["links"][0]), (1, False), "frames, steps in force")

        def chunk(**values: object) -> str:
            return refused(ocs._set, 1, "link", id=0, steps=values)

        equal(
            [
                chunk(first=3, data=data[:16]),
                chunk(first=2, data=data[:15]),
                chunk(first=2, data=data[:144]),
                chunk(first=2),
                chunk(data=data),
                chunk(count=(1 << 20) + 1, data=data),
                chunk(count=1, form=3, data=data[:16]),
                chunk(count=1, bytes=0, data=data[:16]),
            ],
            [
                "link_set: link.steps.first: FIRST 3, but 2 steps have come",
                "link_set: link.steps.data: DATA has 15 bytes; from step 2 to 10 there are 8 of 16 bytes each",
                "link_set: link.steps.data: DATA has 144 bytes; from step 2 to 10 there are 8 of 16 bytes each",
                "link_set: link.steps: DATA has 0 bytes; from step 2 to 10 there are 8 of 16 bytes each",
                "link_set: COUNT of the steps is missing",
                "link_set: link.steps.count: integer out of range (allowed 0..1048576)",
                "link_set: link.steps.form: integer out of range (allowed 0..2)",
                "link_set: link.steps.bytes: integer out of range (allowed 1..16777216)",
            ],
            "refusals",
        )
        ocs._set(1, "link", id=0, steps={"first": 2, "data": data[32:]})
        equal(ocs.steps()[0, "link"], [(1000, 10**6)] * 10, "after the last chunk")
        equal(
            [refused(ocs.link_set, 0, steps=wrong).split(": ", 2)[2][:40] for wrong in (
                rates([(0, 1)]), rates([(1, 10**14 + 1)]), rates([(10**15, 1), (1, 1)]), rates([(5, 0), (6, 0)]),
                trace([2, 1]), trace([0, 0]), trace([10**15 + 1]),
            )],
            [
                "step 0, 0 ns at 1 bit/s: a step has 1 ns",
                "step 0, 1 ns at 100000000000001 bit/s: a",
                "step 1, 1 ns at 1 bit/s: a step has 1 ns",
                "no step has a rate, so nothing would eve",
                "instant 1, 1 ns, is before the last one ",
                "the last instant is 0, so the trace has ",
                "instant 0, 1000000000000001 ns, is befor",
            ],
            "refusals",
        )  # fmt: skip
        equal(ocs.steps()[0, "link"], [(1000, 10**6)] * 10, "after refusals")
    return ""


def case_a_trace_delivers_its_openings() -> str:
    """1504 bytes at each instant: a full frame each, three of 494 bytes at one; what finds no frame is lost."""
    instants = [n * MS for n in (1, 1, 2, 5, 5, 5, 9, 20)]
    with Net(2) as net:
        through(net, steps=trace(instants))
        # 1514 - 14 + 4 = 1504: six of them wait at the epoch and take the first six instants
        epoch = ahead(net)
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 1, 10, 1514)
        cycles = [*instants, *[20 * MS + at for at in instants]]
        equal(starts(rows, epoch), cycles[:10], "full frames")
        # 494 - 14 + 4 = 484 bytes, of which 1504 has three and 52 bytes of the fourth: 4th ends at the next instant
        epoch = ahead(net)
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 1, 8, 494)
        begun = [instants[0]] * 4 + [instants[1]] * 3 + [instants[2]]
        equal(starts(rows, epoch), begun, "beginnings of small frames")
        # nothing waits from 9 ms on: the opening at 20 ms is not saved up
        epoch = ahead(net)
        with Trace("ocs_dequeue") as rows:
            time.sleep(0.100 + 0.015)
            burst(net.udp(0), 1, 1, 1514)
            time.sleep(0.015)
            burst(net.udp(0), 1, 2, 1514)
        begun = [20 * MS, *[at for at in [20 * MS + at for at in instants] + [41 * MS] * 2 if at > 30 * MS][:2]]
        equal(starts(rows, epoch), begun, "openings after empty ones")
    return ""


def case_a_frame_longer_than_an_opening_takes_several() -> str:
    """1504 bytes at 500 an opening need four; the fourth has 496 left, which the next frame uses."""
    with Net(2) as net:
        through(net, steps=trace([n * MS for n in range(1, 40)], size=500))
        net.ocs.port_set("p1", rate=10**12)
        epoch = ahead(net)
        with Trace("ocs_dequeue") as rows:
            burst(net.udp(0), 1, 3, 1514)
        equal(starts(rows, epoch), [MS, 4 * MS, 7 * MS], "beginnings")
        equal(starts(rows, epoch, 0x8001), [4 * MS, 7 * MS, 10 * MS], "ends")
    return ""


def case_steps_under_load_go_with_their_link() -> str:
    """Steps come and go, links with half an upload are deleted, while frames are on them; memory is given back."""
    rng = random.Random(5)
    with Net(3) as net:
        out = net.udp(0)
        tables = [
            rates([(100, 10**9), (1000, 0), (7, 10**6)]),
            rates([(5000, 10**8), (1, 0)], hold=True),
            trace([0, 100, 100, 2000], size=3),
            {"count": 100_000, "data": bytes(1600)},
            NO_STEPS,
        ]
        for _ in range(150):
            through(net, steps=rng.choice(tables), delay=rng.choice((0, 10**6)))
            net.ocs.port_set("p1", steps=rng.choice(tables), ingress={"steps": rng.choice(tables)})
            if rng.random() < 0.3:
                net.ocs.start(time.monotonic_ns() + rng.randrange(-(10**6), 10**6))
            burst(out, 1, 20, L)
            time.sleep(0.001)
            if rng.random() < 0.2:
                net.ocs.rule_flush()
                net.ocs.class_del(0)
                net.ocs.link_del(0)
        patiently("the switch answers", lambda: bool(Ocs("ocs0").stats()))
    return ""


if __name__ == "__main__":
    main(globals())
