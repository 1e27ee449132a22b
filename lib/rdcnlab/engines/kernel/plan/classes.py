# SPDX-License-Identifier: Apache-2.0
"""Classes of traffic of the ``ocs`` switch: one a flow, one a schedule; and the rules that put packets into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rdcnlab.engines.kernel.plan import mptcp as plan_mptcp
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, DARK, Flow, Scenario, Schedule, Slot

#: TCP or UDP port of the first flow.
FIRST_PORT = 5001
#: Class of the first flow; 0 stays free. Then come those of `schedules` and of flows' ways back.
FIRST_CLASS = 1
#: ``ocs`` ids of what is no link, as in the kernel's ``include/uapi/linux/ocs.h``.
TARGET = {DARK: 0xFFFF, BYPASS: 0xFFFE}
#: Protocol numbers of IP.
IP_PROTOCOL = {"tcp": 6, "mptcp": 6, "udp": 17, "quic": 17}


def classes(scenario: Scenario) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the classes, of flows, of schedules and of ways back, and the rules that put packets into them."""
    shared = {schedule.name: number for number, schedule in schedules(scenario).items()}
    found, rules = [], []
    for number, flow in enumerate(scenario.flows):
        ways = [shared.get(name) for name in _ways(scenario, flow)]
        if None in ways:
            ways = [FIRST_CLASS + number]
            found.append(_class(scenario, FIRST_CLASS + number, *scenario.timetable(flow)))
        rules += _rules(scenario, number, ways, back=False)
    for number, schedule in schedules(scenario).items():
        slots = schedule.slots
        entry = _class(scenario, number, slots, slots[0].link, scenario.phase(schedule))
        entry["hold"] = schedule.dark == "hold"
        if len(slots) == 1:
            entry["slots"][0]["duration"] = 0  # never changes
        if schedule.queue is not None:
            entry["voq"] = _own_queue(schedule, scenario)
        if schedule.echo is not None:
            echo = schedule.echo
            if echo.of not in shared:
                allowed = f"a schedule that flows follow: {', '.join(shared)}"
                raise InputError.of(f"network.schedules.{schedule.name}.echo.of", echo.of, allowed)
            entry["echo"] = {"class": shared[echo.of], "tdn": echo.tdn, "in_advance": echo.in_advance}
        found.append(entry)
    free = FIRST_CLASS + len(scenario.flows) + len(shared)
    for number, flow in enumerate(scenario.flows):
        if flow.back == BYPASS:
            continue
        ways = [shared.get(name) for name in _ways(scenario, flow, back=True)]
        if None in ways:
            ways, free = [free], free + 1
            found.append(_class(scenario, free - 1, *scenario.timetable(flow, back=True)))
        rules += _rules(scenario, number, ways, back=True)
    return found, rules


def _ways(scenario: Scenario, flow: Flow, *, back: bool = False) -> list[str]:
    """Return the names of what a flow's subflows follow; they are no schedule's where it has its own timetable."""
    return [plan_mptcp.way(scenario, flow, subflow, back=back) for subflow in range(scenario.subflows(flow))]


def _rules(scenario: Scenario, number: int, ways: Sequence[int | None], *, back: bool) -> list[dict[str, Any]]:
    """Return the rules that put a flow's subflows into classes; it has one unless it is of mptcp."""
    flow = scenario.flows[number]
    receiver = [host.name for host in scenario.network.hosts].index(flow.dst)
    found = []
    for subflow, way in enumerate(ways):
        rule = {
            "class_id": way,
            "prio": number,
            "in_if": f"sw-{flow.dst if back else flow.src}",
            "proto": IP_PROTOCOL[flow.protocol],
            "sport" if back else "dport": FIRST_PORT + number,
        }
        if len(ways) > 1:
            rule["src" if back else "dst"] = plan_mptcp.address(receiver, subflow)
        found.append(rule)
    return found


