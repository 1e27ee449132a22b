# SPDX-License-Identifier: Apache-2.0
"""The lines of a switch that only forwards: a switch of another kind than ``ocs``.

::

    host s1 ===veth=== sw-s1 |       | x-s1 ===veth=== p-s1 |
                             | panel |                      | switch
    neighbour  ===veth=== t0 |       | n0x  ===veth=== n0   |
                             |       | d0x  ===veth=== d0   |  (the dark)

The kernel implements lines for every kind of switch. So rate, delay, queue and marking are those of an ``ocs`` device,
the panel, between the switch and its hosts and neighbours. The panel does not choose: packets from a host or a
neighbour go to the switch, and packets that the switch sends from a port take the line of this port. Packets that it
sends to the dark are counted and lost.

Frames to broadcast, multicast and unknown addresses are the exception, because no rule of ours is about them: the panel
itself copies them along a tree, as a switch ``ocs`` does. If a program of the user's decides (`circles.decides`), the
switch gets these frames, too, and what it sends to a host goes to that host, whatever its address.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rdcnlab.engines.kernel.switches import circles
from rdcnlab.engines.network import Network, Station, lines
from rdcnlab.engines.network.numbers import TARGET
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, DARK

#: Largest ids of a link and of a class at a panel: from there down they are free.
_LAST_LINK, _LAST_CLASS = 1023, 4095


def host_port(station: Station) -> str:
    """Return the port of a host at its switch, behind the panel."""
    return f"p-{station.label}"


def line_port(line: int) -> str:
    """Return the port of a line at its switch, behind the panel."""
    return f"n{line}"


def dark_port(switch: int) -> str:
    """Return the port from which a switch sends packets that must be lost."""
    return f"d{switch}"


def ports(switch: int, targets: Iterable[int], receiver: Station) -> list[str]:
    """Return the port of each target, for packets to a receiver."""
    known = {TARGET[DARK]: dark_port(switch), TARGET[BYPASS]: host_port(receiver)}
    return [known.get(target) or line_port(target) for target in targets]


def addresses(network: Network, switch: int) -> list[list[str]]:
    """Return the port for each host's address, for packets of no flow: they take the shortest way."""
    return [
        [station.mac, host_port(station) if line is None else line_port(line.number)]
        for station, line in network.reached(switch)
    ]


def common(kind: str, network: Network, switch: int, around: dict[str, Any]) -> dict[str, Any]:
    """Return the common part of the plans of switches behind a panel, for any kind; `around` is the panel's plan."""
    return {
        "kind": kind,
        "name": network.switches[switch],
        "number": switch,
        "ports": around["ports"],
        "panel": around,
        **{name: around[name] for name in ("hops_max",) if name in around},
    }


