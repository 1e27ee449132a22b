# SPDX-License-Identifier: Apache-2.0
"""Optical switches that rotate through all pairs of racks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import model_validator

from rdcnlab.fields.quantities import Duration, FieldError, Mtu, Rate, SlotDuration, whole
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario.fabrics.base import PACKET, Uplinked, place_hosts
from rdcnlab.scenario.queue import Buffer, Queue, QueueLimit
from rdcnlab.scenario.timetable import DARK


class Rotor(Uplinked):
    """Racks behind optical switches that rotate through all pairs; each pair has its circuit once a week.

    Hosts are ``h1``, ``h2`` ... in the order of their racks. Racks are ``rack1`` ...; each has a link to each rotor,
    ``up1`` or ``up1-2``. The schedule ``r1-r2`` is for packets from rack 1 to rack 2; they wait in rack 1, in a queue
    of their own.

    Parameters
    ----------
    racks, hosts : int
        Number of racks, and of hosts in each rack.
    uplinks : int
        Number of rotors; every rack has one uplink to each. With n rotors, n pairings share a day, so a week has about
        1/n of the days.
    day, night : int
        ns for which a circuit is up, and ns after it in which all is dark while the rotors turn.
    queue : Queue
        Limit of the queue of packets that wait in one rack for another one.
    packet_rate : int or None
        Rate in bit/s of a link from each rack to a packet switch, ``packet``. Packets take it while their pair has no
        circuit: network 0 is the packet network, network 1 is the circuit. None: there is no packet switch, and packets
        wait for the circuit.
    packet_delay : int
        Propagation delay of these links in ns.
    packet_buffer : Queue
        What may wait at the packet switch for one rack.
    host_buffer : Queue
        What may wait in a rack for the line of one of its hosts.
    echo : int or None
        For reTCP, with `packet_rate`: a rack sets the ECE flag of packets that come from another rack while its own
        packets to that rack have the circuit, and so many ns before. Senders with the congestion control ``retcp`` read
        the flag of ACKs as "a circuit is up". None: no flag is set.
    """

    mtu: Mtu = 9000
    hosts: Annotated[int, whole(1, 125)] = 2
    uplinks: Annotated[int, whole(1, 8)] = 1
    day: SlotDuration = 180_000
    night: SlotDuration = 20_000
    queue: QueueLimit = Queue(packets=50)
    packet_rate: Rate | None = None
    packet_delay: Duration = 20_000
    packet_buffer: Buffer = Queue(bytes=1_000_000)
    echo: Duration | None = None

    @model_validator(mode="after")
    def _turns(self) -> Rotor:
        self.check_uplinks()
        self.check_night(self.night)
        if self.echo is not None and self.packet_rate is None:
            allowed = "with a packet_rate: without a packet network, no packet leaves before its circuit is up"
            raise FieldError("echo", DURATION.format(self.echo), allowed)
        return self

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        racks, optics, links = self.plane("rotor")
        switches = [*({"name": rack} for rack in racks), *optics]
        if self.packet_rate is not None:
            links += self.packet_plane(racks, self.packet_rate, self.packet_delay, self.packet_buffer)
            switches.append({"name": PACKET})
        network = self.network(switches, place_hosts(racks, self.hosts), links)
        return {**network, "schedules": self._schedules(racks)}

    def _schedules(self, racks: list[str]) -> list[dict[str, Any]]:
        turns = list(matchings(self.racks))
        days = -(-len(turns) // self.uplinks)
        circuit_of_pair = {pair: divmod(turn, self.uplinks) for turn, pairs in enumerate(turns) for pair in pairs}
        limits = self.model_dump(mode="json", include={"queue", "ecn_threshold"})
        schedules = []
        for source in range(self.racks):
            for target in range(self.racks):
                if source == target:
                    continue
                day, rotor = circuit_of_pair[min(source, target), max(source, target)]
                before, after = day * (self.day + self.night), (days - day - 1) * (self.day + self.night) + self.night
                circuit = {"duration": self.day, "link": self.link(source, rotor)}
                idle_link = DARK
                if self.packet_rate is not None:
                    idle_link, circuit["tdn"] = PACKET, 1
                slots = [{"duration": before, "link": idle_link}, circuit, {"duration": after, "link": idle_link}]
                schedules.append(
                    {
                        "name": f"r{source + 1}-r{target + 1}",
                        "pair": [racks[source], racks[target]],
                        "slots": [slot for slot in slots if slot["duration"]],
                        **limits,
                        **self._echo(source, target),
                    }
                )
        return schedules

    def _echo(self, source: int, target: int) -> dict[str, Any]:
        """Return when packets from one rack to another carry reTCP's flag: while the other way has a circuit."""
        if self.echo is None:
            return {}
        return {"echo": {"of": f"r{target + 1}-r{source + 1}", "in_advance": self.echo}}


def matchings(count: int) -> Iterator[list[tuple[int, int]]]:
    """Yield pairings of 0 to `count` - 1 in which each pair occurs once, by the circle method of tournaments.

    If the count is odd, each pairing leaves one number without a partner.
    """
    even = count + count % 2
    circle = list(range(even))
    for _ in range(even - 1):
        pairs = ((circle[index], circle[-1 - index]) for index in range(even // 2))
        yield [(min(pair), max(pair)) for pair in pairs if max(pair) < count]
        circle = [circle[0], circle[-1], *circle[1:-1]]
