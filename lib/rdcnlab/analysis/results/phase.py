# SPDX-License-Identifier: Apache-2.0
"""Phase effects: of senders with one constant rate, the same one always finds a full queue (Floyd and Jacobson, 1991).

Packets of such senders reach a queue in an order that never changes. If the queue is full, the place that a departing
packet leaves goes to the packet that comes next, and that is always one of the same sender. A random delay of the time
that a packet takes on the line ends it. A real network has such delays, a network of exact clocks does not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from rdcnlab.analysis.results.series import Series
from rdcnlab.fields.units import DURATION, NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import RECEIVER, Part
from rdcnlab.runs.run import Run
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.senders import equal

#: Losses of a full queue; random losses and disciplines have no phase.
_FULL = ("drop_tail", "drop_port", "drop_pool")
#: Senders are equal if the numbers of their packets differ by at most this share.
_EQUAL = 0.01
#: Shares of lost packets are unequal if they differ by more than this, and by more than chance makes them differ: four
#: standard deviations of the difference of two binomial shares.
_UNEQUAL, _DEVIATIONS = 0.05, 4
#: A number of a run changes if it differs by more than this share of the larger value.
CHANGES = 0.1
#: Most names that a sentence lists.
_MOST = 4
_PACKETS = Part(("bin", "where", "flow", "packets"))


@dataclass(frozen=True)
class PhaseEffect:
    """Equal senders that lost unequally at a full queue.

    Parameters
    ----------
    place : str
        The line or the port.
    sent, lost : dict of str to int
        Packets of each of these senders that reached the queue, and that it did not accept; the sender with the fewest
        losses first.
    cure : str
        A setting that ends the effect.
    """

    place: str
    sent: dict[str, int]
    lost: dict[str, int]
    cure: str

    def __str__(self) -> str:
        names = list(self.lost)
        shown = [*names[: _MOST - 1], names[-1]] if len(names) > _MOST else names
        counts = ", ".join(f"{name} lost {self.lost[name]} of {self.sent[name]}" for name in shown)
        more = f" (and {len(names) - len(shown)} between)" if len(names) > len(shown) else ""
        return (
            f"phase effect at {self.place}: equal senders lose unequally, {counts} packets{more}, because they always "
            f"arrive in the same order. {self.cure}, or use --check-phase of rdcnlab run, which says what depends on it"
        )


def effects(run: Run) -> list[PhaseEffect]:
    """Return where equal senders of constant rate lost unequally at a full queue."""
    groups = equal(run.scenario)
    part = {"throughput": _PACKETS}
    if not groups or run.scenario.probes.fold is not None or not run.holds(part):
        return []
    series = Series(run)
    losses = series.losses[series.losses["event"].astype(str).isin(_FULL)]
    if losses.empty:
        return []
    rows = run.table("throughput", _PACKETS).to_pandas()
    carried = rows.groupby(["where", "flow"], observed=True)["packets"].sum()
    effects = []
    for place, at in losses.groupby(losses["link"].astype(str)):
        # a port to a host and the queue of a schedule are no lines: what passed them reached the receiver
        where = str(place) if str(place) in carried.index.get_level_values(0) else RECEIVER
        lost = at["flow"].astype(str).value_counts()
        for group in groups:
            counts = {
                name: (int(carried.get((where, name), 0)) + int(lost.get(name, 0)), int(lost.get(name, 0)))
                for name in group
            }
            for names in _alike({name: sent for name, (sent, _) in counts.items() if sent}):
                sent, gone = ({name: counts[name][index] for name in names} for index in (0, 1))
                if _unequal(sent, gone):
                    order = sorted(names, key=lambda name: gone[name])
                    cure = _cure(run.scenario, order[0])
                    effects.append(PhaseEffect(str(place), sent, {name: gone[name] for name in order}, cure))
    return effects


def _alike(sent: dict[str, int]) -> Iterator[list[str]]:
    """Yield groups of several flows that sent equally many packets."""
    order = sorted(sent, key=lambda name: sent[name])
    group = order[:1]
    for name in [*order[1:], ""]:
        if name and sent[name] <= sent[group[0]] * (1 + _EQUAL):
            group.append(name)
            continue
        if len(group) > 1:
            yield group
        group = [name]


def _unequal(sent: dict[str, int], lost: dict[str, int]) -> bool:
    share = sum(lost.values()) / sum(sent.values())
    deviation = math.sqrt(2 * share * (1 - share) / min(sent.values()))
    shares = [lost[name] / sent[name] for name in sent]
    return max(shares) - min(shares) > max(_UNEQUAL, _DEVIATIONS * deviation)


# With jitter --------------------------------------------------------------------------------------------------------


def jitter_ns(scenario: Scenario) -> int:
    """Return the time in ns that a full frame takes on the slowest line, rounded up, which ends phase effects."""
    network = scenario.network
    slowest = min([*(host.rate for host in network.hosts), *(link.rate for link in network.links)])
    frame_ns: int = -(-8 * (network.mtu + network.overhead) * NS_PER_S // slowest)
    unit: int = 10 ** max(0, len(str(frame_ns)) - 2)
    return -(-frame_ns // unit) * unit


def _cure(scenario: Scenario, flow: str) -> str:
    src = next(one.src for one in scenario.traffic if one.name == flow)
    return f"Give hosts a jitter, such as network.hosts.{src}.jitter: {DURATION.format(jitter_ns(scenario))}"


def jittered(scenario: Scenario) -> Scenario:
    """Return the scenario with a jitter on the cable of each host that sends and has none."""
    senders = dict.fromkeys([*(flow.src for flow in scenario.flows), *(one.host for one in scenario.programs)])
    changes = {
        f"network.hosts.{name}.jitter": DURATION.format(jitter_ns(scenario))
        for name in senders
        if not scenario.network.host(name).jitter
    }
    return scenario.with_(**changes)


def compared(plain: Runs, changed: Runs) -> pd.DataFrame:
    """Compare the numbers of runs with those of the same runs with jitter.

    Returns
    -------
    DataFrame
        ``flow``, ``number``, ``plain`` and ``jitter`` (means over the runs), ``changes``: whether they differ by more
        than `CHANGES` of the larger value. Numbers are received and lost packets of flows and of programs' traffic,
        and of flows ``fct_s``, ``retransmits`` and ``timeouts``.
    """
    before, after = _numbers(plain), _numbers(changed)
    rows = []
    for key in dict.fromkeys(itertools.chain(before, after)):
        first, second = before.get(key, math.nan), after.get(key, math.nan)
        if math.isnan(first) and math.isnan(second):
            continue
        largest = max(abs(first), abs(second))
        # a flow that ends with jitter only, or without it only, changes
        differs = not abs(first - second) <= CHANGES * largest
        rows.append({"flow": key[0], "number": key[1], "plain": first, "jitter": second, "changes": differs})
    return pd.DataFrame(rows, columns=["flow", "number", "plain", "jitter", "changes"])


def _numbers(runs: Iterable[Run]) -> dict[tuple[str, str], float]:
    """Return the mean over runs of each number, by flow and name; one that some run lacks is NaN."""
    values: dict[tuple[str, str], list[float]] = {}
    count = 0
    for run in runs:
        count += 1
        for key, value in _numbers_of(run):
            values.setdefault(key, []).append(value)
    return {key: _mean(numbers, count, key[1] in _COUNTS) for key, numbers in values.items()}


#: Numbers that are 0 if a run does not have them.
_COUNTS = ("received packets", "lost packets")


def _mean(values: Sequence[float], count: int, missing_is_0: bool) -> float:
    if len(values) < count and not missing_is_0:
        return math.nan
    return sum(values) / count


def _numbers_of(run: Run) -> Iterator[tuple[tuple[str, str], float]]:
    packets = run.table("throughput", _PACKETS).to_pandas()
    received = packets[packets["where"].astype(str) == RECEIVER].groupby("flow", observed=True)["packets"].sum()
    lost = Series(run).losses["flow"].dropna().astype(str).value_counts()
    for name, counts in zip(_COUNTS, (received, lost), strict=True):
        for flow, value in counts.items():
            yield (str(flow), name), float(value)
    flows = run.table("flows").to_pandas().set_index("flow")
    for name in ("fct_s", "retransmits", "timeouts"):
        for flow, value in flows[name].astype(float).items():
            yield (str(flow), name), float(value)
