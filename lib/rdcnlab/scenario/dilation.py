# SPDX-License-Identifier: Apache-2.0
"""Time dilation: the same network for hosts whose clocks run slow, as emulators have it that are not fast enough.

A network whose rates are divided and whose times are multiplied by a factor is the same network to hosts that are as
many times slower. What is a setting of the hosts is multiplied too. What is not (timer frequency, delayed ACKs, the
growth of CUBIC, the thresholds of its slow start, ticks of time stamps) stays, so in network time it is as many times
shorter: that is what a testbed with dilation measured.
"""

from __future__ import annotations

import functools
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario.model import Scenario

#: Where times (ns, but for rto_min_us) and rates are in plain data; ``*`` is every item of a list.
_TIMES = (
    "network.hosts.*.delay", "network.links.*.delay", "network.schedules.*.slots.*.duration",
    "network.schedules.*.phase", "network.schedules.*.echo.in_advance", "flows.*.path.*.duration",
    "flows.*.back.*.duration", "flows.*.phase", "flows.*.start", "flows.*.interval", "transport.rto_min_us",
    "probes.bin", "probes.fold", "probes.fold_from", "jitter.start", "jitter.phase", "notify.delay", "notify.each",
    "notify.hosts.*.delay", "limit",
)  # fmt: skip
_RATES = ("network.hosts.*.rate", "network.links.*.rate")


def dilated(scenario: Scenario, factor: int) -> Scenario:
    """Return the scenario as hosts see it whose clocks run `factor` times slower than the network's.

    Parameters
    ----------
    scenario : Scenario
        In network time.
    factor : int
        At least 1. All times of the tables of a run are then `factor` times those of the network.

    Raises
    ------
    InputError
        A rate is no multiple of the factor, or a time becomes too long.
    """
    if factor < 1:
        raise InputError.of("factor", factor, "at least 1")
    # seeds share all the rest, which takes much longer to make than another seed
    return _dilated(scenario.with_(seed=0), factor).with_(seed=scenario.seed)


@functools.lru_cache(maxsize=64)
def _dilated(scenario: Scenario, factor: int) -> Scenario:
    data = scenario.to_dict()
    for path in _TIMES:
        _change(data, path.split("."), lambda value: value * factor)
    for path in _RATES:
        _change(data, path.split("."), lambda value, path=path: _divided(value, factor, path))
    return Scenario.from_dict(data)


def _divided(rate: int, factor: int, path: str) -> int:
    if rate % factor:
        raise InputError.of(path, f"{rate} bit/s", f"a multiple of the factor of dilation, {factor}")
    return rate // factor


def _change(holder: Any, path: list[str], change: Any) -> None:
    name, rest = path[0], path[1:]
    if name == "*":
        for place, item in enumerate(holder if isinstance(holder, list) else ()):
            if rest:
                _change(item, rest, change)
            else:
                holder[place] = change(item)
    elif isinstance(holder, dict) and holder.get(name) is not None:
        if rest:
            _change(holder[name], rest, change)
        else:
            holder[name] = change(holder[name])
