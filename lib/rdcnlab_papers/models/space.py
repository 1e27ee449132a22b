# SPDX-License-Identifier: Apache-2.0
"""Scenarios spread over a space of networks: variants, days, nights, buffers, RTTs, numbers of flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import qmc

from rdcnlab.fields.units import NS_PER_MS, NS_PER_US
from rdcnlab.scenario import Scenario
from rdcnlab_papers.models import general

#: Ranges of values, with a logarithmic distribution: each doubling is equally likely.
_PERIOD_MS, _BUFFER_KB, _RTT_US = (1, 100), (250, 4000), (50, 800)
_FLOWS = (2, 4, 8, 16)
#: Longest night, as a share of the period. Half of the scenarios have no night.
_NIGHT = 0.2
#: Volume of each group in bytes.
_VOLUME_B = 512 * 2**20
#: Memory of sockets that is enough for the largest buffer and RTT.
_MEMORY = {"transport.rmem": ["4096 B", "131072 B", "16 MB"], "transport.wmem": ["4096 B", "16384 B", "16 MB"]}

Floats = np.ndarray[Any, np.dtype[np.float64]]


def draw(count: int) -> Floats:
    """Return the first `count` points of one sequence in the unit cube. A power of 2 fills the cube evenly."""
    # Sobol's sequence without scrambling has no random numbers, so it is the same with every version. The first point
    # is a corner of the cube and is skipped.
    sequence = qmc.Sobol(8, scramble=False)
    sequence.fast_forward(1)
    points: Floats = sequence.random(count)
    return points


def scenario(point: Floats, variants: Sequence[str], two_flows: Callable[[str, str], Scenario]) -> Scenario:
    """Return the scenario at a point of the unit cube.

    Parameters
    ----------
    point : ndarray, shape (8,)
        A point that `draw` returns.
    variants : sequence of str
        Variants of both groups.
    two_flows : callable
        Takes the variants of migrated and main flow, and returns the scenario to change. It has a flow ``main``, and a
        flow ``migrated`` that moves between the links ``blue`` and ``green``.
    """
    migrated, main = (variants[int(share * len(variants))] for share in point[:2])
    flows = _FLOWS[int(point[2] * len(_FLOWS))]
    period, buffer, rtt = (
        low * (high / low) ** share
        for (low, high), share in zip((_PERIOD_MS, _BUFFER_KB, _RTT_US), point[3:6], strict=True)
    )
    cycle = round(period * NS_PER_MS)
    night = round(cycle * _NIGHT * point[7]) if point[6] >= 0.5 else 0
    base = two_flows(migrated, main)
    groups = {flow["name"]: flow for flow in base.to_dict()["flows"]}
    path = [slot for link in ("blue", "green") for slot in ([cycle - night, link], [night, "dark"]) if slot[0]]
    flows_per_group = flows // 2
    # one call for all changes, because it is made for a thousand scenarios
    return base.with_(
        flows=[
            {**flow, "name": f"{name}-{number}", "size": _VOLUME_B // flows_per_group}
            | ({"path": path} if name == "migrated" else {})
            for number in range(1, flows_per_group + 1)
            for name, flow in groups.items()
        ],
        **{f"network.links.{link.name}.buffer": f"{round(buffer)} kB" for link in base.network.links},
        **_MEMORY,
        **_delays(base, rtt),
        **_threshold(base, rtt),
    )


def _delays(base: Scenario, rtt_us: float) -> dict[str, int]:
    """Return the change that gives the migrated flow an RTT. The delays of all cables change by the same amount."""
    hosts = {host.name: host.delay for host in base.network.hosts}
    extra_ns = rtt_us * NS_PER_US - general.rtt_ns(base)
    # a packet crosses two cables, and so does its ACK
    return {f"network.hosts.{name}.delay": max(round(delay + extra_ns / 4), 0) for name, delay in hosts.items()}


def _threshold(base: Scenario, rtt_us: float) -> dict[str, int]:
    """Return the change that makes the switch mark, if a DCTCP flow runs.

    The threshold is one seventh of the bandwidth-delay product (Alizadeh et al. 2010, sec. 3.4).
    """
    if all(flow.cc != "dctcp" for flow in base.flows):
        return {}
    on_the_way = base.network.links[0].rate / 8 * rtt_us / 1e6
    return {"switch.ecn_threshold": max(round(on_the_way / 7), base.network.mtu)}
