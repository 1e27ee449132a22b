# SPDX-License-Identifier: Apache-2.0
"""Checks of a scenario as a whole: names must exist, ways must reach the receiver, and settings must agree."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from rdcnlab.fields.quantities import FieldError, unique
from rdcnlab.fields.units import DURATION, SIZE
from rdcnlab.scenario import application, forwarding, older, program_checks
from rdcnlab.scenario.congestion import CC_NOUN, CONTROLS, LINUX_VARIANTS, VARIANTS
from rdcnlab.scenario.flow import Flow
from rdcnlab.scenario.mptcp import MOST_SUBFLOWS, MOST_WITH_SUBFLOWS
from rdcnlab.scenario.quic import QUIC_MTU
from rdcnlab.scenario.routes import NoWay
from rdcnlab.scenario.timetable import BYPASS, DARK, ECMP, RESERVED, SAME, Path
from rdcnlab.scenario.transport import Transport

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario
    from rdcnlab.scenario.stack import Stack


def check(scenario: Scenario) -> None:
    """Raise FieldError for the first parts of a scenario that do not fit together."""
    unique("flows", (flow.name for flow in scenario.flows))
    unique("workloads", (workload.name for workload in scenario.workloads))
    application.check_order(scenario)
    if not (scenario.flows or scenario.workloads or scenario.programs):
        reason = (
            "there is no flow. Write at least one below flows:, or a workload below workloads:, or a program below "
            "programs:"
        )
        raise FieldError("flows", "nothing", "at least 1 item", reason=reason)
    _check_names(scenario)
    _check_programs(scenario)
    hosts = [host.name for host in scenario.network.machines]
    program_checks.check(scenario)
    checked = _checked(scenario)
    for flow in scenario.traffic[len(scenario.flows) :]:
        where = next(f"programs.{program.name}" for program in scenario.programs if program.host == flow.src)
        if scenario.network.switches:
            _check_ways(scenario, where, flow, checked, (("path", False),))
        else:
            _check_path(scenario, f"{where}.path", flow.path)
    seen: set[Hashable] = set()
    for flow in scenario.flows:
        where = flow.where
        if flow.workload is not None:
            # flows of a workload between the same hosts differ in nothing that is checked here
            alike = (flow.workload, flow.src, flow.dst)
            if alike in seen:
                continue
            seen.add(alike)
        for field in ("src", "dst"):
            scenario.network.check_host(f"{where}.{field}", getattr(flow, field))
        if flow.src == flow.dst:
            raise FieldError(f"{where}.dst", flow.dst, f"another host than src ({flow.src})")
        if scenario.network.switches:
            _check_ways(scenario, where, flow, checked)
        else:
            _check_path(scenario, f"{where}.path", flow.path)
            _check_path(scenario, f"{where}.back", flow.back)
        if flow.phase and (scenario.schedule(flow) or scenario.schedule(flow, back=True)):
            raise FieldError(
                f"{where}.phase", DURATION.format(flow.phase), "0, because a schedule has a phase of its own"
            )
        if flow.start + scenario.jitter.start >= scenario.limit:
            allowed = f"together with jitter.start less than limit ({DURATION.format(scenario.limit)})"
            raise FieldError(f"{where}.start", DURATION.format(flow.start), allowed)
        if flow.packet is not None and flow.packet > scenario.network.mtu:
            allowed = f"at most the network's mtu ({SIZE.format(scenario.network.mtu)})"
            raise FieldError(f"{where}.packet", SIZE.format(flow.packet), allowed)
        if flow.replay is not None and flow.replay.largest > scenario.network.mtu:
            allowed = f"a capture whose packets are at most as long as the network's mtu ({scenario.network.mtu} B)"
            raise FieldError(f"{where}.replay", f"a packet of {flow.replay.largest} B", allowed)
        if flow.protocol == "mptcp":
            _check_subflows(scenario, where, flow)
        if flow.protocol == "quic" and scenario.network.mtu < QUIC_MTU:
            allowed = f"at least {QUIC_MTU} B, with quic (RFC 9000, sec. 14)"
            raise FieldError("network.mtu", SIZE.format(scenario.network.mtu), allowed)
    _check_hosts(scenario)
    for flow in scenario.flows:
        if not flow.control.needs_ecn:
            continue
        for host in (flow.src, flow.dst):
            if scenario.transport_of(host).ecn is False:
                allowed = f"true or auto, because without ECN {flow.cc} would silently be reno"
                raise FieldError(transport_field(scenario, host) + ".ecn", False, allowed)
    _check_readers(scenario)
    _check_like(scenario)
    _check_notify(scenario, hosts)
    links = [link.name for link in scenario.network.links]
    for name in scenario.probes.count:
        if name not in links:
            raise FieldError.unknown("probes.count", name, links, "link")
    ends = [host.name for host in scenario.network.hosts]
    for name in scenario.probes.capture:
        if name not in ends:
            raise FieldError.unknown("probes.capture", name, ends, "host")
    if scenario.probes.fold is not None and scenario.spans < 1:
        allowed = f"at least one span of probes.fold ({DURATION.format(scenario.probes.fold)}) after probes.fold_from"
        raise FieldError("limit", DURATION.format(scenario.limit), allowed)


def _checked(scenario: Scenario) -> set[Hashable]:
    """Return the ways that were checked for other scenarios with workloads on this network, which draw other flows.

    A jitter, which the seed draws, may make a timetable impossible, so with jitter each seed is checked for itself.
    """
    if not scenario.workloads or any(node.jitter for node in scenario.network.switches):
        return set()
    return scenario.network.checked_ways


def _check_names(scenario: Scenario) -> None:
    """Raise FieldError if a flow's congestion control is neither the kernel's nor the user's own."""
    own = scenario.engine.own_names
    names = (*VARIANTS, *LINUX_VARIANTS, *own)
    linux = sorted({flow.cc for flow in scenario.flows if flow.cc in LINUX_VARIANTS} - set(own))
    taken = sorted(set(own) & set(LINUX_VARIANTS))
    if linux and taken:
        reason = f"your {taken[0]} has the name of one of Linux, which comes with {linux[0]}; give yours another name"
        raise FieldError("engine.algorithms", taken[0], "a name that Linux does not have", reason=reason)
    for flow in scenario.flows:
        if flow.cc is not None and flow.cc not in names:
            also = "" if own else "a C file of your own, which `engine: {algorithm: FILE.c}` names"
            raise FieldError.unknown(f"{flow.where}.cc", flow.cc, names, CC_NOUN, also=also)


