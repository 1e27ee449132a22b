# SPDX-License-Identifier: Apache-2.0
"""Versions in the upper half of the TTL: what counts as a change, who writes, which packets, at which nanosecond."""

import socket
import struct
import time

from lab import Net, equal, main
from netlink import refused
from notify import drain, ones, soon, tap
from ocs import BYPASS, DARK, RAISE, WRITE, slot
from retcp import passes, segment, sender

US, MS = 1_000, 1_000_000


def packet(ttl: int, number: int = 0) -> bytes:
    """Make a segment from h1 to h0 with a TTL."""
    frame = bytearray(segment(number))
    frame[22] = ttl
    frame[24:26] = b"\0\0"
    frame[24:26] = struct.pack(">H", 0xFFFF - ones(bytes(frame[14:34])))
    return bytes(frame)


def bind(net: Net, slots: list[dict], versions: int) -> None:
    """Class 1 from h1 with these slots."""
    net.ocs.class_set(1, slots, versions=versions)
    net.ocs.rule_add(1, in_if="p1")


def through(frames: list[bytes]) -> list[bytes]:
    """Send frames from h1 one after the other; return what h0 receives."""
    source, sink = sender(), tap("eth0", 0)
    for frame in frames:
        source.send(frame)
    time.sleep(0.01)
    got = drain(sink)
    source.close()
    sink.close()
    return got


def ttls(frames: list[bytes]) -> list[int]:
    """Return the TTL of each frame; fail unless the checksums of their headers are right."""
    for frame in frames:
        equal(ones(frame[14:34]), 0xFFFF, "checksum of the header")
    return [frame[22] for frame in frames]


def case_counts_changes_of_the_target() -> str:
    """The version rises with each change of the target, not of the slot, wraps after 15, and starts with 0."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**10)
        # three changes of slot, two of the target
        table = [slot(40 * MS, BYPASS), slot(40 * MS, 0), slot(40 * MS, 0)]
        bind(net, table, WRITE)
        for _ in range(2):  # a second start begins with 0 again
            epoch = soon()
            net.ocs.start(epoch)
            seen = []
            for number in range(33):
                time.sleep((epoch + number * 40 * MS + 20 * MS - time.monotonic_ns()) / 1e9)
                seen += ttls(through([packet(15)]))
            changes = [number // 3 * 2 + min(number % 3, 1) for number in range(33)]
            equal(seen, [16 * (n % 16) + 15 for n in changes], "TTLs")
            equal(net.ocs.stats()["classes"][1]["version"], changes[-1] % 16, "dump")
        return ""


def case_the_first_writes_the_others_raise() -> str:
    """All pairs of versions, of packet and class: the first writes, those behind only what is ahead by 1 to 7."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**10)
        bind(net, [slot(100 * MS, BYPASS), slot(100 * MS, 0)], WRITE)
        epoch = soon()
        net.ocs.start(epoch)
        for own in range(16):
            time.sleep((epoch + own * 100 * MS + 10 * MS - time.monotonic_ns()) / 1e9)
            there = [packet(16 * version + low) for version in range(16) for low in (0, 7, 15)]
            net.ocs.class_set(1, versions=WRITE)
            # what would become 0 stays
            written = [16 * own + frame[22] % 16 or frame[22] for frame in there]
            equal(ttls(through(there)), written, f"written by {own}")
            net.ocs.class_set(1, versions=RAISE)
            raised = [
                16 * (own if 1 <= (own - frame[22] // 16) % 16 <= 7 else frame[22] // 16) + frame[22] % 16 or frame[22]
                for frame in there
            ]
            equal(ttls(through(there)), raised, f"raised by {own}")
        return ""


def case_no_ttl_becomes_0() -> str:
    """A host that knows nothing of versions sends with 64: version 0 leaves that as it is."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**10)
        bind(net, [slot(10_000 * MS, BYPASS), slot(10 * MS, 0)], WRITE)
        net.ocs.start(time.monotonic_ns())
        time.sleep(0.1)
        equal(ttls(through([packet(64), packet(128), packet(15), packet(65)])), [64, 128, 15, 1], "TTLs")
        return ""


def case_which_packets() -> str:
    """IPv4 of a class with a timetable; nothing else of them changes; before the switch they are as they were."""
    other = bytes.fromhex("02000000000102000000000286dd") + bytes(60)  # no IPv4
    frames = [packet(15), segment(1, payload=b"odd"), other, segment(2, proto=17), segment(3, offset=100)]
    with Net(2) as net:
        net.ocs.link_set(0, rate=10**10)
        bind(net, [slot(10 * MS, BYPASS), slot(10_000 * MS, 0)], WRITE)
        tapped = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        tapped.bind(("p1", 3))
        tapped.setblocking(False)
        net.ocs.start(time.monotonic_ns())
        time.sleep(0.1)
        got = through(frames)
        equal(len(got), len(frames), "frames")
        for sent, came in zip(frames, got, strict=True):
            ours = sent[12:14] == b"\x08\0"
            equal(came[22], 16 + sent[22] % 16 if ours else sent[22], "TTL")
            equal(came[:22] + came[23:24] + came[26:], sent[:22] + sent[23:24] + sent[26:], "the rest")
        ttls([frame for frame in got if frame[12:14] == b"\x08\0"])
        equal(drain(tapped), frames, "before the switch")
        tapped.close()
        equal(net.ocs.stats()["classes"][1]["versioned"], 4, "counter")
        net.ocs.class_set(1, [slot(0, BYPASS)])
        equal(through(frames), frames, "a class without a timetable has no version")
        net.ocs.class_set(1, [slot(10 * MS, BYPASS), slot(10 * MS, DARK)], versions=0)
        equal("versions" in net.ocs.stats()["classes"][1], False, "dump")
        return ""


def case_to_the_ns() -> str:
    """One segment a nanosecond around a change: the version rises at the slot's nanosecond."""
    with Net(2) as net:
        net.ocs.link_set(0, rate=0)
        bind(net, [slot(20 * MS, BYPASS), slot(20 * MS, 0)], WRITE)
        epoch = soon()
        net.ocs.start(epoch)
        instant = ((time.monotonic_ns() - epoch) // (20 * MS) + 3) * 20 * MS + epoch
        change = (instant - epoch) // (20 * MS) % 16
        seen = passes(net, instant - 1500 - 800, [packet(15, number) for number in range(3000)])
        equal(seen[0][0] < instant < seen[-1][0], True, "the burst is around the change")
        wanted = [16 * (change if t >= instant else (change - 1) % 16) + 15 for t, _, _ in seen]
        equal(ttls([got for _, _, got in seen]), wanted, "TTLs")
        return ""


def case_refusals() -> str:
    """3 is no way to mark, and counters cannot be set."""
    with Net(2) as net:
        no = [refused(net.ocs.class_set, 0, [slot(0, BYPASS)], versions=3)]
        equal(no, ["class_set: class.versions: integer out of range (allowed 0..2)"], "refusals")
        equal(list(net.ocs.stats()["classes"]), [], "classes")
        return ""


if __name__ == "__main__":
    main(globals())
