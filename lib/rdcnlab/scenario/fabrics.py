# SPDX-License-Identifier: Apache-2.0
"""Networks of any size from a few parameters: ``network: {fabric: leaf-spine, leaves: 4, spines: 2, hosts: 8}``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import (
    TEXT,
    Bytes32,
    Duration,
    Frozen,
    Listed,
    Misfit,
    Mtu,
    Overhead,
    Rate,
    Share,
    Size,
    SlotDuration,
    whole,
)
from rdcnlab.scenario.check import input_error
from rdcnlab.scenario.forwarding import LEAST_SLOT
from rdcnlab.scenario.network import Network, Red
from rdcnlab.scenario.queue import MaybeQueueLimit, Queue, QueueLimit
from rdcnlab.scenario.timetable import DARK

#: Largest number of hosts of a network.
MOST_HOSTS = 250
#: Links between switches, at most: each has two ends, and there are 1024 numbers for them.
MOST_LINKS = 512


#: Name of the packet switch of a rotor fabric, and of its links before the number of the rack.
PACKET = "packet"


class Fabric(Frozen):
    """Parameters that all fabrics have.

    Parameters
    ----------
    mtu, overhead : int
        As in `Network`.
    rate, host_rate : int
        Rate of the links between switches, and of the hosts' cables, in bit/s.
    delay, host_delay : int
        Their propagation delays in ns.
    """

    mtu: Mtu = 1500
    overhead: Overhead = 38
    rate: Rate = 10_000_000_000
    host_rate: Rate = 10_000_000_000
    delay: Duration = 1_000
    host_delay: Duration = 1_000

    def data(self) -> dict[str, Any]:
        """Return the network as plain data, without its name."""
        raise NotImplementedError

    def _network(self, switches: list[Any], hosts: list[tuple[str, str]], links: list[Any]) -> dict[str, Any]:
        cables = [{"name": name, "at": at, "rate": self.host_rate, "delay": self.host_delay} for name, at in hosts]
        sizes = {"mtu": self.mtu, "overhead": self.overhead}
        return {**sizes, "switches": switches, "hosts": cables, "links": links}


class Queued(Fabric):
    """A fabric with queues at its links; its fields are those of `Link` and apply to all links."""

    buffer: Bytes32 = 1_000_000
    ecn_threshold: Size | None = None
    red: Red | None = None

    def _link(self, name: str, one: str, other: str) -> dict[str, Any]:
        red = None if self.red is None else self.red.model_dump()
        return {
            "name": name,
            "between": [one, other],
            "rate": self.rate,
            "delay": self.delay,
            "buffer": self.buffer,
            "ecn_threshold": self.ecn_threshold,
            "red": red,
        }


class Dumbbell(Queued):
    """Senders ``s1``, ``s2`` ... at the switch ``left``, receivers ``r1`` ... at ``right``, one link between them.

    Parameters
    ----------
    pairs : int
        Number of senders, and of receivers.
    """

    pairs: Annotated[int, whole(1, 125)] = 2

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        hosts = [(f"s{n}", "left") for n in range(1, self.pairs + 1)]
        hosts += [(f"r{n}", "right") for n in range(1, self.pairs + 1)]
        link = self._link("bottleneck", "left", "right")
        return self._network([{"name": "left"}, {"name": "right"}], hosts, [link])


class LeafSpine(Queued):
    """Hosts ``h1``, ``h2`` ... in the order of their leaves; each leaf has a link to each spine, ``leaf1-spine1``.

    Parameters
    ----------
    leaves, spines : int
        Number of switches of each kind.
    hosts : int
        Number of hosts at each leaf.
    """

    leaves: Annotated[int, whole(2, 64)] = 2
    spines: Annotated[int, whole(1, 64)] = 2
    hosts: Annotated[int, whole(1, 125)] = 2

    @model_validator(mode="after")
    def _has_numbers(self) -> LeafSpine:
        _check_hosts(self.hosts, self.leaves)
        if self.leaves * self.spines > MOST_LINKS:
            most = MOST_LINKS // self.leaves
            allowed = f"at most {most}, so that {self.leaves} leaves have no more than {MOST_LINKS} links"
            raise Misfit("spines", self.spines, allowed)
        return self

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        leaves = [f"leaf{n}" for n in range(1, self.leaves + 1)]
        spines = [f"spine{n}" for n in range(1, self.spines + 1)]
        links = [self._link(f"{leaf}-{spine}", leaf, spine) for leaf in leaves for spine in spines]
        switches = [{"name": name} for name in [*leaves, *spines]]
        return self._network(switches, _hosts(leaves, self.hosts), links)


class Rotor(Fabric):
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
    queue, ecn_threshold : Queue
        Limit and marking threshold of the queue of packets that wait in one rack for another one.
    packet_rate : int or None
        Rate in bit/s of a link from each rack to a packet switch, ``packet``. Packets take it while their pair has no
        circuit: network 0 is the packet network, network 1 is the circuit. None: there is no packet switch, and packets
        wait for the circuit.
    packet_delay : int
        Propagation delay of these links in ns.
    packet_buffer : int
        Bytes that may wait at the packet switch for one rack.
    """

    mtu: Mtu = 9000
    racks: Annotated[int, whole(2, 64)] = 8
    hosts: Annotated[int, whole(1, 125)] = 2
    uplinks: Annotated[int, whole(1, 8)] = 1
    day: SlotDuration = 180_000
    night: SlotDuration = 20_000
    queue: QueueLimit = Queue(packets=50)
    ecn_threshold: MaybeQueueLimit = None
    packet_rate: Rate | None = None
    packet_delay: Duration = 20_000
    packet_buffer: Bytes32 = 1_000_000

    @model_validator(mode="after")
    def _turns(self) -> Rotor:
        if self.uplinks >= self.racks:
            raise Misfit("uplinks", self.uplinks, f"less than the racks ({self.racks})")
        if self.night - self._guard < LEAST_SLOT:
            least = self._guard + LEAST_SLOT
            raise Misfit("night", self.night, f"at least {least} ns, {LEAST_SLOT} more than a frame takes on an uplink")
        _check_hosts(self.hosts, self.racks)
        return self

    @property
    def _guard(self) -> int:
        return -(-(self.mtu + self.overhead) * 8 * 10**9 // self.rate) + 1

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        racks = [f"rack{n}" for n in range(1, self.racks + 1)]
        rotors = ["rotor"] if self.uplinks == 1 else [f"rotor{n}" for n in range(1, self.uplinks + 1)]
        links = [
            {"name": self._uplink(rack, rotor), "between": [racks[rack], name], "rate": self.rate, "delay": self.delay}
            for rack in range(self.racks)
            for rotor, name in enumerate(rotors)
        ]
        # Light reaches the rotor after `delay`. The guard is the time that the last frame of a day needs on the line.
        optics = [{"name": name, "optical": True, "late": self.delay, "guard": self._guard} for name in rotors]
        switches = [*({"name": rack} for rack in racks), *optics]
        if self.packet_rate is not None:
            links += [self._packet_link(rack, racks[rack]) for rack in range(self.racks)]
            switches.append({"name": PACKET})
        network = self._network(switches, _hosts(racks, self.hosts), links)
        return {**network, "schedules": self._schedules(racks)}

    def _uplink(self, rack: int, rotor: int) -> str:
        return f"up{rack + 1}" if self.uplinks == 1 else f"up{rack + 1}-{rotor + 1}"

    def _packet_link(self, rack: int, name: str) -> dict[str, Any]:
        sizes = {"rate": self.packet_rate, "delay": self.packet_delay, "buffer": self.packet_buffer}
        return {"name": f"{PACKET}{rack + 1}", "between": [name, PACKET], **sizes}

    def _schedules(self, racks: list[str]) -> list[dict[str, Any]]:
        turns = list(matchings(self.racks))
        days = -(-len(turns) // self.uplinks)
        when = {pair: divmod(turn, self.uplinks) for turn, pairs in enumerate(turns) for pair in pairs}
        limits = self.model_dump(mode="json", include={"queue", "ecn_threshold"})
        found = []
        for one in range(self.racks):
            for other in range(self.racks):
                if one == other:
                    continue
                day, rotor = when[min(one, other), max(one, other)]
                before, after = day * (self.day + self.night), (days - day - 1) * (self.day + self.night) + self.night
                circuit = {"duration": self.day, "link": self._uplink(one, rotor)}
                rest = DARK
                if self.packet_rate is not None:
                    rest, circuit["tdn"] = PACKET, 1
                slots = [{"duration": before, "link": rest}, circuit, {"duration": after, "link": rest}]
                found.append(
                    {
                        "name": f"r{one + 1}-r{other + 1}",
                        "pair": [racks[one], racks[other]],
                        "slots": [slot for slot in slots if slot["duration"]],
                        **limits,
                    }
                )
        return found


class WideArea(Fabric):
    """Groups of sources behind slow lines, two parallel paths of a backbone, and the groups' receivers.

    Group 1 has its sender ``s1`` at the switch ``agg1``, and its receiver ``r1``. Its line ``access1`` leads to the
    switch ``left``. The links ``short`` and ``long`` lead from there to ``right``, where all receivers are. `rate` and
    `delay` are those of the backbone.

    Parameters
    ----------
    rtts : tuple of int
        Propagation RTT in ns of each group over ``short``, without `delay` and `host_delay`. There are as many groups
        as RTTs. All of it is on the group's line, half in each direction.
    extra : int
        ns by which the RTT over ``long`` is larger.
    one_way : bool
        Whether ``long`` has all of `extra` in each direction, for flows whose way back is always ``short``. Otherwise
        each direction has half of it, for flows that take the same way in both directions.
    access_rate : int
        Rate of each group's line in bit/s.
    share : int
        Drop-tail queue of each group's line as a share of its bandwidth-delay product over ``short``; text form
        ``10 %``.
    least : Queue
        The smallest such queue.
    buffer : int
        Queue of the links of the backbone in bytes.
    """

    rtts: Annotated[tuple[Duration, ...], Field(min_length=1, max_length=100), Listed] = (50_000_000,)
    extra: Duration = 0
    one_way: bool = False
    access_rate: Rate = 100_000_000
    share: Share = 100_000
    least: QueueLimit = Queue(packets=10)
    buffer: Bytes32 = 10_000_000

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        numbers = range(1, len(self.rtts) + 1)
        hosts = [(f"s{n}", f"agg{n}") for n in numbers] + [(f"r{n}", "right") for n in numbers]
        links = [self._access(n, rtt) for n, rtt in zip(numbers, self.rtts, strict=True)]
        there = self.extra if self.one_way else self.extra // 2
        backbone = {"between": ["left", "right"], "rate": self.rate, "buffer": self.buffer}
        links.append({"name": "short", **backbone, "delay": self.delay})
        links.append({"name": "long", **backbone, "delay": self.delay + there})
        names = [f"agg{n}" for n in numbers] + ["left", "right"]
        return self._network([{"name": name} for name in names], hosts, links)

    def _access(self, number: int, rtt: int) -> dict[str, Any]:
        product = self.access_rate * rtt // (8 * 10**9)
        buffer = max(product * self.share // 10**6, self.least.in_bytes(self.mtu))
        ends = [f"agg{number}", "left"]
        return {
            "name": f"access{number}",
            "between": ends,
            "rate": self.access_rate,
            "delay": rtt // 2,
            "buffer": buffer,
        }


class SharedQueue(Queued):
    """Two groups of senders, near and far, and one receiver behind one queue: the link ``shared``.

    Senders are ``n1``, ``n2`` ... and ``f1``, ``f2`` ...; the receiver is ``r``. There is one switch. Data take the
    link ``shared``, with `rate`, `delay` and the queue; ACKs bypass it. The senders' cables have `host_rate`.

    Parameters
    ----------
    near, far : int
        Number of senders of each group.
    near_rtt, far_rtt : int
        Propagation RTT in ns between the senders of a group and the receiver, without `delay`. The receiver's cable has
        half of `near_rtt` in each direction, as near senders are at the switch; the far senders' cables have the rest.
    receiver_rate : int
        Rate of the receiver's cable in bit/s. No packet waits there if it is above `rate`.
    """

    near: Annotated[int, whole(1, 100)] = 10
    far: Annotated[int, whole(1, 100)] = 10
    near_rtt: Duration = 50_000
    far_rtt: Duration = 50_000_000
    delay: Duration = 0
    receiver_rate: Rate = 100_000_000_000

    @model_validator(mode="after")
    def _far_is_farther(self) -> SharedQueue:
        if self.far_rtt < self.near_rtt:
            raise Misfit("far_rtt", self.far_rtt, f"at least near_rtt ({self.near_rtt} ns)")
        if self.receiver_rate <= self.rate:
            raise Misfit("receiver_rate", self.receiver_rate, f"above rate ({self.rate} bit/s), so that nothing waits")
        return self

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        groups = (("n", self.near, 0), ("f", self.far, (self.far_rtt - self.near_rtt) // 2))
        hosts = [
            {"name": f"{letter}{number}", "rate": self.host_rate, "delay": delay}
            for letter, count, delay in groups
            for number in range(1, count + 1)
        ]
        hosts.append({"name": "r", "rate": self.receiver_rate, "delay": self.near_rtt // 2})
        link = {name: value for name, value in self._link("shared", "", "").items() if name != "between"}
        return {"mtu": self.mtu, "overhead": self.overhead, "hosts": hosts, "links": [link]}


def matchings(count: int) -> Iterator[list[tuple[int, int]]]:
    """Yield pairings of 0 to `count` - 1 in which each pair occurs once, by the circle method of tournaments.

    If the count is odd, each pairing leaves one number without a partner.
    """
    even = count + count % 2
    circle = list(range(even))
    for _ in range(even - 1):
        pairs = ((circle[place], circle[-1 - place]) for place in range(even // 2))
        yield [(min(pair), max(pair)) for pair in pairs if max(pair) < count]
        circle = [circle[0], circle[-1], *circle[1:-1]]


def _hosts(switches: list[str], each: int) -> list[tuple[str, str]]:
    return [(f"h{place * each + n}", switch) for place, switch in enumerate(switches) for n in range(1, each + 1)]


def _check_hosts(hosts: int, switches: int) -> None:
    if switches * hosts > MOST_HOSTS:
        allowed = f"at most {MOST_HOSTS // switches}, so that {switches} switches have no more than {MOST_HOSTS}"
        raise Misfit("hosts", hosts, allowed)


FABRICS: dict[str, type[Fabric]] = {
    "dumbbell": Dumbbell,
    "leaf-spine": LeafSpine,
    "rotor": Rotor,
    "shared-queue": SharedQueue,
    "wide-area": WideArea,
}


def fabric(parameters: dict[str, Any], *, text: bool = False) -> Network:
    """Return the network that a fabric and its parameters describe.

    Parameters
    ----------
    parameters : dict
        ``fabric``, one of `FABRICS`, and fields of that class; optionally ``name``.
    text : bool
        Whether to refuse quantities without a unit, as in files.

    Raises
    ------
    InputError
        The fabric does not exist, or a parameter or value is not allowed.
    """
    given = dict(parameters)
    kind, name = given.pop("fabric"), given.pop("name", None)
    if kind not in FABRICS:
        raise InputError.of("network.fabric", kind, f"one of {', '.join(FABRICS)}")
    try:
        made = FABRICS[kind].model_validate(given, context={TEXT: text})
    except ValidationError as error:
        raise input_error(error, FABRICS[kind]).below("network") from None
    try:
        return Network.model_validate({"name": name or kind, **made.data()})
    except ValidationError as error:
        raise input_error(error, Network).below("network") from None