def _check_programs(scenario: Scenario) -> None:
    """Raise FieldError if a switch of another kind than bmv2 has a P4 program or its entries."""
    for node in scenario.network.switches:
        kind = scenario.kind_at(node.name)
        for field in ("program", "entries"):
            given = getattr(node, field)
            if given and kind != "bmv2":
                value = given.path if field == "program" else "given"
                why = f"because {node.name} is {kind}, and only bmv2 runs P4 programs"
                raise FieldError.left_out(f"network.switches.{node.name}.{field}", value, why)


def transport_field(scenario: Scenario, host: str) -> str:
    """Return the field that has a host's settings of TCP."""
    for flow in scenario.flows:
        if flow.transport and host in (flow.src, flow.dst):
            return f"flows.{flow.name}.transport"
    own = any(stack.name == host and stack.transport for stack in scenario.hosts)
    return f"hosts.{host}.transport" if own else "transport"


def _check_hosts(scenario: Scenario) -> None:
    """Raise FieldError if a host with a stack of its own does not exist, or differs in what all hosts share."""
    unique("hosts", (stack.name for stack in scenario.hosts))
    for stack in scenario.hosts:
        scenario.network.check_host("hosts.name", stack.name)
        _check_own(scenario.transport, f"hosts.{stack.name}", stack.transport)
        _check_endpoints(scenario, stack)
    if not any(flow.transport for flow in scenario.flows):
        return  # then two flows of a host have the same settings: those of the host
    seen: dict[str, Flow] = {}
    for flow in scenario.flows:
        _check_own(scenario.transport, f"flows.{flow.name}", flow.transport)
        for host in (flow.src, flow.dst) if flow.is_tcp else ():
            other = seen.setdefault(host, flow)
            settings = [one.transport or _without_flows(scenario, host) for one in (flow, other)]
            if settings[0] != settings[1]:
                allowed = (
                    f"the settings of flow {other.name!r}, or a host of its own: settings of TCP hold for whole hosts, "
                    f"and both flows use {host}"
                )
                raise FieldError(f"flows.{flow.name}.transport", "other settings", allowed)


