# SPDX-License-Identifier: Apache-2.0
"""Limits, shared pools, ECN threshold and RED."""

import socket
import time

from lab import Net, Trace, burst, equal, hold, main
from netlink import refused
from ocs import _START, DARK, NONE, slot

L = 1000  # frame length
ECT, CE = 2, 3


def case_limit_in_bytes_and_packets() -> str:
    """The queue takes what fits; the frame in service has left it."""
    for limit, fits in (({"limit_bytes": 5 * L}, 5), ({"limit_bytes": 5 * L - 1}, 4), ({"limit_packets": 7}, 7)):
        with Net(2) as net:
            net.ocs.link_set(0, rate=10**6, queue=limit)
            net.ocs.class_set(0, [slot(0, 0)])
            net.ocs.rule_add(0, in_if="p0")
            with Trace("ocs_drop", "ocs_enqueue") as rows:
                burst(net.udp(0), 1, 20, L)
            drops = [r for r in rows if r["event"] == "ocs_drop"]
            equal(len(drops), 19 - fits, f"drops with {limit}")
            equal({(r["reason"], r["qlen"]) for r in drops}, {(0, fits * L)}, "reason and length")
            queue = net.ocs.stats()["links"][0]["queue"]
            equal((queue["drops_tail"], queue["max_bytes"], queue["max_packets"]), (19 - fits, fits * L, fits), "stats")
    return ""


def case_pool() -> str:
    """Two links share 10 frames; what one gives back, the other may use."""
    with Net(3) as net:
        net.ocs.pool_set(3, 10 * L)
        for i in range(2):
            net.ocs.link_set(i, rate=10**6, queue={"pool": 3})
            net.ocs.class_set(i, [slot(0, i)])
            net.ocs.rule_add(i, in_if=f"p{i}")
        with Trace("ocs_drop") as rows:
            burst(net.udp(0), 2, 8, L)  # one in service, seven wait
            burst(net.udp(1), 2, 8, L)  # one in service, three fit
            stats = net.ocs.stats()
        equal([(r["link"], r["reason"]) for r in rows], [(1, 1)] * 4, "drops")
        equal((stats["pools"][3]["used"], stats["links"][1]["queue"]["drops_pool"]), (10 * L, 4), "stats")
        equal(net.ocs.stats()["pools"][3], {"bytes": 10 * L, "used": 0, "max_used": 10 * L}, "pool at the end")
        net.ocs.link_set(0, queue={"pool": NONE})
        with Trace("ocs_drop") as rows:
            burst(net.udp(0), 2, 30, L)
        equal(rows, [], "drops outside of the pool")
        return ""


