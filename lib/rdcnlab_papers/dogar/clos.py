# SPDX-License-Identifier: Apache-2.0
"""The paper's simulation: flows in a two-tier Clos network whose leaves apply each update late (Sec. 4.1)."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import ENDLESS
from rdcnlab.scenario.presets import preset

Variant = Literal["nuftcp", "tdtcp", "dctcp", "cubic", "bbr"]
Variants = Annotated[tuple[Variant, ...], Field(min_length=1), Listed]
#: Sec. 4.1: the sizes of the buffer in kB.
SMALL, LARGE = 500, 1000
#: Capacity of each link in bit/s, and time between updates (Sec. 4.1).
RATE, EVERY_NS = 10e9, 25 * NS_PER_MS
#: NUFTCP has 16 versions (Sec. 4.1): that of the start, and 15 updates.
UPDATES = 15
#: Time within which flows start where nothing else differs between seeds.
STARTS_NS = NS_PER_MS
#: The ends of links where flows of both groups may meet: those of the spines towards the receivers' leaf.
MEETINGS = ("leaf3-spine1@spine1", "leaf3-spine2@spine2")
#: The links of `MEETINGS`.
SHARED = ("leaf3-spine1", "leaf3-spine2")
#: The groups; the flows of `fn` begin on spine 1.
GROUPS = ("fn", "fm")
#: Patterns of updates: the spines that f_n and f_m take in turn.
PATTERNS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "swap": ((1, 2), (2, 1)),
    "down": ((1, 2), (2, 2)),
    "alternate": ((1, 2), (1, 2)),
}
Pattern = Literal["swap", "down", "alternate"]
Readings = Annotated[tuple[Annotated[int, whole(1, 6)], ...], Listed]


class Inputs(NamedTuple):
    """Inputs of figures 15 to 20 that the paper does not give; docs/decisions/dogar.md has the reasons.

    Parameters
    ----------
    per_group : int
        Flows of each group. Sec. 4.2(2) speaks of two flows.
    pattern : str
        Effect of an update. ``swap``: both groups take the other spine, as Sec. 3.1(3) presumes. ``down``: f_n leaves
        its spine for that of f_m, and comes back; ``alternate``: both groups take the same spine, each in turn. Both
        are readings of Sec. 4.1, where a switch is down or upgraded.
    mark_kB : float or None
        Queue length in kB from which packets are marked; None: none is.
    late_us : int
        Largest delay with which a leaf applies an update, in us. The paper gives 0 to 1 ms.
    hold_us : int
        T of NUFTCP's receiver in us; Sec. 3.2 has "smaller than 1 ms or 2 ms".
    hold_sack : bool
        Whether the receiver leaves out SACK while it may hold ACKs.
    readings : tuple of int
        Rows of docs/decisions/nuftcp.md in which NUFTCP follows algorithm 2, not the prose.
    jitter_us : float
        Jitter of each link in us. Without it the packets of two flows that fill their lines come in a fixed rhythm, and
        a full queue drops those of one of them.
    """

    per_group: int = 1
    pattern: str = "swap"
    mark_kB: float | None = 97.5  # noqa: N815  (unit)
    late_us: int = 1000
    hold_us: int = 1000
    hold_sack: bool = False
    readings: tuple[int, ...] = ()
    jitter_us: float = 0


def network(buffer_kB: int, inputs: Inputs) -> dict[str, Any]:  # noqa: N803  (unit)
    """Return the network of the preset with a buffer, a threshold or none, leaves that are late, and jitter."""
    data = preset("two-tier-clos").network.model_dump(mode="json")
    for link in data["links"]:
        threshold = None if inputs.mark_kB is None else round(1000 * inputs.mark_kB)
        link |= {"buffer": 1000 * buffer_kB, "ecn_threshold": threshold}
        if inputs.jitter_us:
            link["jitter"] = round(1000 * inputs.jitter_us)
    for switch in data["switches"]:
        if switch["name"].startswith("leaf"):
            switch["jitter"] = 1000 * inputs.late_us
    return data


def updates(
    variant: Variant,
    *,
    seed: int,
    count: int = UPDATES,
    buffer_kB: int = LARGE,  # noqa: N803  (unit)
    inputs: Inputs = Inputs(),  # noqa: B008  (immutable)
    every_ns: int = EVERY_NS,
    first_ns: int = EVERY_NS,
    starts_ns: int = 0,
    counted_ns: int | None = None,
) -> Scenario:
    """Return flows of both groups under updates.

    Parameters
    ----------
    variant : str
        Transport of all flows. TDTCP runs CUBIC in each network, as Linux does by default; spine 1 is its network 0.
    seed : int
        Seed, which the lateness of switches depends on.
    count : int
        Number of updates; the run ends as long after the last as two updates are apart.
    buffer_kB : int
        Size of the buffers in kB.
    inputs : Inputs
        Inputs that the paper does not give.
    every_ns, first_ns : int
        Time between updates, and instant of the first.
    starts_ns : int
        Time within which flows start.
    counted_ns : int or None
        Width of the bins of a long run, whose packets are only counted, on the links of `SHARED`. None: bins of 1 ms,
        and packets, windows and ACKs are recorded.
    """
    pattern = PATTERNS[inputs.pattern]
    return _scenario(variant, seed, pattern, count, buffer_kB, inputs, every_ns, first_ns, starts_ns, counted_ns)


def still(
    variant: Variant,
    *,
    seed: int,
    length_ns: int,
    together: bool = False,
    marks: bool = True,
    buffer_kB: int = LARGE,  # noqa: N803  (unit)
    inputs: Inputs = Inputs(),  # noqa: B008  (immutable)
    counted_ns: int | None = None,
) -> Scenario:
    """Return flows whose ways never change. They start within a millisecond: nothing else depends on the seed.

    Parameters
    ----------
    length_ns : int
        Length of the run.
    together : bool
        Whether both groups take spine 1; otherwise each has a spine of its own.
    marks : bool
        Whether queues mark packets.
    variant, seed, buffer_kB, inputs, counted_ns
        As in `updates`.
    """
    ways = ((1,), (1,)) if together else ((1,), (2,))
    chosen = inputs if marks else inputs._replace(mark_kB=None)
    return _scenario(variant, seed, ways, 0, buffer_kB, chosen, length_ns, 0, STARTS_NS, counted_ns)


@functools.lru_cache(maxsize=1024)
def _scenario(
    variant: str,
    seed: int,
    ways: tuple[tuple[int, ...], tuple[int, ...]],
    count: int,
    buffer_kB: int,  # noqa: N803  (unit)
    inputs: Inputs,
    every_ns: int,
    first_ns: int,
    starts_ns: int,
    counted_ns: int | None,
) -> Scenario:
    is_notified = variant == "tdtcp"
    net = network(buffer_kB, inputs)
    flows = []
    for index, (group, way) in enumerate(zip(GROUPS, ways, strict=True), 1):
        path, phase = _path(way, count, every_ns, first_ns)
        route = {"path": path, "phase": phase, "back": "same"}
        if is_notified:
            # only schedules notify hosts of networks: senders of that of the data, receivers of that of the ACKs
            route = {"path": group, "back": f"{group}-acks"}
            schedule = _schedule(way, path, phase, every_ns)
            net.setdefault("schedules", []).extend({"name": name, **schedule} for name in route.values())
        ends = {"src": f"s{index}", "dst": f"r{index}", **route}
        flows += [
            {"name": f"{group}-{number}", "size": ENDLESS, "cc": "cubic" if is_notified else variant, **ends}
            for number in range(1, inputs.per_group + 1)
        ]
    data: dict[str, Any] = {
        "network": net,
        "flows": flows,
        "probes": {"tcp": "bin", "bin": NS_PER_MS, "acks": True, "counters": True}
        if counted_ns is None
        else {"tcp": "none", "bin": counted_ns, "count": list(SHARED)},
        "transport": _transport(variant, inputs),
        "limit": first_ns + max(count, 1) * every_ns,
        "jitter": {"start": starts_ns},
        "seed": seed,
    }
    if is_notified:
        data["notify"] = {}
    return Scenario.from_dict(data)


def _path(way: tuple[int, ...], count: int, every_ns: int, first_ns: int) -> tuple[Any, int]:
    """Return the path of a flow and its phase: the spines of a way in turn, the next at each update."""
    if len(set(way)) == 1 or not count:
        return f"spine{way[0]}", 0
    if every_ns <= first_ns:
        return [[every_ns, f"spine{number}"] for number in way], first_ns - every_ns
    # the first slot is shorter than the others, so the timetable cannot repeat
    durations = [first_ns, *[every_ns] * count]
    return [[duration, f"spine{way[index % len(way)]}"] for index, duration in enumerate(durations)], 0


def _schedule(way: tuple[int, ...], path: Any, phase: int, length_ns: int) -> dict[str, Any]:
    """Return the schedule that has a path, with the number of the network in each slot: spine 1 is network 0."""
    if isinstance(path, str):
        # the second slot begins when the run has ended
        path = [[2 * length_ns, path], [length_ns, f"spine{3 - way[0]}"]]
    slots = [{"duration": duration, "link": link, "tdn": int(link[-1]) - 1} for duration, link in path]
    return {"slots": slots, "phase": phase, "dark": "drop"}


def _transport(variant: str, inputs: Inputs) -> dict[str, Any]:
    """Return the settings that differ from their defaults."""
    if variant == "tdtcp":
        return {"tdtcp": True}
    if variant != "nuftcp":
        return {}
    defaults, settings = Inputs(), dict[str, Any]()
    if inputs.readings:
        settings["nuftcp_readings"] = list(inputs.readings)
    if inputs.hold_us != defaults.hold_us:
        settings["version_hold_us"] = inputs.hold_us
    if inputs.hold_sack:
        settings["version_hold_sack"] = 1
    return settings
