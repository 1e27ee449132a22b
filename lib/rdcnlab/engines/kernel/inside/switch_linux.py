# SPDX-License-Identifier: Apache-2.0
"""A Linux bridge as a switch of Mininet; it shows a scenario without our switch."""

from __future__ import annotations

from typing import Any

from mininet.node import Switch


def line(port: dict[str, Any]) -> str:
    """Return rate and delay of a port's cable as options of netem, which takes fractions of us but no ns."""
    return f"delay {port['delay_ns'] / 1000:.3f}us rate {port['rate']}bit {port['overhead']}"


class Plain(Switch):
    """A Linux bridge; each port delays and shapes the packets that leave it with ``netem``.

    It has no links inside and no timetable. It shows a scenario without our switch.
    """

    def __init__(self, name: str, plan: dict[str, Any], **params: Any) -> None:
        Switch.__init__(self, name, **params)
        self.plan = plan

    def start(self, controllers: list[Any]) -> None:  # noqa: ARG002  (Mininet's signature)
        """Make the bridge and add the ports that Mininet made."""
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
        """Do nothing, because a bridge has no timetable."""

    def counters(self) -> dict[str, Any]:
        """Return no counters; the interfaces have their own."""
        return {}


KIND = Plain
