# SPDX-License-Identifier: Apache-2.0
"""The paper's experiments: groups of flows that are rerouted together (Sec. IV-B, C), and a single flow (Sec. IV-D)."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

from pydantic import Field

from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.fields.units import NS_PER_MS, NS_PER_S
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.draws import draw
from rdcnlab.scenario.flow import ENDLESS
from rdcnlab.scenario.presets import preset

Variant = Literal["cubic", "reno", "bbr"]
#: Times between moves in s.
Periods = Annotated[tuple[Annotated[float, Field(ge=0.01, le=600)], ...], Field(min_length=1), Listed]
Milliseconds = Annotated[int, whole(1, 1000)]
Rtts = Annotated[tuple[Milliseconds, ...], Field(min_length=1), Listed]

#: The two paths of the backbone: packets start on the shorter one.
SHORT, LONG = "short", "long"
#: Sec. IV-A: RTTs of groups are uniform up to this limit in ms. A group with an RTT of 0 would have no window.
LONGEST_MS, LEAST_NS = 120, 100_000
#: Sec. IV-B: flows start at random within this time.
STARTS = "30 s"
#: Our input in ms: the longer path's RTT minus the shorter one's, where the paper does not say (networks/carpa.yaml).
EXTRA_MS = 10
#: The column whose low RTT and difference, in ms, are those that figure 8's two numbers need; see `carpa.difference`.
CALIBRATED, CALIBRATED_RTT_MS, CALIBRATED_EXTRA_MS = "calibrated", 10, 50
#: Sec. IV-D: volume of the single flow; iperf's G is binary. In the quick profile.
VOLUME, QUICK_VOLUME = "2 GiB", "250 MB"
#: A single flow that is slower than 5 Mb/s on average is cut off.
LIMIT = "3600 s"
#: Windows every 10 ms, for figures that draw them.
WINDOWS: dict[str, Any] = {"probes.tcp": "bin", "probes.bin": "10 ms"}


def network(rtts_ns: tuple[int, ...], extra_ms: float, **changes: Any) -> dict[str, Any]:
    """Return the paper's fabric with the RTT of each group in ns, and that of the longer path."""
    return {**preset("carpa").fabric, "rtts": list(rtts_ns), "extra": round(extra_ms * NS_PER_MS), **changes}


def single(
    rtt_ms: float,
    period_s: float | None,
    *,
    seed: int,
    extra_ms: int = EXTRA_MS,
    cc: Variant = "cubic",
    size: str = VOLUME,
    limit: str = LIMIT,
    starts: str = STARTS,
    **changes: Any,
) -> Scenario:
    """Return a single flow that starts at a random point of the timetable.

    Parameters
    ----------
    rtt_ms : float
        RTT of the shorter path.
    period_s : float or None
        Time between moves; None: the flow stays on the shorter path.
    seed : int
        Seed, which the start depends on.
    extra_ms : int
        RTT of the longer path minus that of the shorter path.
    cc, size, limit, starts
        Congestion control, volume, the time at which the flow is cut off, and the time within which it starts.
    **changes
        Changes as in `Scenario.with_`, with ``__`` in place of dots.
    """
    return _single(rtt_ms, period_s, extra_ms, cc, size, limit, starts, tuple(sorted(changes.items()))).with_(seed=seed)


@functools.lru_cache(maxsize=256)
def _single(
    rtt_ms: float,
    period_s: float | None,
    extra_ms: int,
    cc: str,
    size: str,
    limit: str,
    starts: str,
    changes: tuple[Any, ...],
) -> Scenario:
    path: Any = SHORT if period_s is None else timetable(period_s)
    base = Scenario.from_dict(
        {
            "network": network((round(rtt_ms * NS_PER_MS),), extra_ms),
            "flows": [{"name": "g1", "src": "s1", "dst": "r1", "size": size, "cc": cc, "path": path, "back": "same"}],
            "limit": limit,
            "jitter": {"start": starts},
            "probes": {"tcp": "none", "bin": "1 s", "count": ["access1"]},
            **preset("carpa").scenario,
        }
    )
    return base.with_(**dict(changes)) if changes else base


