# SPDX-License-Identifier: Apache-2.0
"""Interrupt moderation of a host's card: a delay, and a count of frames that ends it early.

A line delivers a frame every 10 us, all of one TCP flow, so GRO may merge them.  A packet socket in the receiver sees
what the stack is given, and when.  The card fetches the first frame of a quiet time at once, and GRO holds it; the
delay begins there.  A poll that finds frames starts the delay anew, and GRO keeps them, unless it has held something
since an earlier tick of 4 ms.
"""

import random
import socket
import struct
import time

from lab import Net, equal, hold, inside, main, sh, until

TX = 10_000  # ns for a frame
LENGTH = 1250
PAYLOAD = LENGTH - 14 - 20 - 20
MOST = 128  # frames that a card may count
LONG = 5_000_000  # ns: a delay longer than the bursts here
SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_TIMESTAMPNS = 32, 33, 35


def checksum(data: bytes) -> int:
    """Return the checksum of IP and TCP."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def segment(number: int) -> bytes:
    """Return a frame from h0 to h1 with a TCP segment to an address that h1 lacks, so that nothing answers."""
    ends = socket.inet_aton("10.0.0.1") + socket.inet_aton("10.0.0.99")
    tcp = struct.pack("!HHIIBBHHH", 1, 9, 1 + number * PAYLOAD, 1, 5 << 4, 0x10, 1000, 0, 0) + bytes(PAYLOAD)
    right = checksum(ends + struct.pack("!HH", 6, len(tcp)) + tcp)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), number & 0xFFFF, 0x4000, 64, 6, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return bytes.fromhex("0200000000020200000000010800") + ip + tcp[:16] + struct.pack("!H", right) + tcp[18:]


def card(delay: int, frames: int) -> None:
    """Let the card of h1 wait for `delay` ns, or for so many frames; 0 is off."""
    device = "/sys/class/net/eth0"
    sh(
        "ip netns exec h1 ethtool -K eth0 gro on",
        f"ip netns exec h1 sh -c 'echo {delay} > {device}/gro_flush_timeout'",
        f"ip netns exec h1 sh -c 'echo {int(delay > 0)} > {device}/napi_defer_hard_irqs'",
        # ethtool without netlink ends with 80 if nothing changes; a kernel without the setting has it at 0
        f"ip netns exec h1 ethtool -C eth0 rx-frames {frames} || test $? = 80 -o {frames} = 0",
    )


class Line:
    """A line from h0 to h1 that takes `tx` ns for a frame, 0 is no time.  What is sent before `begin` arrives from then
    on."""

    def __init__(self, net: Net, tx: int) -> None:
        with inside("h0"):
            self.sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.sender.bind(("eth0", 0))
        self.sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 24)
        with inside("h1"):
            self.receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.receiver.bind(("eth0", 0x0800))
        self.receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
        self.receiver.settimeout(0)
        net.ocs.link_set(0, rate=8 * LENGTH * 10**9 // tx if tx else 0, overhead=0)
        net.ocs.rule_flush()
        self.begin, self.sent = hold(net, 0) + tx, 0

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self.sender.close()
        self.receiver.close()

    def send(self, count: int) -> None:
        """Send the next frames of the flow."""
        for number in range(self.sent, self.sent + count):
            self.sender.send(segment(number))
        self.sent += count

    def seen(self) -> list[tuple[int, int]]:
        """Return each packet that the stack of h1 is given: its ns since `begin`, and its frames."""
        time.sleep(0.2)
        zero = self.begin + time.time_ns() - time.monotonic_ns()
        packets = []
        while True:
            try:
                data, extra, *_ = self.receiver.recvmsg(1 << 17, 256)
            except BlockingIOError:
                return packets
            except OSError:  # the card was down meanwhile, which is said once
                continue
            ((_, _, stamp),) = extra
            seconds, ns = struct.unpack("qq", stamp)
            frames, left = divmod(len(data) - 54, PAYLOAD)
            equal(left, 0, "bytes of a part of a frame")
            packets.append((seconds * 10**9 + ns - zero, frames))


class Bench:
    """A network of two hosts for several lines, one after the other."""

    def __enter__(self) -> "Bench":
        self.net = Net(2)
        return self

    def __exit__(self, *_: object) -> None:
        self.net.__exit__()

    def given(self, delay: int, frames: int, count: int, tx: int = TX) -> list[tuple[int, int]]:
        """Return what the stack is given of `count` frames with a card that moderates its interrupts."""
        with Line(self.net, tx) as line:
            card(delay, frames)
            line.send(count)
            return line.seen()


def case_without_a_delay_each_frame_comes_alone() -> str:
    """This is also what says where the first frame arrives."""
    with Bench() as bench:
        equal(bench.given(0, 0, 5), [(n * TX, 1) for n in range(5)], "packets")
    return ""


def case_the_count_ends_the_wait() -> str:
    """Counting begins after the first frame; what is left waits for the delay that its own poll starts anew."""
    with Bench() as bench:
        for frames in (2, 4, 16):
            count = 3 * frames
            ends = range(frames, count, frames)
            counted = [(n * TX, frames + (n == frames)) for n in ends]
            rest = [(ends[-1] * TX + 2 * LONG, frames - 1)]
            equal(bench.given(LONG, frames, count), counted + rest, f"packets, {frames} frames")
            equal(bench.given(LONG, 0, count), [(LONG, count)], "packets without a count")
    return ""


def case_a_count_of_one_waits_for_nothing() -> str:
    with Bench() as bench:
        for delay in (100, 3 * TX, LONG):
            equal(bench.given(delay, 1, 5), [(n * TX, 1) for n in range(5)], f"packets, {delay} ns")
    return ""


def case_the_delay_ends_a_shorter_wait() -> str:
    """Three frames come while the card waits for four, and for four while it waits for none."""
    with Bench() as bench:
        for delay, at in ((35_000, 70_000), (50_000, 100_000), (LONG, LONG)):
            for frames in (4, MOST, 0):
                equal(bench.given(delay, frames, 4), [(at, 4)], f"packets, {delay} ns, {frames} frames")
    return ""


def case_a_count_that_is_never_reached_changes_nothing() -> str:
    with Bench() as bench:
        for delay in (100, TX, 25_000, 70_000):
            equal(bench.given(delay, 9, 40), bench.given(delay, 0, 40), f"packets, {delay} ns")
    return ""


def case_short_delays() -> str:
    """Delays of few frames, and shorter than one, of a line with a frame every 40 ns."""
    with Bench() as bench:
        for delay in (30, 100, 1000):
            seen = bench.given(delay, 2, 3)
            equal(seen, [(n * TX + delay, 1) for n in range(3)], f"packets far apart, {delay} ns")
        for delay in (100, 1000):
            expected = [(80, 3), (160, 2), (240, 2), (320, 2)]
            equal(bench.given(delay, 2, 9, 40), expected, f"packets of a fast line, {delay} ns")
        for delay in (30, 40, 41):
            equal(bench.given(delay, 2, 9, 40), bench.given(delay, 0, 9, 40), f"packets, {delay} ns are over first")
    return ""


def case_a_burst_is_given_away_as_a_whole() -> str:
    """A poll takes 64 frames, and the next one has to finish what the count began."""
    with Bench() as bench:
        seen = bench.given(LONG, 100, 201, 1000)
    at = {instant: sum(frames for when, frames in seen if when == instant) for instant, _ in seen}
    equal(at, {100_000: 101, 200_000: 100}, "frames by instant")
    return ""


def case_a_burst_at_one_instant_starts_the_delay() -> str:
    """The poll that is due takes all.  A second one would find nothing, and end the wait for frames that come later."""
    for frames, expected in ((4, [(0, 8), (2 * LONG, 1)]), (0, [(LONG, 9)])):
        with Net(2) as net, Line(net, 0) as line:
            card(LONG, frames)
            line.send(8)
            until(line.begin + 1_000_000)
            line.send(1)
            equal(line.seen(), expected, f"packets, {frames} frames")
    return ""


def case_the_ring_of_a_card_that_counts_never_overflows() -> str:
    """It has room for 256 frames, and 1000 come within the delay."""
    with Bench() as bench:
        lost = [1000 - sum(frames for _, frames in bench.given(LONG, count, 1000, 1000)) for count in (0, MOST)]
    equal((lost[0] > 0, lost[1]), (True, 0), f"frames lost: {lost}")
    return f"{lost[0]} lost without a count"


def case_settings() -> str:
    """The count is bounded, can be read back and switched off, and is the only setting."""
    with Net(2):
        run = "ip netns exec h1 ethtool"
        for words in ("rx-frames 129", "rx-usecs 20", "tx-frames 4"):
            equal("taken" in sh(f"{run} -C eth0 {words} 2>&1 && echo taken || true"), False, words)
        for frames in (0, MOST, 1, 0):
            sh(f"{run} -C eth0 rx-frames {frames} || test $? = 80")
            shown = sh(f"{run} -c eth0").split()
            equal(shown[shown.index("rx-frames:") + 1], str(frames), "frames")
    with Net(2) as net, Line(net, TX) as line:
        card(LONG, 4)
        card(LONG, 0)
        line.send(9)
        equal(line.seen(), [(LONG, 9)], "packets after it was switched off")
    return ""


def case_a_card_that_goes_down_forgets_its_count() -> str:
    """The first of four frames was fetched, three wait, and all are lost."""
    with Net(2) as net, Line(net, 0) as line:
        card(LONG, 4)
        until(line.begin)
        line.send(4)
        sh("ip -n h1 link set eth0 down", "ip -n h1 link set eth0 up")
        time.sleep(2)  # until the link has its queue
        line.send(5)
        equal([frames for _, frames in line.seen()], [5], "frames of packets")
    return ""


def case_changes_under_load() -> str:
    """Count, delay and GRO change while frames come, and the card goes down; then it is as exact as a new one."""
    draw = random.Random(1)
    with Net(2) as net, Line(net, 1000) as line:
        until(line.begin)
        for _ in range(60):
            card(draw.choice((0, 100, 10_000, LONG)), draw.choice((1, 2, 7, MOST)))
            line.send(draw.choice((1, 10, 100)))
            if draw.random() < 0.3:
                time.sleep(draw.choice((1e-6, 1e-4)))
            if draw.random() < 0.3:
                sh(f"ip netns exec h1 ethtool -K eth0 gro {draw.choice(('off', 'on'))}")
            if draw.random() < 0.1:
                sh("ip -n h1 link set eth0 down", "ip -n h1 link set eth0 up")
        equal(0 < sum(frames for _, frames in line.seen()) <= line.sent, True, "frames")
        card(LONG, 4)
        with Line(net, TX) as after:
            after.send(5)
            equal(after.seen(), [(4 * TX, 5)], "packets afterwards")
    return ""


if __name__ == "__main__":
    main(globals())
