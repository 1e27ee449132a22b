# SPDX-License-Identifier: Apache-2.0
"""The lines of a switch that only forwards, as an ``ocs`` device between the switch and the world.

`rdcnlab.engines.kernel.switches.panel` draws it.
"""

from __future__ import annotations

from typing import Any


class Panel:
    """The panel of one switch.

    Parameters
    ----------
    node : mininet.node.Node
        The switch.
    plan : dict
        Plan of the panel.
    checksums : bool
        Whether packets get their checksums before they reach the switch, as a program that reads them needs.
    """

    def __init__(self, node: Any, plan: dict[str, Any], *, checksums: bool = False) -> None:
        self.plan = plan
        self._lay(node, checksums=checksums)
        self._configure()

    def start(self, epoch_ns: int) -> None:
        """Seed the random early drop of all lines."""
        self.client.start(epoch_ns, self.plan["seed"])

    def counters(self) -> dict[str, Any]:
        """Return the counters of links, classes and ports."""
        stats: dict[str, Any] = self.client.stats()
        return stats

    def _lay(self, node: Any, *, checksums: bool) -> None:
        """Make the device and its ports, and the cables to the switch."""
        from lines import add_disciplines
        from topology import batch, command

        device, mtu = self.plan["device"], self.plan["mtu"]
        outside = [f"sw-{port['host']}" for port in self.plan["ports"]] + self.plan["trunks"]
        lines = [f"link add {device} type ocs"]
        for ours, switch in self.plan["pairs"]:
            ends = f"{ours} mtu {mtu} gso_max_segs 1 type veth peer name {switch} mtu {mtu} gso_max_segs 1"
            lines += [f"link add {ends}", f"link set {switch} up"]
            outside.append(ours)
        lines += [f"link set {port} master {device} up" for port in outside]
        batch(node, "ip", [*lines, f"link set {device} up"])
        if checksums:
            for ours, _ in self.plan["pairs"]:
                command(node, f"ethtool -K {ours} tx off")
        add_disciplines(node, [*self.plan["links"], *(port["egress"] for port in self.plan["ports"])])
        self.outside = outside

    def _configure(self) -> None:
        from lines import arguments
        from ocs import ANY_HOPS
        from ocs import Ocs as Client

        self.client = Client(self.plan["device"])
        for pool in self.plan["pools"]:
            self.client.pool_set(**pool)
        behind = [ours for ours, _ in self.plan["pairs"]]
        for port in behind:
            # copies for all do not go to the switch: they would come back through it
            self.client.port_set(port, flood=False, trail=self.plan["trail"])
        for port in self.plan["trunks"]:
            self.client.port_set(port, flood=False, hops_max=self.plan.get("hops_max", ANY_HOPS))
        for link in self.plan["links"]:
            self.client.link_set(**arguments(link), flood=link["id"] in self.plan["flooded"])
        for port in self.plan["ports"]:
            self.client.port_set(f"sw-{port['host']}", ingress=port["ingress"], **arguments(port["egress"]))
        for mac, interface in self.plan["fdb"]:
            self.client.fdb_set(mac, interface)
        for way in self.plan["inward"]:
            self.client.link_set(way["link"], port=way["to"])
            self._leads(way["class"], way["from"], way["link"])
        for way in self.plan["outward"]:
            self._leads(way["class"], way["from"], way["target"])

    def _leads(self, number: int, port: str, target: int) -> None:
        """Send all that comes in by a port to one target."""
        self.client.class_set(number, [{"duration": 0, "target": target}])
        self.client.rule_add(number, in_if=port, any=self.plan["any"])
