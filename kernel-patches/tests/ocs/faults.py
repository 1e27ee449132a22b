# SPDX-License-Identifier: Apache-2.0
"""Frames that a link loses, damages, doubles or delays at random."""

import random
import socket
import time

from lab import HEADERS, Net, Trace, Transfer, burst, counter, equal, inside, main
from life import kernel_log
from netlink import refused
from ocs import slot
from ocs_dumps import difference

L = 200
ONE = 10**9  # probability 1
RATE = 10**8
LATE = 257  # ns: a trace may see an event so late while a process reads the clock, see hold() in lab.py


def through(net: Net, host: int = 0, **link: object) -> None:
    """Lead what a host sends through the link of its number."""
    net.ocs.link_set(host, **link)
    net.ocs.class_set(host, [slot(0, host)])
    net.ocs.rule_add(host, in_if=f"p{host}")


def numbered(net: Net, frames: int, host: int = 0, to: int = 1, seed: int = 0) -> list[int]:
    """Start the timetables, send numbered datagrams, and return the numbers in the order in which they arrive."""
    net.ocs.start(time.monotonic_ns(), seed)
    sink, out = net.udp(to, 9), net.udp(host)
    for n in range(frames):
        out.sendto(n.to_bytes(4, "big") + bytes(L - HEADERS - 4), (f"10.0.0.{to + 1}", 9))
    time.sleep(1)
    sink.setblocking(False)
    got = []
    while True:
        try:
            got.append(int.from_bytes(sink.recv(2000)[:4], "big"))
        except BlockingIOError:
            return got


def within(value: float, expected: float, sigma: float, what: str) -> None:
    """Fail unless a value lies within four standard deviations."""
    if abs(value - expected) > 4 * sigma:
        raise AssertionError(f"{what}: {value}, expected {expected:.1f} +- {sigma:.1f}")


