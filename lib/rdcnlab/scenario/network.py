# SPDX-License-Identifier: Apache-2.0
"""The network of a scenario: hosts around one switch, and the links inside the switch."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_core.core_schema import SerializationInfo

from rdcnlab.scenario.fields import (
    TEXT,
    Bytes32,
    Duration,
    FlowName,
    Frozen,
    HostName,
    LinkName,
    Listed,
    Misfit,
    Mtu,
    Overhead,
    Rate,
    Share,
    Size,
    unique,
    whole,
)
from rdcnlab.units import SIZE

#: Targets of a slot that are not links: nothing passes, or straight to the receiver's port.
DARK = "dark"
BYPASS = "bypass"
RESERVED = (DARK, BYPASS)


class Queue(Frozen):
    """Limit of a queue; text form ``2 MB`` or ``1000 packets``.

    Parameters
    ----------
    bytes, packets : int or None
        Exactly one of the two is given.
    """

    bytes: Bytes32 | None = None
    packets: Annotated[int, whole(1, 2**31 - 1)] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Queue:
        if (self.bytes is None) == (self.packets is None):
            raise ValueError("either bytes or packets")
        return self


_PACKETS = re.compile(r"([0-9]{1,9})[ \t]*packets?")


def _read_queue(value: Any) -> Any:
    if isinstance(value, str):
        match = _PACKETS.fullmatch(value.strip())
        if match is not None:
            return {"packets": int(match[1])}
        try:
            SIZE.parse(value)
        except ValueError:
            raise ValueError("a size such as '2 MB' or a count such as '1000 packets'") from None
        return {"bytes": value}
    return value


def _write_queue(queue: Queue, info: SerializationInfo) -> str | dict[str, int | None]:
    if (info.context or {}).get(TEXT):
        return f"{queue.packets} packets" if queue.bytes is None else SIZE.format(queue.bytes)
    return {"bytes": queue.bytes, "packets": queue.packets}


QueueLimit = Annotated[Queue, BeforeValidator(_read_queue), PlainSerializer(_write_queue)]


class Host(Frozen):
    """A host and its cable to the switch.

    Parameters
    ----------
    name : str
        Lower-case letters and digits, at most 8, because it becomes part of an interface name.
    rate : int
        Line rate in bit/s, both from the host and to it; `Network.overhead` is counted.
    delay : int
        Propagation in ns, one way.
    queue : Queue
        Limit of the host's own egress queue.
    nic_buffer : int
        Bytes the network card takes from the host and keeps until the line is free. The host's kernel counts them as
        sent, so TCP small queues do not see them.
    """

    name: HostName
    rate: Rate
    delay: Duration = 0
    queue: QueueLimit = Queue(packets=1000)
    nic_buffer: Size = 0


class Red(Frozen):
    """Random early drop of packets that cannot be marked.

    Parameters
    ----------
    min, max : int
        Bytes in the queue where dropping begins, and where everything is dropped.
    probability : int
        Drop probability just below `max`, in millionths; text form ``10 %``.
    """

    min: Size
    max: Size
    probability: Share

    @model_validator(mode="after")
    def _ordered(self) -> Red:
        if self.min > self.max:
            raise Misfit("min", self.min, f"at most max ({self.max})")
        return self


class Link(Frozen):
    """A link inside the switch, with the queue in front of it.

    Parameters
    ----------
    name : str
        Name that timetables use; ``dark`` and ``bypass`` are reserved.
    rate : int
        bit/s on the wire, `Network.overhead` counted.
    delay : int
        Propagation in ns.
    buffer : int or None
        Own queue limit in bytes, or None with a `pool`.
    pool : str or None
        The shared buffer the queue draws from.
    ecn_threshold : int or None
        Queue length in bytes above which an arriving ECN-capable packet is marked.
    red : Red or None
        What happens to packets that are not ECN-capable.
    """

    name: LinkName
    rate: Rate
    delay: Duration = 0
    buffer: Bytes32 | None = None
    pool: LinkName | None = None
    ecn_threshold: Size | None = None
    red: Red | None = None

    @model_validator(mode="after")
    def _one_buffer(self) -> Link:
        if self.name in RESERVED:
            raise Misfit("name", self.name, f"a name other than {' and '.join(RESERVED)}")
        if (self.buffer is None) == (self.pool is None):
            raise ValueError("either buffer or pool")
        return self


class Pool(Frozen):
    """A buffer that several links share; `size` in bytes."""

    name: LinkName
    size: Bytes32


class Network(Frozen):
    """Hosts around one switch.

    Parameters
    ----------
    name : str
        A label; it does not enter the scenario's hash.
    mtu : int
        Largest IP packet in bytes.
    overhead : int
        Bytes a frame adds on the wire: header, FCS, preamble and gap.
    hosts, links, pools : tuple
        Names are unique in each.
    """

    name: FlowName
    mtu: Mtu = 1500
    overhead: Overhead = 38
    hosts: Annotated[tuple[Host, ...], Field(min_length=2, max_length=250), Listed]
    links: Annotated[tuple[Link, ...], Field(max_length=1024), Listed] = ()
    pools: Annotated[tuple[Pool, ...], Field(max_length=1024), Listed] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Network:
        for field in ("hosts", "links", "pools"):
            unique(field, (item.name for item in getattr(self, field)))
        pools = [pool.name for pool in self.pools]
        for link in self.links:
            if link.pool is not None and link.pool not in pools:
                raise Misfit(
                    f"links.{link.name}.pool",
                    link.pool,
                    f"one of the pools {', '.join(pools)}" if pools else "none",
                )
        return self

    def rtt_ns(self, src: str, dst: str, there: int, back: int) -> float:
        """Return the RTT between two hosts while nothing else is on the way, in ns.

        Parameters
        ----------
        src, dst : str
            Names of the hosts.
        there : int
            Bytes of the packet on its way there, through the first of the links; without `overhead`.
        back : int
            Bytes of the answer, which bypasses the links.
        """
        ends = [host for host in self.hosts if host.name in (src, dst)]
        cables = sum(host.delay for host in ends)
        lines = [host.rate for host in ends]
        link = self.links[0]
        first = sum(8e9 * (there + self.overhead) / rate for rate in [*lines, link.rate])
        second = sum(8e9 * (back + self.overhead) / rate for rate in lines)
        return 2 * cables + link.delay + first + second
