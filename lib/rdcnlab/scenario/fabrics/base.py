# SPDX-License-Identifier: Apache-2.0
"""Base classes of fabrics: their links, queues and hosts, and the limits of their sizes."""

from __future__ import annotations

from typing import Any

from rdcnlab.fields.quantities import Duration, FieldError, Frozen, Mtu, Overhead, Rate, Size
from rdcnlab.scenario.queue import Buffer, Queue
from rdcnlab.scenario.queueing import Red

#: Largest number of hosts of a network.
MOST_HOSTS = 250
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


def place_hosts(switches: list[str], count: int) -> list[tuple[str, str]]:
    """Return the pairs of host and switch for `count` hosts at each switch, in the order of switches."""
    return [(f"h{index * count + n}", switch) for index, switch in enumerate(switches) for n in range(1, count + 1)]


def check_hosts(hosts: int, switches: int) -> None:
    """Raise FieldError if the network would have more than `MOST_HOSTS` hosts."""
    if switches * hosts > MOST_HOSTS:
        allowed = f"at most {MOST_HOSTS // switches}, so that {switches} switches have no more than {MOST_HOSTS}"
        raise FieldError("hosts", hosts, allowed)
