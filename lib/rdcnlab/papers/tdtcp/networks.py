# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: TDTCP over 2 to 8 networks that differ in bandwidth and latency."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import figures, tables, weeks
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import DURATION, NS_PER_US
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Throughput, Variants
from rdcnlab.papers.tdtcp.space import FOLD_FROM, PACED, scenario
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.rotor import rotation

#: Sec. 5.1: days and nights, ns. All networks are circuits here, so every night is dark.
_DAY, _NIGHT = 180 * NS_PER_US, 20 * NS_PER_US
#: Bandwidth [Gb/s] and RTT [us] of the first network and of the last one, those of the paper; the others are between.
_RATES, _RTTS = (100, 10), (40, 100)


class Networks(Throughput):
    """Goodput by the number of networks, each a day of the week.

    Parameters
    ----------
    counts : tuple of int
        Numbers of networks.
    """

    id: ClassVar[str] = "networks"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    of_profile: ClassVar[dict[str, str]] = {"quick": "300 ms", "paper": "500 ms"}

    variants: Variants = ("tdtcp", "cubic")
    counts: Annotated[tuple[Literal[2, 3, 4, 5, 6, 7, 8], ...], Field(min_length=1), Listed] = (2, 3, 4, 6, 8)

    @property
    def cases(self) -> tuple[str, ...]:
        """Variants by number of networks."""
        return tuple(f"{variant} {count}" for count in self.counts for variant in self.variants)

    def case(self, name: str, seed: int) -> Scenario:
        """Return the scenario of a case."""
        variant, count = name.split()
        base = scenario(variant, self.difference, duration=self.lasts, seed=seed)
        return base.with_(**_networks(base, int(count)))

    def shares(self, runs: Runs) -> pd.DataFrame:
        """Return goodput as a share of optimal: ``mean``, ``low``, ``high``, ``variant`` and ``count`` by case."""
        goodput = self.goodput(runs)
        optimal = {case: weeks.bound_gbps(asked) for case, _, asked in self.present(runs)}
        stats = goodput[["mean", "low", "high"]].div(goodput.index.map(optimal), axis=0)
        named = stats.index.str.split()
        return stats.assign(variant=named.str[0], count=named.str[1].astype(int))

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how far TDTCP is above CUBIC, and its share of optimal."""
        shares = self.shares(runs)
        of = {name: shares[shares["variant"] == name].set_index("count") for name in self.variants}
        measured: dict[str, Measured] = {}
        if "tdtcp" in of:
            ours = of["tdtcp"]
            measured["near-optimal"] = Measured({f"{n}": float(ours.loc[n, "mean"]) for n in ours.index})
        if {"tdtcp", "cubic"} <= set(of):
            both = of["tdtcp"].index.intersection(of["cubic"].index)
            ahead = {f"{n}": tables.margin(of["tdtcp"].loc[[n]], of["cubic"].loc[[n]]) for n in both}
            measured["gains"] = Measured(ahead, tables.listed(shares))
        return measured

    def causes(self) -> list[Cause]:
        """Return what the burst of a window that was kept costs."""
        return [
            Cause(
                "near-optimal",
                "Each day begins with the initial burst of Sec. 5.2 into an empty network, and the queue of 16 packets "
                "does not take it in. Paced, the shares are (a part of it only)",
                Networks(variants=("tdtcp",), counts=self.counts, seeds=self.few, changes=PACED),
            )
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw the shares over the number of networks."""
        shares = self.shares(runs)
        with figures.style():
            figure = figures.Drawing(figsize=(4.6, 3.0), layout="constrained")
            ax = figure.subplots()
            for name in self.variants:
                figures.band(ax, shares[shares["variant"] == name].sort_values("count"), "count", name)
            figures.reference(ax, 1.0, "optimal")
            ax.set_xticks(self.counts)
            ax.set(xlabel="networks", ylabel="goodput, share of optimal", ylim=(0, 1.05))
            figures.legend(figure, ax)
        return figure


def _networks(base: Scenario, count: int) -> dict[str, Any]:
    """Return the changes that give a scenario so many networks."""
    parts = [number / (count - 1) for number in range(count)]
    rates = [round(_RATES[0] + (_RATES[1] - _RATES[0]) * part) * 10**9 for part in parts]
    rtts = [round((_RTTS[0] + (_RTTS[1] - _RTTS[0]) * part) * NS_PER_US) for part in parts]
    names = [f"net{number}" for number in range(count)]
    first = base.flows[0]
    links = [
        {
            "name": name,
            "rate": rate,
            "delay": base.network.delay_ns(first.src, first.dst, base.network.mtu, TCP_HEADERS, rate=rate, rtt_ns=rtt),
        }
        for name, rate, rtt in zip(names, rates, rtts, strict=True)
    ]
    slots = rotation(names, day=_DAY, night=_NIGHT)
    week = sum(slot["duration"] for slot in slots)
    weeks_before = -(-DURATION.parse(FOLD_FROM) // week)
    return {
        "network.links": links,
        "network.schedules.forward.slots": slots,
        "network.schedules.reverse.slots": slots,
        "probes.fold": 3 * week,
        "probes.fold_from": weeks_before * week,
    }
