# SPDX-License-Identifier: Apache-2.0
"""Which kernel events are recorded, and how records are reduced while the run goes on.

Records leave the guest while they are made (patch 0075), so no buffer must have room for those of a run.
"""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.switches.switch_set import Switches
from rdcnlab.engines.kernel.trace import NO_MEMORY, attribution, fields
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import FIRST_PORT, PORTS, START_NS, TARGET
from rdcnlab.scenario import DARK

#: Trace filter for events in the queue of a class, which a link serves, or no link in the dark.
IN_CLASS = f"(link <= 1023 || link == {TARGET[DARK]})"
#: Trace filter that no packet passes.
NOTHING = "dport == 1 && dport == 2"
#: Subsystem of an event, if its name does not begin with it.
SUBSYSTEM = {"kfree_skb": "skb"}
#: With `Probes.count`: ns after which records are read and removed, the fields that this takes (as ``tools/tally.c``
#: reads them), and the events that are counted.
COUNT_EVERY_NS, TALLIED = 250_000_000, ("link", "dport", "len")
COUNTED_EVENTS = ("ocs_dequeue", "ocs_mark")
#: Memory of the guest for an event that is recorded, in kB: a trace instance, and 16 KiB of records on their way.
PROBE_KB = 64


def probes(network: Network, switches: Switches) -> list[dict[str, Any]]:
    """Return the events to record: each with its filter and fields, and the way in which its records are reduced."""
    flows = network.traffic.flows
    first, last = FIRST_PORT, FIRST_PORT + min(len(flows), PORTS) - 1
    flow_filter = f"dport >= {first} && dport <= {last}" if flows else NOTHING
    of_programs = attribution.condition(network)
    conditions = [flow_filter] * bool(flows) + [of_programs] * bool(of_programs)
    packet_filter = f"({' || '.join(conditions)})" if len(conditions) > 1 else (conditions or [NOTHING])[0]
    queued = sorted(network.classes.queued)
    # packets that wait in the queue of a class, including ACKs
    waiting_filter = f"class >= {queued[0]} && class <= {queued[-1]} && {IN_CLASS}" if queued else ""
    passing_filter = f"{packet_filter} && {switches.places}"
    dequeue_filter = f"({passing_filter}) || ({waiting_filter})" if waiting_filter else passing_filter
    counts = bool(network.probes.count)
    if counts:
        dequeue_filter = f"{packet_filter} && ({_counted(network)})"
    events = {
        "tcp_retransmit_skb": flow_filter,
        "ocs_dequeue": dequeue_filter,
        # whosever frame had no memory, the run is void
        "ocs_drop": f"({packet_filter}) || reason == {NO_MEMORY}",
        "ocs_mark": dequeue_filter if counts else packet_filter,
        "ocs_slot": _turned(network),
    }
    if network.probes.packets:
        events["ocs_enqueue"] = dequeue_filter
    elif waiting_filter:
        events["ocs_enqueue"] = waiting_filter
    if network.probes.discards:
        events["kfree_skb"] = "reason == {TCP_RFC7323_PAWS}"
    if network.probes.tcp != "none":
        # data_len == 0: the packet that arrives is an ACK
        events["tcp_probe"] = f"data_len == 0 && {flow_filter}"
    return [
        {
            "name": name,
            "event": f"{SUBSYSTEM.get(name) or name.partition('_')[0]}/{name}",
            "filter": event_filter,
            "fields": list(TALLIED) if counts and name in COUNTED_EVENTS else fields(network.traffic, name),
            **({"tally": _tally(network, name)} if counts and name in COUNTED_EVENTS else {}),
            **({"latest": _times(network)} if name == "tcp_probe" and _thinned(network) else {}),
        }
        for name, event_filter in events.items()
        if not name.startswith("ocs_") or name in switches.events
    ]


def _counted(network: Network) -> str:
    """Return the trace filter for both directions of the links whose packets are counted."""
    numbers = [line.number for line in network.lines if line.link.name in network.probes.count]
    return " || ".join(f"link == {number}" for number in numbers)


def _thinned(network: Network) -> bool:
    """Return whether the guest keeps only the last ACK of each flow in each bin.

    A run that counts packets may be long; its ACKs alone would take 0.1 GB for each second at 10 Gb/s.
    """
    return bool(network.probes.count) and network.probes.tcp == "bin" and not network.probes.acks


def _tally(network: Network, event: str) -> dict[str, Any]:
    return _times(network) | ({"instants": list(network.snapshots)} if event == "ocs_dequeue" else {})


def _times(network: Network) -> dict[str, Any]:
    return {"start_ns": START_NS, "bin_ns": network.probes.bin, "every_ns": COUNT_EVERY_NS}


def _turned(network: Network) -> str:
    """Return the trace filter that leaves out changes within a slot; see `Network.turning`."""
    unseen = network.turning
    return f"class < {unseen[0]} || class > {unseen[-1]}" if unseen else ""
