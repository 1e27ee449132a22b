# SPDX-License-Identifier: Apache-2.0
"""Each part of ``p4/ocs.p4`` on the real ``simple_switch``: send a packet in, and compare the fields of the output."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.kernel.switches.bmv2 import plan as plan_p4
from rdcnlab.engines.kernel.switches.bmv2.plan import inverse
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from tests.engines.conftest import RunGuest

scapy = pytest.importorskip("scapy.all")

pytestmark = [
    pytest.mark.guest,
    pytest.mark.bmv2,
    pytest.mark.skipif(
        bool(bmv2_install.missing()), reason=f"{', '.join(bmv2_install.missing())} is missing. {bmv2_install.WHERE}"
    ),
]

US, MS = 1_000, 1_000_000
CPU, DARK, GREEN, BLUE = 255, 254, 256, 258
S1, R1 = "02:00:00:00:00:01", "02:00:00:00:00:02"
INSIDE = build.HERE / "inside"
CLASS = "table_add OcsIngress.classify.classes set_class {0}&&&0x1ff 0&&&0 0&&&0 6&&&0xff 0&&&0 5001&&&0xffff => 7 1"
#: Two hosts at ports 1 and 2; TCP to port 5001 from port 1 is of class 7.
BASE = [f"table_add OcsIngress.deliver.macs to_port {S1} => 1", f"table_add OcsIngress.deliver.macs to_port {R1} => 2"]
BASE += [CLASS.format(1), "mc_mgrp_create 1", f"mc_node_create 0 {CPU}", "mc_node_associate 1 0"]


@dataclass
class Seen:
    """A frame that left the switch: time in ns after the epoch, port, and packet."""

    t_ns: int
    port: int
    packet: Any


Bench = Callable[..., list[Seen]]


@pytest.fixture
def bench(run_guest: RunGuest, two_hosts: Scenario, tmp_path: Path) -> Bench:
    def put(commands: list[str], frames: list[tuple[int, int, Any]], program: Path | None = None) -> list[Seen]:
        shutil.copy(program or plan_p4.program(), tmp_path / "program.json")
        request = {
            "program": "/run/rdcnlab/program.json",
            "bmv2": bmv2_install.install().plan(),
            "ports": [1, 2, CPU, DARK, GREEN, GREEN + 1, BLUE],
            "commands": commands,
            "frames": [[at, port, bytes(packet).hex()] for at, port, packet in frames],
        }
        (tmp_path / "request.json").write_text(json.dumps(request))
        words = " ".join(f"/run/rdcnlab/{name}" for name in ("bench.py", "request.json", "answer.json"))
        line = f"cd /run; nsenter -t 1 -n /usr/bin/python3 -s {words}"
        files = [tmp_path / "program.json", tmp_path / "request.json", places.p4() / "tests" / "bench.py"]
        files += [INSIDE / name for name in ("bmv2_process.py", "bmv2_control.py", "clock.py")]
        # the bench starts BMv2 itself, so no switch of the plan names the files that the guest must read
        read = [Path(path) for path in bmv2_install.install().read]
        seen = run_guest(two_hosts, core=0, commands=[("a", line)], files=files, read=read)
        answer = seen.directory / "answer.json"
        assert answer.exists(), seen.answers[0]
        rows = json.loads(answer.read_text())["frames"]
        return [Seen(at, port, scapy.Ether(bytes.fromhex(frame))) for at, port, frame in rows]

    return put


def tcp(dport: int = 5001, *, tos: int = 0, ttl: int = 64, options: Any = None, frag: int = 0, load: int = 100) -> Any:
    """Return a frame from s1 to r1."""
    ip = scapy.IP(src="10.0.0.1", dst="10.0.0.2", tos=tos, ttl=ttl, frag=frag, options=options or [])
    return scapy.Ether(src=S1, dst=R1) / ip / scapy.TCP(sport=4000, dport=dport) / (b"x" * load)


def tick(number: int) -> Any:
    return scapy.Ether(dst="ff:ff:ff:ff:ff:ff", src=S1, type=0x88B5) / (number.to_bytes(2, "big") + bytes(44))


def checked(packet: Any) -> bool:
    """Return whether the checksum of the IPv4 header is correct."""
    again = scapy.Ether(bytes(packet))
    del again[scapy.IP].chksum
    return scapy.Ether(bytes(again))[scapy.IP].chksum == packet[scapy.IP].chksum


def circuit(action: str, number: int = 7) -> str:
    words, _, arguments = action.partition(" ")
    return f"table_add OcsIngress.timetable.circuits {words} {number} => {arguments}"


def timetable(day: int, night: int, targets: list[int], number: int = 7) -> list[str]:
    """Return the registers and entries of a timetable, in us, that begins at the epoch."""
    values = {"begin": "{epoch}", "day": day, "night": night, "per_change": inverse(day + night)}
    values |= {"slots_of": len(targets), "per_slots": inverse(len(targets))}
    lines = [f"register_write OcsIngress.timetable.{name} {number} {value}" for name, value in values.items()]
    entry = "table_add OcsIngress.timetable.slots to_link"
    return lines + [f"{entry} {number} {slot} => {port} {slot}" for slot, port in enumerate(targets)]


def test_classify(bench: Bench) -> None:
    """Direction, protocol and port select the class. Other packets, such as ACKs, bypass to their MAC address."""
    fragment, options = tcp(frag=10), tcp(options=[scapy.IPOption_Router_Alert()])
    udp = scapy.Ether(src=S1, dst=R1) / scapy.IP(src="10.0.0.1", dst="10.0.0.2") / scapy.UDP(dport=5001) / b"x"
    back = scapy.Ether(src=R1, dst=S1) / scapy.IP(src="10.0.0.2", dst="10.0.0.1") / scapy.TCP(sport=5001, dport=4000)
    arp = scapy.Ether(src=S1, dst=R1) / scapy.ARP()
    frames = [(n * MS, port, packet) for n, (port, packet) in enumerate(
        [(1, tcp()), (1, tcp(5002)), (1, udp), (2, back), (1, fragment), (1, options), (1, arp), (2, tcp())]
    )]  # fmt: skip
    seen = bench([*BASE, circuit(f"to_link {GREEN} 0")], frames)
    assert [one.port for one in seen] == [GREEN, 2, 2, 1, 2, 2, 2, 2]
    for (at, _, sent), one in zip(frames, seen, strict=True):
        assert one.t_ns == at  # the switch adds no delay
        assert bytes(one.packet) == bytes(sent)


def test_timetable(bench: Bench) -> None:
    """Slots change at their exact microsecond, for many cycles. Nights are dark."""
    commands = [*BASE, *timetable(900, 100, [GREEN, BLUE])]
    expected = [(-1, GREEN), (0, GREEN), (899, GREEN), (900, DARK), (999, DARK), (1000, BLUE), (1899, BLUE)]
    expected += [
        (1900, DARK),
        (2000, GREEN),
        (1_000_000, GREEN),
        (1_000_899, GREEN),
        (1_000_900, DARK),
        (1_001_000, BLUE),
    ]
    seen = bench(commands, [(at * US, 1, tcp()) for at, _ in expected])
    assert [(one.t_ns // US, one.port) for one in seen] == expected


@pytest.mark.parametrize("slots", [3, 7])
def test_timetable_of_odd_length(bench: Bench, slots: int) -> None:
    """Division by multiplication with the inverse is exact, also if no divisor is a power of two."""
    ports = [GREEN, BLUE, 2, GREEN, 2, BLUE, 2][:slots]
    instants = [n * 37 + k for n in (0, 1, 2, 3, 5, 6, 7, 8, 12_345, 99_999) for k in (0, 36)]
    seen = bench([*BASE, *timetable(37, 0, ports)], [(at * US, 1, tcp()) for at in instants])
    assert [(one.t_ns // US, one.port) for one in seen] == [(at, ports[at // 37 % slots]) for at in instants]


def test_a_managers_entry_goes_before_the_timetable(bench: Bench) -> None:
    commands = [*BASE, *timetable(1000, 0, [GREEN]), circuit(f"to_link {BLUE} 0")]
    commands += [CLASS.format(2).replace("=> 7", "=> 8"), circuit("dark", 8)]
    seen = bench(commands, [(0, 1, tcp()), (MS, 2, tcp())])
    assert [one.port for one in seen] == [BLUE, DARK]


def test_mark(bench: Bench) -> None:
    """ECT packets are marked if the queue, which drains at the line's rate, is above the threshold; others never."""
    # 1 Gb/s is 125 bytes per us; with frames of 154 + 24 bytes, the third frame finds 356 bytes, and 1 us later 231
    commands = [*BASE, circuit(f"to_link {GREEN} 0")]
    values = {"rate": 125 * 2**16, "overhead": 24, "threshold": 300, "limit": 10_000}
    commands += [f"register_write OcsIngress.mark.{name} {GREEN} {value}" for name, value in values.items()]
    start = [(0, 1, tcp(tos=2)), (1, 1, tcp(tos=2))]
    for later, tos, expected in ((2, 2, 3), (2, 1, 3), (2, 0, 0), (2, 3, 3), (US, 2, 2), (2, 0x28 | 2, 0x28 | 3)):
        seen = bench(commands, [*start, (later, 1, tcp(tos=tos))])
        assert [one.packet[scapy.IP].tos for one in seen] == [2, 2, expected]
        assert all(checked(one.packet) for one in seen)
        assert {one.port for one in seen} == {GREEN}