def _check_endpoints(scenario: Scenario, stack: Stack) -> None:
    """Raise FieldError if the path manager of a host would use an address that the host does not have."""
    if stack.mptcp is None:
        return
    lines = [line.name for line in scenario.network.lines_of(stack.name)]
    endpoints = stack.mptcp.endpoints or ()
    unique(f"hosts.{stack.name}.mptcp.endpoints", (endpoint.line for endpoint in endpoints))
    for place, endpoint in enumerate(endpoints):
        if endpoint.line not in lines:
            field = f"hosts.{stack.name}.mptcp.endpoints[{place}].line"
            raise FieldError.unknown(field, endpoint.line, lines, f"line of {stack.name}")


def _without_flows(scenario: Scenario, host: str) -> Transport:
    """Return a host's settings of TCP if no flow has its own."""
    return next((own.transport for own in scenario.hosts if own.name == host and own.transport), scenario.transport)


#: Fields of `Transport` that are parameters of the modules of congestion controls.
_OF_MODULES = frozenset(name for control in CONTROLS.values() for name in control.parameters)


def _check_own(shared: Transport, where: str, own: Transport | None) -> None:
    """Raise FieldError if settings of TCP of a host or a flow differ in what all hosts share."""
    for name in type(shared).model_fields if own else ():
        usual, value = getattr(shared, name), getattr(own, name)
        if value == usual:
            continue
        field = f"{where}.transport.{name}"
        if name in _OF_MODULES:
            raise FieldError(field, value, f"{usual}, as in transport: a parameter of a module holds for all hosts")
        if name.startswith(("tdtcp", "version_hold")):
            raise FieldError(field, value, f"{usual}, as in transport; a flow has a field tdtcp of its own")


def _check_like(scenario: Scenario) -> None:
    """Raise FieldError if a flow's congestion control is younger than the kernel its sender's transport is like."""
    for flow in scenario.flows:
        kernel = scenario.transport_of(flow.src).like
        lacking = {} if kernel is None else older.lacking(kernel)
        if flow.protocol in ("tcp", "mptcp") and flow.cc in lacking:
            names = ", ".join(cc for cc in VARIANTS if cc not in lacking)
            allowed = f"one of {names} with transport.like {kernel}, because {lacking[flow.cc]}"
            raise FieldError(f"flows.{flow.name}.cc", flow.cc, allowed)


def _check_readers(scenario: Scenario) -> None:
    """Raise FieldError if switches do not write what a congestion control reads, or nothing reads what they write."""
    transport = scenario.transport
    for flow in scenario.flows if scenario.network.optics is not None else ():
        lacks = "write no versions of rules into packets" if flow.control.reads_versions else ""
        lacks = "set no flags for reTCP" if flow.control.reads_flags else lacks
        if lacks:
            allowed = f"another one with network.optics, because racks that follow a routing {lacks}"
            raise FieldError(f"{flow.where}.cc", flow.cc, allowed)
    reader = next((flow.cc for flow in scenario.flows if flow.control.reads_versions), None)
    if reader is not None:
        if transport.tdtcp:
            raise FieldError("transport.tdtcp", True, f"false, with {reader}, which averages over all networks")
        return
    for control in CONTROLS.values():
        own = (*control.parameters, "version_hold_us", "version_hold_sack") if control.reads_versions else ()
        for name in own:
            if getattr(transport, name) != type(transport).model_fields[name].default:
                why = f"without a flow with cc {control.name}"
                raise FieldError.left_out(f"transport.{name}", getattr(transport, name), why)


