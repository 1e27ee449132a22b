# SPDX-License-Identifier: Apache-2.0
"""The network of a scenario: its elements together, and whether they fit."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field, model_validator

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import (
    FieldError,
    FlowName,
    Frozen,
    Listed,
    Mtu,
    Overhead,
    canonical_json,
    omit_default,
    unique,
)
from rdcnlab.fields.units import WIRE_OVERHEAD
from rdcnlab.scenario.elements import Host, Link, Node, Pool
from rdcnlab.scenario.identity import without
from rdcnlab.scenario.optics import Optics
from rdcnlab.scenario.routes import Graph
from rdcnlab.scenario.timetable import DARK, ECMP, LEAST_SLOT, RESERVED, SAME, Schedule

#: Number of shared buffers that a switch can have, as the kernel's ``OCS_POOL_MAX``.
MOST_POOLS = 64

#: Lines that a host can have: the kernel keeps 8 addresses of a host for Multipath TCP (``MPTCP_PM_ADDR_MAX``).
MOST_LINES = 8

#: Number of hosts that a network can have, with their further lines.
MOST_HOSTS = 1000

#: Name of the switch of a network that names no switch.
ONLY_SWITCH = "sw"

_Named = TypeVar("_Named", Node, Host, Link)


def _named(kind: str, things: Mapping[str, _Named], name: str) -> _Named:
    if name in things:
        return things[name]
    what = kind.removesuffix("es" if kind == "switches" else "s")
    raise InputError.unknown(f"network.{kind}", name, list(things), what)


@functools.lru_cache(maxsize=64)
def _graph(
    switches: tuple[str, ...],
    links: tuple[tuple[str, tuple[str, str]], ...],
    loops: tuple[tuple[str, str], ...],
    weights: tuple[tuple[str, int], ...],
) -> Graph:
    """Return the graph of a network; equal networks share it, with the ways that were found in it."""
    return Graph(switches, dict(links), dict(loops), dict(weights))


class Network(Frozen):
    """Hosts at one switch, or a graph of several switches with their hosts.

    Parameters
    ----------
    name : str
        A label; it is not part of the scenario's hash.
    mtu : int
        Largest IP packet in bytes.
    overhead : int
        Bytes that a frame needs on the wire in addition to its IP packet: header, FCS, preamble and gap.
    hosts, links, pools : tuple
        Names are unique within each of them. Among the hosts are the further lines of hosts (`Host.of`).
    schedules : tuple of Schedule
        Timetables that flows share, by name. A schedule must not have the name of a link.
    switches : tuple of Node
        The switches of a graph: each host is `at` one of them and each link is `between` two. If empty, the network has
        one switch, and the links are inside it.
    optics : Optics or None
        Circuits that the optical switches join, and the routing of all packets between racks over them.
    ends : {'exact', 'bucket'}
        The hosts' own ends of their cables. ``exact``: lines like all others, below the queueing disciplines of the
        hosts; no frame leaves earlier than arithmetic allows. ``bucket``: a token bucket, Linux's ``tbf``, is the
        root discipline of a host, so that a single frame leaves at once, and the rate is a little too high. The
        networks of the papers state it; all others are ``exact`` unless they state something else.
    """

    _computed: ClassVar[tuple[str, ...]] = (
        *Frozen._computed, "unnamed_text", "checked_ways", "_nodes_by_name", "_hosts_by_name", "_links_by_name",
    )  # fmt: skip

    name: FlowName
    mtu: Mtu = 1500
    overhead: Overhead = WIRE_OVERHEAD
    hosts: Annotated[tuple[Host, ...], Field(min_length=2, max_length=MOST_HOSTS), Listed]
    links: Annotated[tuple[Link, ...], Field(max_length=1024), Listed] = ()
    pools: Annotated[tuple[Pool, ...], Field(max_length=MOST_POOLS), Listed] = ()
    schedules: Annotated[tuple[Schedule, ...], Field(max_length=4096), Listed, omit_default] = ()
    switches: Annotated[tuple[Node, ...], Field(max_length=256), Listed, omit_default] = ()
    optics: Annotated[Optics | None, omit_default] = None
    ends: Annotated[Literal["exact", "bucket"], omit_default] = "bucket"

    @model_validator(mode="after")
    def _consistent(self) -> Network:
        for field in ("hosts", "links", "pools", "schedules", "switches"):
            unique(field, (item.name for item in getattr(self, field)))
        self._check_pools()
        self._check_lines_of_hosts()
        self._check_disciplines()
        if self.optics is not None:
            self._check_optics(self.optics)
        if self.switches:
            self._check_graph()
        else:
            self._check_no_graph()
            self._check_schedules()
        return self

    @functools.cached_property
    def graph(self) -> Graph:
        """Switches and links as a graph; all links are loops at the switch of a network that names none."""
        ends = tuple((link.name, link.between) for link in self.links if link.between is not None)
        loops = tuple((link.name, link.at or ONLY_SWITCH) for link in self.links if link.between is None)
        weights = tuple((link.name, link.weight) for link in self.links if link.between is not None)
        return _graph(tuple(node.name for node in self.nodes), ends, loops, weights)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The switches, also of a network that names none: it has one, `ONLY_SWITCH`."""
        return self.switches or (Node(name=ONLY_SWITCH),)

    @functools.cached_property
    def unnamed_text(self) -> str:
        """Canonical JSON without the name, which is only a label."""
        return canonical_json(without(self._plain, "name"))

    @functools.cached_property
    def checked_ways(self) -> set[Hashable]:
        """Receives the ways that were found possible for scenarios with this network, so that each is checked once.

        `rdcnlab.scenario.consistency` fills it.
        """
        return set()

    @functools.cached_property
    def machines(self) -> tuple[Host, ...]:
        """The hosts, without the further lines of hosts."""
        return tuple(host for host in self.hosts if host.of is None)

    @functools.cached_property
    def _machine_names(self) -> frozenset[str]:
        return frozenset(host.name for host in self.machines)

    def check_host(self, field: str, name: str) -> None:
        """Raise FieldError about a field if a name is not that of a host, but unknown or that of a further line."""
        if name in self._machine_names:
            return
        line = next((host for host in self.hosts if host.name == name), None)
        if line is not None:
            reason = f"{name} is a line of the host {line.of}, not a host; write {line.of}"
            raise FieldError(field, name, f"a host, such as {line.of}", reason=reason)
        raise FieldError.unknown(field, name, [host.name for host in self.machines], "host")

    def lines_of(self, name: str) -> tuple[Host, ...]:
        """Return all lines of a host: its own entry first, then its further lines in the order of the network."""
        return (self.host(name), *(line for line in self.hosts if line.of == name))

    @functools.cached_property
    def _nodes_by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @functools.cached_property
    def _hosts_by_name(self) -> dict[str, Host]:
        return {host.name: host for host in self.hosts}

    @functools.cached_property
    def _links_by_name(self) -> dict[str, Link]:
        return {link.name: link for link in self.links}

    def node(self, name: str) -> Node:
        """Return the switch of this name; an unknown one raises InputError."""
        return _named("switches", self._nodes_by_name, name)

    def host(self, name: str) -> Host:
        """Return the host of this name; an unknown one raises InputError."""
        return _named("hosts", self._hosts_by_name, name)

    def link(self, name: str) -> Link:
        """Return the link of this name; an unknown one raises InputError."""
        return _named("links", self._links_by_name, name)

    def _check_optics(self, optics: Optics) -> None:
        """Raise FieldError if circuits or a table name links that do not lead from a rack to an optical switch."""
        optical = {node.name for node in self.switches if node.optical}
        ends = {link.name: link.between for link in self.links if link.between is not None}
        inner = {name: [end for end in pair if end in optical] for name, pair in ends.items()}
        uplinks = [name for name, tops in inner.items() if len(tops) == 1]
        if self.schedules:
            raise FieldError.left_out("schedules", "given", "with optics, whose circuits decide for all flows")
        for place, slot in enumerate(optics.slots):
            for pair in slot.circuits:
                for name in pair:
                    if name not in uplinks:
                        what = "link to an optical switch"
                        raise FieldError.unknown(f"optics.slots[{place}].circuits", name, uplinks, what)
                if inner[pair[0]] != inner[pair[1]]:
                    allowed = "two links of the same optical switch"
                    raise FieldError(f"optics.slots[{place}].circuits", f"{pair[0]}, {pair[1]}", allowed)
        if optics.demand is not None:
            nodes = [node for node in self.switches if node.optical]
            least = LEAST_SLOT + max((node.guard + node.late for node in nodes), default=0)
            if optics.demand.night < least:
                allowed = f"at least {least} ns, so that the last frame of a circuit has passed the optical switch"
                raise FieldError("optics.demand.night", f"{optics.demand.night} ns", allowed)
            if optics.demand.decide == "birkhoff" and len(nodes) > 1:
                allowed = "matching or greedy with several optical switches; permutations are for one"
                raise FieldError("optics.demand.decide", "birkhoff", allowed)
        for place, row in enumerate(optics.table):
            field = f"optics.table[{place}]"
            here = [name for name in uplinks if row.rack in ends[name]]
            if not here or row.rack in optical:
                racks = [node.name for node in self.switches if node.name not in optical]
                raise FieldError.unknown(f"{field}.rack", row.rack, racks, "rack with a link to an optical switch")
            if row.link not in here:
                raise FieldError.unknown(f"{field}.link", row.link, here, f"link from {row.rack} to an optical switch")
            if row.slot > len(optics.slots):
                raise FieldError(f"{field}.slot", row.slot, f"1 to {len(optics.slots)}, a slot of the circuits")

    def _check_lines_of_hosts(self) -> None:
        """Raise FieldError if a further line belongs to no host, or the network is none for hosts with several."""
        names = [host.name for host in self.machines]
        for line in self.hosts:
            if line.of is None:
                continue
            field = f"hosts.{line.name}.of"
            if line.of not in names:
                raise FieldError.unknown(field, line.of, names, "host")
            if not self.switches:
                raise FieldError.left_out(field, line.of, "in a network without switches")
            if self.optics is not None:
                raise FieldError.left_out(field, line.of, "with optics, where hosts have one line")
            count = len(self.lines_of(line.of))
            if count > MOST_LINES:
                raise FieldError(field, f"{count} lines of {line.of}", f"at most {MOST_LINES} lines of a host")
        if len(names) < 2:
            raise FieldError("hosts", f"{len(names)} host", "at least two hosts; an entry with of is a line of a host")

    def _check_disciplines(self) -> None:
        for host in self.hosts:
            if host.qdisc is not None and self.ends == "bucket":
                why = "with ends: bucket, where the line itself is the host's discipline"
                raise FieldError.left_out(f"hosts.{host.name}.qdisc", host.qdisc.kind, why)

    def _check_no_graph(self) -> None:
        for host in self.hosts:
            if host.at is not None:
                raise FieldError.left_out(f"hosts.{host.name}.at", host.at, "in a network without switches")
        for link in self.links:
            for field in ("between", "at"):
                if getattr(link, field) is not None:
                    why = "in a network without switches"
                    raise FieldError.left_out(f"links.{link.name}.{field}", getattr(link, field), why)
            if link.weight != 1:
                raise FieldError(f"links.{link.name}.weight", link.weight, "1, in a network without switches")
        for schedule in self.schedules:
            if schedule.pair is not None:
                raise FieldError.left_out(
                    f"schedules.{schedule.name}.pair", schedule.pair, "in a network without switches"
                )

    def _check_graph(self) -> None:
        names = [node.name for node in self.switches]
        reserved, used_names = {*RESERVED, ECMP, SAME}, set[str]()
        for field in ("switches", "links", "schedules"):
            for item in getattr(self, field):
                if item.name in used_names or item.name.lower() in reserved:
                    allowed = "a name that no other switch, link or schedule has, and that is not reserved"
                    raise FieldError(f"{field}.{item.name}.name", item.name, allowed)
                used_names.add(item.name)
        allowed = f"one of the switches {', '.join(names)}"
        for host in self.hosts:
            if host.at not in names:
                if host.at is None:
                    raise FieldError(f"hosts.{host.name}.at", None, f"{allowed}, to which the host is connected")
                raise FieldError.unknown(f"hosts.{host.name}.at", host.at, names, "switch")
            if self.node(host.at).optical:
                raise FieldError(f"hosts.{host.name}.at", host.at, "a switch that is not optical, which has no hosts")
        for link in self.links:
            if link.at is not None:
                if link.at not in names or link.between is not None or self.node(link.at).optical:
                    allowed_at = f"{allowed} that is not optical, or two of them as between"
                    raise FieldError(f"links.{link.name}.at", link.at, allowed_at)
                if link.weight != 1:
                    raise FieldError(f"links.{link.name}.weight", link.weight, "1, for a link inside a switch")
                continue
            if link.between is None or len(set(link.between)) < 2:
                raise FieldError(f"links.{link.name}.between", link.between, f"two of the switches {', '.join(names)}")
            for end in link.between:
                if end not in names:
                    raise FieldError.unknown(f"links.{link.name}.between", end, names, "switch")
        self._check_ways_of_schedules()
        homes = list(dict.fromkeys(host.at for host in self.hosts if host.at is not None))
        for home in homes[1:]:
            if self.graph.distance(homes[0], home) is None:
                raise FieldError(
                    "links", f"no way from {homes[0]} to {home}", "links that join all switches with hosts"
                )

    def _check_ways_of_schedules(self) -> None:
        """Raise FieldError if a schedule names a link or switch that does not exist; the scenario checks the ways."""
        hosting = [node.name for node in self.switches if not node.optical]
        names = {*(node.name for node in self.switches), *(link.name for link in self.links)}
        pairs: dict[tuple[str, str], str] = {}
        for schedule in self.schedules:
            for index, slot in enumerate(schedule.slots):
                if slot.link in (*RESERVED, ECMP):
                    continue
                for name in slot.link.split("+"):
                    if name not in names:
                        field = f"schedules.{schedule.name}.slots[{index}].link"
                        raise FieldError.unknown(field, name, [*sorted(names), DARK, ECMP], "link or switch")
            if schedule.pair is None:
                continue
            for end in schedule.pair:
                if end not in hosting:
                    field = f"schedules.{schedule.name}.pair"
                    raise FieldError.unknown(field, end, hosting, "switch that is not optical")
            owner = pairs.setdefault(schedule.pair, schedule.name)
            if owner != schedule.name:
                raise FieldError(f"schedules.{schedule.name}.pair", schedule.pair, f"a pair other than that of {owner}")

    def _check_pools(self) -> None:
        pools = [pool.name for pool in self.pools]
        chosen = {f"links.{link.name}.pool": link.pool for link in self.links}
        chosen |= {f"hosts.{host.name}.port.pool": host.port.pool for host in self.hosts}
        for field, pool in chosen.items():
            if pool is not None and pool not in pools:
                raise FieldError.unknown(field, pool, pools, "pool")

    def _check_schedules(self) -> None:
        links = [link.name for link in self.links]
        for schedule in self.schedules:
            if schedule.name in links:
                raise FieldError(f"schedules.{schedule.name}.name", schedule.name, "a name that no link has")
            for index, slot in enumerate(schedule.slots):
                field = f"schedules.{schedule.name}.slots[{index}].link"
                if slot.link not in (*links, *RESERVED):
                    raise FieldError.unknown(field, slot.link, [*links, *RESERVED], "link")
                if not schedule.queues and slot.link in self.bare:
                    raise FieldError(field, slot.link, "a link with a buffer or a pool, for a schedule without a queue")
        served = {slot.link for schedule in self.schedules for slot in schedule.slots}
        for name in self.bare:
            if name not in served:
                allowed = "a buffer or a pool, because no schedule with a queue leads here"
                raise FieldError(f"links.{name}.buffer", None, allowed)

    @functools.cached_property
    def bare(self) -> tuple[str, ...]:
        """Links that have no queue of their own, so that only the queues of schedules lead to them."""
        return tuple(link.name for link in self.links if not link.has_queue)

    @functools.cached_property
    def uneven(self) -> bool:
        """Whether a switch has a guard or jitter, which changes its timetables and can make one impossible."""
        return any(node.guard or node.jitter for node in self.switches)

    def schedule(self, path: object) -> Schedule | None:
        """Return the schedule that a flow's path names; None if the path is a link or the flow's own timetable."""
        return next((schedule for schedule in self.schedules if schedule.name == path), None)

    def serialises(self, host: Host) -> bool:
        """Whether a single packet takes time on a host's own line.

        With token buckets it does only if the card has a buffer. Otherwise the host's kernel keeps the rate, and a
        single packet leaves at once.
        """
        return self.ends == "exact" or host.nic_buffer > 0

    def rtt_ns(
        self, src: str, dst: str, there: int, back: int, *, link: str | None = None, link_back: str | None = None
    ) -> float:
        """Return the RTT in ns between two hosts on an otherwise empty network.

        See `serialises` for the line of the host that sends.

        Parameters
        ----------
        src, dst : str
            Names of the hosts.
        there : int
            Bytes of the packet from `src` to `dst`, without `overhead`.
        back : int
            Bytes of the answer, without `overhead`.
        link, link_back : str or None
            The link of the packet (None: the network's first link) and the link of the answer (None: the answer
            bypasses all links).
        """
        ends = [host for host in self.hosts if host.name in (src, dst)]
        cables = sum(host.delay for host in ends)
        first = self.links[0] if link is None else self.link(link)
        second = [candidate for candidate in self.links if candidate.name == link_back]
        time = sum(8e9 * (there + self.overhead) / rate for rate in [*self._lines(src, dst), first.rate])
        rates = [*self._lines(dst, src), *(candidate.rate for candidate in second)]
        time += sum(8e9 * (back + self.overhead) / rate for rate in rates)
        return 2 * cables + first.delay + sum(candidate.delay for candidate in second) + time

    def delay_ns(self, src: str, dst: str, there: int, back: int, *, rate: int, rtt_ns: float) -> int:
        """Return the delay (ns) of a link, used in both directions, that gives two hosts an RTT; see `rtt_ns`.

        Parameters
        ----------
        src, dst, there, back
            As in `rtt_ns`.
        rate : int
            Rate of the link in bit/s.
        rtt_ns : float
            The RTT in ns on an otherwise empty network.
        """
        ends = [host for host in self.hosts if host.name in (src, dst)]
        ways = ((there, self._lines(src, dst)), (back, self._lines(dst, src)))
        time = sum(8e9 * (size + self.overhead) / line for size, lines in ways for line in (*lines, rate))
        return round((rtt_ns - 2 * sum(host.delay for host in ends) - time) / 2)

    def _lines(self, first: str, last: str) -> list[int]:
        """Return the rates of the cables that a single packet between two hosts waits for."""
        sender, receiver = self.host(first), self.host(last)
        return [*([sender.rate] if self.serialises(sender) else []), receiver.rate]
