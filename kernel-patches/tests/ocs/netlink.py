# SPDX-License-Identifier: Apache-2.0
"""What the switch refuses, in which words; who may configure it; batches and dumps."""

import contextlib
import os
import random
import socket
import struct

from lab import Net, equal, main, sh
from ocs import BYPASS, DARK, NO_CLASS, NONE, Ocs, slot
from ocs_netlink import attr


def refused(call, *args: object, **kwargs: object) -> str:
    """Return the text of the ValueError that a call must raise."""
    try:
        call(*args, **kwargs)
    except ValueError as error:
        return str(error).removeprefix("ocs0: ")
    raise AssertionError(f"{call.__name__} {args} {kwargs} was accepted")


def case_refusals_name_attribute_and_range() -> str:
    """Each wrong value is refused by the kernel, which names the attribute and what is allowed."""
    with Net(2) as net:
        ocs = net.ocs
        ocs.link_set(0)
        index = socket.if_nametoindex("p0")
        equal(
            [
                refused(ocs.link_set, 16384),
                refused(ocs.link_set, 0, rate=10**14 + 1),
                refused(ocs.link_set, 0, delay=10**12 + 1),
                refused(ocs.link_set, 0, overhead=1001),
                refused(ocs.link_set, 0, queue={"red_prob": 10**9 + 1}),
                refused(ocs.link_set, 0, queue={"red_min": 9, "red_max": 8}),
                refused(ocs.link_set, 0, queue={"pool": 5}),
                refused(ocs.link_set, 0, queue={"bytes": 5}),
                refused(ocs.port_set, "p0", id=0),
                refused(ocs.port_set, "p0", port=index),
                refused(ocs.port_set, "p0", flood=2),
                refused(ocs.pool_set, 64, 0),
                refused(ocs.class_set, 0),
                refused(ocs.class_set, 32768, [slot(0, 0)]),
                refused(ocs.class_set, 0, []),
                refused(ocs.class_set, 0, [slot(1000, 0)] * 1025),
                refused(ocs.class_set, 0, [slot(0, 7)]),
                refused(ocs.class_set, 0, [slot(1000, 0), slot(0, DARK)]),
                refused(ocs.class_set, 0, [slot(1000, 0), slot(99, DARK)]),
                refused(ocs.class_set, 0, [slot(10**15 + 1, 0)]),
                refused(ocs.class_set, 0, [{"duration": 1000}]),
                refused(ocs.class_set, 0, [slot(0, 0)], phase=2**62),
                refused(ocs.rule_add, 9),
                refused(ocs.rule_add, 0, src="10.0.0.0/33"),
                refused(ocs.rule_add, 0, station="10.0.0.0/33"),
                refused(ocs.fdb_set, "01:00:5e:00:00:01", "p0"),
                refused(ocs.fdb_set, "02:00:00:00:00", "p0"),
                refused(ocs.start, 2**63),
                refused(ocs.link_del, 1),
                refused(ocs.class_del, 1),
                refused(ocs.rule_del, 1),
            ],
            [
                "link_set: link.id: integer out of range (allowed 0..16383)",
                "link_set: link.rate: integer out of range (allowed 0..100000000000000)",
                "link_set: link.delay: integer out of range (allowed 0..1000000000000)",
                "link_set: link.overhead: integer out of range (allowed 0..1000)",
                "link_set: link.queue.red_prob: integer out of range (allowed 0..1000000000)",
                "link_set: link.queue.red_min: RED_MIN 9 is above RED_MAX 8",
                "link_set: link.queue.pool: POOL 5 does not exist",
                "link_set: link.queue.bytes: Unsupported attribute",
                "port_set: port.link.id: A link of a port has no ID",
                "port_set: port.link.port: PORT is for internal links; this one has its end already",
                "port_set: port.flood: integer out of range (allowed 0..1)",
                "pool_set: pool.id: integer out of range (allowed 0..63)",
                "class_set: SLOTS of the new class 0 are missing",
                "class_set: class.id: integer out of range (allowed 0..32767)",
                "class_set: class.slots: SLOTS: 0 slots, allowed are 1..1024",
                "class_set: class.slots: SLOTS: 1025 slots, allowed are 1..1024",
                "class_set: class.slots.slot.target: TARGET: link 7 does not exist",
                "class_set: class.slots.slot: DURATION 0 is for a single slot only",
                "class_set: class.slots.slot.duration: DURATION 99 ns is out of range 100..1000000000000000",
                "class_set: class.slots.slot.duration: integer out of range (allowed 0..1000000000000000)",
                "class_set: TARGET of a slot is missing",
                f"class_set: class.phase: integer out of range (allowed {-(2**61)}..{2**61 - 1})",
                "rule_set: rule.class: CLASS 9 does not exist",
                "rule_set: rule.src_len: integer out of range (allowed 0..32)",
                "rule_set: rule.station_len: integer out of range (allowed 0..32)",
                "fdb_set: fdb.mac: MAC 01:00:5e:00:00:01 is not the address of a station",
                "fdb_set: fdb.mac: binary attribute size out of range",
                f"start: epoch: integer out of range (allowed 0..{2**62 - 1})",
                "link_del: link.id: LINK 1 does not exist",
                "class_del: class.id: CLASS 1 does not exist",
                "rule_del: rule.class: CLASS 1 does not exist",
            ],
            "refusals",
        )
        sh("ip link add d0 type dummy")
        number = socket.if_nametoindex("d0")
        equal(os_error(ocs.fdb_set, "02:00:00:00:00:01", "d0"), f"fdb.port: ifindex {number} is not a port of ocs0", "")
        equal(os_error(ocs.port_set, "d0"), f"port.ifindex: ifindex {number} is not a port of ocs0", "")
        equal(os_error(Ocs("d0").start, 0), "ifindex: d0 is not an ocs device", "")
        sh("ip link del d0")
        equal(index in [p["ifindex"] for p in ocs.stats()["ports"].values()], True, "ports")
        equal(ocs.stats()["classes"], {}, "classes after refusals")
        return ""


