# SPDX-License-Identifier: Apache-2.0
"""The line of a host below its disciplines: the n-th frame leaves at the n-fold time, whatever `tc` does above."""

import contextlib
import itertools
import random
import socket
import struct
import time
from fcntl import ioctl
from typing import Any

from lab import Net, Trace, Transfer, burst, equal, hold, inside, main, sh
from life import kernel_log
from netlink import refused
from ocs import BYPASS, Ocs
from ocs_cards import Cards

L = 1000
OVERHEAD = 24
MS = 10**6
SIOCOUTQ = 0x5411
#: A line on which nothing takes time, so that it tells when a frame arrives at the switch.
FAST = 10**14
SMALLEST = 60
INGRESS = 0x4000  # number of the first port's ingress link in traces

#: Disciplines of Linux as a program may choose them, each with room for 100 frames.
DISCIPLINES = (
    "pfifo limit 1000",
    "bfifo limit 10mb",
    "pfifo_fast",
    "fq flow_limit 1000",
    "fq_codel",
    "codel limit 1000 target 1s",
    "fq_pie",
    "pie limit 1000 target 1s",
    "sfq limit 1000",
    "cake bandwidth 0",
    "prio",
    "ets bands 3 strict 3",
    "red limit 1mb min 400kb max 800kb avpkt 1000 burst 600 bandwidth 1gbit probability 0.1",
    "choke limit 1000 min 400 max 900 bandwidth 1gbit",
    "sfb limit 1000 target 1000 max 1000",
    "hhf limit 1000",
    "tbf rate 100gbit burst 1mb limit 10mb",
)


@contextlib.contextmanager
def carded(
    rate: int, qdisc: str = "pfifo limit 100000", buffer: int | None = None, overhead: int | None = None,
    offload: bool = False,
) -> Any:  # fmt: skip
    """Two hosts; h0 has a card. What h0 sends is seen when it has left its line."""
    with Net(2, offload=offload) as net:
        net.ocs.port_set("p0", ingress={"rate": FAST})
        with inside("h0"):
            net.cards = Cards()
            net.cards.card_set("eth0", rate, overhead, buffer)
        sh(f"ip netns exec h0 tc qdisc replace dev eth0 root {qdisc}")
        try:
            yield net
        finally:
            net.cards.close()


def card(net: Net) -> dict[str, int]:
    """Return the settings and counters of the card of h0."""
    with inside("h0"):
        return net.cards.card("eth0")


def left(rows: list[dict[str, Any]], length: int = 0) -> list[int]:
    """Return the instants at which frames came to the switch."""
    return [r["t"] for r in rows if r["event"] == "ocs_enqueue" and (not length or r["len"] == length)]


