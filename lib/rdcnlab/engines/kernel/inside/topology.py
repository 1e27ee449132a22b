# SPDX-License-Identifier: Apache-2.0
"""The network of a run, as a Mininet network.

::

    host s1 --tbf-- s1-eth0 ===veth=== sw-s1 |
    host s2 --tbf-- s2-eth0 ===veth=== sw-s2 | switch |  sw-r1 ===veth=== r1-eth0 host r1
                                             |        |  ...

A host shapes its packets to its line rate with ``tbf``. This keeps TCP small queues working (netem would orphan the
packets). The switch's port shapes the packets to the host.

A network card with its own memory takes packets from the host long before they are on the line, and TCP small queues
then do not count them any more. The model is a token bucket with the depth of the card's memory. Behind it is the line
itself, as the ingress link of the switch's port. The missing tokens are the bytes that wait in the card.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mininet.net import Mininet
from mininet.node import Host

#: Bytes of the Ethernet header, which ``tc`` counts as part of a packet.
ETHERNET_HEADER = 14
#: Number of neighbours that one command adds to a host.
NEIGHBOURS = 64


class Testbed:
    """The hosts and switches of a plan.

    Parameters
    ----------
    plan : dict
        The plan, as `rdcnlab.engines.kernel.plan.compile_plan` returns it.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        # Otherwise Mininet raises the limit of open files, and mnexec closes that many files for each host: 0.4 s.
        Mininet.inited = True
        self.net = Mininet(controller=None, autoSetMacs=False, build=False)
        self.switches = [
            self.net.addSwitch(
                f"sw{number or ''}",
                cls=import_module(f"switch_{switch['kind']}").KIND,
                dpid=str(number + 1),
                plan=switch,
            )
            for number, switch in enumerate(plan["switches"])
        ]
        home = {port["host"]: place for place, switch in enumerate(plan["switches"]) for port in switch["ports"]}
        self.hosts: dict[str, Host] = {}
        for spec in plan["hosts"]:
            host = self.net.addHost(spec["name"], ip=f"{spec['ip']}/{spec['prefix']}", mac=spec["mac"])
            switch = self.switches[home[spec["name"]]]
            self.net.addLink(host, switch, intfName1=f"{spec['name']}-eth0", intfName2=f"sw-{spec['name']}")
            self.hosts[spec["name"]] = host

    def start(self) -> None:
        """Set up all hosts and switches, in the order of the plan."""
        self.net.build()
        for spec in self.plan["hosts"]:
            configure(self.hosts[spec["name"]], spec, self.plan)
        # all switches are in the same namespace
        switch = self.switches[0]
        command(
            switch,
            "; ".join(f"ip link set sw-{spec['name']} mtu {spec['mtu']} gso_max_segs 1" for spec in self.plan["hosts"]),
        )
        command(switch, settings(self.plan["memory_sysctls"]))
        for name, value in self.plan["parameters"].items():
            with open(f"/sys/module/{name}", "w") as file:
                file.write(value)
        mtu = self.plan["hosts"][0]["mtu"]
        for one, other in self.plan["trunks"]:
            ends = f"{one} mtu {mtu} gso_max_segs 1 type veth peer name {other} mtu {mtu} gso_max_segs 1"
            command(switch, f"ip link add {ends}")
        for each in self.switches:
            each.start([])

    def counters(self) -> dict[str, Any]:
        """Return the counters of the switch, or those of several switches by name."""
        if len(self.switches) == 1:
            return dict(self.switches[0].counters())
        names = [switch["name"] for switch in self.plan["switches"]]
        return {name: switch.counters() for name, switch in zip(names, self.switches, strict=True)}

    def stop(self) -> None:
        """Do nothing, because the guest halts, and its namespaces and links end with it."""

    def pid(self, host: str) -> int:
        """Return the id of a process in a host's namespaces."""
        return int(self.hosts[host].pid)


def configure(host: Host, spec: dict[str, Any], plan: dict[str, Any]) -> None:
    """Set up a host: its line, its neighbours (ARP is static) and its TCP settings."""
    interface = f"{spec['name']}-eth0"
    lines = [
        f"ip link set {interface} mtu {spec['mtu']} gso_max_segs 1",
        f"tc qdisc replace dev {interface} root {qdisc(spec, plan['overhead'])}",
    ]
    lines.append(settings(plan["sysctls"] | spec["sysctls"]))
    lines += paths(spec, interface)
    command(host, " && ".join(lines))
    others = [
        f"{address} {other['mac']}"
        for other in plan["hosts"]
        if other is not spec
        for address in (other["ip"], *other["more"])
    ]
    # One process adds many neighbours, because processes are slow. It does not add all, because a terminal accepts
    # lines of up to 4 KB.
    for first in range(0, len(others), NEIGHBOURS):
        words = " ".join(others[first : first + NEIGHBOURS])
        line = f"neigh replace %s lladdr %s dev {interface} nud permanent\\n"
        command(host, f"printf '{line}' {words} | ip -batch -")


def paths(spec: dict[str, Any], interface: str) -> list[str]:
    """Return the commands for a host of Multipath TCP: more addresses, which it announces to its peers, and limits."""
    if spec["subflows"] == 1:
        return []
    more = spec["subflows"] - 1
    lines = [f"ip mptcp limits set subflow {more} add_addr_accepted {more}"]
    for address in spec["more"]:
        lines.append(f"ip addr add {address}/{spec['prefix']} dev {interface}")
        lines.append(f"ip mptcp endpoint add {address} signal")
    return lines


def settings(sysctls: dict[str, str]) -> str:
    """Return a shell line that sets sysctls; it writes files, which needs no extra process."""
    return " && ".join(f"echo '{value}' > /proc/sys/{name.replace('.', '/')}" for name, value in sysctls.items())


def qdisc(spec: dict[str, Any], overhead: int) -> str:
    """Return a host's line as options of ``tc``: a token bucket with the line rate, deep as a frame and the card."""
    frame = spec["mtu"] + overhead
    # the last two terms compensate for the resolution of tc's tables, 64 ns
    burst = frame + spec["nic_buffer"] + spec["rate"] * 128 // (8 * 10**9) + 16
    limit = spec["queue_bytes"] or spec["queue_packets"] * (spec["mtu"] + ETHERNET_HEADER)
    return f"tbf rate {spec['rate']}bit burst {burst} limit {limit} overhead {overhead - ETHERNET_HEADER}"


def batch(node: Any, tool: str, lines: list[str]) -> None:
    """Give commands to one process of ``ip``, ``bridge`` or ``tc``, as processes are slow."""
    path = f"/run/{node.name}.{tool}"
    with open(path, "w") as file:
        file.write("".join(f"{line}\n" for line in lines))
    command(node, f"{tool} -batch {path}")


def command(node: Any, line: str) -> None:
    """Run a shell line in a node; raise RuntimeError with its output if it fails."""
    answer = node.cmd(f"({line}) && echo @ok").strip()
    if not answer.endswith("@ok"):
        raise RuntimeError(f"{node.name}: {answer or 'no answer'}\n  from: {line}")
