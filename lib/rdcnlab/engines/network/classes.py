# SPDX-License-Identifier: Apache-2.0
"""The numbers of the classes of traffic, which are unique in the whole network."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from rdcnlab.engines.network.numbers import FIRST_CLASS, LAST_CLASS
from rdcnlab.engines.network.optics import Light
from rdcnlab.engines.network.parts import Line
from rdcnlab.engines.network.ways import Way
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario, Schedule


@dataclass(frozen=True)
class Classes:
    """The classes of traffic, by number.

    Parameters
    ----------
    schedules : mapping of int to Schedule
        Schedules by the number of their class, in ascending order.
    own : mapping
        Class of each flow with a timetable of its own. The key is: switch, index of the flow, whether it is the way
        back.
    shared : mapping
        Class of each schedule, by switch and name.
    queued : mapping of int to Schedule
        Schedules that have a queue for data, by class.
    static : mapping
        Class of the traffic that always takes one line, by the line's number.
    ends : mapping
        Class of what goes to one line of a host that has several, by the name of the host or of the further line.
    lost : mapping
        Class of the packets that an optical switch loses, by switch.
    light : mapping
        Class of what an optical switch receives from a link with circuits, by switch and link.
    """

    schedules: Mapping[int, Schedule]
    own: Mapping[tuple[int, int, bool], int]
    shared: Mapping[tuple[int, str], int]
    queued: Mapping[int, Schedule]
    static: Mapping[int, int]
    ends: Mapping[str, int]
    lost: Mapping[int, int]
    light: Mapping[tuple[int, str], int]


def classes_of(
    scenario: Scenario,
    numbers: Mapping[str, int],
    lines: tuple[Line, ...],
    ways: tuple[Way, ...],
    lights: tuple[Light, ...],
) -> Classes:
    """Return the numbers of all classes.

    In a network that names no switch, data of flow number n have class n (from 1) if they have one, and a line has a
    class only for switches that need one to send packets into it.
    """
    free = itertools.count(FIRST_CLASS)
    steps = [(way, name) for way in ways for name in way.steps if way.needs_class(name)]
    static: dict[int, int] = {}
    reserved: dict[int, int] = {}
    if scenario.network.switches:
        static = {line.number: next(free) for line in lines}
        # the queues of schedules have consecutive numbers, which trace filters need
        steps.sort(key=lambda step: not step[0].queues_data(step[1]))
    else:
        reserved = {index: next(free) for index in range(len(scenario.traffic))}
    several = {name for host in scenario.network.hosts if host.of is not None for name in (host.of, host.name)}
    ends = {host.name: next(free) for host in scenario.network.hosts if host.name in several}
    lost = {numbers[node.name]: next(free) for node in scenario.network.nodes if node.optical}
    schedules: dict[int, Schedule] = {}
    shared: dict[tuple[int, str], int] = {}
    own: dict[tuple[int, int, bool], int] = {}
    queued: dict[int, Schedule] = {}
    for way, name in steps:
        if way.schedule is None:
            index, back = way.flows[0]
            own[numbers[name], index, back] = reserved[index] if reserved and not back else next(free)
            continue
        chosen = next(free)
        schedules[chosen], shared[numbers[name], way.schedule.name] = way.schedule, chosen
        if way.queues_data(name):
            queued[chosen] = way.schedule
    if not scenario.network.switches and scenario.switch.kind != "ocs":
        static = {line.number: next(free) for line in lines}
    light = {(numbers[one.switch], one.link): next(free) for one in lights}
    return Classes(schedules, own, shared, queued, static, ends, lost, light)


def check_numbers(classes: Classes) -> None:
    """Raise InputError if there are more classes than numbers."""
    numbered = (classes.own, classes.static, classes.ends, classes.lost, classes.light)
    most = max([*classes.schedules, *(number for some in numbered for number in some.values())], default=0)
    if most > LAST_CLASS:
        raise InputError.of("flows", f"{most} classes of traffic", f"at most {LAST_CLASS}; fewer timetables do it")
