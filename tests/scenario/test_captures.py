# SPDX-License-Identifier: Apache-2.0
"""Captures of other tools are read, and what a flow sends again is a part of the scenario's identity."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.utils import PcapNgWriter, PcapWriter

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.captures import ip_size, packets
from rdcnlab.scenario.replay import datagrams

#: Frames and the bytes of their IP packets; the second is shorter than the least frame of Ethernet, and padded.
FRAMES = [
    (Ether() / IP() / TCP() / bytes(1000), 1040),
    (Ether() / IP() / UDP() / b"x" / bytes(31), 29),
    (Ether() / Dot1Q(vlan=7) / IP() / UDP() / bytes(200), 228),
    (Ether() / IPv6() / UDP() / bytes(100), 148),
    (Ether() / ARP(), None),
]
TIMES = [1_700_000_000.000001, 1_700_000_000.5, 1_700_000_001.25, 1_700_000_001.25, 1_700_000_002.0]


def written(path: Path, *, nano: bool = False, order: str = "<") -> Path:
    """Write FRAMES with scapy."""
    shortened = [frame.__class__(bytes(frame)) for frame, _ in FRAMES]
    shortened[1][IP].len = 29
    writer: Any = (
        PcapNgWriter(str(path))
        if path.suffix == ".pcapng"
        else PcapWriter(str(path), nano=nano, endianness=order, linktype=1)
    )
    for frame, time in zip(shortened, TIMES, strict=True):
        frame.time = time
        writer.write(frame)
    writer.close()
    return path


@pytest.mark.parametrize("name", ["a.pcap", "b.pcap", "c.pcap", "d.pcapng"])
def test_captures_that_others_write_are_read(tmp_path: Path, name: str) -> None:
    data = written(tmp_path / name, nano=name == "b.pcap", order=">" if name == "c.pcap" else "<").read_bytes()
    seen = list(packets(data))
    # a float has microseconds at this date
    assert [packet.time / 1e9 for packet in seen] == pytest.approx(TIMES, abs=1e-6)
    assert [ip_size(data, packet) for packet in seen] == [size for _, size in FRAMES]
    instants, sizes = datagrams(data)
    assert [instant / 1e9 for instant in instants] == pytest.approx([0, 0.499999, 1.249999, 1.249999], abs=1e-6)
    assert sizes == (1012, 1, 200, 120)


def test_what_ends_within_a_packet_is_an_error(tmp_path: Path) -> None:
    for name in ("a.pcap", "b.pcapng"):
        data = written(tmp_path / name).read_bytes()
        with pytest.raises(ValueError, match="ends within"):
            list(packets(data[:-3]))
    with pytest.raises(ValueError, match="pcap or pcapng"):
        list(packets(b"GIF89a" + bytes(100)))


def scenario(path: str, directory: Path, **fields: Any) -> Scenario:
    flow = {"name": "f", "src": "s1", "dst": "r1", "protocol": "udp", "replay": path, **fields}
    data = {"network": {"fabric": "dumbbell"}, "flows": [flow], "limit": "5 s"}
    return Scenario.from_dict(data, text=True, directory=directory)


def test_a_capture_is_part_of_the_identity_and_its_path_is_not(tmp_path: Path) -> None:
    written(tmp_path / "a.pcap")
    one = scenario("a.pcap", tmp_path)
    assert one.total_B(one.flows[0]) == 1012 + 1 + 200 + 120
    shutil.copy(tmp_path / "a.pcap", tmp_path / "other.pcap")
    assert scenario("other.pcap", tmp_path).hash == one.hash
    changed = bytearray((tmp_path / "a.pcap").read_bytes())
    struct.pack_into("<I", changed, 24, 1_700_000_000 - 1)  # the first packet comes a second earlier
    (tmp_path / "other.pcap").write_bytes(changed)
    assert scenario("other.pcap", tmp_path).hash != one.hash
    assert Scenario.from_dict(one.to_dict()) == one


@pytest.mark.parametrize(
    ("path", "fields", "words"),
    [
        ("a.pcap", {"rate": "1 Mb/s"}, "must be left out, with replay"),
        ("a.pcap", {"protocol": "tcp"}, "udp, with replay"),
        ("none.pcap", {}, "there is no file"),
        ("a.txt", {}, "ends in .pcap or .pcapng"),
        ("arp.pcap", {}, "this one has 0"),
    ],
)
def test_errors_name_the_file_and_what_is_allowed(
    tmp_path: Path, path: str, fields: dict[str, Any], words: str
) -> None:
    written(tmp_path / "a.pcap")
    writer = PcapWriter(str(tmp_path / "arp.pcap"), linktype=1)
    writer.write(Ether() / ARP())
    writer.close()
    with pytest.raises(InputError) as caught:
        scenario(path, tmp_path, **fields)
    assert words in str(caught.value)


def test_a_packet_that_is_longer_than_the_mtu_is_an_error(tmp_path: Path) -> None:
    writer = PcapWriter(str(tmp_path / "a.pcap"), linktype=1)
    writer.write(Ether() / IP() / UDP() / bytes(3000))
    writer.close()
    with pytest.raises(InputError, match=r"a packet of 3028 B.*mtu \(1500 B\)"):
        scenario("a.pcap", tmp_path)
