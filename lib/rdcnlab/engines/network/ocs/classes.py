# SPDX-License-Identifier: Apache-2.0
"""Classes of one ``ocs`` switch, one per flow and one per schedule, and the rules that assign packets to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rdcnlab.engines.network import Wiring, mptcp, ways
from rdcnlab.engines.network.numbers import IP_PROTOCOL, TARGET
from rdcnlab.engines.network.versions import versions_of
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, Scenario, Schedule, Slot


def classes(scenario: Scenario, wiring: Wiring) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the classes of flows, schedules and ways back, and the rules that assign packets to them."""
    found, rules = [], []
    for back in (False, True):
        for place, flow in enumerate(scenario.flows):
            if back and flow.back == BYPASS:
                continue
            number = wiring.own.get((0, place, back))
            followed = [wiring.shared.get((0, name)) for name in ways(scenario, flow, back=back)]
            if number is not None:
                entry = _class(scenario, wiring, number, *scenario.timetable(flow, back=back))
                versions = versions_of(scenario, [place], entry["slots"], first=True)
                found.append(entry | version_words(versions))
                followed = [number]
            rules += _rules(scenario, wiring, place, followed, back=back)
        if not back:
            found += [_follows(scenario, wiring, number, each) for number, each in wiring.schedules.items()]
    return found, rules


def _follows(scenario: Scenario, wiring: Wiring, number: int, schedule: Schedule) -> dict[str, Any]:
    """Return the class of a schedule."""
    slots = schedule.slots
    entry = _class(scenario, wiring, number, slots, slots[0].link, scenario.phase(schedule))
    if len(slots) == 1:
        entry["slots"][0]["duration"] = 0  # the class never changes
    flows = [place for place, flow in enumerate(scenario.flows) if schedule.name in (flow.path, flow.back)]
    versions = versions_of(scenario, flows, entry["slots"], first=True)
    return entry | own_of(scenario, schedule) | echo_of(wiring, 0, schedule) | version_words(versions)


def version_words(versions: int) -> dict[str, int]:
    """Return the word for how a class handles versions; empty if it writes none; see `versions.versions_of`."""
    return {"versions": versions} if versions else {}


def own_of(scenario: Scenario, schedule: Schedule) -> dict[str, Any]:
    """Return the schedule-specific settings of a class: its behaviour in dark slots, and its queue."""
    words: dict[str, Any] = {"hold": schedule.dark == "hold"}
    if schedule.queue is not None:
        words["voq"] = _own_queue(schedule, scenario)
    return words


def echo_of(wiring: Wiring, switch: int, schedule: Schedule) -> dict[str, Any]:
    """Return the echo of a class, if its schedule has one; the class that it echoes must be at the same switch."""
    echo = schedule.echo
    if echo is None:
        return {}
    there = {name: number for (place, name), number in wiring.shared.items() if place == switch}
    if echo.of not in there:
        allowed = f"a schedule that flows follow: {', '.join(there)}"
        raise InputError.of(f"network.schedules.{schedule.name}.echo.of", echo.of, allowed)
    return {"echo": {"class": there[echo.of], "tdn": echo.tdn, "in_advance": echo.in_advance}}


def _rules(
    scenario: Scenario, wiring: Wiring, number: int, followed: Sequence[int | None], *, back: bool
) -> list[dict[str, Any]]:
    """Return the rules that assign a flow's subflows to classes; only mptcp has more than one subflow."""
    flow = scenario.flows[number]
    found = []
    for subflow, way in enumerate(followed):
        rule = {
            "class_id": way,
            "prio": number,
            "in_if": wiring.stations[flow.dst if back else flow.src].interface,
            "proto": IP_PROTOCOL[flow.protocol],
            "sport" if back else "dport": wiring.ports[flow.name],
        }
        if len(followed) > 1:
            rule["src" if back else "dst"] = mptcp.address(scenario, wiring.stations[flow.dst].ip, subflow)
        found.append(rule)
    return found


def _class(
    scenario: Scenario, wiring: Wiring, number: int, slots: tuple[Slot, ...], first: str, phase: int
) -> dict[str, Any]:
    """Return a class that follows a timetable, or always has its first target if there are no slots."""
    targets = {line.link.name: line.number for line in wiring.lines} | TARGET
    table = [slot_words(slot, targets[slot.link], slot.duration, scenario.network.mtu) for slot in slots]
    return {
        "id": number,
        "slots": table or [{"duration": 0, "target": targets[first]}],
        "hold": scenario.switch.dark == "hold",
        "phase": phase,
    }


def slot_words(slot: Slot, target: int, duration: int, mtu: int) -> dict[str, int]:
    """Return a slot of a schedule in the kernel's format."""
    words = {"duration": duration, "target": target}
    if slot.tdn:
        words["tdn"] = slot.tdn
    if slot.queue is not None:
        # 0 means no limit; only one of the two is given
        words |= {"voq_bytes": slot.queue.bytes or 0, "voq_packets": slot.queue.packets or 0}
    if slot.ecn_threshold is not None:
        words["voq_ecn"] = slot.ecn_threshold.in_bytes(mtu)
    return words


def _own_queue(schedule: Schedule, scenario: Scenario) -> dict[str, int]:
    """Return a schedule's queue in the kernel's format."""
    limit, threshold = schedule.queue, schedule.ecn_threshold
    words = {"limit_bytes": limit.bytes or 0, "limit_packets": limit.packets or 0} if limit is not None else {}
    if scenario.switch.ecn_threshold is not None:
        words["ecn"] = scenario.switch.ecn_threshold
    elif threshold is not None:
        words["ecn"] = threshold.in_bytes(scenario.network.mtu)
    return words