def due(n: int, length: int, rate: int, overhead: int = OVERHEAD) -> int:
    """Return how many ns after the first began the n-th frame has left, rounded up."""
    return -(-n * (length + overhead) * 8 * 10**9 // rate)


def exact(rate: int, frames: int, length: int, overhead: int | None = None, buffer: int | None = None) -> None:
    """Let frames come to a card at one instant, and compare with arithmetic when each of them has left it.

    A process that sends moves the clock by reading it. So the card is at a port of the switch here, which keeps the
    frames until an instant at which no process runs. Behind the card a second switch tells when they arrive.
    """
    with Net(2) as net:
        sh("ip -n h1 link add ocs1 type ocs", "ip -n h1 link set eth0 master ocs1", "ip -n h1 link set ocs1 up")
        with inside("h1"), contextlib.closing(Ocs("ocs1")) as behind:
            behind.port_set("eth0", ingress={"rate": FAST})
        with contextlib.closing(Cards()) as cards:
            cards.card_set("p1", rate, overhead, buffer)
            sh("tc qdisc replace dev p1 root pfifo limit 100000")
            with Trace("ocs_enqueue") as rows:
                epoch = hold(net, BYPASS)
                burst(net.udp(0), 1, frames, length)
                time.sleep(due(frames, length, rate) / 1e9 + 0.2)
            seen = [r["t"] - epoch for r in rows if r["link"] == INGRESS and r["len"] == length]
            wanted = [due(n, length, rate, OVERHEAD if overhead is None else overhead) for n in range(1, frames + 1)]
            equal(seen, wanted, f"ns at {rate} bit/s")
            found = cards.card("p1")
        equal((found["tx_packets"], found["packets"], found["drops"]), (frames, 0, 0), "counters")


def case_every_rate_is_exact() -> str:
    """From 1 kb/s to 800 Gb/s the n-th frame leaves at ceil(n bits / rate), also where frames take less than 1 ns."""
    for rate in (10**3, 56_000, 9_999_991, 10**7, 999_999_937, 12_304_000_000, 4 * 10**10, 10**11, 4 * 10**11,
                 8 * 10**11, 10**13):  # fmt: skip
        exact(rate, 5 if rate < 10**6 else 500, L)
        exact(rate, 5 if rate < 10**6 else 500, SMALLEST)
    return ""


def case_overhead_and_buffer_change_no_instant() -> str:
    """The card's memory moves frames from the discipline into the card; when they leave stays the same."""
    for buffer in (0, 1, 1538, 3076, 60_000, 10**7):
        exact(999_999_937, 300, L, buffer=buffer)
    exact(999_999_937, 300, L, overhead=0)
    exact(999_999_937, 300, L, overhead=100)
    return ""


def case_an_idle_line_begins_at_once() -> str:
    """What was rounded for one frame is not taken off one that finds the line free."""
    rate = 3 * 10**9
    with carded(rate) as net:
        sock = net.udp(0)
        with Trace("ocs_enqueue") as rows:
            for _ in range(50):
                burst(sock, 1, 2, L)
                time.sleep(0.001)
        seen = left(rows, L)
        gaps = {second - first for first, second in zip(seen[::2], seen[1::2], strict=True)}
        equal(gaps, {due(2, L, rate) - due(1, L, rate)}, "ns between two frames of a pair")
    return ""


def case_programs_may_choose_any_discipline() -> str:
    """With every discipline of Linux all 100 frames arrive, the last one at its nanosecond."""
    rate = 999_999_937
    for qdisc in DISCIPLINES:
        with carded(rate, qdisc) as net:
            sock = net.udp(0)
            with Trace("ocs_enqueue") as rows:
                burst(sock, 1, 100, L)
                time.sleep(0.1)
            seen = left(rows, L)
            equal(len(seen), 100, f"frames with {qdisc}")
            equal(seen[-1] - seen[0], due(100, L, rate) - due(1, L, rate), f"ns with {qdisc}")
    return f"{len(DISCIPLINES)} disciplines"


def case_a_discipline_that_is_replaced_changes_no_rate() -> str:
    """A program replaces the root of its device in the midst of its traffic, and even deletes it."""
    with carded(2 * 10**7) as net:
        with Trace("ocs_enqueue") as rows:
            sock = net.udp(0)
            for command in ("replace dev eth0 root pfifo limit 1000", "replace dev eth0 root fq", "del dev eth0 root"):
                sh(f"ip netns exec h0 tc qdisc {command}")
                burst(sock, 1, 100, L)
                time.sleep(0.2)
        seen = left(rows, L)
        equal(len(seen), 300, "frames")
        frame = (L + OVERHEAD) * 400
        for part in (seen[:100], seen[100:200], seen[200:]):
            equal(part, [part[0] + n * frame for n in range(100)], "ns at 20 Mb/s")
        kept = sh("ip netns exec h0 tc qdisc show dev eth0").split()[1]
        equal(kept, "pfifo_fast", "the discipline of a device that can be full")
    return ""


def case_limits_of_a_discipline_count_packets() -> str:
    """Of 50 frames at once one is on the line, 10 wait in pfifo, and the others are dropped there."""
    for buffer, inside_card in ((0, 1), (5 * (1514 + OVERHEAD), 6)):
        with carded(10**6, "pfifo limit 10", buffer) as net:
            with Trace("ocs_enqueue") as rows:
                burst(net.udp(0), 1, 50, 1514)
                equal(card(net)["packets"], inside_card, "in the card")
                time.sleep(1)
            equal(len(left(rows, 1514)), 10 + inside_card, "frames")
            told = sh("ip netns exec h0 tc -s qdisc show dev eth0")
            equal(f"dropped {50 - 10 - inside_card}," in told, True, told)
    return ""


def case_frames_keep_their_socket_until_they_have_left() -> str:
    """The send buffer of a socket holds what waits in the discipline and in the card, frame by frame."""
    for buffer in (0, 100_000):
        with carded(10**6, buffer=buffer) as net:
            sock = net.udp(0)
            burst(sock, 1, 20, L)
            took = (L + OVERHEAD) * 8 * 1000
            held = []
            time.sleep(took / 2e9)
            for _ in range(20):
                held.append(struct.unpack("i", ioctl(sock, SIOCOUTQ, bytes(4)))[0])
                time.sleep(took / 1e9)
            one = held[0] // 20
            equal(held, [one * (20 - n) for n in range(20)], "bytes of the socket")
            equal(struct.unpack("i", ioctl(sock, SIOCOUTQ, bytes(4)))[0], 0, "at the end")
    return ""


def connected() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a TCP connection from h0 to h1."""
    with inside("h1"), socket.create_server(("10.0.0.2", 5001)) as server, inside("h0"):
        client = socket.create_connection(("10.0.0.2", 5001))
        peer, _ = server.accept()
    return client, peer


def case_tcp_small_queues_hold() -> str:
    """A TCP flow has a few packets in the discipline at 100 Mb/s, however large its window is."""
    most = 0
    with carded(10**8, "pfifo limit 10000") as net:
        net.ocs.port_set("p1", delay=20 * MS)
        ends = connected()
        transfer = Transfer(*ends, 5 << 20)
        for _ in range(100):
            time.sleep(0.004)
            told = sh("ip netns exec h0 tc -s qdisc show dev eth0")
            most = max(most, int(told.split("backlog ")[1].split()[1].rstrip("p")))
        transfer.wait()
    # 1 ms of its rate, which is at most twice that of the line, and what the stack adds
    if not 0 < most <= 30:
        raise AssertionError(f"{most} packets wait in the discipline")
    return f"at most {most} packets"


def case_super_frames_take_the_time_of_all_their_frames() -> str:
    """With TSO a card gets up to 64 KB at once; frames of the MTU leave, never earlier than arithmetic allows."""
    rate = 999_999_937
    with carded(rate, offload=True):
        sh("ip netns exec h0 ethtool -K eth0 tso on gso on sg on tx on")
        ends = connected()
        with Trace("ocs_enqueue") as rows:
            Transfer(*ends, 4 << 20).wait()
        data = [r for r in rows if r["event"] == "ocs_enqueue" and r["len"] > 100]
        equal(max(r["len"] for r in data), 1514, "bytes of the longest frame")
        equal(sum(r["len"] - 66 for r in data), 4 << 20, "bytes of payload")
        for first, second in itertools.pairwise(data):
            took = (second["len"] + OVERHEAD) * 8 * 10**9
            if (second["t"] - first["t"] + 1) * rate <= took:
                raise AssertionError(f"{first}, {second}")
        bits = sum(r["len"] + OVERHEAD for r in data[1:]) * 8 * 10**9
        if (data[-1]["t"] - data[0]["t"] + 1) * rate < bits:
            raise AssertionError("all frames together were too fast")
        share = bits / rate / (data[-1]["t"] - data[0]["t"])
    return f"{share:.1%} of the line"


def case_cards_come_and_go_under_load() -> str:
    """Cards, devices, disciplines and namespaces go in any order with frames in them; the kernel does not complain."""
    rng = random.Random(5)
    for _ in range(6):
        with carded(10**6, buffer=rng.choice((0, 20_000))) as net:
            for _ in range(20):
                burst(net.udp(0), 1, 30, L)
                kind = rng.randrange(5)
                if kind == 0:
                    sh("ip -n h0 link set eth0 down", "ip -n h0 link set eth0 up",
                       "ip -n h0 neigh replace 10.0.0.2 dev eth0 lladdr 02:00:00:00:00:02")  # fmt: skip
                elif kind == 1:
                    sh(f"ip netns exec h0 tc qdisc replace dev eth0 root {rng.choice(DISCIPLINES)}")
                with inside("h0"):
                    if kind == 2:
                        net.cards.card_set("eth0", 0)
                    net.cards.card_set("eth0", rng.choice((10**5, 10**6, 10**9)), buffer=rng.choice((0, 3000, 20_000)))
                time.sleep(rng.random() / 50)
            burst(net.udp(0), 1, 30, L)
            if rng.random() < 0.5:
                sh("ip -n h0 link del eth0")
    time.sleep(1)
    equal(kernel_log(), "", "kernel log")
    return ""


def case_every_frame_is_accounted_for() -> str:
    """What the card took has left, is in it, or was lost when its device went down; afterwards it sends again."""
    with carded(10**6, buffer=20_000) as net:
        burst(net.udp(0), 1, 30, L)
        time.sleep(0.0205)
        before = card(net)
        sh("ip -n h0 link set eth0 down", "ip -n h0 link set eth0 up",
           "ip -n h0 neigh replace 10.0.0.2 dev eth0 lladdr 02:00:00:00:00:02")  # fmt: skip
        after = card(net)
        lost = before["packets"] + before["tx_packets"] - after["tx_packets"]
        equal((after["drops"], after["packets"]), (lost, 0), "drops")
        burst(net.udp(0), 1, 3, L)
        time.sleep(0.1)
        equal(card(net)["tx_packets"] - after["tx_packets"], 3, "frames after it was down")
    return f"{lost} lost"


def case_refusals() -> str:
    """What was set is read back; a rate beyond 100 Tb/s is refused, and a device without a card has none."""
    with carded(10**9, buffer=5000, overhead=20) as net:
        found = card(net)
        equal((found["rate"], found["buffer"], found["overhead"]), (10**9, 5000, 20), "read back")
        with inside("h0"):
            net.cards.card_set("eth0", 2 * 10**9)
            equal(net.cards.card("eth0")["buffer"], 5000, "kept")
            text = refused(lambda: net.cards.card_set("eth0", 10**15))
            net.cards.card_set("eth0", 0)
            equal("eth0 has no card" in refused(lambda: net.cards.card("eth0")), True, "none any more")
    return text


if __name__ == "__main__":
    main(globals())
