"""Run in the guest's hosts: send frames that are not IPv4, or record the frames that arrive.

frames.py send INTERFACE MAC        sends one frame of each kind; MAC is the address of a known host
frames.py hear INTERFACE FILE       appends a line for each frame: EtherType, tag, destination
"""

import socket
import struct
import sys
from pathlib import Path

LLDP, ARP, IPV6, EXPERIMENTAL, VLAN = 0x88CC, 0x0806, 0x86DD, 0x88B5, 0x8100
ALL, NEIGHBOUR, GROUP, NOBODY = "ff" * 6, "0180c200000e", "333300000001", "020000009999"
SOURCE = bytes.fromhex("02ffff000001")


def frame(kind: int, to: str) -> bytes:
    tag = struct.pack("!HH", 7, EXPERIMENTAL) if kind == VLAN else b""
    return (bytes.fromhex(to) + SOURCE + struct.pack("!H", kind) + tag + b"hello").ljust(100, b"\0")


def opened(interface: str) -> socket.socket:
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    found.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA: the tag, which the kernel takes off
    found.bind((interface, 3))
    return found


def send(interface: str, known: str) -> None:
    with opened(interface) as out:
        own = (EXPERIMENTAL, NOBODY), (EXPERIMENTAL, known)
        for kind, to in ((LLDP, NEIGHBOUR), (ARP, ALL), (IPV6, GROUP), *own, (VLAN, ALL)):
            out.send(frame(kind, to.replace(":", "")))


def hear(interface: str, path: str) -> None:
    with opened(interface) as come, Path(path).open("w") as out:
        print("ready", file=out, flush=True)
        while True:
            data, more, _, where = come.recvmsg(2000, 100)
            if where[2] == socket.PACKET_OUTGOING or data[6:12] != SOURCE:
                continue
            tag = struct.unpack_from("=IIIHHHH", more[0][2])[5] & 4095 if more else 0
            print(f"{where[1]:04x} {tag} {data[:6].hex()}", file=out, flush=True)


if __name__ == "__main__":
    {"send": send, "hear": hear}[sys.argv[1]](*sys.argv[2:])
