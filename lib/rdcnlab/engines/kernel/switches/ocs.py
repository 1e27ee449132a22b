# SPDX-License-Identifier: Apache-2.0
"""``ocs``: the time-scheduled circuit switch of our kernel, alone or as one of several."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.switches import circles
from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.network import Network, ocs


class Ocs(Kind):
    """The circuit switch in the kernel."""

    name = "ocs"
    writes_versions = True

    def device(self, network: Network, switch: int) -> dict[str, Any]:
        """Return the plan of one switch; see `Kind`."""
        flooded = [line.number for line in network.lines_at(switch) if line.number in network.tree]
        return {**ocs.device(network, switch), "flooded": flooded, **circles.settings(network)}

    def sysctls(self, network: Network) -> dict[str, str]:
        """Return the sysctls that hosts need before the first notification of a time-division network."""
        notify = network.notify
        if notify is None:
            return {}
        numbers = (slot.tdn for notification in network.notifications for slot in notification.schedule.slots)
        values = {"net.ipv4.tdn_count": str(1 + max(numbers, default=0))}
        if network.transport.tdtcp:
            values["net.ipv4.tcp_tdtcp_push"] = str(int(notify.model == "push"))
        return values


KIND = Ocs()
