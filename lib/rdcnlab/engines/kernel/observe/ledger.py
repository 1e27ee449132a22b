# SPDX-License-Identifier: Apache-2.0
"""The ledger of a guest: the counters that ``inside/ledger.py`` copied, as accounts of lines, hosts and switches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from rdcnlab.engines.kernel.observe import counted as counters
from rdcnlab.engines.kernel.observe import explained
from rdcnlab.engines.kernel.observe.counted import Counted
from rdcnlab.engines.network import Network, Station
from rdcnlab.engines.observation import ledger as observation
from rdcnlab.engines.observation.ledger import Account
from rdcnlab.fields.errors import RunError

#: Faults that an error names.
_MOST = 5
#: Frames for which a card has room: veth's ring.
_CARD = 256


def table(network: Network, directory: Path) -> pa.Table:
    """Return the table ``ledger`` of a run from its directory.

    Raises
    ------
    RunError
        Frames are missing, or were dropped for a reason that no field of the scenario explains.
    """
    every = accounts(network, directory)
    wrong = observation.faults(every)
    if wrong:
        more = f"; and {len(wrong) - _MOST} more" if len(wrong) > _MOST else ""
        raise RunError(
            f"the ledger of frames does not balance: {'; '.join(wrong[:_MOST])}{more}", directory / counters.FILE
        )
    return observation.table(every)


def accounts(network: Network, directory: Path) -> list[Account]:
    """Return the accounts of a run: of lines and switches, of hosts, and of what lies between two devices."""
    counted = counters.read(directory)
    hosts = _hosts(network, counted)
    stations: dict[str, list[Station]] = {}
    for station in network.stations.values():
        stations.setdefault(station.host.of or station.name, []).append(station)
    of_hosts = [account for name, counts in hosts.items() for account in _host(network, name, stations[name], counts)]
    return [*_lines(network, counted.accounts), *of_hosts, *_between(network, counted, hosts)]


def _hosts(network: Network, counted: Counted) -> dict[str, counters.Network]:
    """Return the namespace of each host: that in which the devices of its lines are.

    Raises
    ------
    RunError
        A device is gone or has another name, so what it has counted is unknown.
    """
    by_device = counted.by_device()
    networks: dict[str, counters.Network] = {}
    for station in network.stations.values():
        device, host = f"{station.label}-eth0", station.host.of or station.name
        if device not in by_device or networks.setdefault(host, by_device[device]) is not by_device[device]:
            raise RunError(f"the ledger of frames has no device {device} of host {host}: a program has removed it")
    return networks


def _lines(network: Network, devices: Mapping[str, Any]) -> Iterator[Account]:
    """Yield the accounts of all lines, of the queues of schedules, and of each switch as a whole."""
    for device, parts in devices.items():
        names = _names(network, device)
        for kind, part in (("link", "line"), ("egress", "line"), ("ingress", "line"), ("class", "queue")):
            for key, values in parts.get(kind, {}).items():
                name = names.get(f"{kind} {key}")
                account = _line(network, name or f"{device}: {kind} {key}", part, values)
                # what has no name is a part of the switch, and is listed only if something is wrong with it
                if name is not None or account.faults:
                    yield account
        yield _line(network, names.get("switch", device), "switch", parts["switch"][device])


def _names(network: Network, device: str) -> dict[str, str]:
    """Return the names of the parts of a circuit switch or a panel, whose device is ``ocs`` and the switch's number."""
    names = {}
    for station in network.stations.values():
        names[f"egress {station.interface}"] = network.ports_to_hosts[station.name]
        names[f"ingress {station.interface}"] = network.host_sides[station.name]
    number = device.removeprefix("ocs")
    if number.isdigit() and int(number) < len(network.switches):
        names["switch"] = network.switches[int(number)]
        names |= {f"link {line.number}": line.name for line in network.lines_at(int(number))}
        names |= {f"class {number}": schedule.name for number, schedule in network.classes.queued.items()}
    return names


def _line(network: Network, place: str, part: str, counts: Mapping[str, Any]) -> Account:
    """Return the account of a line, a queue or a switch from that of the kernel's module."""
    frames = {name: counts.get(name, 0) for name in ("entered", "made", "delivered", "ended")}
    waiting = counts.get("queued", 0) + counts.get("flying", 0)
    dropped = counts["drops"]
    unexplained = explained.unexplained_on_lines(network, dropped)
    return Account(place, part, **frames, waiting=waiting, dropped=dropped, unexplained=unexplained)


def _host(network: Network, host: str, stations: Sequence[Station], counts: counters.Network) -> Iterator[Account]:
    """Yield the accounts of a host: the queue of each of its lines, IP, and its sockets."""
    for station in stations:
        queue = _own_queue(counts, station)
        if any(queue.values()):
            yield Account(
                network.host_sides[station.name], "queue", entered=sum(queue.values()), delivered=queue["sent"],
                waiting=queue["waiting"], dropped={"queue": queue["dropped"]},
            )  # fmt: skip
    count = counts.counters.get
    wrong = explained.unexplained_in_hosts(network, counts.counters)
    delivered = count("Ip.InDelivers", 0)
    yield Account(
        host, "host", entered=count("Ip.InReceives", 0), delivered=delivered + count("Ip.ForwDatagrams", 0),
        # fragments that were put together are one packet from then on
        ended=count("Ip.ReasmReqds", 0) - count("Ip.ReasmOKs", 0),
        dropped=counts.among(explained.IP_DROPS), unexplained=wrong,
    )  # fmt: skip
    dropped = counts.among(explained.SOCKET_DROPS)
    of_tcp = sum(value for name, value in dropped.items() if name.startswith("Tcp"))
    messages = count("Icmp.InMsgs", 0) - count("Icmp.InErrors", 0)
    read = count("Tcp.InSegs", 0) - of_tcp + messages + count("Udp.InDatagrams", 0)
    rest = delivered - read - sum(dropped.values())
    # of datagrams that nobody has read the kernel tells bytes only
    yield Account(
        host, "sockets", entered=delivered, delivered=read, dropped=dropped, unexplained=wrong,
        waiting=rest if counts.unread else 0,
    )  # fmt: skip
    vain = {name: frames for name, frames in counts.among(explained.SENDING_DROPS).items() if name in wrong}
    if vain:
        yield Account(host, "sending", entered=sum(vain.values()), dropped=vain, unexplained=wrong)


