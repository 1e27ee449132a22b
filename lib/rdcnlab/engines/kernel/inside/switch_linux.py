# SPDX-License-Identifier: Apache-2.0
"""A Linux bridge as a switch of Mininet; it shows a scenario without our switch."""

from __future__ import annotations

from typing import Any

from nodes import Box


def line(port: dict[str, Any]) -> str:
    """Return rate and delay of a port's cable as options of netem, which takes fractions of us but no ns."""
    return f"delay {port['delay_ns'] / 1000:.3f}us rate {port['rate']}bit {port['overhead']}"


class Plain(Box):
    """A Linux bridge; each port delays and shapes the packets that leave it with ``netem``.

    It has no links inside and no timetable. It shows a scenario without our switch.
    """

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Box.__init__(self, name, **params)
        self.plan = plan

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Make the bridge and add the ports that Mininet made."""
        from topology import batch

        ports = [(f"sw-{port['host']}", port) for port in self.plan["ports"]]
        bridge = ["link add br0 type bridge mcast_snooping 0 stp_state 0", "link set br0 up"]
        batch(self, "ip", [*bridge, *(f"link set {name} master br0 up" for name, _ in ports)])
        batch(self, "bridge", [f"fdb replace {port['mac']} dev {name} master static" for name, port in ports])
        lines = [f"{name} root netem limit {port['queue_packets']} {line(port)}" for name, port in ports]
        batch(self, "tc", [f"qdisc replace dev {each}" for each in lines])

    def start_timetable(self, epoch_ns: int) -> None:
        """Do nothing, because a bridge has no timetable."""

    def counters(self) -> dict[str, Any]:
        """Return no counters; the interfaces have their own."""
        return {}


class Hop(Box):
    """A Linux bridge as one of several switches, behind its panel.

    The bridge knows the port of each host. Filters of ``tc``, which come before the bridge, know the ways of flows. A
    thread changes them by the timetables.
    """

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Box.__init__(self, name, **params)
        self.plan = plan

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Make the panel, the bridge and the filters."""
        from panel import Panel
        from topology import batch

        self.panel = Panel(self, self.plan["panel"])
        number = self.plan["number"]
        name, block = f"br{number}", number + 1
        ports = [port for _, port in self.plan["panel"]["pairs"]]
        bridge = [f"link add {name} type bridge mcast_snooping 0 stp_state 0", f"link set {name} up"]
        batch(self, "ip", [*bridge, *(f"link set {port} master {name}" for port in ports)])
        # A packet may leave where it came in. What the bridge does not know, it does not send anywhere.
        options = "learning off flood off mcast_flood off bcast_flood off hairpin on"
        known = [f"fdb replace {mac} dev {port} master static" for mac, port in self.plan["fdb"]]
        batch(self, "bridge", [*(f"link set dev {port} {options}" for port in ports), *known])
        blocks = [f"qdisc add dev {port} ingress_block {block} ingress" for port in ports]
        batch(self, "tc", [*blocks, *self._filters(block)])

    def start_timetable(self, epoch_ns: int) -> None:
        """Start all timetables at an instant of CLOCK_MONOTONIC (ns)."""
        from mirred import Redirects

        self.panel.start(epoch_ns)
        self.redirects = Redirects(self.entries, epoch_ns)
        self.redirects.start()

    def counters(self) -> dict[str, Any]:
        """Return when filters changed, and the counters of the panel."""
        self.redirects.stop()
        return {"slots": self.redirects.slots, "panel": self.panel.counters()}

    def _filters(self, block: int) -> list[str]:
        """Return the commands that make the filters, and prepare the requests that will change them."""
        from mirred import filter_line, replacement

        index = block << 16  # actions of all switches are in one namespace
        self.entries, lines = [], []
        for entry in self.plan["entries"]:
            requests: list[list[bytes]] = [[] for _ in entry["durations"]]
            for one in entry["filters"]:
                index += 1
                lines.append(filter_line(block, index, one))
                for place, port in enumerate(one["ports"]):
                    requests[place].append(replacement(index, port))
            self.entries.append({**entry, "requests": requests})
        return lines


def switch(name: str, plan: dict[str, Any], **params: Any) -> Box:
    """Return the only switch of a network, or one of several."""
    return (Hop if "panel" in plan else Plain)(name, plan=plan, **params)


KIND = switch
