# SPDX-License-Identifier: Apache-2.0
"""What a reader chose, as a scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rdcnlab.analysis.show.names import readable
from rdcnlab.analysis.show.rows import length
from rdcnlab.app.explore.places import MOVES, PLACES, STILL, WEEK, Group, Place
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import SIZE
from rdcnlab.scenario import VARIANTS, Scenario

#: What a flow can be: a congestion control, or a protocol with CUBIC below it.
TRANSPORTS = (*VARIANTS, "tdtcp", "mptcp")
#: Payload of a flow: more than the fastest line carries in the longest run, so that the run's length ends it.
_ENDLESS_B = 2**40
#: Points of a curve: as many as a figure can show.
_POINTS = 200
#: Days of the packet network in a week of the time-division network, as Chen et al. have it.
_DAYS = 6
#: Longest run of the explorer in ms.
MOST_MS = 60_000
#: Names of a slot and of the time before it in which nothing is carried, by the timetable.
TIMES = {MOVES: ("slot", "dark"), WEEK: ("day", "night")}
#: Least and most of a slot, most of a dark time, both in ms, and most of a buffer or threshold in kB.
_SLOT_MS, _DARK_MS, _SIZE_KB = (0.01, 10_000), 1_000, 100_000


@dataclass(frozen=True)
class Choice:
    """The values of the widgets.

    Parameters
    ----------
    place : str
        Key of `PLACES`.
    first, second : str
        Transports of the two groups of flows, of `TRANSPORTS`.
    flows : int
        Number of flows in each group.
    timetable : str
        `STILL`, `MOVES` or `WEEK`.
    slot_ms, dark_ms : float
        Length of a slot, or of a day; and of the dark time before each change, or of a night.
    buffer_kB, ecn_kB : float
        Buffer and marking threshold of all links and schedules; 0 stands for the network's own.
    switch, engine : str
        As in a scenario.
    limit_ms : float
        Virtual time of the run.
    runs : int
        Number of runs; each has a seed of its own.
    algorithm : str
        Path of a C file with a congestion control of the user's own, whose name the transports may be; empty for none.
    """

    place: str = "aykurt"
    first: str = "cubic"
    second: str = "cubic"
    flows: int = 1
    timetable: str = MOVES
    slot_ms: float = 10.0
    dark_ms: float = 0.0
    buffer_kB: float = 0.0  # noqa: N815  (kB is a unit)
    ecn_kB: float = 0.0  # noqa: N815
    switch: str = "ocs"
    engine: str = "kernel"
    limit_ms: float = 200.0
    runs: int = 3
    algorithm: str = ""

    def scenario(self) -> Scenario:
        """Return the scenario of the first run.

        Raises
        ------
        InputError
            A value is not allowed, or values do not fit together; the message names the field and what is allowed.

        Examples
        --------
        >>> from rdcnlab.app.explore.choice import Choice
        >>> [flow.name for flow in Choice(second="bbr").scenario().flows]
        ['main-1', 'migrated-1']
        """
        place = self._checked()
        chosen = (self.first, self.second)
        flows = [
            flow
            for group, transport in zip(place.groups, chosen, strict=True)
            for flow in self._flows(group, transport)
        ]
        limit = _ns(self.limit_ms)
        data: dict[str, Any] = {
            "network": self._network(place),
            "flows": flows,
            "switch": {"kind": self.switch},
            "engine": {"kind": self.engine, "algorithm": self.algorithm or None},
            "probes": {"bin": _bin(limit)},
            "jitter": {"start": _ns(place.start_ms)},
            "limit": limit,
        }
        if self.ecn_kB:
            data["switch"]["ecn_threshold"] = round(self.ecn_kB * 1000)
        if {"tdtcp", "mptcp"} & set(chosen):
            data["notify"] = {}
        if "tdtcp" in chosen:
            data["transport"] = {"tdtcp": True}
        scenario = _without_idle_hosts(Scenario.from_dict(data))
        changes = dict(self._changes(scenario, place))
        return scenario.with_(**changes) if changes else scenario

    def scenarios(self) -> list[Scenario]:
        """Return the scenarios of all runs."""
        first = self.scenario()
        return [first.with_(seed=seed) for seed in range(self.runs)]

    def title(self) -> str:
        """Return a few words that tell this choice from others."""
        place = PLACES[self.place]
        words = [self.place, f"{self.first} and {self.second}" if self.first != self.second else f"all {self.first}"]
        if self.flows > 1:
            words.append(f"{self.flows} flows each")
        if self.timetable != STILL:
            words.append(f"{TIMES[self.timetable][0]}s of {self.slot_ms:g} ms")
            dark = f"nights of {self.dark_ms:g} ms" if self.timetable == WEEK else f"{self.dark_ms:g} ms dark"
            words += [dark] if self.dark_ms else []
        elif len(place.timetables) > 1:
            words.append("still")
        words += [f"buffer {self.buffer_kB:g} kB"] if self.buffer_kB else []
        words += [f"ECN {self.ecn_kB:g} kB"] if self.ecn_kB else []
        words += [name for name, usual in ((self.switch, "ocs"), (self.engine, "kernel")) if name != usual]
        return ", ".join(words)

    def _checked(self) -> Place:
        place = PLACES.get(self.place)
        if place is None:
            raise InputError.unknown("network", self.place, PLACES, "network")
        for field in ("first", "second"):
            if getattr(self, field) not in TRANSPORTS and not self.algorithm:
                raise InputError.unknown(f"{field} transport", getattr(self, field), TRANSPORTS, "transport")
        if self.timetable not in place.timetables:
            raise InputError.of("timetable", self.timetable, f"{' or '.join(place.timetables)} in this network")
        self._check_protocols(place)
        if not 1 <= self.flows <= place.most:
            raise InputError.of("flows of each group", self.flows, f"1 to {place.most} in this network")
        self._check_numbers()
        return place

    def _check_protocols(self, place: Place) -> None:
        """Refuse a protocol for several networks over time where there is only one."""
        for field in ("first", "second"):
            name = getattr(self, field)
            lacking = self.timetable != WEEK if name == "mptcp" else name == "tdtcp" and WEEK not in place.timetables
            if lacking:
                usable = ", ".join(transport for transport in TRANSPORTS if transport not in ("tdtcp", "mptcp"))
                having = " and ".join(each.label for each in PLACES.values() if WEEK in each.timetables)
                allowed = f"one of {usable} here; {name} needs {WEEK}, which these networks have: {having}"
                raise InputError.of(f"{field} transport", name, allowed)

    def _check_numbers(self) -> None:
        numbers = [("length of a run", self.limit_ms, 1.0, MOST_MS, "ms")]
        if self.timetable != STILL:
            slot, dark = TIMES[self.timetable]
            numbers += [(slot, self.slot_ms, *_SLOT_MS, "ms"), (dark, self.dark_ms, 0.0, _DARK_MS, "ms")]
        for field, value, least, most, unit in numbers:
            if not least <= value <= most:
                raise InputError.of(field, f"{value:g} {unit}", f"{least:g} {unit} to {most} {unit}")
        for field, value in (("buffer", self.buffer_kB), ("ECN threshold", self.ecn_kB)):
            if value and not 1 <= value <= _SIZE_KB:
                raise InputError.of(field, f"{value:g} kB", f"1 kB to {_SIZE_KB} kB, or 0 for that of the network")
        if self.timetable == MOVES and self.dark_ms and self.dark_ms >= self.slot_ms:
            raise InputError.of("dark", f"{self.dark_ms:g} ms", f"less than the slot ({self.slot_ms:g} ms)")

    def _network(self, place: Place) -> Any:
        if isinstance(place.network, dict) and self.timetable == WEEK:
            return {**place.network, "day": _ns(self.slot_ms), "night": _ns(self.dark_ms)}
        return place.network

    def _flows(self, group: Group, transport: str) -> Iterator[dict[str, Any]]:
        for number in range(1, self.flows + 1):
            fields = {name: text.format(n=number) for name, text in group.fields.items()}
            flow: dict[str, Any] = {"name": f"{group.name}-{number}", "size": _ENDLESS_B, **fields}
            flow["cc"] = "cubic" if transport in ("tdtcp", "mptcp") else transport
            if transport == "mptcp":
                flow["protocol"] = "mptcp"
            elif "tdtcp" in (self.first, self.second):
                flow["tdtcp"] = transport == "tdtcp"
            place = PLACES[self.place]
            if place.links and group is place.groups[1]:
                flow["path"] = self._moves(place.links) if self.timetable == MOVES else place.links[1]
            yield flow

    def _moves(self, links: tuple[str, ...]) -> list[tuple[int, str]]:
        dark = _ns(self.dark_ms)
        slot = _ns(self.slot_ms)
        each = [[*([(dark, "dark")] if dark else []), (slot - dark, link)] for link in links]
        return [pair for slots in each for pair in slots]

    def _changes(self, scenario: Scenario, place: Place) -> Iterator[tuple[str, Any]]:
        network = scenario.network
        if self.buffer_kB:
            size = round(self.buffer_kB * 1000)
            yield from (
                (f"network.links.{link.name}.buffer", size) for link in network.links if link.buffer is not None
            )
            yield from ((f"network.schedules.{schedule.name}.queue", f"{size} B") for schedule in network.schedules)
        if self.ecn_kB:
            mark = f"{round(self.ecn_kB * 1000)} B"
            yield from ((f"network.schedules.{schedule.name}.ecn_threshold", mark) for schedule in network.schedules)
        for name in place.schedules:
            yield f"network.schedules.{name}.slots", self._week()

    def _week(self) -> list[dict[str, Any]]:
        """Return a week as Chen et al. have it: six days of packets, a night, a day of the circuit, and a night."""
        if self.timetable == STILL:
            place = PLACES[self.place]
            return [{"duration": (_DAYS + 1) * _ns(place.slot_ms + place.dark_ms), "link": "packet"}]
        day, night = _ns(self.slot_ms), _ns(self.dark_ms)
        blocked = [{"duration": night, "link": "dark"}] if night else []
        packets = {"duration": _DAYS * day + (_DAYS - 1) * night, "link": "packet"}
        after = [{"duration": night, "link": "packet"}] if night else []
        return [packets, *blocked, {"duration": day, "link": "circuit", "tdn": 1}, *after]


def _without_idle_hosts(scenario: Scenario) -> Scenario:
    """Return a scenario without the hosts that no flow uses: each takes half a second of wall clock at the start."""
    used = {name for flow in scenario.flows for name in (flow.src, flow.dst)}
    data = scenario.to_dict()
    hosts = [host for host in data["network"]["hosts"] if host["name"] in used]
    if len(hosts) == len(data["network"]["hosts"]):
        return scenario
    return Scenario.from_dict({**data, "network": {**data["network"], "hosts": hosts}})


def _ns(ms: float) -> int:
    return round(ms * 1e6)


def _bin(limit: int) -> int:
    """Return the width in ns of bins, 1, 2 or 5 times a power of ten, that cut a run into about `_POINTS`."""
    least = max(1_000, limit // _POINTS)
    power: int = 10 ** (len(str(least)) - 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least)


def own_sizes(scenario: Scenario) -> tuple[str, str]:
    """Return in words which buffers a scenario has, and above which sizes queues mark packets."""
    network = scenario.network
    queues = [link.buffer for link in network.links] + [schedule.queue for schedule in network.schedules]
    buffers = {length(queue) for queue in queues if queue is not None}
    marks = {schedule.ecn_threshold for schedule in network.schedules}
    thresholds = {length(mark) for mark in marks if mark is not None}
    thresholds |= {readable(SIZE, link.ecn_threshold) for link in network.links if link.ecn_threshold is not None}
    if scenario.switch.ecn_threshold is not None:
        thresholds = {readable(SIZE, scenario.switch.ecn_threshold)}
    return (
        f"buffers of {' and '.join(sorted(buffers))}" if buffers else "no buffer",
        f"ECN marks above {' and '.join(sorted(thresholds))}" if thresholds else "no ECN marks",
    )