def os_error(call, *args: object) -> str:
    """Return the text of the OSError that a call must raise, without what was called."""
    try:
        call(*args)
    except OSError as error:
        return str(error.strerror).split(": ", 2)[2]
    raise AssertionError(f"{call.__name__} {args} was accepted")


def case_ports_that_cannot_be() -> str:
    """Loopback, another switch, a device that something else receives from."""
    with Net(2):
        said = []
        for line in (
            "ip link set lo master ocs0",
            "ip link add ocs1 type ocs; ip link set ocs1 master ocs0",
            "ip link add d0 type dummy; ip link add m0 link d0 type macvlan; ip link set d0 master ocs0",
        ):
            with contextlib.suppress(AssertionError):
                sh(line)
                said.append(line)
        equal(said, [], "what was accepted")
        sh("for d in ocs1 d0; do ip link del $d; done")
        return ""


def case_only_administrators() -> str:
    """Without CAP_NET_ADMIN nothing is changed, nor read."""
    with Net(2):
        child = os.fork()
        if not child:
            os.setuid(65534)
            failed = 0
            for call in (lambda o: o.link_set(0), lambda o: o.stats()):
                try:
                    call(Ocs("ocs0"))
                except PermissionError:
                    failed += 1
            os._exit(failed)
        equal(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 2, "refusals")
        return ""


def case_batch() -> str:
    """Many requests in one go; the first error is raised, the others are carried out."""
    with Net(2) as net:
        with net.ocs as ocs:
            for i in range(1024):
                ocs.link_set(i, rate=10**9 + i, delay=i)
        links = net.ocs.stats()["links"]
        equal([links[i]["rate"] - 10**9 for i in range(1024)], list(range(1024)), "rates in a dump of 1024 links")
        try:
            with net.ocs as ocs:
                ocs.link_set(0, rate=5)
                ocs.link_set(1, overhead=5000)
                ocs.link_set(2, rate=7)
        except ValueError as error:
            equal(str(error), "ocs0: link_set: link.overhead: integer out of range (allowed 0..1000)", "error")
        links = net.ocs.stats()["links"]
        equal((links[0]["rate"], links[2]["rate"]), (5, 7), "rates")
        net.ocs.class_set(
            0, [slot(1000 + i, i, tdn=i % 256, voq_bytes=1, voq_packets=2, voq_ecn=3) for i in range(1024)]
        )
        equal(net.ocs.stats()["classes"][0]["slot_count"], 1024, "slots")
        return ""


RULES = (
    {"in_if": "p0", "station": "10.1.0.0/16"},
    {"prio": 7, "src": "10.0.0.0/8", "dst": "10.0.0.2/32", "proto": 6, "sport": 1, "dport": 65535},
    {"prio": 3, "src": "0.0.0.0/0"},
    {"prio": 3, "dport": 80},
)


def case_read_back() -> str:
    """Timetables, rules and addresses are read in the form in which they are set."""
    with Net(2) as net:
        ocs = net.ocs
        tables = {
            5: [slot(10**15, DARK, tdn=255), slot(100, BYPASS, tdn=0, voq_bytes=0, voq_packets=2**32 - 1)],
            9: [slot(0, 3, tdn=7)],
            32767: [slot(1000 + i, i % 4, tdn=i % 256, voq_bytes=i, voq_packets=2, voq_ecn=NONE) for i in range(1024)],
        }
        with ocs:
            for i in range(4):
                ocs.link_set(i)
            for number, table in tables.items():
                ocs.class_set(number, table)
            for rule in RULES:
                ocs.rule_add(9, **rule)
            for n in range(600):
                ocs.fdb_set(f"02:00:00:01:{n >> 8:02x}:{n & 255:02x}", f"p{n % 2}")
        equal(ocs.timetables(), tables, "timetables")
        rules = [{"prio": 0, "class_id": 9, **RULES[i]} for i in (0, 2, 3, 1)]
        equal(ocs.rules(), rules, "rules, in the order of priority")
        wanted = {f"02:00:00:01:{n >> 8:02x}:{n & 255:02x}": f"p{n % 2}" for n in range(600)}
        equal(ocs.fdb(), {**wanted, "02:00:00:00:00:01": "p0", "02:00:00:00:00:02": "p1"}, "addresses")

        # what was read can be set again
        ocs.rule_flush()
        with ocs:
            for rule in rules:
                ocs.rule_add(**rule)
            for number, table in ocs.timetables().items():
                ocs.class_set(number, table)
        equal((ocs.rules(), ocs.timetables()), (rules, tables), "what is read again")
        ocs.fdb_set("02:00:00:01:00:00", None)
        equal(len(ocs.fdb()), 601, "addresses after one was forgotten")
        return ""


