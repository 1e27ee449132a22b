# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: flows of TDTCP beside flows of stock CUBIC, in one queue."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import figures, tables, weeks
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Throughput, Variants
from rdcnlab.papers.tdtcp.space import PACED, scenario
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import SENDER
from rdcnlab.scenario import Scenario

_FLOWS = 16


class Fairness(Throughput):
    """What a flow of either kind gets, by the number of those of TDTCP among 16.

    Parameters
    ----------
    counts : tuple of int
        Flows of TDTCP; the others are CUBIC, whose hosts do not offer TDTCP.
    """

    id: ClassVar[str] = "fairness"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    of_profile: ClassVar[dict[str, str]] = {"quick": "300 ms", "paper": "500 ms"}

    variants: Variants = ("tdtcp", "cubic")
    counts: Annotated[tuple[Annotated[int, whole(0, _FLOWS)], ...], Field(min_length=1), Listed] = (0, 4, 8, 12, 16)

    @property
    def cases(self) -> tuple[str, ...]:
        """Numbers of flows of TDTCP."""
        return tuple(str(count) for count in self.counts)

    def case(self, name: str, seed: int) -> Scenario:
        """Return the scenario of a case. Those of TDTCP are spread evenly, since neighbours start alike."""
        base = scenario("tdtcp", self.difference, duration=self.lasts, seed=seed)
        ours = _spread(int(name))
        return base.with_(**{f"flows.{flow.name}.tdtcp": False for n, flow in enumerate(base.flows) if n not in ours})

    def shares(self, runs: Runs) -> pd.DataFrame:
        """Return a flow's goodput in Gb/s: ``mean``, ``low``, ``high``, by ``ours`` (flows of TDTCP) and ``kind``."""
        parts = []
        for case, of, asked in self.present(runs):
            ours = {asked.flows[n].name for n in _spread(int(case))}
            acked = of.throughput[of.throughput["where"] == SENDER]
            for kind, names in (("tdtcp", ours), ("cubic", {flow.name for flow in asked.flows} - ours)):
                if not names:
                    continue
                line = weeks.sequence(
                    weeks.fold(acked[acked["flow"].isin(names)], "bytes", asked), share=1 / len(names)
                )
                end = line.groupby("run").last().reset_index()
                parts.append(end.assign(ours=int(case), kind=kind, gbps=8e-3 * end["bytes"] / end["t_us"]))
        every = pd.concat([pd.DataFrame({"ours": [], "kind": [], "gbps": []}), *parts])
        return tables.mean_ci(every, ["ours", "kind"], "gbps")

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure TDTCP's flows against CUBIC's beside them, and these against CUBIC's among themselves."""
        means = self.shares(runs).set_index(["ours", "kind"])["mean"].to_dict()
        mixed = [count for count in self.counts if {(count, "tdtcp"), (count, "cubic")} <= set(means)]
        measured = {"alike": Measured({f"{n}": means[n, "tdtcp"] / means[n, "cubic"] for n in mixed})}
        if (0, "cubic") in means:
            measured["no-harm"] = Measured({f"{n}": means[n, "cubic"] / means[0, "cubic"] for n in mixed})
        return measured

    def causes(self) -> list[Cause]:
        """Return whom the burst of a window that was kept costs something."""
        return [
            Cause(
                "alike",
                "TDTCP's flows lose to the burst with which they return, and their neighbours do not. Paced, they are "
                "those that get more",
                Fairness(counts=tuple(n for n in self.counts if 0 < n < _FLOWS), seeds=self.few, changes=PACED),
            )
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw what a flow gets over the number of flows of TDTCP."""
        shares = self.shares(runs)
        with figures.style():
            figure = figures.Drawing(figsize=(4.6, 3.0), layout="constrained")
            ax = figure.subplots()
            for kind in self.variants:
                figures.band(ax, shares[shares["kind"] == kind].sort_values("ours"), "ours", kind)
            figures.reference(ax, weeks.bound_gbps(self.first) / _FLOWS, "optimal")
            ax.set_xticks(self.counts)
            ax.set(xlabel=f"flows of TDTCP among {_FLOWS}", ylabel="goodput of a flow [Gb/s]", ylim=(0, None))
            figures.legend(figure, ax)
        return figure


def _spread(count: int) -> set[int]:
    """Return the places of so many flows among all, evenly spread."""
    return {place for place in range(_FLOWS) if (place + 1) * count // _FLOWS > place * count // _FLOWS}