def _own_queue(counts: counters.Network, station: Station) -> dict[str, int]:
    """Return the frames that the queue of a host's line has sent, has dropped, and holds."""
    device = counts.devices[f"{station.label}-eth0"]
    queue = {name: device.get("qdisc", {}).get(name, 0) for name in ("sent", "waiting", "dropped")}
    if "card" in device:
        # what a discipline has sent and the card did not take waits again, and the kernel has counted it as sent
        taken = sum(device["card"][name] for name in ("tx_packets", "packets", "drops"))
        if 0 < queue["sent"] - taken <= queue["waiting"]:
            queue["sent"] = taken
    return queue


def _between(network: Network, counted: Counted, hosts: Mapping[str, counters.Network]) -> list[Account]:
    """Return the accounts of what devices hand over to each other, and what waits between them.

    Between two devices frames may wait in the backlog of a processor, which tells only how many there are in all.
    """
    between = [*_cables(network, counted, hosts), *_into_ip(network, hosts)]
    missing = [account.missing for account in between]
    if any(missing) and min(missing) >= 0 and sum(missing) <= counted.backlog["waiting"]:
        between = [
            dataclasses.replace(account, waiting=account.waiting + lacks)
            for account, lacks in zip(between, missing, strict=True)
        ]
    lost = {name: counted.backlog[name] for name in ("dropped", "unresolved") if counted.backlog[name]}
    named = {"dropped": "backlog", "unresolved": "neighbour unknown"}
    chosen = ("neighbour unknown",) if explained.decides(network) else ()
    for name, frames in lost.items():
        reasons = {named[name]: frames}
        wrong = tuple(reason for reason in reasons if reason not in chosen)
        between.append(Account("between devices", "hand-over", entered=frames, dropped=reasons, unexplained=wrong))
    # a row for each host and trunk would say nothing but that all is well
    return [account for account in between if account.waiting or account.faults or any(account.dropped.values())]


def _cables(network: Network, counted: Counted, hosts: Mapping[str, counters.Network]) -> Iterator[Account]:
    """Yield what passes from one device to another: between hosts and switches, and between switches."""
    ports = {name: values for device in counted.accounts.values() for name, values in device.get("port", {}).items()}
    for station in network.stations.values():
        port = ports.get(station.interface)
        if port is None:
            continue
        host = hosts[station.host.of or station.name]
        device = host.devices[f"{station.label}-eth0"]
        sent = _own_queue(host, station)["sent"] if "qdisc" in device else device.get("tx_packets", 0)
        if "card" in device:
            card = device["card"]
            yield Account(
                network.host_sides[station.name], "card", entered=sent, delivered=card["tx_packets"],
                waiting=card["packets"], dropped={"card": card["drops"]}, unexplained=("card",),
            )  # fmt: skip
            sent = card["tx_packets"]
        refused = {"backlog": device.get("tx_dropped", 0)}
        yield Account(
            network.host_sides[station.name], "hand-over", entered=sent, delivered=_frames(port, "entered"),
            dropped={reason: value for reason, value in refused.items() if value}, unexplained=("backlog",),
        )  # fmt: skip
        given, taken = _frames(port, "delivered"), device.get("rx_packets", 0)
        # a card that moderates interrupts counts a frame when the kernel fetches it; until then it waits in the card
        moderates = network.machines[station.host.of or station.name].offload.coalesce
        in_card = given - taken if moderates and 0 < given - taken <= _CARD else 0
        yield Account(
            network.ports_to_hosts[station.name], "hand-over", entered=given, delivered=taken, waiting=in_card
        )
    for trunk in network.trunks:
        for one, other in (trunk.ports, trunk.ports[::-1]):
            if one in ports and other in ports:
                left, came = _frames(ports[one], "delivered"), _frames(ports[other], "entered")
                yield Account(f"{one} to {other}", "hand-over", entered=left, delivered=came)


def _frames(account: Mapping[str, Any], name: str) -> int:
    return int(account.get(name, 0))


def _into_ip(network: Network, hosts: Mapping[str, counters.Network]) -> Iterator[Account]:
    """Yield what passes from a host's devices to its IP, unless the card merges frames or programs send other ones."""
    if explained.decides(network):
        return
    for host, counts in hosts.items():
        if network.machines[host].offload.gro:
            continue
        came = sum(device.get("rx_packets", 0) for device in counts.devices.values())
        other = {
            name: sum(device.get(name, 0) for device in counts.devices.values())
            for name in ("rx_dropped", "rx_nohandler", "rx_otherhost_dropped")
        }
        yield Account(
            host, "hand-over", entered=came, delivered=counts.counters.get("Ip.InReceives", 0),
            dropped={name: value for name, value in other.items() if value}, unexplained=tuple(other),
        )  # fmt: skip
