# SPDX-License-Identifier: Apache-2.0
"""The traffic of a run as data: flows, programs, and what follows for each flow from all of the scenario."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from rdcnlab.engines.network.numbers import AHEAD_EACH_NS, AHEAD_NS, START_NS
from rdcnlab.scenario import Flow, Scenario, Schedule, application
from rdcnlab.scenario.program import Program


@dataclass(frozen=True)
class Traffic:
    """What hosts send, and when.

    Parameters
    ----------
    flows : tuple of Flow
        The flows, stated and drawn.
    all : tuple of Flow
        The flows, and then the traffic of programs between two hosts as further flows, such as ``h1>h2``.
    programs : tuple of Program
        The programs in hosts.
    starts, phases : tuple of int
        For each of the `flows`, ns after the scenario's start at which it starts, and by which its timetable is late.
    sizes, payloads, packets : mapping of str to int
        Payload of a whole flow and of a full packet in bytes, and an upper bound of its packets, by name, for `all`.
    writes : mapping of str to int
        Bytes that an application with a rate writes at once, by the flow's name.
    sending : mapping of str to int
        ns for which a flow of datagrams is sent, by the flow's name.
    schedules : mapping of str to Schedule
        The schedule that data of a flow follow, by the flow's name; flows without a schedule are left out.
    subflows : mapping of str to int
        Subflows of each flow with ``mptcp``, by the flow's name.
    """

    flows: tuple[Flow, ...]
    all: tuple[Flow, ...]
    programs: tuple[Program, ...]
    starts: tuple[int, ...]
    phases: tuple[int, ...]
    sizes: Mapping[str, int]
    payloads: Mapping[str, int]
    packets: Mapping[str, int]
    writes: Mapping[str, int]
    sending: Mapping[str, int]
    schedules: Mapping[str, Schedule]
    subflows: Mapping[str, int]

    def of(self, protocol: str) -> tuple[Flow, ...]:
        """Return the flows with a protocol."""
        return tuple(self._by_protocol.get(protocol, ()))

    @functools.cached_property
    def _by_protocol(self) -> Mapping[str, list[Flow]]:
        flows: dict[str, list[Flow]] = {}
        for flow in self.flows:
            flows.setdefault(flow.protocol, []).append(flow)
        return flows

    @functools.cached_property
    def numbers(self) -> Mapping[str, int]:
        """The place of each flow in `all`, by its name."""
        return {flow.name: number for number, flow in enumerate(self.all)}

    @functools.cached_property
    def uses_mptcp(self) -> bool:
        """Whether a flow has Multipath TCP."""
        return bool(self.subflows)

    @functools.cached_property
    def uses_nuftcp(self) -> bool:
        """Whether a flow has NUFTCP: then switches write versions, and receivers hold duplicate ACKs."""
        return any(flow.control.reads_versions for flow in self.flows)

    @functools.cached_property
    def is_udp_alone(self) -> bool:
        """Whether there is nothing else to wait for than datagrams, so that the run waits for them."""
        waited = any(not program.background for program in self.programs)
        return bool(self.flows) and not waited and all(flow.protocol == "udp" for flow in self.flows)

    def is_timed(self, flow: Flow) -> bool:
        """Return whether a flow of datagrams has an end time, that of its sending.

        Bursts beside flows of another protocol have none, because those end the run.
        """
        return flow.protocol == "udp" and (flow.rate is not None or flow.replay is not None or self.is_udp_alone)

    @functools.cached_property
    def connect_ns(self) -> Mapping[str, int]:
        """The instant at which each flow with `Flow.connect` ``ahead`` opens its connection, by the flow's name.

        They open one after the other, in the order of the flows. The last one opens `AHEAD_NS` before the start.
        """
        ahead = [flow.name for flow in self.flows if flow.connect == "ahead"]
        last = START_NS - AHEAD_NS
        return {name: last - AHEAD_EACH_NS * (len(ahead) - 1 - index) for index, name in enumerate(ahead)}

    @functools.cached_property
    def turns(self) -> tuple[int, ...]:
        """Indices of flows in the order of their starts; each has the next port, as long as there are ports."""
        return tuple(sorted(range(len(self.starts)), key=self.starts.__getitem__))


def traffic_of(scenario: Scenario) -> Traffic:
    """Return the traffic of a scenario."""
    every, mtu = scenario.traffic, scenario.network.mtu
    schedules = ((flow.name, scenario.schedule(flow)) for flow in every)
    payloads = {flow.name: application.payload(flow, mtu) for flow in every}
    return Traffic(
        flows=scenario.flows,
        all=every,
        programs=scenario.programs,
        starts=scenario.start_times(),
        phases=scenario.phases(),
        sizes={flow.name: application.total_B(scenario, flow) for flow in every},
        payloads=payloads,
        packets={flow.name: application.packets(scenario, flow, payloads[flow.name]) for flow in every},
        writes={flow.name: application.write_B(scenario, flow) for flow in every if flow.rate is not None},
        sending={
            flow.name: application.sending_ns(scenario, flow)
            for flow in every
            if flow.protocol == "udp" and (flow.rate or flow.burst or flow.replay)
        },
        schedules={name: schedule for name, schedule in schedules if schedule is not None},
        subflows={flow.name: scenario.subflows(flow) for flow in every if flow.protocol == "mptcp"},
    )
