# SPDX-License-Identifier: Apache-2.0
"""A P4 switch: BMv2's ``simple_switch``, with our kernel's links as its cables.

::

    host s1 ===veth=== sw-s1 [c-s1] x-s1 ===veth=== p-s1 |               |
                                                         | simple_switch | cpu ===veth=== cpu-m  local manager
    link green:     ga ===veth=== ga-x [l0] gb-x ===veth=== gb           | dark ==veth=== dark-m observer

BMv2 decides where a packet goes. Its own queues count packets, and are served in packets a second; so rate, delay and
queue of every line are those of a cable behind the port: an ``ocs`` device with two ports and nothing to switch.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from typing import Any

from bmv2_control import Control
from capture import Ring
from manager import Manager
from mininet.node import Switch

THRIFT_PORT = 9090
LOG = "bmv2.log"
#: Virtual seconds within which the switch must stand.
PATIENCE_S = 30.0


class Bmv2(Switch):
    """BMv2 as Mininet knows a switch.

    Parameters
    ----------
    name : str
        As Mininet has it.
    plan : dict
        As `rdcnlab.engines.kernel.plan_p4.switch` makes it.
    """

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Switch.__init__(self, name, **params)
        self.plan = plan
        self.process: subprocess.Popen[bytes] | None = None
        self.manager: Manager | None = None

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Lay the cables, start ``simple_switch`` with its program, and give it its entries."""
        self._lay()
        self._launch()
        self.control = Control(THRIFT_PORT, self.check)
        for line in self.plan["commands"]:
            self.control.tell(line)
        room = self.plan["captured"]
        self.marks = {link["name"]: Ring(link["far"], "ce", room) for link in self.plan["links"]}
        self.dark = Ring("dark-m", "all", room)

    def start_timetable(self, epoch_ns: int) -> None:
        """Have all timetables begin at an instant of CLOCK_MONOTONIC."""
        began = self._began()
        ahead = epoch_ns - began
        if ahead % 1000:
            raise RuntimeError(f"simple_switch counts us from {began} ns, which is no multiple of 1 us")
        for register, index, offset_us in self.plan["begins"]:
            self.control.tell(f"register_write {register} {index} {ahead // 1000 + offset_us}")
        self.manager = Manager(self.plan, epoch_ns, ahead // 1000, self.control)
        self.manager.start()

    def counters(self) -> dict[str, Any]:
        """Read what was seen of marks, dark packets and slots, for ``switch.json``."""
        assert self.manager is not None
        self.manager.stop()
        self.check()
        return {
            "slots": self.manager.slots,
            "marks": {name: ring.records() for name, ring in self.marks.items()},
            "dark": self.dark.records(),
            "packets": self._packets(),
        }

    def check(self) -> None:
        """Raise RuntimeError, with the switch's own words, if it is not running."""
        assert self.process is not None
        status = self.process.poll()
        if status is None:
            return
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        with open(LOG, errors="replace") as file:
            words = [line.strip() for line in file if line.strip() and not line.startswith("Calling target")]
        raise RuntimeError(f"simple_switch {how}" + (f": {' / '.join(words[-5:])}" if words else ""))

    def _lay(self) -> None:
        """Make every interface, and the cables between them."""
        from ocs import Ocs as Cable
        from topology import command

        pairs = [(f"x-{port['host']}", f"p-{port['host']}") for port in self.plan["ports"]]
        for link in self.plan["links"]:
            pairs += [(link["far"], link["near"]), (link["end"], link["out"])]
        pairs += [("cpu-m", "cpu"), ("dark-m", "dark")]
        lines = ["ip link set lo up"]
        for ours, switch in pairs:
            lines += [
                f"ip link add {ours} mtu {self.plan['mtu']} type veth peer name {switch} mtu {self.plan['mtu']}",
                f"ethtool -K {switch} tx off rx off",
                f"ip link set {switch} up",
                f"ip link set {ours} up",
            ]
        cables = [(f"c-{port['host']}", f"sw-{port['host']}", f"x-{port['host']}") for port in self.plan["ports"]]
        cables += [(f"l{link['id']}", link["far"], link["end"]) for link in self.plan["links"]]
        for cable, one, other in cables:
            lines += [f"ip link add {cable} type ocs", f"ip link set {one} master {cable} up"]
            lines += [f"ip link set {other} master {cable} up", f"ip link set {cable} up"]
        command(self, " && ".join(lines))
        macs = {port["host"]: port["mac"] for port in self.plan["ports"]}
        for port in self.plan["ports"]:
            client = Cable(f"c-{port['host']}")
            client.port_set(f"sw-{port['host']}", ingress=port["ingress"], **port["egress"])
            for host, mac in macs.items():
                client.fdb_set(mac, f"sw-{host}" if host == port["host"] else f"x-{port['host']}")
            client.close()
        for link in self.plan["links"]:
            client = Cable(f"l{link['id']}")
            client.link_set(link["id"], **link["line"])
            for mac in macs.values():
                client.fdb_set(mac, link["end"])
            client.class_set(1, [{"duration": 0, "target": link["id"]}])
            client.rule_add(1, in_if=link["far"])
            client.close()

    def _launch(self) -> None:
        """Start the switch at a whole microsecond and wait until it takes commands."""
        with open(f"/proc/{os.getpid()}/timerslack_ns", "w") as file:
            file.write("1")
        command = [self.plan["simple_switch"], "--thrift-port", str(THRIFT_PORT)]
        for interface, number in self.plan["interfaces"]:
            command += ["-i", f"{number}@{interface}"]
        command.append(self.plan["program"])
        time.sleep((1000 - time.monotonic_ns() % 1000) / 1e9)
        with open(LOG, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.check()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", THRIFT_PORT)) == 0:
                    return
            if time.monotonic() > deadline:
                raise RuntimeError(f"simple_switch takes no commands after {PATIENCE_S:g} s")
            time.sleep(0.01)

    def _began(self) -> int:
        """CLOCK_MONOTONIC at which the switch began to count, to the ns.

        The switch tells whole us. The instant in between at which the count goes up is searched for by halves.
        """
        low, high = 0, 1000
        now = time.monotonic_ns()
        base = now - self._elapsed() * 1000  # the switch began at most 999 ns before
        while high - low > 1:
            middle = (low + high) // 2
            # if it began at base - middle or later, the count goes up `middle` before that of base
            target = base - middle + (time.monotonic_ns() - base) // 1000 * 1000 + 5_000_000
            time.sleep((target - time.monotonic_ns()) / 1e9)
            late = time.monotonic_ns() - target
            if late:
                raise RuntimeError(f"a timer of the guest came {late} ns late")
            if self._elapsed() >= (target - base + middle) // 1000:
                low = middle
            else:
                high = middle
        return base - low

    def _elapsed(self) -> int:
        return int(self.control.tell("get_time_elapsed").split()[-1])

    def _packets(self) -> int:
        """Packets that came into the switch."""
        total = 0
        for interface, _ in self.plan["interfaces"]:
            with open(f"/sys/class/net/{interface}/statistics/rx_packets") as file:
                total += int(file.read())
        return total