def _check_path(scenario: Scenario, where: str, path: Path) -> None:
    """Raise FieldError if a path, forward or back, names a target that does not exist or that flows cannot use."""
    if scenario.network.schedule(path) is not None:
        return
    links = [link.name for link in scenario.network.links]
    slots = () if isinstance(path, str) else path
    targets = [path] if isinstance(path, str) else [slot.link for slot in path]
    for target in targets:
        if target not in (*links, *RESERVED):
            schedules = [] if slots else [schedule.name for schedule in scenario.network.schedules]
            what = "link or schedule" if schedules else "link"
            raise FieldError.unknown(where, target, [*links, *RESERVED, *schedules], what)
        if target in scenario.network.bare:
            raise FieldError(where, target, "a link with a buffer or a pool, or a schedule with a queue")
    for number, slot in enumerate(slots):
        if slot.queue is not None or slot.ecn_threshold is not None:
            raise FieldError(f"{where}[{number}]", slot.link, "no queue and no threshold, which only schedules have")
    if set(targets) == {DARK}:
        raise FieldError(where, DARK, "a path with at least one slot that is not dark")


def _check_ways(
    scenario: Scenario,
    where: str,
    flow: Flow,
    checked: set[Hashable],
    directions: tuple[tuple[str, bool], ...] = (("path", False), ("back", True)),
) -> None:
    """Raise FieldError if a path through several switches is impossible, or uses a link without a queue.

    Flows between the same switches with the same paths use the same ways, unless a choice is made for each flow. One
    such flow is checked; `checked` has the flows that were.
    """
    if scenario.network.optics is not None:
        for field in ("path", "back"):
            path = getattr(flow, field)
            if path not in (BYPASS, ECMP, SAME):
                given = path if isinstance(path, str) else "given"
                why = "because the routing of network.optics chooses the way"
                raise FieldError.left_out(f"{where}.{field}", given, why)
    alike = (forwarding.alike(scenario, flow), directions)
    if alike in checked:
        return
    chosen: list[str] = []
    for field, back in directions:
        path = flow.back if back else flow.path
        slots = () if isinstance(path, str) else path
        targets = [path] if isinstance(path, str) else [slot.link for slot in path]
        if set(targets) == {DARK}:
            raise FieldError(f"{where}.{field}", DARK, "a path with at least one slot that is not dark")
        for number, slot in enumerate(slots):
            if slot.queue is not None or slot.ecn_threshold is not None:
                allowed = "no queue and no threshold, which only schedules have"
                raise FieldError(f"{where}.{field}[{number}]", slot.link, allowed)
        if SAME in targets and (not back or slots):
            raise FieldError(f"{where}.{field}", SAME, f"a link, a switch or {ECMP}; {SAME} is for the way back only")
        schedule = scenario.schedule(flow, back=back)
        try:
            route = forwarding.route_of(scenario, flow, back=back, chosen=chosen)
            # only guard and jitter can make a timetable impossible
            for switch in route.switches if scenario.network.uneven else ():
                every = schedule is not None and switch == route.first
                forwarding.timetable(scenario, route, switch, every=every)
        except NoWay as error:
            value = targets[0] if len(targets) == 1 else targets
            raise FieldError(f"{where}.{field}", value, str(error), reason=error.reason) from None
        has_bare = scenario.network.optics is None and scenario.network.bare
        for way in route.ways if has_bare else ():
            for hop in way or ():
                waits = schedule is not None and schedule.queues and hop.switch == route.first
                if hop.link in scenario.network.bare and not waits and not scenario.network.node(hop.switch).optical:
                    allowed = f"a buffer or a pool, because flow {flow.name} takes it from {hop.switch}"
                    raise FieldError(f"network.links.{hop.link}.buffer", None, allowed)
    if not chosen or flow.workload is not None:  # a workload may have thousands of flows between two switches
        checked.add(alike)


