# SPDX-License-Identifier: Apache-2.0
"""The paper's settings of one shared buffer: thresholds, line rates, RTTs of CUBIC (Table 1)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import ENDLESS
from rdcnlab.scenario.presets import preset
from rdcnlab.scenario.queueing import Red

#: Table 1: rates of the line in Gb/s, RTTs of CUBIC in ms, and the buffer in kB.
RATES_GBPS, RTTS_MS, BUFFER_KB = (5.0, 12.5, 25.0), (25, 50, 100), 1800
#: Table 1: ECN thresholds are 0 to 400 kB in steps of 20 kB, those of RED 0 to 1800 kB in steps of 100 kB. A drop
#: threshold of 0 kB would let no packet of CUBIC wait; so the larger one is at least a step.
ECN_STEP_KB, ECN_MOST_KB, RED_STEP_KB = 20, 400, 100
#: Drop probabilities in percent. Table 1 has 5 % only; Sec. 6.1 proposes others as future work.
PROBABILITIES = (2.0, 5.0, 10.0)
#: That of Table 1.
PROBABILITY = 5.0
#: Figures 2 and 3, in kB.
ECN_KB = (25, 50, 75, 100, 150, 250, 400, 600, 800, 1000)
DROP_KB = (200, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1400, 1800)
#: Sec. 6.2: senders of each kind, and flows of each sender.
SENDERS, FLOWS = 10, 10
#: Bins of a run, and the mean time between snapshots (Sec. 6.2).
BIN, SNAPSHOTS = "100 ms", "10 ms"

Kilobytes = Annotated[int, whole(0, BUFFER_KB)]
Thresholds = Annotated[tuple[Kilobytes, ...], Field(min_length=1), Listed]
#: Length of a run in the quick profile in s.
QUICK_S = 3
#: Longest run in s, and the type of a run's length.
LONGEST_S = 600
Length = Annotated[int, whole(1, LONGEST_S)]
Rate = Annotated[float, Field(ge=0.1, le=90)]
Rtt = Annotated[int, whole(1, 1000)]


class Setting(NamedTuple):
    """A setting: thresholds in kB of 1000 B, drop probability in percent, line rate, and RTT of CUBIC.

    With equal thresholds of early drop the queue is drop-tail.
    """

    ecn_kB: int  # noqa: N815  (unit)
    min_kB: int  # noqa: N815
    max_kB: int  # noqa: N815
    probability: float = PROBABILITY
    rate_gbps: float = 12.5
    rtt_ms: float = 50


def seconds(rtt_ms: float) -> int:
    """Return the length of a run in s: 8 s, and 80 round trips of CUBIC.

    `docs/decisions/vargas.md` has the runs that it was chosen on, with the test of `rdcnlab_papers.analysis.steady`.
    Each run is judged by this test again.
    """
    return math.ceil(8 + 0.08 * rtt_ms)


def length_in(profile: str, asked_s: int | None) -> int | None:
    """Return the length of a run in s, as asked or `QUICK_S` in the quick profile. None means `seconds` of the RTT."""
    return asked_s or (QUICK_S if profile == "quick" else None)


def scenario(
    setting: Setting, *, seed: int = 0, mtu: int = 1500, length_s: int | None = None, flows: int = FLOWS
) -> Scenario:
    """Return the flows of 10 senders of DCTCP and 10 of CUBIC that share the queue (Sec. 6.2).

    Parameters
    ----------
    setting : Setting
        The setting.
    seed : int
        Seed, which the starts of flows and early drops depend on.
    mtu : int
        Size of packets in bytes.
    length_s : int, optional
        Length of the run in s; by default `seconds` of the RTT.
    flows : int
        Number of flows of each sender.
    """
    length = seconds(setting.rtt_ms) if length_s is None else length_s
    base = _base(setting.rate_gbps, setting.rtt_ms, mtu, length, flows)
    low, high, probability = setting.min_kB * 1000, setting.max_kB * 1000, round(setting.probability * 1e4)
    red = Red(min=low, max=high, probability=probability)
    return base.with_thresholds("shared", setting.ecn_kB * 1000, red).with_(seed=seed)


@functools.lru_cache(maxsize=64)
def _base(rate_gbps: float, rtt_ms: float, mtu: int, length_s: int, each: int) -> Scenario:
    rate = round(rate_gbps * 1e9)
    defaults = preset("vargas")
    groups = (("d", "n", "dctcp", defaults.fabric["near"]), ("c", "f", "cubic", defaults.fabric["far"]))
    flows = [
        {
            "name": f"{name}{sender}-{flow}",
            "src": f"{host}{sender}",
            "dst": "r",
            "path": "shared",
            "size": ENDLESS,
            "cc": cc,
        }
        for name, host, cc, senders in groups
        for sender in range(1, senders + 1)
        for flow in range(1, each + 1)
    ]
    network: dict[str, Any] = {
        **defaults.fabric,
        "mtu": mtu,
        "rate": rate,
        "host_rate": rate,
        "far_rtt": round(rtt_ms * 1e6),
    }
    return Scenario.from_dict(
        {
            "network": network,
            "flows": flows,
            "limit": f"{length_s} s",
            "probes": {"tcp": "none", "bin": BIN, "count": ["shared"], "snapshots": SNAPSHOTS},
            **defaults.scenario,
        }
    )


def grid(
    rate_gbps: float, rtt_ms: int, ecn: tuple[int, ...] = ECN_KB, drop: tuple[int, ...] = DROP_KB
) -> list[Setting]:
    """Return the settings of figures 2 and 3: drop-tail, row by row."""
    return [Setting(threshold, limit, limit, PROBABILITY, rate_gbps, rtt_ms) for threshold in ecn for limit in drop]


def first_settings(count: int, condition: tuple[float, int] | None = None, *, between: bool = False) -> list[Setting]:
    """Return the first settings of one fixed sequence that fills the paper's space evenly (Sobol, not scrambled).

    The first n of more settings are the same n settings, so a data set can grow. A fifth of them is drop-tail, as
    figures 2 and 3 need more of them than chance gives; others have two thresholds and one of `PROBABILITIES`.

    Parameters
    ----------
    count : int
        Number of settings; all are different.
    condition : tuple of float and int, optional
        Line rate and RTT of all settings; by default these are drawn too.
    between : bool
        Draw rates and RTTs between those of Table 1, uniform in their logarithms, in 0.01 Gb/s and 0.1 ms.
    """
    from scipy.stats import qmc  # the import takes a second

    settings: dict[Setting, None] = {}
    sequence = qmc.Sobol(d=7, scramble=False)
    while len(settings) < count:
        for point in sequence.random(256):
            setting = _of_point(point, condition)
            if between:
                setting = setting._replace(
                    rate_gbps=_inside(RATES_GBPS, point[5], 2), rtt_ms=_inside(RTTS_MS, point[6], 1)
                )
                if setting.rate_gbps in RATES_GBPS and setting.rtt_ms in RTTS_MS:
                    continue
            settings.setdefault(setting)
            if len(settings) == count:
                break
    return list(settings)


def setting_of(row: pd.Series[float]) -> Setting:
    """Return the setting of a row of the model's settings."""
    ecn, low, high = (round(float(row[name])) for name in ("ecn_kB", "min_kB", "max_kB"))
    return Setting(ecn, low, high, float(row["probability"]), float(row["rate_gbps"]), float(row["rtt_ms"]))


def _inside(values: Sequence[float], share: float, digits: int) -> float:
    """Return a number between the first and the last value; a place of 0.5 is their geometric mean."""
    return round(float(values[0] * (values[-1] / values[0]) ** share), digits)


def _of_point(point: npt.NDArray[np.float64], condition: tuple[float, int] | None) -> Setting:
    ecn, x, y, kind, chance, rate, rtt = point
    steps = BUFFER_KB // RED_STEP_KB
    if kind < 0.2:
        low = high = RED_STEP_KB * (1 + int(x * steps))
        probability = 5.0
    else:
        # two different thresholds of 0 to 1800 kB
        first, second = int(x * (steps + 1)), int(y * steps)
        second += second >= first
        low, high = RED_STEP_KB * min(first, second), RED_STEP_KB * max(first, second)
        probability = PROBABILITIES[int(chance * len(PROBABILITIES))]
    place = condition or (RATES_GBPS[int(rate * len(RATES_GBPS))], RTTS_MS[int(rtt * len(RTTS_MS))])
    return Setting(ECN_STEP_KB * int(ecn * (ECN_MOST_KB // ECN_STEP_KB + 1)), low, high, probability, *place)
