# SPDX-License-Identifier: Apache-2.0
"""Notifications: the hosts that are notified, the schedule of each, and the destinations that the schedule is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdcnlab.fields.quantities import FieldError
from rdcnlab.scenario.timetable import Schedule

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario


@dataclass(frozen=True)
class Notification:
    """A host that is notified of the changes of a schedule.

    Parameters
    ----------
    host : str
        Name of the host.
    schedule : Schedule
        The schedule.
    towards : str or None
        Name of the switch of the destinations that the schedule is about; None: all destinations, with one switch.
    """

    host: str
    schedule: Schedule
    towards: str | None = None


def notifications(scenario: Scenario) -> tuple[Notification, ...]:
    """Return all notifications of a scenario; see `rdcnlab.scenario.settings.Notify`.

    Raises
    ------
    ValueError
        Flows of one host to the same destinations follow several schedules.
    """
    schedules: dict[tuple[str, str | None], Schedule] = {}
    for flow in scenario.flows:
        path, back = scenario.schedule(flow), scenario.schedule(flow, back=True)
        for src, dst, schedule in ((flow.src, flow.dst, path), (flow.dst, flow.src, back or path)):
            if schedule is None:
                continue
            towards = scenario.network.host(dst).at
            for host in _hosts(scenario, src, towards, schedule):
                if schedules.setdefault((host, towards), schedule) is not schedule:
                    destination = "" if towards is None else f" to {towards}"
                    raise FieldError("notify", host, f"a host whose flows{destination} all follow one schedule")
    return tuple(Notification(host, schedule, towards) for (host, towards), schedule in schedules.items())


def _hosts(scenario: Scenario, src: str, towards: str | None, schedule: Schedule) -> list[str]:
    """Return the hosts that are notified: with the schedule of a pair of switches, all hosts at the first of them."""
    at = scenario.network.host(src).at
    if at is None or schedule.pair != (at, towards):
        return [src]
    return [host.name for host in scenario.network.machines if host.at == at]