def case_ecn() -> str:
    """A packet is marked when the queue it finds is longer than the threshold; only if it is ECT."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**6, queue={"ecn": 5 * L})
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, in_if="p0")
        sink = net.udp(1, 9)
        sink.setsockopt(socket.SOL_IP, 13, 1)  # IP_RECVTOS
        for tos, marks in ((ECT, 9), (0, 0), (1, 9), (CE, 0)):
            with Trace("ocs_mark") as rows:
                burst(net.udp(0, tos=tos), 1, 16, L)
            equal(len(rows), marks, f"marks of ECN field {tos}")
            field = [sink.recvmsg(2000, 64)[1][0][2][0] & 3 for _ in range(16)]
            equal(field, [tos] * (16 - marks) + [CE] * marks, "fields received")
        equal(net.ocs.stats()["links"][0]["queue"]["marks"], 18, "counter")
        return ""


def case_red() -> str:
    """Packets that are not ECT: never below min, with the probability of the ramp, always above max."""
    with Net(2) as net:
        queue = {"red_min": 100 * L, "red_max": 300 * L, "red_prob": 10**8, "ecn": 100 * L}
        net.ocs.link_set(0, rate=10**3, queue=queue)
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, in_if="p0")
        with Trace("ocs_drop", "ocs_enqueue") as rows:
            burst(net.udp(0), 1, 400, L)
        drops = [r for r in rows if r["event"] == "ocs_drop"]
        if min(r["qlen"] for r in drops) <= 100 * L:
            raise AssertionError("a drop at or below red_min")
        by_chance = sum(r["reason"] == 2 for r in drops)
        # 200 steps of the queue, each with drop probability p_i: sum p_i / (1 - p_i) drops
        expected = sum(p / (1 - p) for p in (0.1 * i / 200 for i in range(1, 200)))
        sigma = sum(p / (1 - p) ** 2 for p in (0.1 * i / 200 for i in range(1, 200))) ** 0.5
        if abs(by_chance - expected) > 4 * sigma:
            raise AssertionError(f"{by_chance} drops by chance, expected {expected:.1f} +- {sigma:.1f}")
        equal({r["qlen"] for r in drops if r["reason"] == 0}, {300 * L}, "length at tail drops")
        with Trace("ocs_drop", "ocs_mark") as rows:
            burst(net.udp(0, tos=ECT), 1, 50, L)
        equal([r["event"] for r in rows], ["ocs_mark"] * 50, "what happens to ECT packets")
        return f"{by_chance} by chance, {expected:.1f} +- {sigma:.1f} expected"


def case_mark_with_a_probability() -> str:
    """ECT packets: never up to min, with the probability of the ramp up to max, always above; others never."""
    with Net(2) as net:
        queue = {"mark_min": 100 * L, "mark_max": 300 * L, "mark_prob": 2 * 10**8}
        net.ocs.link_set(0, rate=10**3, queue=queue)
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, in_if="p0")
        with Trace("ocs_mark", "ocs_enqueue") as rows:
            burst(net.udp(0, tos=ECT), 1, 400, L)
        # one frame is in service, so the n-th of the others finds n frames; an event is about the queue before it
        found = [r["qlen"] // L for r in rows if r["event"] == "ocs_mark"]
        equal([n for n in found if n <= 100], [], "marks at or below mark_min")
        equal([n for n in found if n > 300], list(range(301, 399)), "marks above mark_max")
        chances = [0.2 * (n - 100) / 200 for n in range(101, 301)]
        sigma = sum(p * (1 - p) for p in chances) ** 0.5
        by_chance = len([n for n in found if n <= 300])
        if abs(by_chance - sum(chances)) > 4 * sigma:
            raise AssertionError(f"{by_chance} marks by chance, expected {sum(chances):.1f} +- {sigma:.1f}")
        equal(net.ocs.stats()["links"][0]["queue"]["marks"], len(found), "counter")
        with Trace("ocs_mark", "ocs_drop") as rows:
            burst(net.udp(0), 1, 50, L)
        equal(rows, [], "what happens to packets that are not ECT")
        return f"{by_chance} by chance, {sum(chances):.1f} +- {sigma:.1f} expected"


def case_mark_draws_are_their_own() -> str:
    """What RED drops is the same whether or not packets are marked by chance between; marks repeat with the start."""
    seen = []
    for ect in (0, 1):
        with Net(3) as net:
            red = {"red_min": 0, "red_max": 400 * L, "red_prob": 5 * 10**8}
            mark = {"mark_min": 0, "mark_max": 400 * L, "mark_prob": 5 * 10**8}
            net.ocs.link_set(0, rate=10**3, queue={**red, **mark})
            net.ocs.class_set(0, [slot(0, 0)])
            net.ocs.rule_add(0, in_if="p0")
            net.ocs.start(time.monotonic_ns(), 3)
            burst(net.udp(0), 2, 100, L)
            time.sleep(0.1)
            if ect:
                net.ocs.link_set(0, queue={"limit_packets": 1})
                burst(net.udp(0, tos=ECT), 2, 50, L)  # found full: not even looked at
                net.ocs.link_set(0, queue={"limit_packets": 0})
            with Trace("ocs_drop", "ocs_enqueue") as rows:
                burst(net.udp(0), 2, 100, L)
            seen.append([r["event"] for r in rows])
    equal(seen[1], seen[0], "fates")
    return ""


def case_marking_by_chance_excludes_the_threshold() -> str:
    """Both at once are refused; max 0 turns it off with all that belongs to it; half a setting is refused."""
    with Net(2) as net:
        net.ocs.link_set(0, queue={"mark_min": 5, "mark_max": 9, "mark_prob": 1})
        queue = net.ocs.stats()["links"][0]["queue"]
        equal([queue[name] for name in ("mark_min", "mark_max", "mark_prob")], [5, 9, 1], "settings")
        equal(refused(net.ocs.link_set, 0, queue={"ecn": 7}),
              "link_set: link.queue.ecn: MARK_MAX 9 and the threshold ECN 7 exclude each other", "refusal")  # fmt: skip
        net.ocs.link_set(0, queue={"mark_max": 0, "ecn": 7})
        equal("mark_max" in net.ocs.stats()["links"][0]["queue"], False, "off")
        for wrong, said in (
            ({"mark_max": 9}, "mark_max: MARK_MAX 9 and the threshold ECN 7 exclude each other"),
            ({"mark_min": 9}, "mark_min: MARK_MIN 9 is above MARK_MAX 0"),
            ({"mark_prob": 7}, "mark_prob: MARK_PROB 7 without MARK_MAX, so it is off"),
        ):
            equal(refused(net.ocs.link_set, 0, queue=wrong), f"link_set: link.queue.{said}", "refusal")
        net.ocs.link_set(0, queue={"mark_max": 9, "ecn": NONE})
        return ""


def fates(net: Net, seed: int, beside: int) -> list[tuple[int, int]]:
    """Send 400 frames into link 0 and `beside` as many into link 1; return what happened on link 0, and when."""
    net.ocs.start(time.monotonic_ns(), seed)
    with Trace("ocs_drop", "ocs_enqueue") as rows:
        # their ingress links space them
        burst(net.udp(0), 2, 400, L)
        burst(net.udp(1), 2, 400 * beside, L)
    seen = [(r["t"], r.get("reason", -1)) for r in rows if r["link"] == 0]
    return [(t - seen[0][0], fate) for t, fate in seen]


def case_red_draws_of_a_queue_are_its_own() -> str:
    """What RED drops in a queue depends on the seed, and not on what it drops in another queue."""
    seen = {}
    for seed, beside in ((0, 0), (0, 3), (1, 0), (2**64 - 1, 1)):
        with Net(3) as net:
            for i in range(2):
                red = {"red_min": 10 * L, "red_max": 300 * L, "red_prob": 10**9}
                net.ocs.link_set(i, rate=10**3, queue=red)
                net.ocs.class_set(i, [slot(0, i)])
                net.ocs.rule_add(i, in_if=f"p{i}")
                net.ocs.port_set(f"p{i}", ingress={"rate": 10**9})
            seen[seed, beside] = fates(net, seed, beside)
            other = net.ocs.stats()["links"][1]["queue"]["drops_red"]
            equal(other > 100 if beside == 3 else bool(other) == bool(beside), True, "drops in the other queue")
    equal(seen[0, 3], seen[0, 0], "instants and fates with traffic beside")
    by_chance = [sum(fate == 2 for _, fate in found) for found in seen.values()]
    if not all(50 < n < 350 for n in by_chance):
        raise AssertionError(f"drops by chance {by_chance}")
    equal(len({tuple(fate for _, fate in found) for found in seen.values()}), 3, "sequences of three seeds")
    return f"{by_chance} drops by chance"


def case_red_begins_anew_with_the_timetables() -> str:
    """The same seed again gives the same draws; a start without one keeps it."""
    with Net(3) as net:
        net.ocs.link_set(0, rate=10**12, queue={"red_min": 0, "red_max": 300 * L, "red_prob": 10**9})
        net.ocs.class_set(0, [slot(5_000_000, DARK), slot(10**15, 0)], hold=True,
                          voq={"red_min": 10 * L, "red_max": 300 * L, "red_prob": 10**9})  # fmt: skip
        net.ocs.rule_add(0, in_if="p0")
        seen = []
        for seed in (7, 7, 8, None):
            epoch = time.monotonic_ns()
            net.ocs._request(_START, {"epoch": epoch, "seed": seed}, "start")
            with Trace("ocs_drop", "ocs_enqueue") as rows:
                burst(net.udp(0), 2, 100, L)
            seen.append([r["event"] for r in rows if r["cls"] == 0][:100])
        equal(seen[1], seen[0], "the same seed")
        equal(seen[3], seen[2], "no seed")
        equal(seen[0] != seen[2], True, "another seed gives others")
        return ""


def case_red_is_on_or_off() -> str:
    """red_max 0 turns it off with all that belongs to it; half a setting is refused."""
    with Net(2) as net:
        net.ocs.link_set(0, queue={"red_min": 5, "red_max": 9, "red_prob": 1})
        net.ocs.link_set(0, queue={"red_max": 0})
        queue = net.ocs.stats()["links"][0]["queue"]
        equal([queue[name] for name in ("red_min", "red_max", "red_prob")], [0, 0, 0], "settings")
        for wrong, said in (
            ({"red_min": 9}, "red_min: RED_MIN 9 is above RED_MAX 0"),
            ({"red_min": 9, "red_max": 8}, "red_min: RED_MIN 9 is above RED_MAX 8"),
            ({"red_prob": 7}, "red_prob: RED_PROB 7 without RED_MAX, so RED is off"),
            ({"red_prob": 7, "red_max": 0}, "red_prob: RED_PROB 7 without RED_MAX, so RED is off"),
        ):
            equal(refused(net.ocs.link_set, 0, queue=wrong), f"link_set: link.queue.{said}", "refusal")
        return ""


def case_red_as_drop_tail() -> str:
    """min == max: a limit for packets that are not ECT, and no other."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**6, queue={"red_min": 5 * L, "red_max": 5 * L})
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, in_if="p0")
        with Trace("ocs_drop") as rows:
            burst(net.udp(0), 1, 20, L)
        equal([r["reason"] for r in rows], [0] * 14, "drops")
        with Trace("ocs_drop") as rows:
            burst(net.udp(0, tos=ECT), 1, 20, L)
        equal(rows, [], "drops of ECT packets")
        return ""


def case_limit_of_held_class() -> str:
    """The queue of a class has limits, threshold and pool like any other."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**9)
        net.ocs.pool_set(0, 4 * L)
        hold(net, 0, voq={"limit_packets": 6, "pool": 0})
        with Trace("ocs_drop") as rows:
            burst(net.udp(0), 1, 10, L)
        equal([r["reason"] for r in rows], [1] * 6, "drops")
        equal(net.ocs.stats()["pools"][0]["used"], 0, "pool at the end")
        return ""


if __name__ == "__main__":
    main(globals())
