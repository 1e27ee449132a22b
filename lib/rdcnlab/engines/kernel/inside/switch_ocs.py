# SPDX-License-Identifier: Apache-2.0
"""The circuit switch of our kernel as a switch of Mininet."""

from __future__ import annotations

from typing import Any

from nodes import Box


class Ocs(Box):
    """The optical circuit switch of our kernel; `start` configures it over netlink."""

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Box.__init__(self, name, **params)
        self.plan = plan

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Make the device, add its ports and configure it."""
        from lines import add_disciplines
        from ocs import Ocs as Client
        from topology import batch

        device = f"ocs{int(self.dpid, 16) - 1}"
        trunks = self.plan["trunks"]
        ports = [*(f"sw-{port['host']}" for port in self.plan["ports"]), *trunks]
        ours = [f"link set {port} master {device} up" for port in ports]
        batch(self, "ip", [f"link add {device} type ocs", *ours, f"link set {device} up"])
        add_disciplines(self, [*self.plan["links"], *(port["egress"] for port in self.plan["ports"])])
        self.client = Client(device)
        with self.client:
            self._configure()

    def _configure(self) -> None:
        """Collect all settings of the device."""
        from lines import arguments
        from ocs import ANY_HOPS

        trunks = self.plan["trunks"]
        for pool in self.plan["pools"]:
            self.client.pool_set(**pool)
        for trunk in trunks:
            # to other switches, broadcasts take the lines of a tree: by all of them, they would circle for ever
            self.client.port_set(trunk, flood=False, hops_max=self.plan.get("hops_max", ANY_HOPS))
        for link in self.plan["links"]:
            self.client.link_set(**arguments(link), flood=link["id"] in self.plan["flooded"])
        for port in self.plan["ports"]:
            self.client.port_set(f"sw-{port['host']}", ingress=port["ingress"], **arguments(port["egress"]))
        for mac, interface, address in self.plan["fdb"]:
            self.client.fdb_set(mac, interface, address)
        # echoes come last, because the echo of a class refers to another class, which must exist
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
        """Start all timetables at an instant of CLOCK_MONOTONIC (ns)."""
        self.client.start(epoch_ns, self.plan["seed"])

    def counters(self) -> dict[str, Any]:
        """Return the counters of links, classes and ports."""
        stats: dict[str, Any] = self.client.stats()
        return stats


KIND = Ocs
