# SPDX-License-Identifier: Apache-2.0
"""A P4 switch: BMv2's ``simple_switch``, with links of our kernel as its cables.

::

    host s1 ===veth=== sw-s1 [c-s1] x-s1 ===veth=== p-s1 |               |
                                                         | simple_switch | cpu ===veth=== cpu-m  local manager
    link green:     ga ===veth=== ga-x [l0] gb-x ===veth=== gb           | dark ==veth=== dark-m observer

BMv2 decides where a packet goes. Its own queues count packets, and their rates are in packets per second. Therefore
rate, delay and queue of every line are those of a cable behind the port: an ``ocs`` device with two ports that does not
switch.
"""

from __future__ import annotations

from typing import Any

from bmv2_depths import with_depths
from bmv2_process import SimpleSwitch
from capture import Ring
from manager import Manager
from mininet.node import Switch


class Bmv2(Switch):
    """BMv2 as a switch of Mininet.

    Parameters
    ----------
    name : str
        Name in Mininet.
    plan : dict
        The switch's plan, as `rdcnlab.engines.kernel.switches.bmv2.plan.switch` returns it.
    """

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Switch.__init__(self, name, **params)
        self.plan = plan
        self.manager: Manager | None = None

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Make the cables, start ``simple_switch`` with its program, and write its entries."""
        self._lay()
        self.running = running(self.plan)
        self.control = self.running.control
        room = self.plan["captured"]
        self.marks = {link["name"]: Ring(link["far"], "ce", room) for link in self.plan["links"]}
        self.dark = Ring("dark-m", "all", room)

    def start_timetable(self, epoch_ns: int) -> None:
        """Start all timetables at an instant of CLOCK_MONOTONIC (ns)."""
        self.manager = started(self.running, self.plan, epoch_ns)

    def counters(self) -> dict[str, Any]:
        """Return the records of marks, dark packets and slots for ``switch.json``."""
        assert self.manager is not None
        self.manager.stop()
        self.running.check()
        return {
            "slots": self.manager.slots,
            "marks": {name: ring.records() for name, ring in self.marks.items()},
            "dark": self.dark.records(),
            "ports": packets(self.plan),
        }

    def _lay(self) -> None:
        """Make all interfaces, and the cables between them."""
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
                # A program reads whole packets. So these interfaces compute checksums and linearize packets before they
                # send to the program. The hosts' own interfaces have the same settings with every kind of switch, so
                # that their sockets count the same bytes.
                f"ethtool -K {ours} tx off",
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


class Hop(Switch):
    """BMv2 as one of several switches, behind its panel."""

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Switch.__init__(self, name, **params)
        self.plan = plan
        self.manager: Manager | None = None

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Make the panel, start ``simple_switch`` with its program, and write its entries."""
        from panel import Panel
        from topology import command

        self.panel = Panel(self, self.plan["panel"], checksums=True)
        mtu, cpu = self.plan["panel"]["mtu"], self.plan["cpu"]
        lines = [f"ip link add {cpu}-m mtu {mtu} type veth peer name {cpu} mtu {mtu}"]
        lines += [f"ethtool -K {cpu}-m tx off", f"ip link set {cpu} up", f"ip link set {cpu}-m up"]
        command(self, " && ".join(["ip link set lo up", *lines]))
        self.running = running(self.plan)
        self.control = self.running.control

    def start_timetable(self, epoch_ns: int) -> None:
        """Start all timetables at an instant of CLOCK_MONOTONIC (ns)."""
        self.panel.start(epoch_ns)
        self.manager = started(self.running, self.plan, epoch_ns)

    def counters(self) -> dict[str, Any]:
        """Return the reports of slots, and the counters of the panel."""
        assert self.manager is not None
        self.manager.stop()
        self.running.check()
        return {"slots": self.manager.slots, "panel": self.panel.counters(), "ports": packets(self.plan)}


def packets(plan: dict[str, Any]) -> list[list[Any]]:
    """Return for each interface: name, port number, packets that entered the switch, packets that left it."""
    counted = []
    for interface, number in plan["interfaces"]:
        counts = []
        for way in ("rx", "tx"):
            with open(f"/sys/class/net/{interface}/statistics/{way}_packets") as file:
                counts.append(int(file.read()))
        counted.append([interface, number, *counts])
    return counted


def running(plan: dict[str, Any]) -> SimpleSwitch:
    """Return ``simple_switch`` with its program and its entries; the program computes depths if it reads any."""
    program, number = plan["program"], plan.get("number", 0)
    commands: list[str] = []
    if "depths" in plan:
        with open(program) as file:
            text, commands = with_depths(file.read(), plan["depths"])
        program = f"/run/program-{number}.json"
        with open(program, "w") as file:
            file.write(text)
    switch = SimpleSwitch(plan["bmv2"], program, plan["interfaces"], number)
    for line in [*commands, *plan["commands"]]:
        switch.control.tell(line)
    return switch


def started(running: SimpleSwitch, plan: dict[str, Any], epoch_ns: int) -> Manager:
    """Write what needs the switch's clock, and return its manager, which has started."""
    began = running.began()
    ahead = epoch_ns - began
    if ahead % 1000:
        raise RuntimeError(f"simple_switch counts us from {began} ns, which is no multiple of 1 us")
    for register, index, offset_us in plan["begins"]:
        running.control.tell(f"register_write {register} {index} {ahead // 1000 + offset_us}")
    for pieces in plan["timed"]:
        words = (str(ahead // 1000 + piece) if isinstance(piece, int) else piece for piece in pieces)
        running.control.tell("".join(words))
    manager = Manager(plan, epoch_ns, ahead // 1000, running.control)
    manager.start()
    return manager


def switch(name: str, plan: dict[str, Any], **params: Any) -> Switch:
    """Return the only switch of a network, or one of several."""
    return (Hop if "panel" in plan else Bmv2)(name, plan=plan, **params)


KIND = switch
