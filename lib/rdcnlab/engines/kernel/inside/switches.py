# SPDX-License-Identifier: Apache-2.0
"""Switches as Mininet knows them: `Ocs`, our kernel's, and `Plain`, a Linux bridge; ``bmv2.py`` has a third."""

from __future__ import annotations

from typing import Any

from mininet.node import Switch


def line(port: dict[str, Any]) -> str:
    """Rate and delay of a port's cable in netem's words, which know no ns but fractions of us."""
    return f"delay {port['delay_ns'] / 1000:.3f}us rate {port['rate']}bit {port['overhead']}"


class Plain(Switch):
    """A Linux bridge; each port delays and shapes what leaves it, by ``netem``.

    It has no links inside and no timetable. It is what a scenario looks like without our switch.
    """

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Switch.__init__(self, name, **params)
        self.plan = plan

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Make the bridge of the ports that Mininet attached."""
        from topology import command

        lines = ["ip link add br0 type bridge mcast_snooping 0 stp_state 0", "ip link set br0 up"]
        for port in self.plan["ports"]:
            name = f"sw-{port['host']}"
            lines += [
                f"ip link set {name} master br0 up",
                f"bridge fdb replace {port['mac']} dev {name} master static",
                f"tc qdisc replace dev {name} root netem limit {port['queue_packets']} {line(port)}",
            ]
        command(self, " && ".join(lines))

    def start_timetable(self, epoch_ns: int) -> None:
        """Nothing: a bridge has no timetable."""

    def counters(self) -> dict[str, Any]:
        """No counters beyond the interfaces' own."""
        return {}


class Ocs(Switch):
    """The optical circuit switch of our kernel, configured once over netlink."""

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Switch.__init__(self, name, **params)
        self.plan = plan

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Make the device, give it the ports and the whole configuration."""
        from ocs import Ocs as Client
        from topology import command

        device = f"ocs{int(self.dpid, 16) - 1}"
        trunks = self.plan["trunks"]
        lines = [f"ip link add {device} type ocs"]
        lines += [f"ip link set sw-{port['host']} master {device} up" for port in self.plan["ports"]]
        lines += [f"ip link set {trunk} master {device} up" for trunk in trunks]
        lines += [f"ip link set {device} up"]
        command(self, " && ".join(lines))
        self.client = Client(device)
        for pool in self.plan["pools"]:
            self.client.pool_set(**pool)
        for trunk in trunks:
            # between switches, broadcasts might go round for ever
            self.client.port_set(trunk, flood=False)
        for link in self.plan["links"]:
            self.client.link_set(**link)
        for port in self.plan["ports"]:
            self.client.port_set(f"sw-{port['host']}", ingress=port["ingress"], **port["egress"])
        for mac, interface in self.plan["fdb"]:
            self.client.fdb_set(mac, interface)
        # a class may speak of another, which has to be there
        for number in self.plan["classes"]:
            self.client.class_set(**{name: value for name, value in number.items() if name != "echo"})
        for number in self.plan["classes"]:
            if "echo" in number:
                self.client.class_set(number["id"], echo=number["echo"])
        for notify in self.plan["notify"]:
            told = {name: value for name, value in notify.items() if name != "host"}
            self.client.port_set(f"sw-{notify['host']}", notify=told)
        for rule in self.plan["rules"]:
            self.client.rule_add(**rule)

    def start_timetable(self, epoch_ns: int) -> None:
        """Have all timetables begin at an instant of CLOCK_MONOTONIC."""
        self.client.start(epoch_ns)

    def counters(self) -> dict[str, Any]:
        """Counters of links, classes and ports."""
        stats: dict[str, Any] = self.client.stats()
        return stats


def kind_of(name: str) -> type[Switch]:
    """Return the switch of a scenario's ``switch.kind``."""
    if name == "bmv2":
        from bmv2 import Bmv2  # only where it is asked for: imports are dear here

        return Bmv2
    return {"ocs": Ocs, "linux": Plain}[name]