def sharing_flows(
    rtt_ms: float, extra_ms: float, period_s: float | None, flows: int, cc: Variant, *, seed: int, seconds: int
) -> Scenario:
    """Return flows of one group that share its line for some seconds, moved together or not at all."""
    return _sharing_flows(rtt_ms, extra_ms, period_s, flows, cc, seconds).with_(seed=seed)


@functools.lru_cache(maxsize=512)
def _sharing_flows(
    rtt_ms: float, extra_ms: float, period_s: float | None, flows: int, cc: Variant, seconds: int
) -> Scenario:
    path: Any = SHORT if period_s is None else timetable(period_s)
    flow = {"src": "s1", "dst": "r1", "size": ENDLESS, "cc": cc, "path": path, "back": "same"}
    return Scenario.from_dict(
        {
            "network": network((round(rtt_ms * NS_PER_MS),), extra_ms),
            "flows": [{"name": f"g1-{number}", **flow} for number in range(1, flows + 1)],
            "limit": seconds * NS_PER_S,
            "jitter": {"start": "10 s"},
            "probes": {"tcp": "none", "bin": "1 s", "count": ["access1"]},
            **preset("carpa").scenario,
        }
    )


def timetable(period_s: float) -> list[list[Any]]:
    """Return the timetable of a flow that moves once every period."""
    return [[round(period_s * NS_PER_S), link] for link in (SHORT, LONG)]


def rtts(groups: int, seed: int) -> tuple[int, ...]:
    """Draw the RTT in ns of each group from the seed: uniform in 0 to 120 ms (Sec. IV-A)."""
    top = LONGEST_MS * NS_PER_MS - LEAST_NS
    return tuple(LEAST_NS + draw(seed, f"rtt of group {number}", top) for number in range(1, groups + 1))


def moving_groups(
    extra_ms: int, per_group: int, *, seed: int, groups: int = 20, settle_s: int, every_s: int, **changes: Any
) -> Scenario:
    """Return groups of flows that are moved together: to the longer path, back, and to the longer path again.

    Parameters
    ----------
    extra_ms : int
        RTT of the longer path minus that of the shorter path.
    per_group : int
        Number of flows of each group.
    seed : int
        Seed, which the RTTs of groups and the starts of flows depend on.
    groups : int
        Number of groups.
    settle_s, every_s : int
        Time before the first move, and between moves, in s.
    **changes
        Changes as in `Scenario.with_`, with ``__`` in place of dots.
    """
    scenario = _moving_groups(extra_ms, per_group, seed, groups, settle_s, every_s)
    return scenario.with_(**changes) if changes else scenario


# few, because each takes a tenth of a second and up to a megabyte
@functools.lru_cache(maxsize=64)
def _moving_groups(extra_ms: int, per_group: int, seed: int, groups: int, settle_s: int, every_s: int) -> Scenario:
    flow = {"size": ENDLESS, "path": timetable(every_s), "phase": (settle_s - every_s) * NS_PER_S, "back": "same"}
    numbers = [(group, flow) for group in range(1, groups + 1) for flow in range(1, per_group + 1)]
    return Scenario.from_dict(
        {
            "network": network(rtts(groups, seed), extra_ms),
            "flows": [{"name": f"g{g}-{n}", "src": f"s{g}", "dst": f"r{g}", **flow} for g, n in numbers],
            "limit": (settle_s + 3 * every_s) * NS_PER_S,
            "jitter": {"start": STARTS},
            "probes": {"tcp": "none", "bin": "100 ms", "count": [SHORT, LONG]},
            "seed": seed,
            **preset("carpa").scenario,
        }
    )