def test_mark_does_not_count_what_the_line_has_no_room_for(bench: Bench) -> None:
    commands = [*BASE, circuit(f"to_link {GREEN} 0")]
    values = {"rate": 125 * 2**16, "overhead": 24, "threshold": 400, "limit": 400}
    commands += [f"register_write OcsIngress.mark.{name} {GREEN} {value}" for name, value in values.items()]
    seen = bench(commands, [(n, 1, tcp(tos=2)) for n in range(6)])
    assert [one.packet[scapy.IP].tos for one in seen] == [2] * 6  # the queue holds two frames at most


def test_stamp(bench: Bench) -> None:
    """The six upper bits of ToS contain the port. The ECN bits do not change."""
    commands = [*BASE, circuit(f"to_link {GREEN} 0"), f"table_add OcsEgress.stamp.stamps set_dscp {GREEN} => 5"]
    seen = bench(commands, [(0, 1, tcp(tos=1)), (MS, 1, tcp(5002, tos=1))])
    assert [(one.port, one.packet[scapy.IP].tos) for one in seen] == [(GREEN, 5 << 2 | 1), (2, 1)]
    assert all(checked(one.packet) for one in seen)


def test_version(bench: Bench) -> None:
    """The upper half of the TTL counts the changes, modulo 16. The lower half does not change."""
    commands = [*BASE, *timetable(1000, 0, [GREEN, BLUE]), "register_write OcsIngress.version.on 7 1"]
    instants = (0, 999, 1000, 15_000, 16_000, 17_000)
    seen = bench(commands, [(at * US, 1, tcp(ttl=9)) for at in instants])
    assert [one.packet[scapy.IP].ttl for one in seen] == [(at // 1000 % 16) << 4 | 9 for at in instants]
    assert all(checked(one.packet) for one in seen)


def test_a_version_is_raised_behind_the_first_switch(bench: Bench) -> None:
    """With 2 it is written only if it is ahead of the packet's by 1 to 7 of 16."""
    own = 3
    commands = [*BASE, circuit(f"to_link {GREEN} 0"), "register_write OcsIngress.version.on 7 2"]
    commands += [f"register_write OcsIngress.version.managed 7 {own}"]
    seen = bench(commands, [(n * US, 1, tcp(ttl=n << 4 | 9)) for n in range(16)])
    newer = [1 <= (own - n) % 16 <= 7 for n in range(16)]
    expected = [(own if raised else n) << 4 | 9 for n, raised in enumerate(newer)]
    assert [one.packet[scapy.IP].ttl for one in seen] == expected
    assert all(checked(one.packet) for one in seen)


def test_version_of_a_manager(bench: Bench) -> None:
    commands = [*BASE, circuit(f"to_link {GREEN} 0"), "register_write OcsIngress.version.on 7 1"]
    seen = bench([*commands, "register_write OcsIngress.version.managed 7 11"], [(0, 1, tcp(ttl=64 + 5))])
    assert seen[0].packet[scapy.IP].ttl == 11 << 4 | 5


def test_notify(bench: Bench) -> None:
    """A tick causes a report to the manager, and ICMP messages of type 7 with the TDN's id to the hosts of the rack."""
    commands = [*BASE, *timetable(1000, 0, [GREEN, BLUE]), "mc_mgrp_create 2", f"mc_node_create 1 1 2 {CPU}"]
    commands += ["mc_node_associate 2 1", "table_add OcsIngress.notify.racks to_group 7 => 2"]
    commands += [
        f"table_add OcsEgress.report.hosts notify {port} => {mac} 10.0.0.{port}" for port, mac in ((1, S1), (2, R1))
    ]
    seen = bench(commands, [(1_500 * US, CPU, tick(7)), (2_500 * US, CPU, tick(7))])
    reports = [bytes(one.packet) for one in seen if one.port == CPU]
    assert [int.from_bytes(frame[12:14], "big") for frame in reports] == [0x88B6] * 2
    places = ((14, 16), (16, 18), (18, 19), (19, 20), (20, 22))  # class, slot, way, tdn, port
    fields = [[int.from_bytes(frame[a:b], "big") for a, b in places] for frame in reports]
    assert fields == [[7, 1, 1, 1, BLUE], [7, 0, 1, 0, GREEN]]
    for port, mac in ((1, S1), (2, R1)):
        notes = [one for one in seen if one.port == port]
        assert [one.t_ns for one in notes] == [1_500 * US, 2_500 * US]
        for one, tdn in zip(notes, (1, 0), strict=True):
            assert one.packet.dst == mac
            assert (one.packet[scapy.IP].dst, one.packet[scapy.IP].ttl) == (f"10.0.0.{port}", 255)
            assert checked(one.packet)
            message = bytes(one.packet)[34:42]
            assert (message[0], message[1], message[4], message[5:]) == (7, 0, tdn, b"\0\0\0")
            assert scapy.checksum(message) == 0


def test_only_the_cpu_port_may_tick(bench: Bench) -> None:
    assert bench(BASE, [(0, 1, tick(7))]) == []


def test_deliver(bench: Bench) -> None:
    """A frame with an unknown destination is dropped."""
    stranger = tcp(5002)
    stranger.dst = "02:00:00:00:00:99"
    assert bench(BASE, [(0, 1, stranger)]) == []


@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason=f"p4c-bm2-ss is missing. {bmv2_install.WHERE}")
@pytest.mark.parametrize("name", ["build/ocs.json", "examples/parity.json"])
def test_the_committed_program_is_what_the_source_compiles_to(tmp_path: Path, name: str) -> None:
    subprocess.run([places.p4() / "compile", "--to", tmp_path], check=True)
    committed = places.p4() / name
    assert json.loads((tmp_path / committed.name).read_text()) == json.loads(committed.read_text())


@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason=f"p4c-bm2-ss is missing. {bmv2_install.WHERE}")
def test_a_program_of_ones_own_is_compiled_beside_its_source(tmp_path: Path) -> None:
    """The compiled program has the time stamps that it uses, and no others."""
    source = (places.p4() / "examples" / "parity.p4").read_text()
    stamped = source.replace("standard.ingress_global_timestamp - first", "standard.enq_timestamp - (bit<32>) first")
    assert stamped != source
    (tmp_path / "mine.p4").write_text(stamped)
    subprocess.run([places.p4() / "compile", tmp_path / "mine.p4"], check=True)
    aliases = [name for name, _ in json.loads((tmp_path / "mine.json").read_text())["field_aliases"]]
    assert sum(name.startswith("queueing_metadata.") for name in aliases) == 4
    assert "intrinsic_metadata.egress_global_timestamp" not in aliases
