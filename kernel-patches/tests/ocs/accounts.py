# SPDX-License-Identifier: Apache-2.0
"""Where every frame has got to: the accounts of links, classes, ports and the switch, in frames and in bytes."""

import random
import time
from pathlib import Path

from hops import EXPERIMENTAL, frame, raw
from lab import Net, burst, equal, gone, inside, line, main, sh
from life import kernel_log
from notify import follow, forge
from ocs import BYPASS, DARK, slot
from ocs_dumps import difference
from ocs_steps import rates

L = 1000
ONE = 10**9
ZERO = (0, 0)


def check(net: Net) -> dict[str, dict]:
    """Return the accounts; fail unless each is balanced and the switch's is the sum of all."""
    accounts = net.ocs.accounts()
    for kind in ("links", "classes", "switch"):
        for name, account in accounts[kind].items():
            equal(difference(account), ZERO, f"what is missing in {kind} {name}: {account}")
    in_file(net.ocs.ifname, accounts)
    return accounts


def in_file(switch: str, accounts: dict[str, dict]) -> None:
    """Fail unless the ledger of the machine has the same accounts, in frames."""
    (_, *columns), *rows = (row.split() for row in Path("/proc/1/net/ocs_ledger").read_text().splitlines())
    kinds = {"link": "links", "egress": "links", "ingress": "links", "class": "classes", "port": "ports",
             "switch": "switch"}  # fmt: skip
    found: dict[str, dict] = {"links": {}, "classes": {}, "ports": {}, "switch": {}}
    for _, _, part, name, *values in (row for row in rows if row[:2] == ["account", switch]):
        number = {"link": "link", "egress": "link", "ingress": "ingress"}.get(part)
        key = int(name) if name.isdigit() and part in ("link", "class") else (name, number) if number else name
        found[kinds[part]][key] = {
            name: int(value) for name, value in zip(columns, values, strict=True) if value != "0"
        }
    told = {
        kind: {
            key: {
                name: count[0]
                for name, count in (*((n, c) for n, c in one.items() if n != "drops"), *one["drops"].items())
                if count[0]
            }
            for key, one in parts.items()
        }
        for kind, parts in accounts.items()
    }
    equal(found, told, f"accounts of {switch} in the ledger")


def lost(account: dict, **reasons: int) -> None:
    """Fail unless an account has these numbers of drops, and no others."""
    equal({name: count[0] for name, count in account["drops"].items()}, reasons, f"drops of {account}")


def switch(net: Net) -> dict:
    """Return the account of the switch."""
    return check(net)["switch"]["ocs0"]


def frames(*numbers: int) -> list[tuple[int, int]]:
    """Return numbers of frames of `L` bytes, with their bytes."""
    return [(number, number * L) for number in numbers]


def places(account: dict, *names: str) -> list[tuple[int, int]]:
    """Return numbers of an account."""
    return [account.get(name, ZERO) for name in names]


def case_a_burst_is_in_four_places() -> str:
    """Ten frames at 1 Mb/s, 8.192 ms each, into a queue of 4 with a delay of 20 ms: known numbers at any instant.

    One is sent at once, four wait, five are lost. After 20 ms two more were begun, and none has arrived: the first one
    arrives after 28.192 ms. After 30 ms the first has arrived, two are on their way, the fourth is sent.
    """
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**6, delay=20 * 10**6, queue={"limit_packets": 4})
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, in_if="p0")
        out, sink, begin = net.udp(0), net.udp(1, 9), time.monotonic()
        burst(out, 1, 10, L)
        names = ("entered", "delivered", "queued", "flying")
        for until_ms, expected in ((1, (10, 0, 4, 1)), (20, (10, 0, 2, 3)), (30, (10, 1, 1, 3)), (100, (10, 5, 0, 0))):
            time.sleep(begin + until_ms / 1000 - time.monotonic())
            accounts = check(net)
            equal(places(accounts["links"][0], *names), frames(*expected), f"after {until_ms} ms")
            lost(accounts["links"][0], tail=5)
        equal(places(accounts["switch"]["ocs0"], "entered", "delivered"), frames(10, 5), "switch")
        equal(places(accounts["classes"][0], "entered", "delivered"), frames(10, 10), "class")
        lost(accounts["switch"]["ocs0"], tail=5)
        sink.close()
    return ""


