# SPDX-License-Identifier: Apache-2.0
"""Classes of an ``ocs`` switch: one for each line that needs it, and those that follow a timetable at this switch."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.network import Network, forwarding
from rdcnlab.engines.network.forwarding import Entry
from rdcnlab.engines.network.numbers import TARGET
from rdcnlab.engines.network.optics import Light
from rdcnlab.engines.network.versions import versions_of
from rdcnlab.scenario import BYPASS, DARK, Schedule, Slot


def classes(network: Network, switch: int) -> list[dict[str, Any]]:
    """Return the classes of a switch: those of its lines, and those of ways that need one."""
    static, lost = network.classes.static, network.classes.lost
    words = [_static(static[line.number], line.number) for line in network.lines_at(switch) if line.number in static]
    ends = network.classes.ends
    words += [
        _static(ends[station.name], TARGET[BYPASS]) for station in network.stations_at(switch) if station.name in ends
    ]
    if switch in lost:
        words.append(_static(lost[switch], TARGET[DARK]))
    name = network.switches[switch]
    entries = network.entries[switch]
    words += [_timed(network, switch, entry) for entry in entries if entry.way.needs_class(name)]
    return words + [_light(network, switch, light) for light in network.lights if light.switch == name]


def _static(number: int, target: int) -> dict[str, Any]:
    return {"id": number, "slots": [{"duration": 0, "target": target}], "hold": False, "phase": 0}


def _light(network: Network, switch: int, light: Light) -> dict[str, Any]:
    """Return the class of what an optical switch receives from one link."""
    targets = [forwarding.target_of(network, switch, target) for target in light.step.targets]
    durations = light.step.durations if len(targets) > 1 else (0,)
    return {
        "id": network.classes.light[switch, light.link],
        "slots": [
            {"duration": duration, "target": target} for duration, target in zip(durations, targets, strict=True)
        ],
        "hold": False,
        "phase": light.step.phase,
    }


def _timed(network: Network, switch: int, entry: Entry) -> dict[str, Any]:
    """Return the class that follows a timetable; only the first switch of a way can hold packets in dark slots."""
    name, way = network.switches[switch], entry.way
    first = name == way.route.first
    slots = []
    for target, duration, index in zip(entry.targets, entry.durations, entry.indices, strict=True):
        words = {"duration": duration, "target": target}
        if way.schedule is not None and first:
            words |= _slot_words(way.schedule.slots[index], network.mtu)
        if way.ranks and way.ranks[index]:
            words["rank"] = way.ranks[index]
        slots.append(words)
    if len(slots) == 1:
        slots[0]["duration"] = 0  # the class never changes
    timed: dict[str, Any] = {"id": entry.number, "slots": slots, "phase": entry.phase}
    if way.schedule is not None and first:
        timed |= _own_words(network, way.schedule)
    else:
        timed["hold"] = first and network.switch.dark == "hold"
    if way.schedule is not None and way.schedule.echo is not None and name == way.echo:
        echo = way.schedule.echo
        shared = network.classes.shared[switch, echo.of]
        timed["echo"] = {"class": shared, "tdn": echo.tdn, "in_advance": echo.in_advance}
    versions = versions_of(network, entry, switch)
    return timed | ({"versions": versions} if versions else {})


def _slot_words(slot: Slot, mtu: int) -> dict[str, int]:
    """Return the settings of a schedule's slot in the kernel's format."""
    words = {}
    if slot.tdn:
        words["tdn"] = slot.tdn
    if slot.queue is not None:
        # 0 means no limit; only one of the two is given
        words |= {"voq_bytes": slot.queue.bytes or 0, "voq_packets": slot.queue.packets or 0}
    if slot.ecn_threshold is not None:
        words["voq_ecn"] = slot.ecn_threshold.in_bytes(mtu)
    return words


def _own_words(network: Network, schedule: Schedule) -> dict[str, Any]:
    """Return the schedule-specific settings of a class: its behaviour in dark slots, and its queue."""
    words: dict[str, Any] = {"hold": schedule.dark == "hold"}
    if schedule.queue is not None:
        words["voq"] = _own_queue(network, schedule)
    return words


def _own_queue(network: Network, schedule: Schedule) -> dict[str, int]:
    """Return a schedule's queue in the kernel's format."""
    limit, threshold = schedule.queue, schedule.ecn_threshold
    words = {"limit_bytes": limit.bytes or 0, "limit_packets": limit.packets or 0} if limit is not None else {}
    common = network.switch.ecn_threshold
    if common is not None:
        words["ecn"] = common
    elif threshold is not None:
        words["ecn"] = threshold.in_bytes(network.mtu)
    return words
