# SPDX-License-Identifier: Apache-2.0
"""Notifications of time-division networks to hosts, and the settings that hosts need for them."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.wiring import Wiring
from rdcnlab.scenario import Scenario


def sysctls(scenario: Scenario) -> dict[str, str]:
    """Return the sysctls that hosts need before the first notification of a time-division network."""
    notify = scenario.notify
    if notify is None:
        return {}
    numbers = (slot.tdn for schedule in scenario.listening().values() for slot in schedule.slots)
    values = {"net.ipv4.tdn_count": str(1 + max(numbers, default=0))}
    if scenario.transport.tdtcp:
        values["net.ipv4.tcp_tdtcp_push"] = str(int(notify.model == "push"))
    return values


def notifications(scenario: Scenario, wiring: Wiring, switch: int) -> list[dict[str, Any]]:
    """Return how a switch notifies each of its hosts; one entry per host.

    With the model ``push``, hosts that follow the same schedule represent flows of one kernel. In the paper, 16
    containers share the kernel of a server. Therefore the n-th host is notified n times `Notify.each` later.
    """
    notify = scenario.notify
    if notify is None:
        return []
    before: dict[str, int] = {}
    found = []
    for host, schedule in scenario.listening().items():
        before[schedule.name] = before.get(schedule.name, 0) + 1
        late = notify.each * before[schedule.name]
        if wiring.stations[host].switch != switch:
            continue
        found.append(
            {
                "host": host,
                "class": wiring.shared[switch, schedule.name],
                "dst": wiring.stations[host].ip,
                "delay": notify.delay_of(host) + late,
                "inband": int(notify.channel == "data"),
            }
        )
    return found