def case_a_class_that_waits() -> str:
    """Dark for 100 ms with room for 3 of 8: they wait in the class; then they enter the link, and leave it."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**9)
        net.ocs.class_set(0, [slot(10**8, DARK), slot(10**11, 0)], hold=True, voq={"limit_packets": 3})
        net.ocs.rule_add(0, in_if="p0")
        net.ocs.start(time.monotonic_ns())
        burst(net.udp(0), 1, 8, L)
        accounts = check(net)
        equal(places(accounts["classes"][0], "entered", "delivered", "queued"), frames(8, 0, 3), "class in the dark")
        equal(places(accounts["links"][0], "entered"), frames(0), "link")
        time.sleep(0.2)
        accounts = check(net)
        equal(places(accounts["classes"][0], "entered", "delivered", "queued"), frames(8, 3, 0), "class")
        lost(accounts["classes"][0], tail=5)
        equal(places(accounts["links"][0], "entered", "delivered"), frames(3, 3), "link")
        net.ocs.class_set(0, [slot(0, DARK)], hold=False)
        burst(net.udp(0), 1, 2, L)
        lost(check(net)["classes"][0], tail=5, dark=2)
    return ""


def case_copies_are_made() -> str:
    """Each of 10 frames is doubled by a fault; one to an unknown address is copied for two ports; each is somewhere."""
    with Net(3) as net:
        net.ocs.link_set(0, rate=10**9, faults={"duplicate": ONE})
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, in_if="p0")
        sink = net.udp(1, 9)
        burst(net.udp(0), 1, 10, L)
        time.sleep(0.1)
        accounts = check(net)
        equal(places(accounts["links"][0], "entered", "made", "delivered"), frames(10, 10, 20), "link")
        equal(places(accounts["switch"]["ocs0"], "entered", "made", "delivered"), frames(10, 10, 20), "switch")
        sink.close()
        net.ocs.rule_flush()
        raw(0).send(frame(EXPERIMENTAL, b"\xff" * 6))
        time.sleep(0.1)
        port = check(net)["ports"]["p0"]
        equal(places(port, "made", "ended"), [(2, 400), (1, 200)], "flooded")
        for name in ("p1", "p2"):
            net.ocs.port_set(name, flood=False)
        raw(0).send(frame(EXPERIMENTAL, b"\xff" * 6))
        raw(0).send(frame(EXPERIMENTAL, bytes.fromhex("0180c200000e")))  # for the switch itself
        accounts = check(net)
        lost(accounts["ports"]["p0"], nowhere=1)
        equal(places(accounts["ports"]["p0"], "ended"), [(2, 400)], "for the switch")
    return ""


def case_what_is_refused_before_any_link() -> str:
    """Forged, to its own port, too long, to a host that is gone, to a switch that is down: each by its name."""
    with Net(2) as net:
        sh("ip link set p0 mtu 1400")
        burst(net.udp(1), 0, 3, 1500)
        lost(check(net)["ports"]["p0"], mtu=3)
        sh("ip link set p0 mtu 1500")
        net.ocs.fdb_set("02:00:00:00:00:02", "p0")
        burst(net.udp(0), 1, 2, L)
        lost(check(net)["ports"]["p0"], mtu=3, port=2)
        net.ocs.fdb_set("02:00:00:00:00:02", "p1")
        net.ocs.class_set(0, [slot(0, BYPASS, tdn=1)])
        for host in range(2):
            with inside(f"h{host}"):
                Path("/proc/sys/net/ipv4/tdn_count").write_text("4")
        follow(net, 0)
        net.ocs.start(time.monotonic_ns())
        forge(1, 3)
        accounts = check(net)
        lost(accounts["ports"]["p1"], forged=1)
        equal(places(accounts["ports"]["p0"], "made")[0][0], 1, "message of the switch")
        with inside("h0"):
            sh("ip link set eth0 down")
        burst(net.udp(1), 0, 4, L)
        time.sleep(0.1)
        lost(check(net)["ports"]["p0"], mtu=3, port=2, device=4)
        sh("ip link set ocs0 down")
        burst(net.udp(1), 0, 2, L)
        lost(check(net)["ports"]["p1"], forged=1, stopped=2)
    return ""


def case_a_discipline_has_an_account() -> str:
    """Ten frames into pfifo with 3 places at 1 Mb/s: one is sent, three wait, six are lost; the device takes two."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**6, dev=line(qdisc="pfifo limit 3"))
        net.ocs.class_set(0, [slot(0, 0)])
        net.ocs.rule_add(0, in_if="p0")
        burst(net.udp(0), 1, 10, L)
        account = check(net)["links"][0]
        equal(places(account, "entered", "queued", "flying"), frames(10, 3, 1), "at once")
        lost(account, qdisc=6)
        time.sleep(0.01)  # the second is being sent
        gone()
        account = check(net)["links"][0]
        lost(account, qdisc=6, removed=2)
        time.sleep(0.1)
        equal(places(check(net)["links"][0], "delivered"), frames(2), "in the end")
    return ""


