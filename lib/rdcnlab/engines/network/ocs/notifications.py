# SPDX-License-Identifier: Apache-2.0
"""Notifications of time-division networks to hosts."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.network import Network
from rdcnlab.engines.network.addresses import prefix
from rdcnlab.fields.errors import InputError


def notifications(network: Network, switch: int) -> list[dict[str, Any]]:
    """Return how a switch notifies its hosts; one entry per host and, with several switches, per destination switch.

    With the model ``push``, hosts that follow the same schedule represent flows of one kernel. In the paper, 16
    containers share the kernel of a server. Therefore the n-th host is notified n times `Notify.each` later.

    Raises
    ------
    InputError
        A host is at another switch than the one where its schedule begins.
    """
    notify = network.notify
    if notify is None:
        return []
    shared = network.classes.shared
    before: dict[str, int] = {}
    told = []
    for notification in network.notifications:
        host, schedule = notification.host, notification.schedule
        before[schedule.name] = before.get(schedule.name, 0) + 1
        late = notify.each * before[schedule.name]
        if network.stations[host].switch != switch:
            continue
        here = network.begins.get(schedule.name, network.switches[switch]) == network.switches[switch]
        if not here or (switch, schedule.name) not in shared:
            # no other switch knows which network is active, nor this one if nothing changes here
            allowed = f"hosts at the switch where {schedule.name} chooses links, or with a schedule there as back"
            raise InputError.of("notify", host, allowed)
        words = {
            "host": network.stations[host].label,
            "class": shared[switch, schedule.name],
            "dst": network.stations[host].ip,
            "delay": notify.delay_of(host) + late,
            "inband": int(notify.channel == "data"),
        }
        if notification.towards is not None:
            words["prefix"] = prefix(network.switches.index(notification.towards))
        told.append(words)
    return told
