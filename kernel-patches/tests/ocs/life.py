# SPDX-License-Identifier: Apache-2.0
"""Ports and switches that come and go under load; changes while packets are on their way."""

import os
import random
import signal
import time
from pathlib import Path

from lab import Net, Trace, burst, equal, main, sh
from notify import drain, tap
from ocs import BYPASS, DARK, NO_CLASS, slot

LOAD = {"rate": 10**8, "delay": 3_000_000, "queue": {"limit_bytes": 100_000, "pool": 0}}


def kernel_log() -> str:
    """The kernel's complaints so far."""
    words = ("WARNING", "BUG", "Call Trace", "unregister_netdevice: waiting", "refcount", "lockdep")
    return "\n".join(line for line in sh("dmesg").splitlines() if any(word in line for word in words))


def configure(net: Net) -> None:
    """Give each host a class that moves between links, the dark and the bypass."""
    with net.ocs as ocs:
        ocs.pool_set(0, 300_000)
        for i in range(2):
            ocs.link_set(i, **LOAD)
        for i in range(net.n):
            table = [slot(50_000, 0), slot(20_000, DARK), slot(70_000, 1, tdn=1), slot(5_000, BYPASS)]
            ocs.class_set(i, table, hold=i % 2 == 0, voq={"pool": 0, "limit_packets": 40} if i % 2 == 0 else None)
            ocs.rule_add(i, in_if=f"p{i}")
            ocs.port_set(f"p{i}", **LOAD)
            ocs.class_set(i, echo={"class": 0, "tdn": 1, "in_advance": 30_000})
            ocs.port_set(f"p{i}", notify={"class": i, "dst": f"10.0.0.{i + 1}", "delay": 90_000, "inband": i % 2})
        ocs.start(time.monotonic_ns())


def send_for_ever(net: Net, host: int) -> int:
    """Start a process that sends to all other hosts; return its number."""
    child = os.fork()
    if child:
        return child
    sock = net.udp(host)
    while True:
        try:
            for to in range(net.n):
                if to != host:
                    burst(sock, to, 20, 1200)
        except OSError:
            pass
        time.sleep(0.0005)


def stop(children: list[int]) -> None:
    """End the senders."""
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def slab() -> int:
    """Bytes of kernel memory in unreclaimable slabs."""
    text = Path("/proc/meminfo").read_text()
    return int(text.split("SUnreclaim:")[1].split()[0]) * 1024


def case_switch_goes_under_load() -> str:
    """Delete the switch, a port's device, a host, and free a port, each with packets everywhere."""
    endings = (
        "ip link del ocs0",
        "ip link del p1",
        "ip netns del h1",
        "ip link set p1 nomaster",
        "ip link set p1 down",
    )
    used = []
    for n in range(15):
        net = Net(3)
        configure(net)
        children = [send_for_ever(net, i) for i in range(3)]
        time.sleep(0.02)
        sh(endings[n % len(endings)])
        time.sleep(0.02)
        stop(children)
        net.__exit__()
        time.sleep(1)
        used.append(slab())
    equal(kernel_log(), "", "kernel log")
    if used[-1] - used[4] > 1_000_000:
        raise AssertionError(f"memory grows: {used}")
    return f"slab {used[4]} .. {used[-1]}"


def case_namespace_with_everything_goes() -> str:
    """A namespace that holds the switch and its ports ends with packets in flight."""
    for _ in range(5):
        sh(
            "ip netns add sw",
            "ip -n sw link add ocs0 type ocs",
            "ip -n sw link add name p0 type veth peer name p1",
            "ip -n sw link set p0 master ocs0 up",
            "ip -n sw link set p1 up",
            "ip -n sw link set ocs0 up",
            "ip netns del sw",
        )
    time.sleep(1)
    equal(kernel_log(), "", "kernel log")
    return ""


def case_port_returns() -> str:
    """A port that leaves and returns gets the lowest free number and no old addresses."""
    with Net(3) as net:
        sh("ip link set p0 nomaster", "ip link set p1 nomaster", "ip link set p1 master ocs0")
        ports = net.ocs.stats()["ports"]
        equal({name: port["number"] for name, port in ports.items()}, {"p1": 0, "p2": 2}, "numbers")
        sink = net.udp(1, 9)
        burst(net.udp(2), 1, 1, 100)
        equal(len(sink.recv(999)), 58, "flooded, as its address is unknown again")
        return ""