def case_pool_red_faults_and_an_end_that_is_gone() -> str:
    """Each reason of a link, alone, of 20 frames."""
    for settings, reasons in (
        ({"queue": {"pool": 0}}, {"pool": 14}),  # one is sent, five find room
        ({"queue": {"red_min": 0, "red_max": 10**6, "red_prob": ONE}}, None),
        ({"faults": {"loss": ONE}}, {"loss": 20}),
        ({"steps": rates([(10**6, 10**6), (10**9, 0)], hold=True)}, {"down": 1}),
        ({"dev": "line0"}, {}),
    ):
        with Net(2) as net:
            net.ocs.pool_set(0, 5 * L)
            if "dev" in settings:
                line()
            net.ocs.link_set(0, rate=10**7, port="p1", **settings)
            net.ocs.class_set(0, [slot(0, 0)])
            net.ocs.rule_add(0, in_if="p0")
            net.ocs.start(time.monotonic_ns())
            burst(net.udp(0), 1, 20, L)
            time.sleep(0.5)
            account = check(net)["links"][0]
            if reasons is None:
                equal(set(account["drops"]), {"red"}, "reason of RED")
            else:
                lost(account, **reasons)
            # when the port goes, what it had counted stays with the switch
            before = switch(net)
            sh("ip link set p1 nomaster")
            burst(net.udp(0), 1, 2, L)
            time.sleep(0.5)
            after = switch(net)
            equal([b[0] - a[0] for a, b in zip(places(before, "entered"), places(after, "entered"), strict=True)], [2],
                  "entered since")  # fmt: skip
            if "dev" in settings:
                gone()
    return ""


def case_all_is_balanced_at_any_time() -> str:
    """Random settings, timetables, faults, disciplines, deletions under load: each account is balanced 400 times."""
    rng = random.Random(66)
    with Net(3) as net:
        socks = [net.udp(i) for i in range(3)]
        net.ocs.pool_set(0, 50_000)
        for _ in range(400):
            pick = rng.randrange(8)
            if pick == 0:
                faults = {name: rng.choice((0, ONE // 3)) for name in ("loss", "corrupt", "duplicate")}
                faults |= {"jitter": rng.choice((0, 10**6)), "reorder": rng.randrange(2)}
                net.ocs.link_set(rng.randrange(2), faults=faults)
            elif pick == 1:
                rate, delay = rng.choice((0, 10**6, 10**8)), rng.choice((0, 10**6))
                queue = {"pool": rng.choice((0, 0xFFFFFFFF)), "limit_packets": 9}
                net.ocs.link_set(rng.randrange(2), rate=rate, delay=delay, queue=queue)
            elif pick == 2:
                known = list(net.ocs.stats()["links"])
                table = [slot(rng.randrange(100, 90_000), rng.choice((*known, DARK, BYPASS))) for _ in range(5)]
                net.ocs.class_set(rng.randrange(2), table, hold=rng.random() < 0.5)
                net.ocs.start(time.monotonic_ns())
            elif pick == 3:
                net.ocs.rule_flush()
                for class_id in net.ocs.stats()["classes"]:
                    net.ocs.rule_add(class_id, in_if=f"p{rng.randrange(3)}", any=rng.random() < 0.3)
            elif pick == 4:
                kind = rng.choice(("codel limit 5", "pfifo limit 4", "sfq limit 10", "fq_codel limit 9"))
                net.ocs.port_set(f"p{rng.randrange(3)}", rate=10**7, dev=rng.choice(("", line(qdisc=kind))))
            elif pick == 5 and rng.random() < 0.3:
                net.ocs.rule_flush()
                for class_id in net.ocs.stats()["classes"]:
                    net.ocs.class_del(class_id)
                for link in net.ocs.stats()["links"]:
                    net.ocs.link_del(link)
            elif pick == 6 and rng.random() < 0.2:
                i = rng.randrange(3)
                sh(f"ip link set p{i} nomaster", f"ip link set p{i} master ocs0")
                net.ocs.fdb_set(f"02:00:00:00:00:{i + 1:02x}", f"p{i}")
            for i, sock in enumerate(socks):
                burst(sock, (i + 1) % 3, rng.randrange(12), rng.choice((100, L)))
            raw_ = rng.random() < 0.2
            if raw_:
                sender = raw(rng.randrange(3))
                sender.send(frame(EXPERIMENTAL, b"\xff" * 6))
                sender.close()
            time.sleep(rng.choice((0, 0.0003, 0.002)))
            accounts = check(net)
            total: dict[str, int] = {}
            for kind in ("links", "classes", "ports"):
                for account in accounts[kind].values():
                    for name, count in account["drops"].items():
                        total[name] = total.get(name, 0) + count[0]
            whole = {name: count[0] for name, count in accounts["switch"]["ocs0"]["drops"].items()}
            equal({name for name in total if total[name] > whole.get(name, 0)}, set(), "more than the switch has")
        last = switch(net)
        gone()
        equal(kernel_log(), "", "kernel log")
    return f"{last['entered'][0]} frames, drops { ({name: count[0] for name, count in last['drops'].items()}) }"


def case_an_old_dump_has_no_accounts() -> str:
    """Who does not ask for them gets none."""
    with Net(2) as net:
        net.ocs.link_set(0)
        stats = net.ocs.stats()
        equal(["account" in o for o in (stats["links"][0], stats["ports"]["p0"])], [False, False], "in a dump")
    return ""


if __name__ == "__main__":
    main(globals())
