# SPDX-License-Identifier: Apache-2.0
"""The network of a run, as a Mininet network.

::

    host s1 --line-- s1-eth0 ===veth=== sw-s1 |
    host s2 --line-- s2-eth0 ===veth=== sw-s2 | switch |  sw-r1 ===veth=== r1-eth0 host r1
                                              |        |  ...

A host's own line is a card of our kernel, below the queueing disciplines of its device; see `ocs_cards`. The switch's
port shapes the packets to the host.

In networks whose hosts have token buckets the line is the root discipline instead, ``tbf``. This keeps TCP small queues
working (netem would orphan the packets). A network card with its own memory is there a token bucket with the depth of
the card's memory. Behind it is the line itself, as the ingress link of the switch's port. The missing tokens are the
bytes that wait in the card, and the host's kernel counts them as sent.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from importlib import import_module
from typing import Any

import nodes
import route
from mininet.net import Mininet
from nodes import Cable, End, Machine, inside

#: Bytes of the Ethernet header, which ``tc`` counts as part of a packet.
ETHERNET_HEADER = 14
#: Hosts of a network in which all know each other; among 1000 there would be a million pairs.
ALL_KNOWN = 250


class Unknown(RuntimeError):
    """A congestion control has no such parameter."""


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
        self.net = Mininet(controller=None, host=Machine, link=Cable, intf=End, autoSetMacs=False, build=False)
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
        self.hosts: dict[str, Machine] = {}
        nodes.held += nodes.hold(len(plan["hosts"]))
        for spec in plan["hosts"]:
            name = spec["name"]
            host = self.net.addHost(name, ip=f"{spec['ip']}/{spec['prefix']}", mac=spec["mac"])
            for line in lines(spec):
                ends = {"intfName1": f"{label(line)}-eth0", "intfName2": f"sw-{label(line)}"}
                self.net.addLink(host, self.switches[home[label(line)]], **ends)
            self.hosts[name] = host

    def start(self) -> None:
        """Set up all hosts and switches, in the order of the plan."""
        self.net.build()
        # all switches are in the same namespace
        switch = self.switches[0]
        settings(switch, self.plan["memory_sysctls"])
        batch(switch, "ip", self._cables())
        by_host = neighbours(self.plan)
        for spec in self.plan["hosts"]:
            configure(self.hosts[spec["name"]], spec, self.plan, by_host[spec["name"]])
            for line in lines(spec) if spec.get("offload", {}).get("gro") else ():
                # veth merges nothing that comes from an end with TSO, which could send it whole
                command(switch, f"ethtool -K sw-{label(line)} tso off")
        for name, value in self.plan["parameters"].items():
            module, _, parameter = name.partition("/parameters/")
            if not os.path.exists(f"/sys/module/{name}"):
                known = f"/sys/module/{module}/parameters"
                names = sorted(os.listdir(known)) if os.path.isdir(known) else []
                raise Unknown(
                    f"engine.parameters: {module} has no parameter '{parameter}'; it has {', '.join(names) or 'none'}"
                )
            with open(f"/sys/module/{name}", "w") as file:
                file.write(value)
        for each in self.switches:
            each.start([])

    def _cables(self) -> list[str]:
        """Return the commands that make the cables of hosts, and those between switches."""
        words = ["link set lo up"]
        for spec in (line for host in self.plan["hosts"] for line in lines(host)):
            name, mtu = label(spec), spec["mtu"]
            inside = f"{name}-eth0 netns {self.pid(spec['name'])} address {spec['mac']} mtu {mtu} {longest(spec)}"
            words.append(f"link add sw-{name} mtu {mtu} gso_max_segs 1 type veth peer name {inside}")
            words.append(f"link set sw-{name} up")
        mtu = self.plan["hosts"][0]["mtu"]
        for one, other in self.plan["trunks"]:
            ends = f"{one} mtu {mtu} gso_max_segs 1 type veth peer name {other} mtu {mtu} gso_max_segs 1"
            words.append(f"link add {ends}")
        return words

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


def label(spec: dict[str, Any]) -> str:
    """Return the part of interfaces' names that tells hosts apart: the host's name, unless that is too long."""
    return str(spec.get("label", spec["name"]))


def lines(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a host, each with the settings of the host and its own: the first, then further ones."""
    return [spec, *({**spec, **line} for line in spec.get("lines", ()))]


