# SPDX-License-Identifier: Apache-2.0
"""The queues of hosts at their own ends of cables, as the kernel's network devices trace them.

A host's queue is a discipline of Linux, which is no part of our switch. So its packets are those of two events of the
host's device: ``net_dev_queue``, before a packet is put into the queue, and ``net_dev_start_xmit``, when it leaves, to
the line or into the card's memory. A packet without the second event was dropped: the queue was full when it came.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdcnlab.engines.kernel.trace import records
from rdcnlab.engines.network import Network

if TYPE_CHECKING:
    from rdcnlab.engines.observation import OwnQueue

#: Events by the begin of the name of their trace.
EVENTS = {"queued": "net/net_dev_queue", "sent": "net/net_dev_start_xmit"}
#: Fields of a record: the address of the packet tells two packets apart while both exist.
FIELDS = ("skbaddr", "len")


def hosts(network: Network) -> list[str]:
    """Return the hosts, and further lines of hosts, whose own queues the table ``queues`` lists."""
    if not network.probes.ports or network.probes.count:
        return []
    users = dict.fromkeys(name for flow in network.traffic.all for name in (flow.src, flow.dst))
    return [line.name for name in users for line in network.machines[name].stations]


def probes(network: Network) -> list[dict[str, Any]]:
    """Return the events of all own queues that are listed."""
    labels = [network.stations[host].label for host in hosts(network)]
    return [
        {"name": f"{name}-{label}", "event": event, "filter": f'name == "{label}-eth0"', "fields": list(FIELDS)}
        for label in labels
        for name, event in EVENTS.items()
    ]


def read(network: Network, directory: Path, offset_ns: int) -> dict[str, OwnQueue]:
    """Return the packets of each queue, by the name of its line."""
    queues = {}
    for host in hosts(network):
        label = network.stations[host].label
        queued, sent = (records.read(directory, f"{name}-{label}", offset_ns, FIELDS) for name in EVENTS)
        queues[network.host_sides[host]] = matched(queued, sent)
    return queues


def matched(queued: NDArray[Any], sent: NDArray[Any]) -> OwnQueue:
    """Return the packets that waited in a queue, and those that were dropped because it was full.

    Packets that leave at the instant at which they come have not waited.

    Examples
    --------
    Of four packets that come at once, the first leaves at once, and the third finds the queue full. Its memory is used
    for a later one, which finds the queue empty:

    >>> kind = np.dtype([("time", "<i8"), ("skbaddr", "<u8"), ("len", "<u4")])
    >>> queued = np.array([(0, 1, 50), (0, 2, 60), (0, 3, 70), (9, 3, 90)], kind)
    >>> sent = np.array([(0, 1, 50), (5, 2, 60), (9, 3, 90)], kind)
    >>> queue = matched(queued, sent)
    >>> queue.arrivals["len"].tolist(), queue.departures["time"].tolist(), queue.dropped["len"].tolist()
    ([60], [5], [70])
    """
    # imported here because it loads pandas, and plans do without
    from rdcnlab.engines.observation import OwnQueue

    # a packet's memory is used anew only when it is gone, so the latest packet there is the one that leaves
    leaves, latest = np.full(len(queued), -1), dict[int, int]()
    addresses, arrivals = queued["skbaddr"].tolist(), queued["time"].tolist()
    index = 0
    for number, (time, address) in enumerate(zip(sent["time"].tolist(), sent["skbaddr"].tolist(), strict=True)):
        while index < len(arrivals) and arrivals[index] <= time:
            latest[addresses[index]] = index
            index += 1
        if address in latest:
            leaves[latest.pop(address)] = number
    joined = leaves >= 0
    waited = joined.copy()
    waited[joined] = sent["time"][leaves[joined]] > queued["time"][joined]
    # what still waits at the end was not dropped
    last = np.flatnonzero(joined)[-1] if joined.any() else -1
    waiting = np.arange(len(queued)) > last
    return OwnQueue(queued[waited | waiting], sent[leaves[waited]], queued[~(joined | waiting)])