def case_a_percent_is_lost_and_always_the_same() -> str:
    """Of 20 000 frames 200 +- 14 are lost; the same ones in a second run, others with another seed of the link."""
    frames = 20_000
    lost = []
    for seed in (5, 5, 6):
        with Net(2) as net:
            through(net, rate=RATE, seed=seed, faults={"loss": ONE // 100})
            with Trace("ocs_drop") as rows:
                lost.append(set(range(frames)) - set(numbered(net, frames)))
            equal({(r["link"], r["reason"]) for r in rows}, {(0, 8)}, "link and reason")
            faults = net.ocs.stats()["links"][0]["faults"]
            equal((len(rows), faults["lost"]), (len(lost[-1]), len(lost[-1])), "events, counter")
            within(len(lost[-1]), frames / 100, (frames * 0.01 * 0.99) ** 0.5, "losses")
    equal(lost[1], lost[0], "losses of the second run")
    equal(lost[2] != lost[0], True, "losses with another seed")
    return f"{len(lost[0])} lost"


def case_a_start_begins_the_draws_anew() -> str:
    """Two starts of the timetables, of any seed, give the same losses."""
    with Net(2) as net:
        through(net, rate=RATE, seed=9, faults={"loss": ONE // 20})
        first = numbered(net, 1000, seed=1)
        equal(numbered(net, 1000, seed=2), first, "what arrives")
    return ""


def case_faults_do_not_depend_on_each_other_nor_on_other_links() -> str:
    """The same frames are lost with duplicates, damage, jitter, and with losses on another link beside."""
    with Net(3) as net:
        through(net, rate=RATE, seed=9, faults={"loss": ONE // 20})
        alone = numbered(net, 1000, to=2)
        through(net, 1, rate=RATE, seed=9, faults={"loss": ONE // 2})
        burst(net.udp(1), 2, 500, L, port=7)
        net.ocs.link_set(0, faults={"duplicate": ONE // 10, "jitter": 50_000})
        equal(list(dict.fromkeys(numbered(net, 1000, to=2))), alone, "what arrives")
    return ""


def case_bursts_last_as_long_as_the_state() -> str:
    """Gilbert-Elliott with p = 1 %, r = 20 %: bad states last 1 / r = 5 frames, and take p / (p + r) of all frames."""
    frames, p, r = 40_000, 0.01, 0.2
    with Net(2) as net:
        faults = {"good_bad": int(p * ONE), "bad_good": int(r * ONE), "loss_bad": ONE}
        through(net, rate=RATE, seed=3, faults=faults)
        got = set(numbered(net, frames))
    bursts = []
    for n in range(frames):
        if n not in got:
            if bursts and n - 1 not in got and n:
                bursts[-1] += 1
            else:
                bursts.append(1)
    # lengths are geometric with mean 1 / r and variance (1 - r) / r^2
    mean = sum(bursts) / len(bursts)
    within(mean, 1 / r, ((1 - r) / r**2 / len(bursts)) ** 0.5, "mean burst")
    # cycles of a good and a bad state take 1 / p + 1 / r frames; its variance is the sum of theirs
    cycle, variance = 1 / p + 1 / r, (1 - p) / p**2 + (1 - r) / r**2
    within(len(bursts), frames / cycle, (frames * variance / cycle**3) ** 0.5, "bursts")
    return f"{len(bursts)} bursts of {mean:.2f} frames"


def case_a_good_link_may_lose_too() -> str:
    """Without a way into the bad state only loss_good counts: 10 % of 5000."""
    with Net(2) as net:
        through(net, rate=RATE, faults={"loss_good": ONE // 10})
        within(5000 - len(numbered(net, 5000)), 500, (5000 * 0.1 * 0.9) ** 0.5, "losses")
    return ""


def case_a_copy_follows_at_once() -> str:
    """With probability 1 each datagram comes twice, at one instant; with 10 % a tenth of them does."""
    with Net(2) as net:
        net.ocs.port_set("p1", rate=10**12)
        through(net, rate=RATE, delay=70_000, faults={"duplicate": ONE})
        with Trace("ocs_enqueue", "ocs_dequeue") as rows:
            got = numbered(net, 100)
        equal(got, [n for n in range(100) for _ in (0, 1)], "numbers")
        out = [r["t"] for r in rows if r["event"] == "ocs_enqueue" and r["link"] == 0x8001]
        equal(out[::2], out[1::2], "instants of originals and copies")
        net.ocs.link_set(0, faults={"duplicate": ONE // 10})
        extra = len(numbered(net, 5000)) - 5000
        within(extra, 500, (5000 * 0.1 * 0.9) ** 0.5, "copies")
        equal(net.ocs.stats()["links"][0]["faults"]["duplicated"], 100 + extra, "counter")
    return ""


def spread(net: Net, frames: int) -> tuple[list[int], list[int]]:
    """Return delays on the link [ns], in the order in which frames left it, and the order of arrival."""
    with Trace("ocs_dequeue", "ocs_enqueue") as rows:
        got = numbered(net, frames)
    begun = [r["t"] for r in rows if r["event"] == "ocs_dequeue" and r["link"] == 0]
    arrived = [r["t"] for r in rows if r["event"] == "ocs_enqueue" and r["link"] == 0x8001]
    took = (L + 24) * 8 * 10**9 // RATE
    return [arrived[i] - begun[n] - took for i, n in enumerate(got)], got


def case_jitter_is_uniform_and_keeps_the_order() -> str:
    """A frame every 17.92 us, jitter up to 10 us: 0 to 10 us, mean 5, none overtakes; then up to 100 us, in order."""
    frames = 3000
    with Net(2) as net:
        net.ocs.port_set("p1", rate=10**13)
        through(net, rate=RATE, delay=500_000, seed=1, faults={"jitter": 10_000})
        delays, got = spread(net, frames)
        extra = [delay - 500_000 for delay in delays]
        equal(got, list(range(frames)), "order")
        equal((min(extra) >= 0, max(extra) <= 10_000 + LATE), (True, True), f"bounds {min(extra)}, {max(extra)}")
        # a uniform variable of width w has the standard deviation w / sqrt 12
        within(sum(extra) / frames, 5000, 10_000 / 12**0.5 / frames**0.5, "mean")
        net.ocs.link_set(0, faults={"jitter": 100_000})
        delays, got = spread(net, frames)
        equal(got, list(range(frames)), "order with much jitter")
        equal(net.ocs.stats()["links"][0]["faults"]["reordered"], 0, "reordered")
    return ""


def case_jitter_that_may_reorder() -> str:
    """With reorder a frame arrives when its delay is over, whoever is before it; all arrive."""
    frames = 3000
    with Net(2) as net:
        net.ocs.port_set("p1", rate=10**13)
        through(net, rate=RATE, delay=500_000, seed=1, faults={"jitter": 100_000, "reorder": 1})
        delays, got = spread(net, frames)
        extra = [delay - 500_000 for delay in delays]
        equal(sorted(got), list(range(frames)), "all")
        overtook = sum(any(later < n for later in got[i + 1 : i + 20]) for i, n in enumerate(got))
        equal((min(extra) >= 0, max(extra) <= 100_000 + LATE), (True, True), "bounds")
        within(sum(extra) / frames, 50_000, 100_000 / 12**0.5 / frames**0.5, "mean")
        equal(net.ocs.stats()["links"][0]["faults"]["reordered"], overtook, "counter")
    return f"{overtook} overtook"


def case_any_number_may_be_overtaken() -> str:
    """12 000 frames, one every 17.92 us, with 0 to 400 ms of jitter: each tenth of them within its tenth of 400 ms."""
    frames, jitter = 12_000, 400_000_000
    with Net(2) as net:
        net.ocs.port_set("p1", rate=10**13)
        through(net, rate=RATE, seed=1, faults={"jitter": jitter, "reorder": 1})
        delays, got = spread(net, frames)
        equal(sorted(got), list(range(frames)), "all")
        delays_of = dict(zip(got, delays, strict=True))
        within(sum(delays) / frames, jitter / 2, jitter / 12**0.5 / frames**0.5, "mean")
        for tenth in range(1, 10):
            share = tenth / 10
            below = sum(delay <= share * jitter for delay in delays)
            within(below, share * frames, (frames * share * (1 - share)) ** 0.5, f"below {tenth} tenths")
        # a frame that arrives before one that was sent earlier has overtaken it
        latest, overtook = -1, 0
        for n in range(frames):
            arrives = n * 17_920 + delays_of[n]
            overtook += arrives < latest
            latest = max(latest, arrives)
        counted = net.ocs.stats()["links"][0]["faults"]["reordered"]
        # a trace may see an event a little late, see LATE
        if abs(counted - overtook) > 20:
            raise AssertionError(f"{counted} counted, {overtook} overtook")
        equal(difference(net.ocs.accounts()["links"][0]), (0, 0), "account")
    return f"{overtook} overtook"


def case_reordering_ends_and_begins_under_load() -> str:
    """Frames that were sent while reordering was allowed and while it was not: all arrive."""
    with Net(2) as net:
        sink, out = net.udp(1, 9), net.udp(0)
        sent = 0
        for reorder in (0, 1, 0, 1, 1, 0, 0):
            through(net, rate=RATE, faults={"jitter": 10_000_000, "reorder": reorder})
            for _ in range(100):
                out.sendto(sent.to_bytes(4, "big") + bytes(L - HEADERS - 4), ("10.0.0.2", 9))
                sent += 1
            time.sleep(0.002)
            account = net.ocs.accounts()["links"][0]
            equal((difference(account), account["flying"][0] > 50), ((0, 0), True), f"account {account}")
        time.sleep(1)
        sink.setblocking(False)
        got = [int.from_bytes(sink.recv(2000)[:4], "big") for _ in range(sent)]
        equal(sorted(got), list(range(sent)), "all")
        first, last = [n for n in got if n < 100], [n for n in got if n >= 500]
        equal((first, last), (sorted(first), sorted(last)), "those that may not overtake")
    return ""


def case_the_receiver_finds_the_damage() -> str:
    """One bit of each of 500 datagrams is flipped, behind the Ethernet header: none arrives, all are errors there."""
    for offload in (False, True):
        with Net(2, offload=offload) as net:
            through(net, rate=RATE, seed=4, faults={"corrupt": ONE})
            got = numbered(net, 500)
            equal(got, [], "datagrams")
            equal(net.ocs.stats()["links"][0]["faults"]["corrupted"], 500, "counter")
            udp = counter("h1", "Udp", "InCsumErrors")
            header = counter("h1", "Ip", "InHdrErrors")
            # 20 of 186 bytes are the header of IP, where the damage is found by IP: as wrong sum, version or length
            within(header, 500 * 20 / 186, (500 * 20 / 186 * 166 / 186) ** 0.5 + 5, "errors of the header")
            if not 490 <= udp + header <= 500:
                raise AssertionError(f"{udp} + {header} errors")
    return f"{udp} by UDP, {header} by IP"


def case_tcp_survives_damage() -> str:
    """A transfer over a link that damages 2 % of the frames: InCsumErrors rises, the data are right."""
    for offload in (False, True):
        with Net(2, offload=offload) as net:
            through(net, rate=10**9, seed=4, faults={"corrupt": ONE // 50})
            net.ocs.start(time.monotonic_ns())
            with inside("h1"):
                server = socket.create_server(("10.0.0.2", 5001))
            with inside("h0"):
                client = socket.create_connection(("10.0.0.2", 5001), timeout=30)
            client.settimeout(None)
            peer, _ = server.accept()
            Transfer(client, peer, 1 << 20).wait()
            bad = counter("h1", "Tcp", "InCsumErrors")
            damaged = net.ocs.stats()["links"][0]["faults"]["corrupted"]
            if not 5 <= bad <= damaged:
                raise AssertionError(f"{bad} wrong sums of {damaged} damaged frames")
    return f"{bad} of {damaged} found by TCP"


def case_faults_without_a_rate_and_at_a_port() -> str:
    """A link that has nothing but faults has them; so have both links of a port."""
    with Net(2) as net:
        net.ocs.port_set("p0", ingress={"seed": 1, "faults": {"loss": ONE // 2}})
        net.ocs.port_set("p1", seed=2, faults={"loss": ONE // 2})
        within(len(numbered(net, 2000)), 500, (2000 * 0.25 * 0.75) ** 0.5, "what arrives")
        port = net.ocs.stats()["ports"]
        first, second = port["p0"]["ingress"]["faults"]["lost"], port["p1"]["link"]["faults"]["lost"]
        within(second, (2000 - first) / 2, ((2000 - first) / 4) ** 0.5, "lost by the second link")
    return ""


def case_settings_are_read_back() -> str:
    """A dump has what was set, and nothing of a link that has no faults; what is out of range is refused."""
    faults = {"loss": 1, "good_bad": 2, "bad_good": 3, "loss_good": 4, "loss_bad": 5, "corrupt": 6, "duplicate": 7,
              "jitter": 8, "reorder": 1}  # fmt: skip
    counts = dict.fromkeys(("lost", "corrupted", "duplicated", "reordered"), 0)
    with Net(2) as net:
        net.ocs.link_set(0)
        equal([name in net.ocs.stats()["links"][0] for name in ("faults", "seed")], [False, False], "without")
        net.ocs.link_set(0, seed=2**64 - 1, faults=faults)
        link = net.ocs.stats()["links"][0]
        equal((link["seed"], link["faults"]), (2**64 - 1, {**faults, **counts}), "with")
        net.ocs.link_set(0, faults={"loss": 9})
        equal(net.ocs.stats()["links"][0]["faults"], {**faults, **counts, "loss": 9}, "one changed")
        for wrong, said in (
            ({"loss": ONE + 1}, "loss: integer out of range (allowed 0..1000000000)"),
            ({"jitter": 10**12 + 1}, "jitter: integer out of range (allowed 0..1000000000000)"),
            ({"reorder": 2}, "reorder: integer out of range (allowed 0..1)"),
            ({"lost": 2}, "lost: Unknown attribute type"),
            ({"bad_good": 0}, "bad_good: BAD_GOOD is 0: the link would never be good again"),
        ):
            equal(refused(net.ocs.link_set, 0, faults=wrong), f"link_set: link.faults.{said}", "refusal")
    return ""


def case_faults_change_under_load() -> str:
    """All kinds at once, changed while frames are on the link, which goes; the kernel does not complain."""
    rng = random.Random(8)
    names = ("loss", "good_bad", "loss_good", "loss_bad", "corrupt", "duplicate")
    with Net(2, offload=True) as net:
        out = net.udp(0)
        for _ in range(100):
            faults = {name: rng.choice((0, 0, ONE // 3)) for name in names}
            faults |= {"bad_good": ONE // 2, "jitter": rng.choice((0, 2 * 10**6)), "reorder": rng.randrange(2)}
            through(net, rate=rng.choice((0, 10**9)), delay=rng.choice((0, 10**6)), faults=faults)
            burst(out, 1, 30, 1400)
            time.sleep(0.001)
            if rng.random() < 0.2:
                net.ocs.rule_flush()
                net.ocs.class_del(0)
                net.ocs.link_del(0)
        time.sleep(0.1)
    equal(kernel_log(), "", "kernel log")
    return ""


if __name__ == "__main__":
    main(globals())
