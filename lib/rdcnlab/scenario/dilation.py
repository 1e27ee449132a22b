# SPDX-License-Identifier: Apache-2.0
"""Time dilation: slow down a network by a factor, as emulators do that are too slow for its real rates.

Divide the rates of a network by a factor and multiply its times by the same factor. For hosts with clocks that are
slower by this factor, it is the same network. Times that are settings of the hosts are multiplied too. Other times of
the hosts are not (timer frequency, delayed ACKs, the growth of CUBIC, the thresholds of its slow start, ticks of time
stamps). In network time these are therefore shorter by the factor. A testbed with time dilation measured the same.
"""

from __future__ import annotations

import functools
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario.model import Scenario

#: Where plain data contains times (ns; those with ``_us`` in us) and rates; ``*`` stands for every item of a list.
_TIMES = (
    "network.hosts.*.delay", "network.hosts.*.jitter", "network.links.*.delay", "network.links.*.jitter",
    "network.links.*.steps.*.duration", "network.links.*.down.*.*", "network.switches.*.late",
    "network.switches.*.jitter", "network.switches.*.guard", "network.schedules.*.slots.*.duration",
    "network.optics.slots.*.duration", "network.optics.phase", "network.optics.hop_cost",
    "network.optics.demand.every", "network.optics.demand.reaction", "network.optics.demand.night",
    "network.schedules.*.phase", "network.schedules.*.echo.in_advance", "flows.*.path.*.duration",
    "flows.*.back.*.duration", "flows.*.phase", "flows.*.start", "flows.*.interval", "flows.*.on", "flows.*.off",
    "flows.*.until", "flows.*.think", "workloads.*.start",
    "workloads.*.until", "workloads.*.on", "workloads.*.off", "workloads.*.think",
    "workloads.*.arrivals.poisson", "workloads.*.arrivals.interval", "workloads.*.arrivals.instants.*",
    "workloads.*.path.*.duration", "workloads.*.back.*.duration", "programs.*.start",
    "programs.*.path.*.duration", "switch.delay",
    "switch.jitter", "transport.rto_min_us", "transport.version_hold_us", "offload.coalesce",
    "hosts.*.transport.rto_min_us", "hosts.*.transport.version_hold_us", "hosts.*.offload.coalesce",
    "flows.*.transport.rto_min_us", "flows.*.transport.version_hold_us",
    "probes.bin", "probes.snapshots",
    "probes.fold", "probes.fold_from", "jitter.start", "jitter.phase", "notify.delay", "notify.each",
    "notify.hosts.*.delay", "limit",
)  # fmt: skip
_RATES = (
    "network.hosts.*.rate", "network.links.*.rate", "network.links.*.steps.*.rate", "flows.*.rate", "workloads.*.rate",
)  # fmt: skip
#: Times in milliseconds.
_MILLISECONDS = ("network.links.*.opportunities.*",)


def dilate(scenario: Scenario, factor: int) -> Scenario:
    """Return the scenario for hosts with clocks that run `factor` times slower than the network's clock.

    Parameters
    ----------
    scenario : Scenario
        Scenario in network time.
    factor : int
        At least 1. All times in the tables of a run are then `factor` times those of the network.

    Raises
    ------
    InputError
        A rate is not a multiple of the factor, or a time becomes too long.
    """
    if factor < 1:
        raise InputError.of("factor", factor, "at least 1")
    # The dilation is cached without the seed: to set a seed is much faster than to dilate again.
    return _dilated(scenario.with_(seed=0), factor).with_(seed=scenario.seed)


@functools.lru_cache(maxsize=64)
def _dilated(scenario: Scenario, factor: int) -> Scenario:
    data = scenario.to_dict()
    network = scenario.network
    for aqm in [*(link.aqm for link in network.links), *(host.port.aqm for host in network.hosts)]:
        if aqm is not None:
            raise InputError.left_out("aqm", aqm.kind, "with time dilation, which knows no times of disciplines")
    for flow in scenario.flows:
        if flow.replay is not None:
            raise InputError.left_out(f"{flow.where}.replay", flow.replay.path, "with time dilation")
    for path in (*_TIMES, *_MILLISECONDS):
        _change(data, path.split("."), lambda value: value * factor)
    for path in _RATES:
        _change(data, path.split("."), lambda value, path=path: _divided(value, factor, path))
    return Scenario.from_dict(data)


def _divided(rate: int, factor: int, path: str) -> int:
    if rate % factor:
        raise InputError.of(path, f"{rate} bit/s", f"a multiple of the factor of dilation, {factor}")
    return rate // factor


def _change(holder: Any, path: list[str], change: Any) -> None:
    name, remainder = path[0], path[1:]
    if name == "*":
        for index, item in enumerate(holder if isinstance(holder, list) else ()):
            if remainder:
                _change(item, remainder, change)
            else:
                holder[index] = change(item)
    elif isinstance(holder, dict) and holder.get(name) is not None:
        if remainder:
            _change(holder[name], remainder, change)
        else:
            holder[name] = change(holder[name])
