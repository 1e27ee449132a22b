# SPDX-License-Identifier: Apache-2.0
"""Refusals of switches with lines of their own, which have neither schedules nor ways back."""

from __future__ import annotations

from rdcnlab.engines.network import Network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, Host, Link


def check_unscheduled(network: Network) -> None:
    """Raise InputError if a scenario has notifications, or a flow that follows a schedule or has a way back."""
    names = {schedule.name for schedule in network.schedules}
    if network.notify is not None:
        why = "because only a switch of kind ocs announces changes, not another switch"
        raise InputError.left_out("notify", "given", why)
    for flow in network.traffic.flows:
        for field in ("path", "back"):
            path = getattr(flow, field)
            if path in names or (field == "back" and path != BYPASS):
                allowed = f"{'bypass' if field == 'back' else 'no schedule'}, with another switch than ocs"
                raise InputError.of(f"{flow.where}.{field}", str(path), allowed)


def check_plain(network: Network, kind: str) -> None:
    """Raise InputError if a line changes, errs or marks by chance, or hosts send what is no frame."""
    for machine in network.machines.values():
        if machine.offload.tso:
            allowed = f"0, with {kind} as the only switch, whose lines would carry whole packets"
            raise InputError.of("offload.tso", machine.offload.tso, allowed)
    hosts = [station.host for station in network.stations.values()]
    why = f"with {kind} as the only switch; in a network of several switches every kind has it"
    ends: list[Link | Host] = [*network.links.values(), *hosts]
    for end in ends:
        group, queue = ("links", end) if isinstance(end, Link) else ("hosts", end.port)
        if end.errs or (isinstance(end, Link) and end.changes):
            raise InputError.of(
                f"network.{group}.{end.name}",
                "a line that changes or errs",
                f"a line without changes and faults, {why}",
            )
        for field in ("marking", "aqm"):
            if getattr(queue, field) is not None:
                raise InputError.left_out(f"network.{group}.{end.name}.{field}", "given", why)