def neighbours(plan: dict[str, Any]) -> dict[str, list[bytes]]:
    """Return what each host knows of others, since there is no ARP.

    In a large network a host knows those with which it has flows, and one with programs all others with programs.
    """
    packed = {
        spec["name"]: [
            *(
                route.neighbour(address, spec["mac"])
                for address in (spec["ip"], *spec["more"], *spec.get("aliases", ()))
            ),
            *(route.neighbour(line["ip"], line["mac"]) for line in spec.get("lines", ())),
        ]
        for spec in plan["hosts"]
    }
    partners: dict[str, dict[str, None]] = {name: {} for name in packed}
    if len(packed) <= ALL_KNOWN:
        groups = [list(packed)]
    else:
        groups = [[flow["src"], flow["dst"]] for flow in plan["flows"]]
        groups.append(list(dict.fromkeys(program["host"] for program in plan.get("programs", ()))))
    for group in groups:
        for one in group:
            partners[one] |= dict.fromkeys(group)
    return {
        name: [known for other in others if other != name for known in packed[other]]
        for name, others in partners.items()
    }


def configure(host: Machine, spec: dict[str, Any], plan: dict[str, Any], known: list[bytes]) -> None:
    """Set up a host: its line, its neighbours and its TCP settings."""
    interface = f"{label(spec)}-eth0"
    exact = spec["ends"] == "exact"
    with inside(host):
        if exact:
            cards(spec, plan["overhead"])
        for line in lines(spec):
            index = socket.if_nametoindex(f"{label(line)}-eth0")
            route.host(line, index, None if exact else bucket(line, plan["overhead"]), known)
        write_settings(spec.get("transport", plan["sysctls"]) | spec["sysctls"])
    batch(host, "ip", paths(spec, interface))
    chosen = [(f"{label(line)}-eth0", line["qdisc"]) for line in lines(spec) if "qdisc" in line]
    batch(host, "tc", [f"qdisc replace dev {device} root {discipline}" for device, discipline in chosen])
    if spec.get("lines"):
        batch(host, "tc", departures(spec))
    for line in lines(spec):
        receive_offload(host, line, f"{label(line)}-eth0")


def departures(spec: dict[str, Any]) -> list[str]:
    """Return the commands that let packets leave by the line whose address they come from.

    All hosts are in one prefix, so without this the routing table sends everything by the first line that is not bound
    to another one. Our kernel has one routing table, so the rules are filters.
    """
    first = f"{label(spec)}-eth0"
    words = [f"qdisc add dev {first} clsact"]
    for number, line in enumerate(lines(spec)[1:], 1):
        actions = f"action pedit ex munge eth src set {line['mac']} pipe action mirred egress redirect"
        match = f"protocol ip pref {number} flower src_ip {line['ip']}"
        words.append(f"filter add dev {first} egress {match} {actions} dev {label(line)}-eth0")
    return words


def longest(spec: dict[str, Any]) -> str:
    """Return the longest packet that a host gives to its card, as options of ``ip link``."""
    size = spec.get("offload", {}).get("tso", 0)
    return f"gso_max_size {size}" if size else "gso_max_segs 1"


