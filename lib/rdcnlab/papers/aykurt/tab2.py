# SPDX-License-Identifier: Apache-2.0
"""Table II: many small CUBIC flows that arrive in pairs. Sec. V-F."""

from __future__ import annotations

import hashlib
from itertools import count, product
from typing import Any, ClassVar, Literal

import pandas as pd
from matplotlib.figure import Figure

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.papers.aykurt.space import Periods, Point, Variant
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

#: MB (binary) a flow can have, and that all of a group have together.
VOLUMES_MB = tuple(2**n for n in range(9))
GROUP_MB = 1024
#: Flows of a group, at most, and ns from one pair's arrival to the next.
MOST, EVERY = 20, 10 * NS_PER_MS
#: What is short: a flow that the initial windows of a few round trips carry.
SHORT_MB = 4
#: Groups and periods [ms] whose mean the paper states.
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

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "tab2"

    cc: Variant = "cubic"
    periods_ms: Periods = (50, 25, 10)
    average: Literal["flow", "time"] = "flow"

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
        """Return what another meaning of an average gives, which flows gain, and how much is chance."""
        by_time = self.model_copy(update={"average": "time"})
        means = (
            "The paper does not say how it averages. Here each flow counts alike, the short as much as the long. "
            "Where each second of a flow counts alike, all bytes of a group over all its flows' time, the mean is"
        )
        rates = [Cause(_claim(group, period), means, by_time) for group, period in _RATES if period in self.periods_ms]
        return [
            *rates,
            Cause(
                "migrated-falls",
                "Only short flows gain as the period falls, most of all those that begin while the group has a link "
                "for itself; in a mean of flows each of them counts as much as a long one. In Gb/s",
                self,
                _by_volume,
            ),
            Cause(
                "main-is-steady",
                "Volumes are drawn, and thirty draws leave more to chance than 4 %: no period's mean is apart from "
                "that of another. From the longest period to each other, in Gb/s",
                self,
                self._changes,
            ),
        ]

    def _of_runs(self, runs: Runs) -> pd.DataFrame:
        """Average the throughput [Gb/s] of a group's flows: ``run``, ``period_ms``, ``group``, ``gbps``."""
        grouped = tables.goodput(runs.flows).groupby(["run", "period_ms", "group"])
        if self.average == "flow":
            return grouped["gbps"].mean().reset_index()
        sums = grouped[["size_B", "fct_s"]].sum()
        return (8e-9 * sums["size_B"] / sums["fct_s"]).rename("gbps").reset_index()

    def _stats(self, runs: Runs) -> pd.DataFrame:
        """Average the throughput [Gb/s] of a group over runs; by ``period_ms`` and ``group``."""
        return tables.mean_ci(self._of_runs(runs), ["period_ms", "group"], "gbps")

    def _changes(self, runs: Runs) -> Measured:
        """Measure what each period adds to a group's mean at the longest; a seed has the same volumes at all."""
        seeds = {place: run.scenario.seed for place, run in enumerate(runs)}
        means = self._of_runs(runs).assign(seed=lambda frame: frame["run"].map(seeds))
        table = means.pivot_table(index=["group", "seed"], columns="period_ms", values="gbps")
        longest = table.columns.max()
        more = table.drop(columns=longest).sub(table[longest], axis=0)
        more = more.melt(var_name="period_ms", value_name="gbps", ignore_index=False).reset_index()
        stats = tables.mean_ci(more, ["group", "period_ms"], "gbps").set_index(["group", "period_ms"])
        return Measured(note=tables.listed(stats, "", "{}, {:g} ms"))

    def _stated(self, group: str, period: float) -> float:
        """Return the number of Table II; NaN for a period it does not have."""
        known = {claim.id for claim in self.claims.claims}
        return self.stated(_claim(group, int(period))) if _claim(group, int(period)) in known else float("nan")


def _by_volume(runs: Runs) -> Measured:
    """Measure the migrated flows' mean throughput, Gb/s, of long flows, and of short ones by where they begin.

    The intervals are of flows, not of runs: few runs have flows of every kind.
    """
    flows = tables.goodput(runs.flows)
    flows = flows[flows["group"] == "migrated"]
    short = f"up to {SHORT_MB} MB, begun on"
    begun = [
        tables.targets(runs[run].scenario, flow, [round(start_s * 1e9)])[0]
        for run, flow, start_s in flows[["run", "flow", "start_s"]].itertuples(index=False)
    ]
    kinds = pd.Series([f"{short} {link}" for link in begun], index=flows.index)
    flows = flows.assign(kind=kinds.mask(flows["size_B"] > SHORT_MB * 2**20, f"over {SHORT_MB} MB"))
    stats = tables.mean_ci(flows, ["kind", "period_ms"], "gbps").set_index(["kind", "period_ms"])
    return Measured(note=tables.listed(stats, "", "{}, {:g} ms"))


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