def case_frames_of_a_port_that_went() -> str:
    """What was on its way to a port that has gone does not leave by the device that gets its number."""
    for waits in ("link", "queue", "dark"):
        with Net(3) as net:
            net.ocs.link_set(0, rate=10**6 if waits == "queue" else 10**9, delay=100_000_000 if waits == "link" else 0)
            table = [slot(50_000_000, DARK), slot(10**12, BYPASS)] if waits == "dark" else [slot(0, 0)]
            net.ocs.class_set(0, table, hold=True)
            net.ocs.rule_add(0, in_if="p2")
            net.ocs.start(time.monotonic_ns())
            burst(net.udp(2), 0, 5, 1000)
            time.sleep(0.001)
            with Trace("ocs_drop") as rows:
                sh("ip link set p0 nomaster", "ip link set p1 nomaster", "ip link set p1 master ocs0")
                equal(net.ocs.stats()["ports"]["p1"]["number"], 0, "number of the other device")
                sniffer = tap("eth0", 1)
                time.sleep(0.3)
            seen = [frame for frame in drain(sniffer) if frame[:6] == bytes.fromhex("020000000001")]
            equal(len(seen), 0, f"frames for another host, {waits}")
            equal({row["reason"] for row in rows}, {4}, f"reasons, {waits}")
    return ""


def case_changes_under_load() -> str:
    """Every setting changes while packets are on their way; none is lost to the books."""
    rng = random.Random(7)
    with Net(3) as net:
        configure(net)
        children = [send_for_ever(net, i) for i in range(3)]
        for _ in range(300):
            pick = rng.randrange(6)
            if pick == 0:
                net.ocs.link_set(rng.randrange(2), rate=rng.choice((0, 10**6, 10**9)), delay=rng.choice((0, 10**6)))
            elif pick == 1:
                net.ocs.link_set(rng.randrange(2), queue={"pool": rng.choice((0, 0xFFFFFFFF)), "limit_packets": 9})
            elif pick == 2:
                table = [slot(rng.randrange(100, 90_000), rng.choice((0, 1, DARK, BYPASS))) for _ in range(5)]
                net.ocs.class_set(rng.randrange(3), table, hold=rng.random() < 0.5)
            elif pick == 3:
                net.ocs.start(time.monotonic_ns() + rng.randrange(-(10**6), 10**6))
            elif pick == 4:
                net.ocs.rule_flush()
                net.ocs.rule_add(rng.randrange(3), src="10.0.0.0/30")
            else:
                net.ocs.port_set(f"p{rng.randrange(3)}", rate=rng.choice((0, 10**7)), queue={"limit_bytes": 50_000})
            time.sleep(0.001)
        stop(children)
        for i in range(2):
            net.ocs.link_set(i, rate=0, delay=0)
        for i in range(3):
            net.ocs.class_set(i, [slot(0, BYPASS)])
            net.ocs.port_set(f"p{i}", rate=0)
        time.sleep(1)
        stats = net.ocs.stats()
        equal(stats["pools"][0]["used"], 0, "bytes in the pool")
        left = [o["queue"]["bytes"] for o in stats["links"].values()]
        left += [o["link"]["queue"]["bytes"] for o in stats["ports"].values()]
        left += [o["voq"]["bytes"] for o in stats["classes"].values() if "voq" in o]
        equal(set(left), {0}, "bytes in queues")
        equal(kernel_log(), "", "kernel log")
        return f"{sum(p['rx_packets'] for p in stats['ports'].values())} frames"


def case_deletions_under_load() -> str:
    """Links, classes and rules go and return while packets are on them; the books balance."""
    rng = random.Random(3)
    with Net(3) as net:
        configure(net)
        ocs = net.ocs
        children = [send_for_ever(net, i) for i in range(3)]
        for n in range(100):
            ocs.rule_flush()
            for i in range(3):
                ocs.port_set(f"p{i}", notify={"class": NO_CLASS})
                ocs.class_set(i, echo={"class": NO_CLASS})
            for i in rng.sample(range(3), 3):
                ocs.class_del(i)
            for i in rng.sample(range(2), 2):
                ocs.link_del(i)
            equal((ocs.stats()["classes"], ocs.stats()["links"]), ({}, {}), "classes and links")
            time.sleep(0.0001 * (n % 5))
            configure(net)
            time.sleep(0.0013)
        stop(children)
        for i in range(3):
            ocs.port_set(f"p{i}", rate=0)
        for i in range(2):
            ocs.link_set(i, rate=0, delay=0)
        for i in range(3):
            ocs.class_set(i, [slot(0, BYPASS)])
        time.sleep(1)
        stats = ocs.stats()
        equal(stats["pools"][0]["used"], 0, "bytes in the pool")
        equal(kernel_log(), "", "kernel log")
        return f"{sum(p['rx_packets'] for p in stats['ports'].values())} frames"


if __name__ == "__main__":
    main(globals())