def receive_offload(host: Machine, spec: dict[str, Any], interface: str) -> None:
    """Let a host's card merge frames, and wait for more before it interrupts.

    The kernel waits by itself once its poll has found something: ``napi_defer_hard_irqs`` polls later do nothing but
    flush, and then the next frame interrupts at once.
    """
    card = spec.get("offload", {})
    if card.get("gro"):
        command(host, f"ethtool -K {interface} gro on")
    if card.get("coalesce"):
        place = f"/sys/class/net/{interface}"
        command(host, f"echo {card['coalesce']} > {place}/gro_flush_timeout; echo 1 > {place}/napi_defer_hard_irqs")
    if card.get("coalesce_frames"):
        command(host, f"ethtool -C {interface} rx-frames {card['coalesce_frames']}")


def paths(spec: dict[str, Any], interface: str) -> list[str]:
    """Return the commands for a host of Multipath TCP: more addresses, which it announces to its peers, and limits."""
    if "path_manager" in spec:
        manager = spec["path_manager"]
        words = [f"mptcp limits set subflow {manager['subflows']} add_addr_accepted {manager['accepted']}"]
        for endpoint in manager["endpoints"]:
            flags = " ".join(endpoint["flags"])
            words.append(f"mptcp endpoint add {endpoint['ip']} dev {endpoint['label']}-eth0 {flags}")
        return words
    if spec["subflows"] == 1:
        return []
    more = spec["subflows"] - 1
    words = [f"mptcp limits set subflow {more} add_addr_accepted {more}"]
    for address in spec["more"]:
        words.append(f"addr add {address}/{spec['prefix']} dev {interface}")
        words.append(f"mptcp endpoint add {address} signal")
    return words


def settings(node: Any, sysctls: dict[str, str]) -> None:
    """Set sysctls of a node."""
    with inside(node):
        write_settings(sysctls)


def write_settings(sysctls: dict[str, str]) -> None:
    """Set sysctls of the network namespace of the caller."""
    for name, value in sysctls.items():
        file = os.open(f"/proc/sys/{name.replace('.', '/')}", os.O_WRONLY)
        os.write(file, f"{value}\n".encode())
        os.close(file)


def cards(spec: dict[str, Any], overhead: int) -> None:
    """Put the lines of a host below the disciplines of its devices."""
    from ocs_cards import Cards

    with contextlib.closing(Cards()) as own, own:
        for line in lines(spec):
            # a card that holds 4 GiB is never full: that is more than any guest has
            own.card_set(
                f"{label(line)}-eth0", line["rate"], overhead - ETHERNET_HEADER, min(line["nic_buffer"], 2**32 - 1)
            )


def bucket(spec: dict[str, Any], overhead: int) -> dict[str, int]:
    """Return a host's line as a token bucket: with the line rate, deep as a frame and the card."""
    frame = spec["mtu"] + overhead
    # the last two terms compensate for the resolution of tc's tables, 64 ns
    burst = frame + spec["nic_buffer"] + spec["rate"] * 128 // (8 * 10**9) + 16
    limit = spec["queue_bytes"] or spec["queue_packets"] * (spec["mtu"] + ETHERNET_HEADER)
    return {"rate": spec["rate"], "burst": burst, "limit": limit, "overhead": overhead - ETHERNET_HEADER}


def batch(node: Any, tool: str, lines: list[str]) -> None:
    """Give commands to one process of ``ip``, ``bridge`` or ``tc``; raise RuntimeError with its output if it fails."""
    if not lines:
        return
    path = f"/run/{node.name}.{tool}"
    with open(path, "w") as file:
        file.write("".join(f"{line}\n" for line in lines))
    with inside(node):
        answer = subprocess.run([tool, "-batch", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if answer.returncode:
        raise RuntimeError(
            f"{node.name}: {answer.stdout.decode(errors='replace').strip()}\n  from: {tool} -batch {path}"
        )


def command(node: Any, line: str) -> None:
    """Run a shell line in a node; raise RuntimeError with its output if it fails."""
    answer = node.cmd(f"{{ {line}; }} && echo @ok").strip()
    if not answer.endswith("@ok"):
        raise RuntimeError(f"{node.name}: {answer or 'no answer'}\n  from: {line}")
