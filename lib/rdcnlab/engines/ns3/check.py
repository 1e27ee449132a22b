# SPDX-License-Identifier: Apache-2.0
"""The settings of a scenario that ns-3 follows; others are refused because ns-3 lacks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import NS_PER_S, RATE, SIZE
from rdcnlab.scenario import Flow, Link, Network, Port, Scenario, Transport, application
from rdcnlab.scenario.application import payload
from rdcnlab.scenario.congestion import CONTROLS
from rdcnlab.scenario.line import Faulty

#: Congestion controls by their names in scenarios, and their classes in ns-3.
VARIANTS = {name: control.ns3 for name, control in CONTROLS.items() if control.ns3 is not None}
#: Settings of `Transport` that ns-3 follows.
FOLLOWED = frozenset(
    {
        *("ecn", "rmem", "wmem", "sack", "timestamps", "window_scaling", "limit_output_bytes", "reordering"),
        *("rto_min_us", "pacing_ss_ratio", "pacing_ca_ratio"),
        *("nuftcp_factor", "nuftcp_weight", "nuftcp_quiet", "nuftcp_readings"),
        *("version_hold_us", "version_hold_sack"),
    }
)
#: Settings that change how much memory a sender takes, and no packet: any value is accepted.
MEMORY = frozenset({"notsent_lowat"})
#: Settings that ns-3 does not follow, with the value that describes what it does instead. This value and the default
#: are accepted; ``docs/decisions/ns3.md`` says what differs with the default.
FIXED: dict[str, Any] = {
    "dsack": False,
    "moderate_rcvbuf": False,
    "slow_start_after_idle": False,
    "syn_linear_timeouts": 0,
}
#: Protocols of flows.
PROTOCOLS = ("tcp", "udp")


def check(scenario: Scenario) -> None:
    """Raise InputError if a scenario uses settings that ns-3 lacks; it has a problem for each field."""
    # all flows of a workload have the same one
    problems = dict.fromkeys(problem for error in _refused(scenario) for problem in error.problems)
    if problems:
        raise InputError(*problems)


def _refused(scenario: Scenario) -> Iterator[InputError]:
    network = scenario.network
    for node in network.nodes:
        if scenario.kind_at(node.name) != "ocs":
            yield InputError.of(scenario.kind_field(node.name), scenario.kind_at(node.name), "ocs, with ns3")
    for host in network.hosts:
        if host.of is not None:
            why = "with ns3, which has no Multipath TCP"
            yield InputError.left_out(f"network.hosts.{host.name}.of", host.of, why)
    yield from _lines(network)
    if network.optics is not None and network.optics.demand is not None:
        why = "with ns3, whose switches no controller changes"
        yield InputError.left_out("network.optics.demand", "given", why)
    for schedule in network.schedules:
        if schedule.echo is not None:
            why = "because ns-3 has no reTCP, which reads it"
            yield InputError.left_out(f"network.schedules.{schedule.name}.echo", "given", why)
    for flow in scenario.flows:
        if flow.protocol not in PROTOCOLS:
            allowed = f"{' or '.join(PROTOCOLS)}, because ns-3 has no {flow.protocol}"
            yield InputError.of(f"{flow.where}.protocol", flow.protocol, allowed)
        elif flow.cc is not None and flow.cc not in VARIANTS:
            yield InputError.of(f"{flow.where}.cc", flow.cc, f"one of {', '.join(VARIANTS)}, with ns3")
        yield from _application(scenario, flow)
        if flow.tdtcp:
            yield InputError.of(f"{flow.where}.tdtcp", True, "false, because ns-3 has no TDTCP")
        if flow.transport:
            yield InputError.left_out(f"{flow.where}.transport", "given", "with ns3: all hosts are alike")
    if scenario.notify is not None:
        yield InputError.left_out("notify", "given", "because hosts of ns-3 know no time-division networks")
    if scenario.probes.discards:
        yield InputError.of("probes.discards", True, "false, because receivers of ns-3 discard no old timestamps")
    if scenario.engine.hz != type(scenario.engine)().hz:
        allowed = "its default, because timers of ns-3 count nanoseconds, not ticks"
        yield InputError.of("engine.hz", scenario.engine.hz, allowed)
    if scenario.offload != type(scenario.offload)():
        yield InputError.left_out("offload", "given", "because cards of ns-3 send and receive frames")
    if scenario.hosts:
        yield InputError.left_out("hosts", [host.name for host in scenario.hosts], "with ns3: all hosts are alike")
    yield from _settings(scenario.transport)


def _application(scenario: Scenario, flow: Flow) -> Iterator[InputError]:
    for name in application.FIELDS:
        value = getattr(flow, name)
        if value not in (None, type(flow).model_fields[name].default) and not (
            name == "rate" and flow.protocol == "udp"
        ):
            yield InputError.left_out(
                f"{flow.where}.{name}", value, "with ns3, whose flows send at once what they have"
            )
    if flow.protocol != "udp":
        return
    size = payload(flow, scenario.network.mtu)
    if flow.replay is not None:
        yield InputError.left_out(f"{flow.where}.replay", flow.replay.path, "with ns3, whose datagrams are of one size")
        return
    if flow.rate is not None and size * 8 * NS_PER_S % flow.rate:
        allowed = f"a rate at which a datagram of {size} B takes a whole number of ns, with ns3"
        yield InputError.of(f"{flow.where}.rate", RATE.format(flow.rate), allowed)
    if scenario.total_B(flow) % size:
        allowed = f"a whole number of datagrams of {size} B, with ns3"
        yield InputError.of(f"{flow.where}.size", SIZE.format(flow.size), allowed)


def _lines(network: Network) -> Iterator[InputError]:
    named = {f"network.links.{link.name}": link for link in network.links}
    ends: dict[str, Faulty] = {**named, **{f"network.hosts.{host.name}": host for host in network.hosts}}
    for field, end in ends.items():
        if end.errs:
            yield InputError.of(field, "loss, jitter, duplicate or corrupt", "a line without faults, with ns3")
    for field, link in named.items():
        if link.changes:
            yield InputError.of(f"{field}.rate", "a rate that changes", "a constant rate, with ns3")
    for host in network.hosts:
        if host.qdisc is not None:
            why = "with ns3, which does not run Linux's disciplines"
            yield InputError.left_out(f"network.hosts.{host.name}.qdisc", host.qdisc.kind, why)
    queues: dict[str, Link | Port] = {
        **named,
        **{f"network.hosts.{host.name}.port": host.port for host in network.hosts},
    }
    for field, queue in queues.items():
        if queue.aqm is not None:
            yield InputError.left_out(
                f"{field}.aqm", queue.aqm.kind, "with ns3, which does not run Linux's disciplines"
            )
        if queue.marking is not None:
            yield InputError.of(f"{field}.marking", "given", "ecn_threshold, with ns3, which has no marking by chance")


def _settings(given: Transport) -> Iterator[InputError]:
    if given.like is not None:
        # the settings that it brings need no complaint of their own
        yield InputError.left_out("transport.like", given.like, "because ns-3 has its own TCP")
        return
    for name, field in type(given).model_fields.items():
        value = getattr(given, name)
        if name in FOLLOWED or name in MEMORY or value in (field.default, FIXED.get(name, field.default)):
            continue
        shown = str(field.default).lower() if isinstance(field.default, bool) else field.default
        yield InputError.of(f"transport.{name}", value, f"{shown}, its default, because ns-3 has no such setting")
