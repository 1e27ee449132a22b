# SPDX-License-Identifier: Apache-2.0
"""The network of a scenario: hosts around one switch, and the links inside the switch."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from rdcnlab.fields.quantities import (
    Bytes32,
    Duration,
    FlowName,
    Frozen,
    HostName,
    Later,
    LinkName,
    Listed,
    Misfit,
    Mtu,
    Overhead,
    Rate,
    Share,
    Size,
    unique,
)
from rdcnlab.scenario.queue import Queue, QueueLimit
from rdcnlab.scenario.timetable import BYPASS, DARK, RESERVED, Schedule

__all__ = ["BYPASS", "DARK", "RESERVED", "Host", "Link", "Network", "Pool", "Queue", "Red"]


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
        Own queue limit in bytes, or None with a `pool`. None with neither: only schedules with a queue lead here.
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
        if self.buffer is not None and self.pool is not None:
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
    schedules : tuple of Schedule
        Timetables that flows share, by name; no link has the same name.
    """

    name: FlowName
    mtu: Mtu = 1500
    overhead: Overhead = 38
    hosts: Annotated[tuple[Host, ...], Field(min_length=2, max_length=250), Listed]
    links: Annotated[tuple[Link, ...], Field(max_length=1024), Listed] = ()
    pools: Annotated[tuple[Pool, ...], Field(max_length=1024), Listed] = ()
    schedules: Annotated[tuple[Schedule, ...], Field(max_length=1024), Listed, Later] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Network:
        for field in ("hosts", "links", "pools", "schedules"):
            unique(field, (item.name for item in getattr(self, field)))
        self._check_pools()
        self._check_schedules()
        return self

    def _check_pools(self) -> None:
        pools = [pool.name for pool in self.pools]
        for link in self.links:
            if link.pool is not None and link.pool not in pools:
                raise Misfit(
                    f"links.{link.name}.pool",
                    link.pool,
                    f"one of the pools {', '.join(pools)}" if pools else "none",
                )

    def _check_schedules(self) -> None:
        links = [link.name for link in self.links]
        for schedule in self.schedules:
            if schedule.name in links:
                raise Misfit(f"schedules.{schedule.name}.name", schedule.name, "a name that no link has")
            for place, slot in enumerate(schedule.slots):
                field = f"schedules.{schedule.name}.slots[{place}].link"
                if slot.link not in (*links, *RESERVED):
                    raise Misfit(field, slot.link, f"one of {', '.join([*links, *RESERVED])}")
                if not schedule.queues and slot.link in self.bare:
                    raise Misfit(field, slot.link, "a link with a buffer or a pool, for a schedule without a queue")
        served = {slot.link for schedule in self.schedules for slot in schedule.slots}
        for name in self.bare:
            if name not in served:
                allowed = "a buffer or a pool, because no schedule with a queue leads here"
                raise Misfit(f"links.{name}.buffer", None, allowed)

    @property
    def bare(self) -> tuple[str, ...]:
        """Links that have no queue but those of schedules."""
        return tuple(link.name for link in self.links if link.buffer is None and link.pool is None)

    def schedule(self, path: object) -> Schedule | None:
        """Return the schedule that a flow's path names; None where it is a link or a timetable of its own."""
        return next((schedule for schedule in self.schedules if schedule.name == path), None)

    def rtt_ns(
        self, src: str, dst: str, there: int, back: int, *, link: str | None = None, link_back: str | None = None
    ) -> float:
        """Return the RTT between two hosts while nothing else is on the way, in ns.

        Parameters
        ----------
        src, dst : str
            Names of the hosts.
        there : int
            Bytes of the packet on its way there; without `overhead`.
        back : int
            Bytes of the answer.
        link, link_back : str or None
            The link there, the first one if None, and the one back; the answer bypasses all links if None.
        """
        ends = [host for host in self.hosts if host.name in (src, dst)]
        cables = sum(host.delay for host in ends)
        lines = [host.rate for host in ends]
        first = next(each for each in self.links if link in (None, each.name))
        second = [each for each in self.links if each.name == link_back]
        time = sum(8e9 * (there + self.overhead) / rate for rate in [*lines, first.rate])
        time += sum(8e9 * (back + self.overhead) / rate for rate in [*lines, *(each.rate for each in second)])
        return 2 * cables + first.delay + sum(each.delay for each in second) + time

    def delay_ns(self, src: str, dst: str, there: int, back: int, *, rate: int, rtt_ns: float) -> int:
        """Return the delay of a link, taken there and back, with which two hosts have an RTT; see `rtt_ns`.

        Parameters
        ----------
        src, dst, there, back
            As in `rtt_ns`.
        rate : int
            Of the link, bit/s.
        rtt_ns : float
            The RTT while nothing else is on the way, in ns.
        """
        ends = [host for host in self.hosts if host.name in (src, dst)]
        lines = [*(host.rate for host in ends), rate]
        time = sum(8e9 * (size + self.overhead) / line for size in (there, back) for line in lines)
        return round((rtt_ns - 2 * sum(host.delay for host in ends) - time) / 2)
