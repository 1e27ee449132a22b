# SPDX-License-Identifier: Apache-2.0
"""Table II: many small CUBIC flows that arrive in pairs. Sec. V-F."""

from __future__ import annotations

import hashlib
from itertools import count, product

import pandas as pd
from matplotlib.figure import Figure

from rdcnlab.analysis import competition, figures, goodput, tables
from rdcnlab.analysis.goodput import Average
from rdcnlab.analysis.measured import Measured, means
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.papers.aykurt.space import WIDE_BINS, Periods, Point, Variant
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

#: MB (binary) a flow can have, and that all of a group have together.
VOLUMES_MB = tuple(2**n for n in range(9))
GROUP_MB = 1024
#: Flows of a group, at most, and ns from one pair's arrival to the next.
MOST, EVERY = 20, 10 * NS_PER_MS
#: Groups, and periods [ms] whose mean the paper states.
_RATES = tuple(product(("migrated", "main"), (50, 25, 10)))


class Tab2(Item):
    """Two groups of small flows, which receivers ask for as clients of HTTP do; a pair of them every 10 ms.

    Parameters
    ----------
    cc : str
        Variant of all flows.
    periods_ms : tuple of int
        Periods of the migrated group's moves.
    average : {'flow', 'time'}
        What counts alike in a group's mean: each flow, or each second of a flow (all bytes over all flows' time).
    """

    cc: Variant = "cubic"
    periods_ms: Periods = (50, 25, 10)
    average: Average = "flow"

    def points(self) -> list[Scenario]:
        """Return periods times seeds; a seed draws the same volumes for every period."""
        return [_scenario(self.cc, period, seed) for period, seed in product(self.periods_ms, range(self.count))]

    def plot(self, runs: Runs) -> Figure:
        """Draw each group's mean throughput a flow, with its interval, over the period, and what the paper states."""
        stats = self._stats(runs).reset_index()
        with figures.single(4.6, 2.8, columns=2) as (figure, ax):
            for (group,), of_group in tables.groups(stats, ["group"]):
                look = figures.look(group)
                places = of_group["period_ms"].map({period: place for place, period in enumerate(self.periods_ms)})
                at = places + (-0.08 if group == "main" else 0.08)
                error = [of_group["mean"] - of_group["low"], of_group["high"] - of_group["mean"]]
                ax.errorbar(
                    at, of_group["mean"], yerr=error, color=look.color, marker=look.marker, linestyle="none",
                    label=look.label + "s", capsize=2,
                )  # fmt: skip
                expected = [self.expected(f"{group}-at-{period:g}") for period in of_group["period_ms"]]
                stated = [each.near if each and each.near else float("nan") for each in expected]
                ax.scatter(at, stated, marker="_", s=160, color=look.color, alpha=0.5, label=f"paper: {look.label}s")
            ax.set_xticks(range(len(self.periods_ms)), [f"{period} ms" for period in self.periods_ms])
            ax.set(xlim=(-0.5, len(self.periods_ms) - 0.5), ylim=(0, None))
            ax.set(xlabel="reconfiguration period", ylabel="throughput a flow [Gb/s]")
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the groups' mean throughput at each period, and how they change with it."""
        mean = self._stats(runs)["mean"].unstack("group")
        measured = {f"{g}-at-{p:g}": Measured.one(mean.loc[p, g]) for g, p in product(("migrated", "main"), mean.index)}
        if len(mean) > 2:
            measured["migrated-falls"] = Measured.one(tables.spearman(mean.index, mean["migrated"]))
        measured["main-is-steady"] = Measured.one(100 * float(mean["main"].max() / mean["main"].min() - 1))
        return measured

    def causes(self) -> list[Cause]:
        """Return what another meaning of an average gives, which flows gain, and how much is chance."""
        by_time = self.model_copy(update={"average": "time"})
        rates = [Cause(f"{group}-at-{period}", by_time) for group, period in _RATES if period in self.periods_ms]
        changes = Cause("main-is-steady", self, lambda runs: goodput.changes(runs, self.average))
        return [*rates, Cause("migrated-falls", self, goodput.by_volume), changes]

    def _stats(self, runs: Runs) -> pd.DataFrame:
        """Average the throughput [Gb/s] of a group over runs; by ``period_ms`` and ``group``."""
        return means(goodput.of_groups(runs, self.average), ["period_ms", "group"], "gbps")


def volumes(seed: int, group: str) -> list[int]:
    """Draw the volumes [MB] of a group: each of those that still fit equally likely, anew while they are too many."""
    for attempt in count():
        drawn: list[int] = []
        while sum(drawn) < GROUP_MB and len(drawn) < MOST:
            fitting = [volume for volume in VOLUMES_MB if volume <= GROUP_MB - sum(drawn)]
            # a hash and no generator: the same with every version of every library
            digest = hashlib.sha256(f"{seed} {group} {attempt} {len(drawn)}".encode()).digest()
            drawn.append(fitting[int.from_bytes(digest[:8], "big") % len(fitting)])
        if sum(drawn) == GROUP_MB:
            return drawn
    raise AssertionError("unreachable")


def _scenario(cc: Variant, period: int, seed: int) -> Scenario:
    base = Point(cc=cc, period_ms=period, seed=seed).scenario(**WIDE_BINS)
    groups = {flow["name"]: {**flow, "initiator": "dst"} for flow in base.to_dict()["flows"]}
    flows = [
        {**groups[group], "name": f"{group}-{number + 1}", "size": volume * 2**20, "start": number * EVERY}
        for group in competition.FLOWS
        for number, volume in enumerate(volumes(seed, group))
    ]
    return base.with_(flows=flows)
