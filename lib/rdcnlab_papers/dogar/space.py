# SPDX-License-Identifier: Apache-2.0
"""The paper's testbed: two groups of flows that swap two links at network updates (Sec. 2.1)."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.fields.units import NS_PER_MS, NS_PER_S
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.draws import draw
from rdcnlab.scenario.flow import ENDLESS, TCP_HEADERS
from rdcnlab.scenario.presets import preset
from rdcnlab.scenario.timetable import DARK

Variant = Literal["cubic", "bbr", "dctcp"]
Group = Literal["fn", "fm"]
Variants = Annotated[tuple[Variant, ...], Field(min_length=1), Listed]
#: Table 1: the sizes of the buffer in kB.
SMALL, LARGE = 200, 1000
Buffer = Annotated[int, whole(10, 100_000)]
#: The groups, and the link that each begins on (Sec. 2.1, Fig. 1).
GROUPS: dict[str, tuple[str, str]] = {"fn": ("l_n", "l_m"), "fm": ("l_m", "l_n")}
#: Sec. 2.3: the delay between two parts of an inconsistent update.
INCONSISTENT_MS = 100
#: A duration of updates in ms in which a buffer of 1 MB does not overflow: twice the rate of a link fills it in 0.8 ms.
BRIEF_MS = 0.5
#: Time before the first update, and within which flows start, both times the scale.
SETTLE_NS, STARTS_NS = NS_PER_S, NS_PER_S // 50
#: Changes of a route are at instants of a whole microsecond.
_STEP_NS = 1000


class Inputs(NamedTuple):
    """Inputs of figures 2 to 13 that the paper does not give; docs/decisions/dogar.md has the reasons.

    Parameters
    ----------
    per_group : int
        Flows of each group. Sec. 2.1 speaks of groups of flows: two is the least.
    rtt_us : int
        RTT without queues, in us. Sec. 3.1 has 250 us in its example of a link of 10 Gb/s.
    change_ms : float
        Longest duration of a route change, in ms: how long the route of f_n has changed, and that of f_m has not yet.
        Sec. 2.1: "at most one second"; Table 1 has a reroute time of 1 s. Drawn uniformly for each update.
    red_percent : tuple of int
        The two thresholds of RED, in % of the buffer. Not given.
    red_probability : int
        Drop probability at the upper threshold, in %. Not given.
    dark_ms : int
        Time for which no rule matches while the route of a group changes, so that its packets are lost. 0: routes
        change seamlessly, as Sec. 2.2 asks of consistent updates.
    dark_groups : tuple of str
        The groups that have this gap.
    mark_percent : int
        Queue length from which ECN-capable packets are marked, in % of the buffer. Not given: where RED would begin to
        drop others.
    host_gbps : float
        Rate of the hosts' network cards, in Gb/s. Not given: that of the links.
    """

    per_group: int = 2
    rtt_us: int = 250
    change_ms: float = 1000.0
    dark_ms: int = 0
    dark_groups: tuple[Group, ...] = ("fn", "fm")
    red_percent: tuple[int, int] = (30, 90)
    red_probability: int = 10
    mark_percent: int = 30
    host_gbps: float = 10.0


class Setting(NamedTuple):
    """Settings that the paper varies: the buffer in kB, and whether updates are inconsistent, and in which part.

    `apart` is ``no``, ``switches`` (the right switch applies each update later) or ``groups`` (the route of f_m changes
    later).
    """

    buffer_kB: int = LARGE  # noqa: N815  (unit)
    apart: str = "no"


def network(buffer_kB: int, inputs: Inputs, *, late_ns: int = 0) -> dict[str, Any]:  # noqa: N803  (unit)
    """Return the two switches of the preset with a buffer, and with inputs that the paper does not give."""
    data = preset("two-switches").network.model_dump(mode="json")
    size = 1000 * buffer_kB
    # both cables to hosts have the same share of the RTT; links between the switches keep the preset's delay
    cable = (inputs.rtt_us * 1000 // 2 - data["links"][0]["delay"]) // 2
    for link in data["links"]:
        low, high = (size * percent // 100 for percent in inputs.red_percent)
        red = {"min": low, "max": high, "probability": f"{inputs.red_probability} %"}
        link |= {"buffer": size, "ecn_threshold": size * inputs.mark_percent // 100, "red": red}
    for host in data["hosts"]:
        host |= {"delay": max(cable, 0), "rate": round(inputs.host_gbps * 1e9)}
    data["switches"][1]["late"] = late_ns
    return data


def instants(seed: int, count: int, interval_ns: int, longest_ns: int, settle_ns: int) -> tuple[list[int], list[int]]:
    """Return the instants in ns at which the routes of f_n and f_m change; each update begins with f_n's route.

    Parameters
    ----------
    seed : int
        Seed, which the durations of updates depend on.
    count : int
        Number of updates.
    interval_ns : int
        Time between updates.
    longest_ns : int
        Longest duration of an update; f_m's route has changed before the next update.
    settle_ns : int
        Time of the first update.
    """
    begins = [settle_ns + number * interval_ns for number in range(count)]
    steps = min(longest_ns, interval_ns) // _STEP_NS
    durations = [_STEP_NS * draw(seed, f"change {number}", steps - 1) if steps else 0 for number in range(count)]
    return begins, [begin + take for begin, take in zip(begins, durations, strict=True)]


def updates(
    cc: Variant,
    *,
    seed: int,
    interval_s: float | None = 1.0,
    count: int,
    setting: Setting = Setting(),  # noqa: B008  (immutable)
    inputs: Inputs = Inputs(),  # noqa: B008  (immutable)
    scale: float = 1.0,
    bin_ms: int = 10,
) -> Scenario:
    """Return flows of both groups, which swap their links at each update.

    Parameters
    ----------
    cc : str
        Congestion control of all flows.
    seed : int
        Seed, which the durations of updates and the starts of flows depend on.
    interval_s : float or None
        Time between updates; None: no updates.
    count : int
        Number of updates; without updates, number of seconds.
    setting : Setting
        Size of the buffer, and the inconsistent part of updates.
    inputs : Inputs
        Inputs that the paper does not give.
    scale : float
        Factor on all times of updates; below 1 for shorter runs.
    bin_ms : int
        Width of the bins in which bytes are counted and windows are recorded.
    """
    return _updates(cc, seed, interval_s, count, setting, inputs, scale, bin_ms)


@functools.lru_cache(maxsize=512)
def _updates(
    cc: str,
    seed: int,
    interval_s: float | None,
    count: int,
    setting: Setting,
    inputs: Inputs,
    scale: float,
    bin_ms: int,
) -> Scenario:
    interval = round((interval_s or 1.0) * scale * NS_PER_S)
    settle, offset = round(SETTLE_NS * scale), round(INCONSISTENT_MS * scale * NS_PER_MS)
    paths: dict[str, Any] = {group: first for group, (first, _) in GROUPS.items()}
    if interval_s is not None:
        longest = round(inputs.change_ms * scale * NS_PER_MS)
        changes = dict(zip(GROUPS, instants(seed, count, interval, longest, settle), strict=True))
        if setting.apart == "groups":
            changes["fm"] = [instant + offset for instant in changes["fm"]]
        dark, last = round(inputs.dark_ms * scale * NS_PER_MS), interval + longest + offset
        paths = {
            group: _slots(GROUPS[group], group_instants, last, dark if group in inputs.dark_groups else 0)
            for group, group_instants in changes.items()
        }
    late = offset if setting.apart == "switches" else 0
    return _scenario(cc, paths, network(setting.buffer_kB, inputs, late_ns=late), inputs.per_group).with_(
        seed=seed,
        limit=settle + count * interval,
        **{"jitter.start": round(STARTS_NS * scale), "probes.bin": bin_ms * NS_PER_MS},
    )


def failure(
    cc: Variant,
    link: str,
    *,
    seed: int,
    count: int,
    inputs: Inputs = Inputs(),  # noqa: B008  (immutable)
    notice_ms: int = 0,
    buffer_kB: int = LARGE,  # noqa: N803  (unit)
    scale: float = 1.0,
) -> Scenario:
    """Return flows of which one group takes the other's link, because its own fails every other second (Sec. 2.1).

    Parameters
    ----------
    cc, seed, inputs, scale
        As in `updates`.
    link : {'l_n', 'l_m'}
        The link that fails.
    count : int
        Number of failures.
    notice_ms : int
        Time for which packets are lost until the route has changed. Not given; 0 shows the congestion alone.
    buffer_kB : int
        Size of the buffer in kB.
    """
    second, notice = round(NS_PER_S * scale), round(notice_ms * scale * NS_PER_MS)
    failed = [[second, link], *([[notice, DARK]] if notice else [])]
    paths: dict[str, Any] = {
        group: [*failed, [second - notice, other]] if own == link else own for group, (own, other) in GROUPS.items()
    }
    return _scenario(cc, paths, network(buffer_kB, inputs), inputs.per_group).with_(
        seed=seed, limit=2 * count * second, **{"jitter.start": round(STARTS_NS * scale)}
    )


def meetings(rtt_us: int, window: float, inputs: Inputs, *, buffer_kB: int = LARGE) -> Scenario:  # noqa: N803  (unit)
    """Return two flows whose receivers limit their windows, and which share a link for half of the time.

    Parameters
    ----------
    rtt_us : int
        RTT without queues.
    window : float
        Bytes on the wire that are under way at most, of each flow, in units of the link's capacity times the RTT.
    inputs : Inputs
        Other inputs.
    buffer_kB : int
        Size of the buffer in kB.
    """
    period_ns, settle, count = 20 * NS_PER_MS, 100 * NS_PER_MS, 4
    net = network(buffer_kB, inputs)
    begins = [settle + number * period_ns for number in range(count)]
    changes = {"fn": begins, "fm": [begin + period_ns // 2 for begin in begins]}
    paths = {group: _slots(GROUPS[group], starts, period_ns) for group, starts in changes.items()}
    rate, wire = net["links"][0]["rate"], net["mtu"] + net["overhead"]
    payload = round(window * rate * rtt_us / 8e6 * (net["mtu"] - TCP_HEADERS) / wire)
    # the window is half of the receive buffer; nothing else limits it
    limited = {"transport.half_rcvbuf": 1, "transport.rmem": [4096, min(87_380, 2 * payload), 2 * payload]}
    return _scenario("cubic", paths, net, inputs.per_group).with_(
        limit=settle + count * period_ns,
        **{"probes.count": [], "probes.bin": "1 ms", "jitter.start": "1 ms", **limited},
    )


def _slots(links: tuple[str, str], changes: list[int], last_ns: int, dark_ns: int = 0) -> list[list[Any]]:
    """Return a timetable that takes the two links in turn, and changes at given instants, each time with a dark slot.

    A dark slot leaves at least one step of the slot that follows it.
    """
    slots: list[list[Any]] = [[changes[0], links[0]]]
    for number, (change, following) in enumerate(pairwise([*changes, changes[-1] + last_ns]), 1):
        dark = min(dark_ns, following - change - _STEP_NS)
        slots += [[dark, DARK]] if dark >= _STEP_NS else []
        slots.append([following - change - max(dark, 0), links[number % 2]])
    return slots


def _scenario(cc: str, paths: dict[str, Any], net: dict[str, Any], per_group: int) -> Scenario:
    ends = {group: {"src": f"s{n}", "dst": f"r{n}", "back": "same"} for n, group in enumerate(GROUPS, 1)}
    flows = [
        {"name": f"{group}-{number}", "size": ENDLESS, "cc": cc, "path": paths[group], **ends[group]}
        for group in GROUPS
        for number in range(1, per_group + 1)
    ]
    probes = {"tcp": "bin", "bin": "10 ms", "count": [link for link, _ in GROUPS.values()]}
    return Scenario.from_dict({"network": net, "flows": flows, "probes": probes})
