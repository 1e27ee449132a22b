# SPDX-License-Identifier: Apache-2.0
"""The goodput of flows that keep one window over networks that alternate: computed from the timetables alone.

A congestion control that does not know of networks keeps the window that fills the network in which it spends most of
the week, path and queue. It sends this window once a round trip, also where the circuit could carry more. The round
trip of a slot is that of its link and of the link that ACKs take meanwhile, which another timetable decides::

    window       = rate x RTT of the network of most of the week + its queue
    rate of slot = min(rate of its link, window / RTT of the slot)

No parameter is fitted. The model leaves out the saw-tooth below the full window, and growth during the days of the
circuit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rdcnlab.scenario import DARK, Scenario, Schedule
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab_papers.analysis import weeks


def goodput_gbps(scenario: Scenario) -> float:
    """Return the computed goodput [Gb/s] of all flows together.

    Parameters
    ----------
    scenario : Scenario
        Scenario whose flows all follow the schedule of the first one, there and back. Its queue has a limit in packets.
    """
    network, schedule = scenario.network, weeks.schedule(scenario)
    queue, frame = schedule.queue, 8 * (network.mtu + network.overhead)
    if queue is None or queue.packets is None:
        raise ValueError(f"the queue of the schedule {schedule.name} has no limit in packets")
    rates = {link.name: link.rate / 1e9 for link in network.links}
    spent: dict[str, int] = {}
    for slot in schedule.slots:
        if slot.link != DARK:
            spent[slot.link] = spent.get(slot.link, 0) + slot.duration
    rtts = rtts_ns(scenario)
    usual = max(spent, key=lambda link: spent[link])
    window = rates[usual] * rtts[usual] + queue.packets * frame
    carried = sum(time * min(rates[link], window / rtts[link]) for link, time in spent.items())
    return carried / schedule.cycle * 8 * (network.mtu - TCP_HEADERS) / frame


def rtts_ns(scenario: Scenario) -> dict[str, float]:
    """Return for each link of the data the mean RTT [ns] of an empty network, by the links that ACKs take meanwhile.

    While the ACKs' own network is dark they wait; this time is left out.
    """
    flow, network = scenario.flows[0], scenario.network
    forward, backward = weeks.schedule(scenario), weeks.schedule(scenario, str(flow.back))
    if forward.cycle != backward.cycle:
        raise ValueError(f"the schedules {forward.name} and {backward.name} have weeks of different lengths")
    edges = np.unique(np.concatenate([_ends(forward), _ends(backward)]))
    rtts: dict[str, list[tuple[float, float]]] = {}
    for begin, end in zip([0, *edges[:-1]], edges, strict=True):
        link, link_back = (_link(schedule, (begin + end) / 2) for schedule in (forward, backward))
        if DARK not in (link, link_back):
            rtt = network.rtt_ns(flow.src, flow.dst, network.mtu, TCP_HEADERS, link=link, link_back=link_back)
            rtts.setdefault(link, []).append((rtt, end - begin))
    return {
        link: sum(rtt * time for rtt, time in pairs) / sum(time for _, time in pairs) for link, pairs in rtts.items()
    }


def _ends(schedule: Schedule) -> npt.NDArray[np.int64]:
    return np.cumsum([slot.duration for slot in schedule.slots], dtype=np.int64)


def _link(schedule: Schedule, at_ns: float) -> str:
    return schedule.slots[int(np.searchsorted(_ends(schedule), at_ns % schedule.cycle, side="right"))].link