def plan(network: Network, switch: int) -> dict[str, Any]:
    """Return the plan of a switch's panel, for the guest.

    Keys beside those of an ``ocs`` switch: ``pairs`` are the cables to the switch; ``inward`` and ``outward`` give the
    destination of each port, of frames to any address if ``any``. Then frames leave a trail for ``trail`` ns.

    If a program of the user's decides, what the switch sends from a host's port goes to this host. Otherwise it goes to
    the host that has the packet's address, which is the same host if the switch has our entries.
    """
    decides = circles.decides(network, switch)
    hosts, own = network.stations_at(switch), network.lines_at(switch)
    static = network.classes.static
    # they have no rate, so no record has their numbers, which may be those of lines elsewhere
    links = iter(sorted(set(range(_LAST_LINK + 1)) - {line.number for line in own}, reverse=True))
    classes = iter(sorted(set(range(1, _LAST_CLASS + 1)) - set(static.values()), reverse=True))
    outside = [station.interface for station in hosts]
    inside = [host_port(station) for station in hosts]
    trunks = [line for line in own if line.trunk is not None]
    outside += [line.trunk or "" for line in trunks]
    inside += [line_port(line.number) for line in trunks]
    ports = len(outside) + (len(hosts) if decides else 0)
    if len(own) + ports > _LAST_LINK + 1:
        allowed = f"fewer at {network.switches[switch]}: a switch of another kind than ocs has {_LAST_LINK + 1} at most"
        raise InputError.of("network.links", f"{len(own) + ports} lines and ports", allowed)
    return {
        "device": f"ocs{switch}",
        "mtu": network.mtu,
        "links": [lines.line(network, line) for line in own],
        "pools": lines.pools(network),
        "ports": [lines.port(network, station) for station in hosts],
        "pairs": [
            [f"{port}x", port]
            for port in [*map(host_port, hosts), *(line_port(line.number) for line in own), dark_port(switch)]
        ],
        "inward": [
            {"from": one, "to": other, "link": next(links), "class": next(classes)}
            for one, other in [
                *((port, f"{inner}x") for port, inner in zip(outside, inside, strict=True)),
                *((f"{host_port(station)}x", station.interface) for station in (hosts if decides else [])),
            ]
        ],
        "outward": [
            *({"from": f"{line_port(one.number)}x", "target": one.number, "class": static[one.number]} for one in own),
            {"from": f"{dark_port(switch)}x", "target": TARGET[DARK], "class": next(classes)},
        ],
        "any": decides,
        "flooded": [] if decides else [line.number for line in own if line.number in network.tree],
        "trail": circles.TRAIL_NS if decides else 0,
        **circles.settings(network),
        "trunks": [line.trunk for line in trunks],
        "fdb": [
            [station.mac, station.interface if line is None else line.trunk or ""]
            for station, line in network.reached(switch)
        ],
        "seed": network.seed,
    }  # fmt: skip


def check(network: Network, switch: int, kind: str) -> None:
    """Raise InputError if a scenario asks something of a switch that only a switch ``ocs`` does.

    Raises
    ------
    InputError
        A way that begins there waits in the dark or in the queue of a schedule, or a host there would be notified.
    """
    name = network.switches[switch]
    for station in network.stations_at(switch):
        if station.name in network.classes.ends:
            hosts = (one.host for one in network.stations.values())
            line = next(one for one in hosts if one.of in (station.name, station.host.of) and one.of)
            why = f"because {station.name} is at {name}, which is {kind}, and only a switch ocs tells lines apart"
            raise InputError.left_out(f"network.hosts.{line.name}.of", line.of, why)
    for entry in network.entries[switch]:
        schedule = entry.way.schedule
        for index, _ in entry.way.flows:
            flow = network.traffic.flows[index]
            if flow.protocol == "mptcp":
                reason = f"flow {flow.name} passes {name}, which is {kind}; only a switch ocs tells subflows apart"
                raise InputError.of(f"flows.{flow.name}.protocol", flow.protocol, "another protocol", reason=reason)
        if schedule is not None and schedule.echo is not None and name in (entry.way.route.first, entry.way.echo):
            why = f"because {name} is {kind}, and only a switch ocs sets the flag of reTCP"
            raise InputError.left_out(f"network.schedules.{schedule.name}.echo", "given", why)
        if entry.way.route.first != name:
            continue
        why = f"because it begins at {name}, which is {kind}, and only a switch ocs {{}}"
        if schedule is None:
            if network.switch.dark == "hold" and TARGET[DARK] in entry.targets:
                raise InputError.of("switch.dark", "hold", f"drop, {why.format('holds packets back')}")
            continue
        field = f"network.schedules.{schedule.name}"
        if schedule.queue is not None:
            raise InputError.left_out(f"{field}.queue", "given", why.format("has queues of schedules"))
        if schedule.queues:
            raise InputError.of(f"{field}.dark", schedule.dark, f"drop, {why.format('holds packets back')}")
    for host in [notification.host for notification in network.notifications]:
        if network.stations[host].switch == switch:
            raise InputError.of("notify", host, f"a host at a switch ocs; {host} is at {name}, which is {kind}")