def _class(scenario: Scenario, number: int, slots: tuple[Slot, ...], first: str, phase: int) -> dict[str, Any]:
    """Return a class that follows a timetable, or stays where it is if there are no slots."""
    targets = {link.name: place for place, link in enumerate(scenario.network.links)} | TARGET
    table = [_slot(slot, targets, scenario.network.mtu) for slot in slots]
    return {
        "id": number,
        "slots": table or [{"duration": 0, "target": targets[first]}],
        "hold": scenario.switch.dark == "hold",
        "phase": phase,
    }


def _slot(slot: Slot, targets: dict[str, int], mtu: int) -> dict[str, int]:
    words = {"duration": slot.duration, "target": targets[slot.link]}
    if slot.tdn:
        words["tdn"] = slot.tdn
    if slot.queue is not None:
        # the other one is no limit
        words |= {"voq_bytes": slot.queue.bytes or 0, "voq_packets": slot.queue.packets or 0}
    if slot.ecn_threshold is not None:
        words["voq_ecn"] = slot.ecn_threshold.in_bytes(mtu)
    return words


def _own_queue(schedule: Schedule, scenario: Scenario) -> dict[str, int]:
    """Return a schedule's queue in the kernel's words."""
    limit, threshold = schedule.queue, schedule.ecn_threshold
    words = {"limit_bytes": limit.bytes or 0, "limit_packets": limit.packets or 0} if limit is not None else {}
    if scenario.switch.ecn_threshold is not None:
        words["ecn"] = scenario.switch.ecn_threshold
    elif threshold is not None:
        words["ecn"] = threshold.in_bytes(scenario.network.mtu)
    return words


def sysctls(scenario: Scenario) -> dict[str, str]:
    """Return what hosts have to know of time-division networks before they are told of any."""
    notify = scenario.notify
    if notify is None:
        return {}
    numbers = (slot.tdn for schedule in scenario.listening().values() for slot in schedule.slots)
    values = {"net.ipv4.tdn_count": str(1 + max(numbers, default=0))}
    if scenario.transport.tdtcp:
        values["net.ipv4.tcp_tdtcp_push"] = str(int(notify.model == "push"))
    return values


def notifications(scenario: Scenario, address: dict[str, str]) -> list[dict[str, Any]]:
    """Return how the switch tells each host of its network, by the host.

    With the model ``push`` hosts that listen to the same schedule stand for flows of one kernel, as in the paper, where
    16 containers share a server's: the n-th learns n times `Notify.each` later.
    """
    notify = scenario.notify
    if notify is None:
        return []
    classes = {schedule.name: number for number, schedule in schedules(scenario).items()}
    before = dict.fromkeys(classes, 0)
    found = []
    for host, schedule in scenario.listening().items():
        before[schedule.name] += 1
        late = notify.each * before[schedule.name]
        found.append(
            {
                "host": host,
                "class": classes[schedule.name],
                "dst": address[host],
                "delay": notify.delay_of(host) + late,
                "inband": int(notify.channel == "data"),
            }
        )
    return found


def schedules(scenario: Scenario) -> dict[int, Schedule]:
    """Return the schedules that flows follow, by class; those that data takes come first, subflows' parts last."""
    there = dict.fromkeys(flow.path for flow in scenario.flows if isinstance(flow.path, str))
    back = dict.fromkeys(flow.back for flow in scenario.flows if isinstance(flow.back, str))
    found = [scenario.network.schedule(name) for name in {**there, **back}]
    used = [schedule for schedule in found if schedule is not None] + plan_mptcp.parts(scenario)
    return dict(enumerate(used, FIRST_CLASS + len(scenario.flows)))


def traced(scenario: Scenario) -> dict[int, Schedule]:
    """Return the schedules with a queue that data takes, by their class."""
    taken = {name for flow in scenario.flows for name in _ways(scenario, flow)}
    return {number: each for number, each in schedules(scenario).items() if each.name in taken and each.queues}
