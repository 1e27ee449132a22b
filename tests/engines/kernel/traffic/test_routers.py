# SPDX-License-Identifier: Apache-2.0
"""Hosts that programs make routers: a frame goes to the host with its destination MAC address, to the nanosecond.

::

    a --100 us-- left --1 ms-- right --500 us-- b         addresses and MAC addresses end with the host's number:
                  |              |                        a 1, m 2, its second line n 3, b 4
                200 us         300 us
                  +------ m -----+
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.scenario import Scenario
from tests.engines.kernel.traffic.programs import run_in

pytestmark = [pytest.mark.guest, pytest.mark.slow]

#: UDP datagrams of 8 B: 36 B of IPv4, and 38 B around them on the wire; at 1 Gb/s.
FRAME_NS = (8 + 8 + 20 + 38) * 8
#: ICMP tells of a shorter way if a router sends a packet by the line that it came by: headers and the packet.
REDIRECT_NS = FRAME_NS + (20 + 8) * 8
US = 1000
#: Each datagram holds when it was sent; the answer holds when the question arrived and was answered.
ECHO = """
import socket, struct, sys, time
server, address = sys.argv[1] == "server", sys.argv[2]
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS: when the kernel received it
if server:
    sock.bind(("", 9))
for n in range(3):
    if not server:
        time.sleep(0.1)
        sent = time.clock_gettime_ns(time.CLOCK_REALTIME)
        sock.sendto(struct.pack("q", sent), (address, 9))
        sock.settimeout(1)
    data, extra, _, peer = sock.recvmsg(100, 100)
    seconds, ns = struct.unpack("qq", extra[0][2])
    at = seconds * 10**9 + ns
    if server:
        print(at - struct.unpack("q", data)[0], flush=True)
        sock.sendto(struct.pack("q", at), peer)
    else:
        print(at - struct.unpack("q", data)[0], flush=True)
"""


def host(name: str, delay: str, **more: str) -> dict[str, str]:
    """Return a host with a line of 1 Gb/s."""
    return {"name": name, "rate": "1 Gb/s", "delay": delay, **more}


def check(folder: Path, network: dict[str, Any], setup: dict[str, str], there_ns: int, back_ns: int) -> None:
    """Let programs of hosts set routes and neighbours, and a ask b: three datagrams, and three pings.

    The ways take these times: from a to b, and from b to a.
    """
    (folder / "echo.py").write_text(ECHO)
    address = f"10.{int('switches' in network)}.0.{len(network['hosts'])}"
    programs = [{"host": name, "name": f"set{name}", "run": f"sh -c '{line}'"} for name, line in setup.items()]
    programs += [
        {"host": "b", "name": "server", "run": f"python3 echo.py server {address}"},
        {"host": "a", "name": "client", "run": f"python3 echo.py client {address}", "start": "1 s"},
        {"host": "a", "name": "ping", "run": f"ping -n -q -c 3 -i 0.2 {address}", "start": "2 s"},
    ]
    data = {"network": {"name": "routed", "mtu": "1500 B", **network}, "programs": programs, "limit": "10 s"}
    ran = run_in(folder / "run", Scenario.from_dict(data, directory=folder))
    assert "3 packets transmitted, 3 received" in ran.printed("ping")
    # a process that reads the clock moves it, and the frame leaves afterwards
    for program, ns in (("server", there_ns), ("client", back_ns)):
        assert [int(line) for line in ran.printed(program).split()] == [ns] * 3


#: Both switches, and what is at them.
TWO: dict[str, Any] = {
    "switches": [{"name": "left"}, {"name": "right"}],
    "hosts": [
        host("a", "100 us", at="left"),
        host("m", "200 us", at="left"),
        host("n", "300 us", at="right", of="m"),
        host("b", "500 us", at="right"),
    ],
    "links": [{"name": "core", "between": ["left", "right"], "rate": "1 Gb/s", "delay": "1 ms", "buffer": "1 MB"}],
}
FORWARD = "sysctl -qw net.ipv4.ip_forward=1"


@pytest.fixture(autouse=True)
def _kernel(kernel: build.Kernel, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()


def test_a_host_with_a_line_at_each_of_two_switches_forwards_between_them(tmp_path: Path) -> None:
    setup = {
        "a": "ip neigh replace 10.1.0.4 lladdr 02:00:00:00:00:02 dev a-eth0",
        "m": f"{FORWARD} && ip route add 10.1.0.4 dev n-eth0",
        "b": "ip neigh replace 10.0.0.1 lladdr 02:00:00:00:00:03 dev b-eth0",
    }
    # two lines to hosts, and those of a and of n
    way = (100 + 200 + 300 + 500) * US + 4 * FRAME_NS
    check(tmp_path, TWO, setup, way, way)


def test_frames_for_a_router_beyond_the_link_take_the_link_each_time(tmp_path: Path) -> None:
    setup = {
        "a": "ip neigh replace 10.1.0.4 lladdr 02:00:00:00:00:03 dev a-eth0",
        "m": FORWARD,
        "b": "ip neigh replace 10.0.0.1 lladdr 02:00:00:00:00:02 dev b-eth0",
    }
    # to the line n, and from m, whose route is its first line, over the link once more
    there = (100 + 1000 + 300) * US + 3 * FRAME_NS + (200 + 1000 + 500) * US + 3 * FRAME_NS
    # to m, and from m to a at the same switch
    back = (500 + 1000 + 200) * US + 3 * FRAME_NS + (200 + 100) * US + 2 * FRAME_NS + REDIRECT_NS
    check(tmp_path, TWO, setup, there, back)


def test_a_host_with_one_line_forwards_at_its_switch(tmp_path: Path) -> None:
    setup = {
        "a": "ip neigh replace 10.0.0.3 lladdr 02:00:00:00:00:02 dev a-eth0",
        "m": FORWARD,
        "b": "ip neigh replace 10.0.0.1 lladdr 02:00:00:00:00:02 dev b-eth0",
    }
    network = {"hosts": [host("a", "100 us"), host("m", "200 us"), host("b", "500 us")], "links": []}
    way = (100 + 200 + 200 + 500) * US + 4 * FRAME_NS + REDIRECT_NS
    check(tmp_path, network, setup, way, way)
