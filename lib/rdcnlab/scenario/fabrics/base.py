# SPDX-License-Identifier: Apache-2.0
"""Base classes of fabrics: their links, queues and hosts, and the limits of their sizes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, model_validator

from rdcnlab.fields.quantities import Duration, FieldError, Frozen, Mtu, Overhead, Rate, Size, whole
from rdcnlab.scenario.network import MOST_HOSTS
from rdcnlab.scenario.queue import Buffer, MaybeQueueLimit, Queue
from rdcnlab.scenario.queueing import Red
from rdcnlab.scenario.timetable import LEAST_SLOT

#: Links between switches, at most: each has two ends, and there are 1024 numbers for them.
MOST_LINKS = 512


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
    ends : {'exact', 'bucket'}
        As in `Network`.
    """

    #: most processes use no fabric, and the validators of all of them take a tenth of a second
    model_config = ConfigDict(defer_build=True)

    mtu: Mtu = 1500
    overhead: Overhead = 38
    rate: Rate = 10_000_000_000
    host_rate: Rate = 10_000_000_000
    delay: Duration = 1_000
    host_delay: Duration = 1_000
    ends: Literal["exact", "bucket"] = "exact"

    def data(self) -> dict[str, Any]:
        """Return the network as plain data, without its name."""
        raise NotImplementedError

    def port(self) -> dict[str, Any]:
        """Return the field ``port`` of every host, as plain data; nothing leaves the defaults of `Port`."""
        return {}

    def network(self, switches: list[Any], hosts: list[tuple[str, str]], links: list[Any]) -> dict[str, Any]:
        """Return a network as plain data, whose hosts are given by name and switch."""
        line = {"rate": self.host_rate, "delay": self.host_delay, **self.port()}
        cables = [{"name": name, "at": at, **line} for name, at in hosts]
        sizes = {"mtu": self.mtu, "overhead": self.overhead}
        return {**sizes, "switches": switches, "hosts": cables, "links": links}


class Queued(Fabric):
    """A fabric with queues at its links; its fields are those of `Link` and apply to all links and ports to hosts."""

    buffer: Buffer = Queue(bytes=1_000_000)
    ecn_threshold: Size | None = None
    red: Red | None = None

    def port(self) -> dict[str, Any]:
        """Return the queue of the port to a host; see `Fabric.port`."""
        return {"port": self._queue()}

    def link(self, name: str, first: str, second: str) -> dict[str, Any]:
        """Return a link between two switches as plain data."""
        return {"name": name, "between": [first, second], "rate": self.rate, "delay": self.delay, **self._queue()}

    def _queue(self) -> dict[str, Any]:
        red = None if self.red is None else self.red.model_dump()
        return {"buffer": self.buffer.model_dump(), "ecn_threshold": self.ecn_threshold, "red": red}


#: Name of the packet switch beside circuits, and of its links before the number of the rack.
PACKET = "packet"


class Uplinked(Fabric):
    """A fabric of racks with uplinks to optical switches, one switch for each uplink of a rack.

    Parameters
    ----------
    racks, hosts : int
        Number of racks, and of hosts in each rack.
    uplinks : int
        Number of uplinks of each rack.
    ecn_threshold : Queue or None
        Length above which an arriving ECN-capable packet is marked, in queues of racks for other racks, and in those of
        ports to hosts, where a fan-in waits.
    host_buffer : Queue
        What may wait in a rack for the line of one of its hosts.
    """

    racks: Annotated[int, whole(2, 128)] = 8
    hosts: Annotated[int, whole(1, 125)] = 1
    uplinks: Annotated[int, whole(1, 16)] = 1
    ecn_threshold: MaybeQueueLimit = None
    host_buffer: Buffer = Queue(bytes=1_000_000)

    def port(self) -> dict[str, Any]:
        """Return the queue of the port to a host; see `Fabric.port`."""
        marks = None if self.ecn_threshold is None else self.ecn_threshold.in_bytes(self.mtu)
        return {"port": {"buffer": self.host_buffer.model_dump(), "ecn_threshold": marks}}

    @model_validator(mode="after")
    def _sized(self) -> Self:
        check_hosts(self.hosts, self.racks)
        return self

    @property
    def guard(self) -> int:
        """Time in ns that the last frame of a slot needs on an uplink."""
        return -(-(self.mtu + self.overhead) * 8 * 10**9 // self.rate) + 1

    def check_night(self, night: int) -> None:
        """Raise FieldError if a night is shorter than the last frame of a day needs."""
        least = self.guard + LEAST_SLOT
        if night < least:
            allowed = f"at least {least} ns, which is {LEAST_SLOT} ns more than a frame takes on an uplink"
            raise FieldError("night", night, allowed)

    def check_uplinks(self) -> None:
        """Raise FieldError if a rack has as many uplinks as there are racks."""
        if self.uplinks >= self.racks:
            raise FieldError("uplinks", self.uplinks, f"less than the racks ({self.racks})")

    def link(self, rack: int, uplink: int) -> str:
        """Return the name of an uplink of a rack, both counted from 0."""
        return f"up{rack + 1}" if self.uplinks == 1 else f"up{rack + 1}-{uplink + 1}"

    def plane(self, optics: str) -> tuple[list[str], list[dict[str, Any]], list[dict[str, Any]]]:
        """Return names of racks, nodes of optical switches with names that begin with `optics`, and the uplinks."""
        racks = [f"rack{n}" for n in range(1, self.racks + 1)]
        names = [optics] if self.uplinks == 1 else [f"{optics}{n}" for n in range(1, self.uplinks + 1)]
        links = [
            {"name": self.link(rack, uplink), "between": [name, switch], "rate": self.rate, "delay": self.delay}
            for rack, name in enumerate(racks)
            for uplink, switch in enumerate(names)
        ]
        # Light reaches the optical switch after `delay`. The guard is the time that the last frame of a day needs.
        return (
            racks,
            [{"name": name, "optical": True, "late": self.delay, "guard": self.guard} for name in names],
            links,
        )

    def packet_plane(self, racks: list[str], rate: int, delay: int, buffer: Queue | None) -> list[dict[str, Any]]:
        """Return the links from racks to a packet switch, `PACKET`."""
        sizes = {"rate": rate, "delay": delay, "buffer": None if buffer is None else buffer.model_dump()}
        return [
            {"name": f"{PACKET}{number}", "between": [name, PACKET], **sizes} for number, name in enumerate(racks, 1)
        ]


def place_hosts(switches: list[str], count: int) -> list[tuple[str, str]]:
    """Return the pairs of host and switch for `count` hosts at each switch, in the order of switches."""
    return [(f"h{index * count + n}", switch) for index, switch in enumerate(switches) for n in range(1, count + 1)]


def check_hosts(hosts: int, switches: int) -> None:
    """Raise FieldError if the network would have more than `MOST_HOSTS` hosts."""
    if switches * hosts > MOST_HOSTS:
        allowed = f"at most {MOST_HOSTS // switches}, so that {switches} switches have no more than {MOST_HOSTS}"
        raise FieldError("hosts", hosts, allowed)
