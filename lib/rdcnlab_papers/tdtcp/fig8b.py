# SPDX-License-Identifier: Apache-2.0
"""Figure 8(b): the queue if the two networks differ only in bandwidth. Sec. 5.2."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import folded
from rdcnlab_papers.analysis.measured import Measured, lowest
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import Occupancy
from rdcnlab_papers.tdtcp.space import FORMER_RTT_US, LATE_US, Difference, equal_rtts, late_at_former_rtt, rtt_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: End of the names of cases with the RTT at which the figure was judged before.
_FORMER = f" {FORMER_RTT_US} us"


class Fig8b(Occupancy):
    """Queues at the RTT of figure 8(a)."""

    difference: ClassVar[Difference] = "bandwidth"
    more_runs: ClassVar[dict[str, int]] = {"artefact": 16}

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: the variants; in the paper profile also with the RTT at which they were judged before.

        Columns whose hosts are notified late have only the variants: nothing was judged in them before.
        """
        former = self.variants if self.profile == "paper" and self.column not in LATE_US else ()
        return (*self.variants, *(f"{variant}{_FORMER}" for variant in former))

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case."""
        variant = name.removesuffix(_FORMER)
        base = self.base(variant)
        return base if variant == name else base.with_(**equal_rtts(base, FORMER_RTT_US))

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure whether TDTCP's mean is the lowest."""
        waiting = self.waiting(runs)
        is_former = waiting.index.str.endswith(_FORMER)
        return {
            "tdtcp-lowest": lowest(waiting[~is_former], "tdtcp"),
            "tdtcp-lowest was": lowest(waiting[is_former].rename(lambda name: name.removesuffix(_FORMER)), "tdtcp"),
        }

    def plot(self, runs: Runs) -> Figure:
        """Draw the lengths of queues at the RTT of the column, and their limit."""
        all_lengths = self.lengths(runs)
        lengths = {name: all_lengths[name] for name in map(str, self.variants) if name in all_lengths}
        return self.caption(folded.plot_queues(lengths, self.first, "circuit"), runs, rtt_text(self.column))

    def causes(self) -> list[Cause]:
        """Return an experiment on the effect of late notifications on TDTCP's queue; with them, the other queues."""
        if self.column == "artefact-late":  # undecided
            return []
        if self.column == "text-late":
            return [Cause("tdtcp-lowest", self, self.without_mptcp)]
        variants = tuple(name for name in self.variants if name != "mptcp")
        delayed = self.with_parameters(variants=variants, changes=late_at_former_rtt(self.first))
        # without MPTCP, whose queue is shorter in any case, there is no verdict on the claim
        return [Cause("tdtcp-lowest", delayed, lambda runs: lowest(delayed.waiting(runs), "tdtcp"))]
