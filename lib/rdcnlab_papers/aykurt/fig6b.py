# SPDX-License-Identifier: Apache-2.0
"""Figure 6(b): the same as figure 6(a) with a move every 10 ms. Sec. V-C."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import estimates, same_sign
from rdcnlab.analysis.resampling import Floats, Means, bootstraps_of_means
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import rivals
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.aykurt.fig6a import Fig6a
from rdcnlab_papers.aykurt.space import Period
from rdcnlab_papers.items.causes import Cause


class Fig6b(Fig6a):
    """A flow that moves every 10 ms, compared with 50 ms, and main flows. Parameters are as in `Fig6a`."""

    period_ms: ClassVar[Period] = 10

    every_pair: bool = False

    def points(self) -> list[Scenario]:
        """Return the drawn pairs at both periods, and every other ordered pair at 10 ms if `every_pair` is set."""
        return self.pairs(10) + self.pairs(50) + self.other_pairs(10)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the differences of completion times between the periods."""
        fct = runs.flows.merge(rivals.variants(runs), on="run")
        fct = fct[fct["migrated"] == self.cc]
        fct = fct.astype({"main": str}).pivot_table(
            index=["period_ms", "main", "run"], columns="flow", values="fct_s", observed=True
        )
        times = tables.with_seeds((fct["migrated"] - fct["main"]).rename("behind_s").reset_index(), runs.scenarios)
        at_10, at_50 = (
            means(times[times["period_ms"] == period], "main", "behind_s").reindex(self.mains) for period in (10, 50)
        )
        listed = f"at 10 ms {tables.list_estimates(at_10, 's')}; at 50 ms {tables.list_estimates(at_50, 's')}"
        pairs = {main: (estimates(at_10)[main], estimates(at_50)[main]) for main in self.mains}
        apart = {f"{main}, apart": abs(gaps[0] - gaps[1]) for main, gaps in pairs.items()}
        return {
            "same-order": Measured.by_case(
                bootstraps_of_means(times, ["period_ms", "main"], ["behind_s"], _order), note=listed
            ),
            "larger-differences": Measured(
                apart
                | {
                    f"{main}, same sign": same_sign(*gaps)
                    for main, gaps in pairs.items()
                    if all(abs(gap).low > 0 for gap in gaps)
                },
                listed,
            ),
            "larger-differences was 1": Measured.by_case(
                {main: abs(gaps[0]) / abs(gaps[1]) for main, gaps in pairs.items()}, note=listed
            ),
            "larger-differences was 2": Measured.by_case(
                {main: (abs(gaps[0]) - abs(gaps[1])).low for main, gaps in pairs.items()}, note=listed
            ),
            "larger-differences was": Measured(
                apart | {f"{main}, same sign": same_sign(*gaps) for main, gaps in pairs.items()}, listed
            ),
        }

    def causes(self) -> list[Cause]:
        """Return no experiments; figure 6(a) has those on BBR's limits."""
        return []


def _order(mean: Means) -> dict[str, Floats]:
    at_50, at_10 = mean["behind_s"][50].align(mean["behind_s"][10], axis=1)
    return {"": tables.spearmans(at_50, at_10)}
