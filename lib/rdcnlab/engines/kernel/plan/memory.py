# SPDX-License-Identifier: Apache-2.0
"""Memory of the guest for flows, and for their frames that wait or are under way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rdcnlab.engines.network import Network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import DARK, Flow

#: Memory of a flow in kB: two sockets, and what the program that carries the flows keeps of it.
_FLOW_KB = 20
#: Memory of a slot of a timetable in kB, and most slots of all timetables. The guest's program reads them all, and
#: User-Mode Linux needs a mapping of the host for each few pages, of which Linux allows a process 65530 by default.
_SLOT_KB, MOST_SLOTS = 2, 700_000
#: Bytes of a frame's memory beside its payload: headers and ``struct skb_shared_info`` in one piece of a power of two,
#: and ``struct sk_buff`` beside it. A datagram of 1472 B takes 2304 B.
_IN_ONE_PIECE, _BESIDE = 380, 256
#: The switch gives frames at most half of the memory (``wire_bytes`` in ``drivers/net/ocs/link.c``).
_OF_ALL = 2
#: No more is asked for, in kB: for datagrams, which nothing holds back, and for TCP, whose windows seldom fill. A run
#: that needs more ends with an error.
MOST_DATAGRAMS_KB, MOST_TCP_KB = 3_000_000, 800_000


def memory_kB(network: Network) -> int:  # noqa: N802  (unit)
    """Return the memory for all flows in kB, with their frames, and for the timetables of racks."""
    every = network.traffic.all
    held = {
        MOST_DATAGRAMS_KB: held_B(network, [flow for flow in every if not flow.is_tcp]),
        MOST_TCP_KB: held_B(network, [flow for flow in every if flow.is_tcp]),
    }
    frames = sum(min(most, _OF_ALL * size // 1000) for most, size in held.items())
    return _FLOW_KB * len(network.traffic.flows) + _SLOT_KB * _slots(network) + frames


def check(network: Network) -> None:
    """Raise InputError if the timetables of racks have more slots than a guest can read."""
    slots = _slots(network)
    if slots > MOST_SLOTS:
        racks = len(network.uplinks)
        allowed = (
            f"at most {MOST_SLOTS} slots in all timetables of racks; fewer racks, or circuits that change less often"
        )
        raise InputError.of("network.optics.slots", f"{slots} slots for {racks} racks", allowed)


def _slots(network: Network) -> int:
    """Return the number of slots of all timetables, if racks have some."""
    if network.optics is None:
        return 0
    return sum(len(schedule.slots) for schedule in network.classes.schedules.values())


def held_B(network: Network, flows: Sequence[Flow]) -> int:  # noqa: N802  (unit)
    """Return an upper bound of the memory of the flows' frames in queues and on lines, in bytes.

    It is what the senders can have under way, or what queues and lines hold, if that is less.
    """
    if not flows:
        return 0
    sent = [(under_way(network, flow), network.traffic.payloads[flow.name]) for flow in flows]
    held = sum(memory_of(size) * -(-most // size) for most, size in sent)
    room = sum(_rooms(network))
    if room < float("inf"):
        smallest = min(size for _, size in sent)
        held = min(held, memory_of(smallest) * -(-int(room) // smallest))
    return held


def memory_of(size: int) -> int:
    """Return the memory of a frame with so many bytes of payload.

    Examples
    --------
    >>> memory_of(1472), memory_of(100)
    (2304, 768)
    """
    return (1 << (size + _IN_ONE_PIECE - 1).bit_length()) + _BESIDE


def under_way(network: Network, flow: Flow) -> int:
    """Return an upper bound of the payload of a flow that is under way at one instant, in bytes."""
    most = min(network.traffic.sizes[flow.name], network.machines[flow.src].rate * network.limit // (8 * 10**9))
    if flow.is_tcp:
        most = min(most, network.transport_of(flow.src).wmem[2], network.transport_of(flow.dst).rmem[2])
    return most


def _rooms(network: Network) -> Iterator[float]:
    """Yield what each queue holds, and each line at most, in bytes; infinity if a queue has no limit."""
    mtu = network.mtu
    for line in network.lines:
        link = line.link
        yield link.rate * (link.delay + link.jitter) / 8e9
        yield float("inf") if link.pool or link.aqm else link.buffer_bytes(mtu)
    for station in network.stations.values():
        host = station.host
        yield 2 * host.rate * (host.delay + host.jitter) / 8e9 + host.nic_buffer
        yield float("inf") if host.port.buffer is None or host.port.aqm else host.port.buffer.in_bytes(mtu)
    for schedule in network.schedules:
        held = schedule.dark == "hold" and any(slot.link == DARK for slot in schedule.slots)
        yield schedule.queue.in_bytes(mtu) if schedule.queue else float("inf") if held else 0
    for way in network.ways:
        if way.schedule is None and len(way.route.ways) > 1:
            yield float("inf")  # packets of a flow with a timetable of its own wait in the dark
    if network.waiting:
        yield float("inf")
