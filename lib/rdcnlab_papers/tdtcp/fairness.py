# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: flows of TDTCP and flows of stock CUBIC share one queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import estimates, over_seeds
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import folded, weeks
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import FEWER, Throughput, Variants
from rdcnlab_papers.tdtcp.space import PACED, parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FLOWS = 16
Counts = Annotated[tuple[Annotated[int, whole(0, _FLOWS)], ...], Field(min_length=1), Listed]


class Fairness(Throughput):
    """Goodput per flow of TDTCP and of CUBIC, by the number of TDTCP flows among 16.

    Parameters
    ----------
    counts : tuple of int
        Numbers of TDTCP flows. The other flows use CUBIC; they do not offer TDTCP.
    """

    runs_of_profile: ClassVar[dict[str, int]] = FEWER

    variants: Variants = ("tdtcp", "cubic")
    counts: Counts = (0, 4, 8, 12, 16)

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: the numbers of TDTCP flows."""
        return tuple(str(count) for count in self.counts)

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case. TDTCP flows are spread evenly, because neighbouring flows start similarly."""
        base = self.base("tdtcp")
        tdtcp_flows = _spread(int(name))
        return base.with_(
            **{f"flows.{flow.name}.tdtcp": False for n, flow in enumerate(base.flows) if n not in tdtcp_flows}
        )

    def shares(self, runs: Runs) -> pd.DataFrame:
        """Return the goodput per flow in Gb/s: ``mean``, ``low``, ``high``, by number of TDTCP flows and ``kind``."""
        return means(self._of_runs(runs), ["ours", "kind"], "gbps")

    def _of_runs(self, runs: Runs) -> pd.DataFrame:
        parts = [pd.DataFrame({"ours": [], "kind": [], "gbps": []})]
        for case in self.present_cases(runs):
            tdtcp_flows = {case.scenario.flows[n].name for n in _spread(int(case.name))}
            for kind, flows in (
                ("tdtcp", tdtcp_flows),
                ("cubic", {flow.name for flow in case.scenario.flows} - tdtcp_flows),
            ):
                lines = folded.sequences([case], flows) if flows else {}
                parts += [folded.rates(line).assign(ours=int(case.name), kind=kind) for line in lines.values()]
        return pd.concat(parts)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare TDTCP flows with CUBIC flows of the same run, and these with CUBIC flows in runs without TDTCP."""
        mean = estimates(self.shares(runs))
        mixed = [count for count in self.counts if {(count, "tdtcp"), (count, "cubic")} <= set(mean)]
        of_runs = self._of_runs(runs).pivot_table(index=["ours", "run"], columns="kind", values="gbps")
        # in a run what one kind gains the other loses, so the ratio is computed for each run
        ratios = of_runs["tdtcp"] / of_runs["cubic"]
        measured = {
            "alike": Measured({f"{n}": over_seeds(ratios[ratios.index.get_level_values(0) == n]) for n in mixed})
        }
        if (0, "cubic") in mean:
            measured["no-harm"] = Measured({f"{n}": mean[n, "cubic"] / mean[0, "cubic"] for n in mixed})
        return measured

    def causes(self) -> list[Cause]:
        """Return an experiment that spreads TDTCP's initial burst; in the artefact's testbed, one on the ACKs' days."""
        mixed = tuple(count for count in self.counts if 0 < count < _FLOWS)
        if self.column == "text":
            return [Cause("alike", self.with_parameters(counts=mixed, changes=PACED))]
        same_days = self.with_parameters(counts=(0, *mixed), changes=parameter("reverse", "text"))
        return [Cause("alike", same_days), Cause("no-harm", same_days)]

    def plot(self, runs: Runs) -> Figure:
        """Draw the goodput per flow over the number of TDTCP flows."""
        shares = self.shares(runs).reset_index()
        with figures.single(4.6, 3.0) as (figure, ax):
            for kind in self.variants:
                figures.band(ax, shares[shares["kind"] == kind].sort_values("ours"), "ours", kind)
            figures.reference(ax, weeks.bound_gbps(self.first) / _FLOWS, "optimal")
            ax.set_xticks(self.counts)
            ax.set(xlabel=f"flows of TDTCP among {_FLOWS}", ylabel="goodput of a flow [Gb/s]", ylim=(0, None))
        return self.caption(figure, runs)


def _spread(count: int) -> set[int]:
    """Return the indices of `count` flows that are spread evenly among all flows."""
    return {index for index in range(_FLOWS) if (index + 1) * count // _FLOWS > index * count // _FLOWS}