def case_delete() -> str:
    """Rules, classes and links go; what something else points to does not."""
    with Net(2) as net:
        ocs = net.ocs
        for i in range(2):
            ocs.link_set(i, rate=10**6)
            ocs.class_set(i, [slot(1000, i), slot(1000, DARK)])
        for rule in RULES:
            ocs.rule_add(0, **rule)
        ocs.class_set(1, echo={"class": 0, "tdn": 1})
        ocs.port_set("p0", notify={"class": 0, "dst": "10.0.0.1"})

        equal(os_error(ocs.link_del, 0), "link.id: LINK 0 is the target of slot 0 of class 0", "")
        equal(refused(ocs.rule_del, 0, prio=3, dport=81), "rule_del: rule: No rule says this", "")
        for i in (1, 3, 0, 2):
            equal(os_error(ocs.class_del, 0), "class.id: CLASS 0 is in use by a rule", "")
            ocs.rule_del(0, **RULES[i])
            equal(refused(ocs.rule_del, 0, **RULES[i]), "rule_del: rule: No rule says this", "")
        equal(ocs.rules(), [], "rules")
        equal(os_error(ocs.class_del, 0), "class.id: CLASS 0 is in use by the notification of a port", "")
        ocs.port_set("p0", notify={"class": NO_CLASS})
        equal(os_error(ocs.class_del, 0), "class.id: CLASS 0 is in use by the echo of another class", "")
        ocs.class_set(1, echo={"class": NO_CLASS})
        ocs.class_del(0)
        ocs.link_del(0)
        equal((list(ocs.stats()["classes"]), list(ocs.stats()["links"])), ([1], [1]), "what is left")
        said = [
            refused(ocs.class_set, 2, [slot(0, 0)]),
            refused(ocs._request, 11, {"class": {"id": 1, "phase": 0}}, "class_del"),
        ]
        expected = [
            "class_set: class.slots.slot.target: TARGET: link 0 does not exist",
            "class_del: class.phase: To delete something takes its ID only",
        ]
        equal(said, expected, "refusals")

        # the oldest of equal rules goes, and the order of the others stays
        for dport in (1, 2, 1, 3):
            ocs.rule_add(1, dport=dport)
        ocs.rule_del(1, dport=1)
        equal([rule["dport"] for rule in ocs.rules()], [2, 1, 3], "rules left")
        return ""


def case_noise() -> str:
    """Random and mutated requests: an answer to each, and the switch goes on."""
    rng = random.Random(1)
    with Net(2) as net:
        ocs = net.ocs
        ocs.link_set(0)
        ocs.class_set(0, [slot(0, 0)])
        seeds = []
        with contextlib.suppress(TypeError), ocs:
            ocs.link_set(1, rate=10**9, delay=5, queue={"limit_bytes": 7, "red_min": 1, "red_max": 2})
            ocs.class_set(1, [slot(1000, 0), slot(2000, DARK, tdn=3)], voq={"ecn": 5}, phase=-3)
            ocs.class_set(0, echo={"class": 0, "tdn": 3, "in_advance": 9})
            ocs.port_set("p1", notify={"class": 0, "dst": "10.0.0.2", "src": "10.0.0.9", "delay": 5, "inband": 1})
            ocs.rule_add(0, src="10.0.0.0/8", dport=80)
            ocs.fdb_set("02:00:00:00:00:09", "p1")
            ocs.start(5, seed=2**40)
            ocs.link_set(1, port="p1")
            ocs.link_del(1)
            ocs.rule_del(0, src="10.0.0.0/8", dport=80)
            ocs.class_del(1)
            ocs.port_set("p1", flood=False)
            seeds = [message[20:] for _, message in ocs._pending.values()]
            raise TypeError  # do not send
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        answers = {}
        for n in range(6000):
            body = bytearray(
                rng.choice(seeds) if n % 3 else attr(1, struct.pack("=I", ocs.ifindex)) + rng.randbytes(40)
            )
            for _ in range(rng.randrange(4)):
                body[rng.randrange(8, len(body))] = rng.choice((0, 1, 4, 0x80, 0xFF, rng.randrange(256)))
            sock.send(ocs._message(ocs._family, rng.choice((*range(1, 9), 10, 11, 12)), 4, bytes(body)))
            code = struct.unpack_from("=i", sock.recv(65536), 16)[0]
            answers[code] = answers.get(code, 0) + 1
        if not answers.get(0) or len(answers) < 3:
            raise AssertionError(f"answers {answers}")
        ocs.link_set(0, rate=0)
        return str(answers)


if __name__ == "__main__":
    main(globals())
