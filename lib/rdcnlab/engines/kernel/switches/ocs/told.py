# SPDX-License-Identifier: Apache-2.0
"""Notifications of time-division networks to hosts, and the settings that hosts need for them."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.wiring import Wiring
from rdcnlab.engines.kernel.wiring.addresses import prefix
from rdcnlab.engines.kernel.wiring.graph import begins
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario


def sysctls(scenario: Scenario) -> dict[str, str]:
    """Return the sysctls that hosts need before the first notification of a time-division network."""
    notify = scenario.notify
    if notify is None:
        return {}
    numbers = (slot.tdn for each in scenario.notifications() for slot in each.schedule.slots)
    values = {"net.ipv4.tdn_count": str(1 + max(numbers, default=0))}
    if scenario.transport.tdtcp:
        values["net.ipv4.tcp_tdtcp_push"] = str(int(notify.model == "push"))
    return values


def notifications(scenario: Scenario, wiring: Wiring, switch: int) -> list[dict[str, Any]]:
    """Return how a switch notifies its hosts; one entry per host and, with several switches, per destination switch.

    With the model ``push``, hosts that follow the same schedule represent flows of one kernel. In the paper, 16
    containers share the kernel of a server. Therefore the n-th host is notified n times `Notify.each` later.

    Raises
    ------
    InputError
        A host is at another switch than the one where its schedule begins.
    """
    notify = scenario.notify
    if notify is None:
        return []
    first = begins(scenario)
    before: dict[str, int] = {}
    found = []
    for each in scenario.notifications():
        host, schedule = each.host, each.schedule
        before[schedule.name] = before.get(schedule.name, 0) + 1
        late = notify.each * before[schedule.name]
        if wiring.stations[host].switch != switch:
            continue
        here = first.get(schedule.name, wiring.switches[switch]) == wiring.switches[switch]
        if not here or (switch, schedule.name) not in wiring.shared:
            # no other switch knows which network is active, nor this one if nothing changes here
            allowed = f"hosts at the switch where {schedule.name} chooses links, or with a schedule there as back"
            raise InputError.of("notify", host, allowed)
        words = {
            "host": wiring.stations[host].label,
            "class": wiring.shared[switch, schedule.name],
            "dst": wiring.stations[host].ip,
            "delay": notify.delay_of(host) + late,
            "inband": int(notify.channel == "data"),
        }
        if each.towards is not None:
            words["prefix"] = prefix(wiring.switches.index(each.towards))
        found.append(words)
    return found