def _check_subflows(scenario: Scenario, where: str, flow: Flow) -> None:
    """Raise FieldError if an MPTCP flow has neither schedules with one network per subflow nor hosts with lines."""
    network = scenario.network
    if scenario.schedule(flow) is None and any(len(network.lines_of(end)) > 1 for end in (flow.src, flow.dst)):
        return
    if any(host.of is not None for host in network.hosts) and scenario.schedule(flow) is not None:
        allowed = "no schedule, in a network with hosts of several lines: the addresses of subflows are those of lines"
        raise FieldError(f"{where}.path", str(flow.path), allowed)
    count = len(scenario.network.hosts)
    if scenario.network.switches and count > MOST_WITH_SUBFLOWS + 1:
        # the address of a later host could be that of a subflow
        allowed = f"at most {MOST_WITH_SUBFLOWS + 1}, with mptcp, whose subflows need addresses of their own"
        raise FieldError("network.hosts", f"{count} hosts", allowed)
    path, back = scenario.schedule(flow), scenario.schedule(flow, back=True)
    names = [host.name for host in scenario.network.hosts]
    if scenario.network.switches and max(map(names.index, (flow.src, flow.dst))) >= MOST_WITH_SUBFLOWS:
        allowed = f"one of the first {MOST_WITH_SUBFLOWS} hosts, with mptcp, whose subflows need addresses of their own"
        raise FieldError(f"{where}.dst", flow.dst, allowed)
    if path is None or path.tdns != tuple(range(len(path.tdns))) or not 2 <= len(path.tdns) <= MOST_SUBFLOWS:
        allowed = (
            f"a schedule whose slots have 2 to {MOST_SUBFLOWS} networks, tdn 0, 1 and so on, with mptcp, or {flow.src} "
            f"or {flow.dst} with several lines (of, in network.hosts)"
        )
        at, same = (network.host(host).at for host in (flow.src, flow.dst))
        if flow.workload is not None and at is not None and at == same:
            reason = (
                f"{flow.src} and {flow.dst} are both at {at}, so their packets follow no schedule, whose networks "
                "mptcp uses; pattern: racks draws pairs at two switches"
            )
            raise FieldError(f"{where}.pattern", "given", "racks, with mptcp", reason=reason)
        raise FieldError(f"{where}.path", str(flow.path), allowed)
    if scenario.mptcp.isolation != "none" and (back is None or back.tdns != path.tdns):
        allowed = f"a schedule with the networks of the path, with mptcp.isolation {scenario.mptcp.isolation}"
        raise FieldError(f"{where}.back", str(flow.back), allowed)
    if scenario.mptcp.scheduler == "tdm" and scenario.notify is None:
        raise FieldError("notify", None, "given, because the scheduler tdm of mptcp follows the notifications of hosts")


def _check_notify(scenario: Scenario, hosts: list[str]) -> None:
    offers = scenario.offers()
    if scenario.notify is None:
        if scenario.transport.tdtcp:
            raise FieldError("transport.tdtcp", True, "false, without notify: there would be one network only")
        for flow in scenario.flows:
            if flow.tdtcp:
                allowed = "false, without notify: there would be one network only"
                raise FieldError(f"flows.{flow.name}.tdtcp", True, allowed)
        return
    for flow in scenario.flows:
        # The receiver must support TDTCP too, which transport.tdtcp sets; otherwise the connection does not use it.
        if flow.tdtcp and not scenario.transport.tdtcp:
            raise FieldError(f"flows.{flow.name}.tdtcp", True, "false or none, without transport.tdtcp")
        if flow.protocol == "tcp" and offers[flow.src] != scenario.offered(flow):
            allowed = f"{offers[flow.src]}, the value of another flow of the host {flow.src}"
            raise FieldError(f"flows.{flow.name}.tdtcp", scenario.offered(flow), allowed)
    for host in scenario.notify.hosts:
        if host.name not in hosts:
            raise FieldError.unknown(f"notify.hosts.{host.name}.name", host.name, hosts, "host")
    if not scenario.notifications() and scenario.transport.tdtcp:
        # otherwise flows would run without TDTCP, and no message would say so
        allowed = "false, because no flow follows a schedule, and hosts are notified of schedules only"
        raise FieldError("transport.tdtcp", True, allowed)
