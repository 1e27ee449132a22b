# SPDX-License-Identifier: Apache-2.0
"""Checks of a scenario's programs: their hosts exist, and programs of one host agree in what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdcnlab.fields.quantities import FieldError, unique
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario import forwarding, program_traffic
from rdcnlab.scenario.congestion import CC_NOUN, LINUX_VARIANTS, VARIANTS
from rdcnlab.scenario.flow import Flow
from rdcnlab.scenario.timetable import ECMP, RESERVED

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario
    from rdcnlab.scenario.program import Program

#: Fields that are the same for all programs of a host, and why.
_SHARED = {
    "path": "packets of one host take one way, whichever program sends them",
    "cc": "the congestion control of new connections is a setting of the host",
}


def check(scenario: Scenario) -> None:
    """Raise FieldError for the first program that does not fit to the scenario."""
    unique("programs", (program.name for program in scenario.programs))
    known = (*VARIANTS, *LINUX_VARIANTS, *scenario.engine.own_names)
    first: dict[str, Program] = {}
    for program in scenario.programs:
        place = f"programs.{program.name}"
        scenario.network.check_host(f"{place}.host", program.host)
        if program.cc is not None and program.cc not in known:
            raise FieldError.unknown(f"{place}.cc", program.cc, known, CC_NOUN)
        if program.start >= scenario.limit:
            allowed = f"less than limit ({DURATION.format(scenario.limit)})"
            raise FieldError(f"{place}.start", DURATION.format(program.start), allowed)
        _check_names(scenario, f"{place}.path", program)
        other = first.setdefault(program.host, program)
        for field, why in _SHARED.items():
            if getattr(program, field) != getattr(other, field):
                allowed = f"as that of {other.name} on {program.host}, because {why}"
                raise FieldError(f"{place}.{field}", getattr(program, field), allowed)
    if scenario.programs and scenario.probes.count:
        why = "with programs: a count does not tell whose their packets are"
        raise FieldError.left_out("probes.count", scenario.probes.count, why)
    for flow in scenario.traffic:
        if program_traffic.is_of_programs(flow):
            _check_way(scenario, f"programs.{first[flow.src].name}.path", flow)


def _check_names(scenario: Scenario, place: str, program: Program) -> None:
    """Raise FieldError if a path names what does not exist; other checks ask for a way between two hosts."""
    network = scenario.network
    links, nodes = [link.name for link in network.links], [node.name for node in network.nodes]
    own = [ECMP] if network.switches else []
    known = [*links, *nodes, *(schedule.name for schedule in network.schedules), *RESERVED, *own]
    targets = [program.path] if isinstance(program.path, str) else [slot.link for slot in program.path]
    for name in (name for target in targets for name in target.split("+")):
        if name not in known:
            raise FieldError.unknown(place, name, known, "link or switch" if network.switches else "link")


def _check_way(scenario: Scenario, place: str, flow: Flow) -> None:
    """Raise FieldError if packets of programs would follow a schedule, whose queue does not tell whose they are."""
    schedule = forwarding.schedule_of(scenario, flow)
    if schedule is not None:
        allowed = (
            f"a link, a switch, or a timetable of its own, because {flow.src} to {flow.dst} follows the schedule "
            f"{schedule.name}, and packets of programs are not told apart in its queue"
        )
        raise FieldError(place, flow.path, allowed)
