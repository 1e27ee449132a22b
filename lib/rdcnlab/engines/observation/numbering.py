# SPDX-License-Identifier: Apache-2.0
"""The meaning of the numbers in an engine's records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdcnlab.engines.network import Network, Traffic
from rdcnlab.engines.network.numbers import CARD_LINK, FIRST_PORT, LAST_LINK, PORT_LINK, TARGET
from rdcnlab.scenario import BYPASS, DARK, Port, Probes

#: Counts of packets, as ``inside/tools/tally.c`` writes them.
COUNTED = np.dtype(
    [("bytes", "<u8"), ("bin", "<u4"), ("packets", "<u4"), ("link", "<u2"), ("dport", "<u2"), ("unused", "<u4")]
)
#: Queues of lines in bins, as ``inside/tools/tally.c`` writes them: the integral of the length over time in B ns, and
#: the maximum in bytes; and queues at instants in ns since the start.
STANDING = np.dtype([("area", "<u8"), ("bin", "<u4"), ("most", "<u4"), ("link", "<u2"), ("unused", "<u2", 3)])
SNAPSHOTS = np.dtype([("time", "<u8"), ("length", "<u4"), ("link", "<u2"), ("unused", "<u2")])
#: Captured packets: ns since the start, index of the host in `Probes.capture`, ports, bytes of the frame, direction.
CAPTURED = np.dtype(
    [("time", "<i8"), ("host", "<i4"), ("sport", "<u2"), ("dport", "<u2"), ("len", "<u4"), ("leaves", "?")]
)


@dataclass(frozen=True)
class Numbering:
    """How to read the records of packets, slots and ACKs: structured arrays, ``time`` in ns since the start.

    Parameters
    ----------
    traffic : Traffic
        What the hosts sent.
    probes : Probes
        What was recorded.
    limit : int
        The length of the run in ns.
    lines : mapping of int to str
        Names of the lines inside the network, by the ``link`` of records.
    last_line : int
        The largest ``link`` of a line inside the network.
    ports : int
        The smallest ``link`` of a line to a receiver; all numbers above are lines to receivers too.
    dark, bypass : int
        The ``link`` or ``target`` that means no circuit, and the one that means straight to the receiver.
    classes : mapping of int to str
        Names of flows and schedules, by the ``class`` of records.
    queued : mapping of int to str
        Names of the schedules that have a queue for data, by ``class``.
    first_port : int
        The ``dport`` of the first flow; the other flows have the following numbers.
    cards : int
        The smallest ``link`` of a line from a host to its switch; all numbers from there to `ports` are such lines.
    receivers, senders : sequence of str
        The names of the line to the receiver, and of the line from the sender, for each flow.
    stamped : sequence of bool
        Whether packets of each flow have time stamps of TCP, if they are of TCP.
    ends : mapping of int to str
        Names of the lines to hosts that have several lines, by the ``class`` of records.
    listed : sequence of str
        Those of them whose queues the table ``queues`` lists.
    overhead : int
        Bytes that a frame needs on the wire in addition to its IP packet.
    """

    traffic: Traffic
    probes: Probes
    limit: int
    lines: Mapping[int, str]
    last_line: int
    ports: int
    dark: int
    bypass: int
    classes: Mapping[int, str]
    queued: Mapping[int, str]
    first_port: int
    cards: int
    receivers: Sequence[str]
    senders: Sequence[str]
    stamped: Sequence[bool]
    ends: Mapping[int, str]
    listed: Sequence[str]
    overhead: int

    @classmethod
    def of(cls, network: Network) -> Numbering:
        """Return how to read the records of a run."""
        classes, every = network.classes, network.traffic.all
        return cls(
            traffic=network.traffic,
            probes=network.probes,
            limit=network.limit,
            lines=network.places,
            last_line=LAST_LINK,
            ports=PORT_LINK,
            dark=TARGET[DARK],
            bypass=TARGET[BYPASS],
            classes=network.names,
            queued={number: schedule.name for number, schedule in classes.queued.items()},
            first_port=FIRST_PORT,
            cards=CARD_LINK,
            receivers=[network.ports_to_hosts[flow.dst] for flow in every],
            senders=[network.host_sides[flow.src] for flow in every],
            stamped=[all(network.transport_of(end).timestamps for end in (flow.src, flow.dst)) for flow in every],
            ends={number: network.ports_to_hosts[name] for name, number in classes.ends.items()},
            listed=[network.ports_to_hosts[host] for host in _listed(network)],
            overhead=network.overhead,
        )

    @property
    def targets(self) -> dict[int, str]:
        """Names of all targets that a slot can have."""
        return {**self.lines, self.dark: DARK, self.bypass: BYPASS}

    def flow(self, packets: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each record's flow."""
        number: NDArray[np.int64] = packets["dport"].astype(np.int64) - self.first_port
        return number

    def is_at_port(self, packets: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether each record is of a line to a receiver."""
        at_port: NDArray[np.bool_] = (packets["link"] >= self.ports) & (packets["link"] < self.bypass)
        return at_port

    def to_receiver(self, packets: NDArray[Any]) -> NDArray[Any]:
        """Return the name of the line to the receiver for each record; None for a line inside the network."""
        flow = np.where(self.is_at_port(packets), self.flow(packets), -1)
        names: NDArray[Any] = np.array([*self.receivers, None], dtype=object)[flow]
        for name, at_end in self.at_ends(packets):
            names[at_end] = name
        return names

    def at_ends(self, packets: NDArray[Any]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield the name of each line to a host that has several, and whether each record is of that line."""
        for number, name in self.ends.items():
            yield name, self.is_at_port(packets) & (packets["class"] == number)

    def at_hosts(self, packets: NDArray[Any]) -> NDArray[Any]:
        """Return the name of the line to the receiver or from the sender for each record; None for other lines."""
        from_host = (packets["link"] >= self.cards) & (packets["link"] < self.ports)
        flow = np.where(from_host, self.flow(packets), -1)
        senders = np.array([*self.senders, None], dtype=object)[flow]
        names: NDArray[Any] = np.where(from_host, senders, self.to_receiver(packets))
        return names

    def names(self, packets: NDArray[Any]) -> NDArray[Any]:
        """Return the name of each record's flow."""
        return np.array([flow.name for flow in self.traffic.all], dtype=object)[self.flow(packets)]

    def ours(self, packets: NDArray[Any]) -> NDArray[Any]:
        """Return the records of data packets; records of ACKs are in the input if ACKs share a queue with data."""
        last = self.first_port + len(self.traffic.all)
        return packets[(packets["dport"] >= self.first_port) & (packets["dport"] < last)]

    def connections(self, acks: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the ACKs of each connection, or of each subflow, with the number of its flow."""
        order = np.argsort(acks["dport"], kind="stable")
        ports = acks["dport"][order].astype(np.int64)
        ends = np.searchsorted(ports, self.first_port + np.arange(len(self.traffic.flows) + 1))
        for number, flow in enumerate(self.traffic.flows):
            of = acks[order[ends[number] : ends[number + 1]]]
            if flow.protocol == "mptcp":
                for cookie in np.unique(of["sock_cookie"]):
                    yield number, of[of["sock_cookie"] == cookie]
            else:
                yield number, of


@dataclass(frozen=True)
class OwnQueue:
    """The packets of a host's own queue: structured arrays with ``time`` in ns since the start and ``len`` in bytes.

    ``came`` are those that wait, ``left`` the same when they leave, and ``dropped`` those that found it full.
    """

    arrivals: NDArray[Any]
    departures: NDArray[Any]
    dropped: NDArray[Any]


@dataclass(frozen=True)
class Records:
    """The records of a run: structured arrays, ordered by time.

    Parameters
    ----------
    slots : ndarray
        Changes of slots: ``class``, ``slot``, ``target``.
    arrivals, departures : ndarray
        Packets that join and leave a queue: ``link``, ``class``, ``len``, ``dport``; the latter also ``qlen``.
    dropped, marked : ndarray
        The same for packets that are lost, with ``reason``, and for packets that are marked.
    acks : ndarray
        ACKs at senders: ``dport``, ``snd_una``, ``snd_cwnd``, ``ssthresh``, ``srtt``; with mptcp ``sock_cookie``.
    retransmissions : ndarray
        Retransmissions: ``dport``.
    discarded : ndarray
        Segments that a receiver discarded because of their timestamps.
    reports : sequence of (int, str, str or None, str or None, int)
        Events that switches reported themselves: time in ns, event, link, flow and value.
    counted : ndarray
        With `Probes.count`, counts of packets that left a line, in place of `departures`: ``bin``, ``link``, ``dport``,
        ``packets``, and ``bytes`` as the ``len`` of records.
    counted_marks : ndarray
        With `Probes.count`, the same for packets that were marked, in place of `marked`.
    standing, snapshots : ndarray
        With `Probes.count`, queues of lines in bins: ``bin``, ``link``, ``area``, ``most``; and at the instants of
        `Probes.snapshots`: ``time``, ``link``, ``length``.
    captured : ndarray
        Captured packets at hosts: ``host``, ``sport``, ``dport``, ``len``, ``leaves``.
    counters : mapping
        Counters of TCP by host and name.
    own : mapping of str to OwnQueue
        The packets of hosts' own queues, by the name of the host's line.
    """

    slots: NDArray[Any]
    arrivals: NDArray[Any]
    departures: NDArray[Any]
    dropped: NDArray[Any]
    marked: NDArray[Any]
    acks: NDArray[Any]
    retransmissions: NDArray[Any]
    discarded: NDArray[Any]
    counted: NDArray[Any] = field(default_factory=lambda: np.empty(0, COUNTED))
    counted_marks: NDArray[Any] = field(default_factory=lambda: np.empty(0, COUNTED))
    standing: NDArray[Any] = field(default_factory=lambda: np.empty(0, STANDING))
    snapshots: NDArray[Any] = field(default_factory=lambda: np.empty(0, SNAPSHOTS))
    captured: NDArray[Any] = field(default_factory=lambda: np.empty(0, CAPTURED))
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    reports: Sequence[tuple[int, str, str | None, str | None, int]] = ()
    own: Mapping[str, OwnQueue] = field(default_factory=dict)


def counts(directory: Path, name: str, kind: np.dtype[Any] = COUNTED, ending: str = "") -> NDArray[Any]:
    """Return the counts of an event in a file of ``tools/tally.c``; empty if the event was not counted."""
    path = directory / f"{name}.tally{ending}"
    return np.frombuffer(path.read_bytes(), kind) if path.exists() else np.empty(0, kind)


def _listed(network: Network) -> list[str]:
    """Return the receivers whose ports the table ``queues`` lists."""
    probes, hosts = network.probes, [station.host for station in network.stations.values()]
    if probes.count:
        return []  # their packets are not recorded
    of_several = network.classes.ends
    stated = {host.name for host in hosts if probes.ports or host.port != Port() or host.name in of_several}
    receivers = dict.fromkeys(flow.dst for flow in network.traffic.all)
    return [line.name for name in receivers for line in network.machines[name].stations if line.name in stated]
