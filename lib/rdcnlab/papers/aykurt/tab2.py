# SPDX-License-Identifier: Apache-2.0
"""Table II: many small CUBIC flows that arrive in pairs. Sec. V-F."""

from __future__ import annotations

import hashlib
from itertools import count, product
from typing import Any, ClassVar

import pandas as pd
from matplotlib.figure import Figure

from rdcnlab import figures, tables
from rdcnlab.claims import Measured
from rdcnlab.items import Cause, Item
from rdcnlab.papers.aykurt.space import Periods, Point, Variant
from rdcnlab.runs import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.units import NS_PER_MS

#: MB (binary) a flow can have, and that all of a group have together.
VOLUMES_MB = tuple(2**n for n in range(9))
GROUP_MB = 1024
#: Flows of a group, at most, and ns from one pair's arrival to the next.
MOST, EVERY = 20, 10 * NS_PER_MS


class Tab2(Item):
    """Two groups of small flows, which receivers ask for as clients of HTTP do; a pair of them every 10 ms.

    Parameters
    ----------
    cc : str
        Variant of all flows.
    periods_ms : tuple of int
        Periods of the migrated group's moves.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "tab2"

    cc: Variant = "cubic"
    periods_ms: Periods = (50, 25, 10)

    def points(self) -> list[Scenario]:
        """Return periods times seeds; a seed draws the same volumes for every period."""
        return [_scenario(self.cc, period, seed) for period, seed in product(self.periods_ms, range(self.count))]

    def plot(self, runs: Runs) -> Figure:
        """Draw each group's mean throughput a flow, with its interval, over the period, and what the paper states."""
        stats = self._stats(runs)
        with figures.style():
            figure, axes = figures.panels(1, 1, width=4.6, height=2.8)
            ax = axes[0, 0]
            for (group,), of_group in tables.groups(stats, ["group"]):
                look = figures.look(group)
                at = of_group["period_ms"].map({period: place for place, period in enumerate(self.periods_ms)})
                shift = -0.08 if group == "main" else 0.08
                error = [of_group["mean"] - of_group["low"], of_group["high"] - of_group["mean"]]
                ax.errorbar(
                    at + shift, of_group["mean"], yerr=error, color=look.color, marker=look.marker, linestyle="none",
                    label=look.label + "s", capsize=2,
                )  # fmt: skip
                stated = [self._stated(group, period) for period in of_group["period_ms"]]
                ax.scatter(
                    at + shift, stated, marker="_", s=160, color=look.color, alpha=0.5, label=f"paper: {look.label}s"
                )
            ax.set_xticks(range(len(self.periods_ms)), [f"{period} ms" for period in self.periods_ms])
            ax.set(xlim=(-0.5, len(self.periods_ms) - 0.5), ylim=(0, None))
            ax.set(xlabel="reconfiguration period", ylabel="throughput a flow [Gb/s]")
            figures.legend(figure, ax, columns=2)
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the groups' mean throughput at each period, and how they change with it."""
        means = self._stats(runs).pivot_table(index="period_ms", columns="group", values="mean")
        measured = {
            _claim(group, int(period)): Measured.one(float(means.loc[period, group]))
            for group, period in product(("migrated", "main"), means.index)
        }
        if len(means) > 2:
            measured["migrated-falls"] = Measured.one(tables.spearman(means.index, means["migrated"]))
        measured["main-is-steady"] = Measured.one(100 * float(means["main"].max() / means["main"].min() - 1))
        return measured

    def causes(self) -> list[Cause]:
        """Return what another meaning of an average would give."""
        return [
            Cause(
                "migrated-at-50",
                "The paper does not say how it averages. Here each flow counts alike, the short as much as the long. "
                "Counted by time, all bytes of a group over all its flows' time, the averages are, in Gb/s",
                Tab2(cc=self.cc, periods_ms=self.periods_ms, profile=self.profile, seeds=self.seeds),
                _by_time,
            )
        ]

    def _stats(self, runs: Runs) -> pd.DataFrame:
        """Average the throughput [Gb/s] of a group's flows, and that over runs; by ``period_ms`` and ``group``."""
        flows = tables.goodput(runs.flows)
        means = flows.groupby(["run", "period_ms", "group"])["gbps"].mean().reset_index()
        return tables.mean_ci(means, ["period_ms", "group"], "gbps")

    def _stated(self, group: str, period: float) -> float:
        """Return the number of Table II; NaN for a period it does not have."""
        known = {claim.id for claim in self.claims.claims}
        return self.stated(_claim(group, int(period))) if _claim(group, int(period)) in known else float("nan")


def _by_time(runs: Runs) -> Measured:
    """Measure all bytes of a group over the sum of its flows' completion times, in Gb/s."""
    sums = tables.goodput(runs.flows).groupby(["group", "period_ms"])[["size_B", "fct_s"]].sum()
    return Measured(tables.cases(8e-9 * sums["size_B"] / sums["fct_s"], "{}, {:g} ms"))


def _claim(group: str, period: int) -> str:
    return f"{group}-at-{period}"


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


def _scenario(cc: Variant, period: Any, seed: int) -> Scenario:
    base = Point(cc=cc, period_ms=period, seed=seed).scenario(**{"probes.tcp": "none", "probes.bin": "100 ms"})
    groups = {flow["name"]: flow for flow in base.to_dict()["flows"]}
    flows = [
        {
            **groups[group],
            "name": f"{group}-{number + 1}",
            "size": volume * 2**20,
            "initiator": "dst",
            "start": number * EVERY,
        }
        for group in ("main", "migrated")
        for number, volume in enumerate(volumes(seed, group))
    ]
    return base.with_(flows=flows)
