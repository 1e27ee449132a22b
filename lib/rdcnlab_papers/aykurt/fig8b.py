# SPDX-License-Identifier: Apache-2.0
"""Figure 8(b): a CUBIC flow that moves onto a DCTCP flow's link. Sec. V-D."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import competition, curves
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.analysis.rivals import moved_every
from rdcnlab_papers.aykurt.fig8a import Fig8a
from rdcnlab_papers.aykurt.space import Variant
from rdcnlab_papers.items.causes import Cause


class Fig8b(Fig8a):
    """A main DCTCP flow and a migrated CUBIC flow; parameters as in `Fig8a`."""

    migrated: ClassVar[Variant] = "cubic"

    @property
    def stated_rates(self) -> curves.Stated:
        """The least rate [Gb/s] of the migrated flow that the paper states, which is a share of the link."""
        line_rate = self.points()[0].network.links[0].rate / 1e9
        share = self.stated_bound("cubic-takes-over") / 100
        return {"shared": (share * line_rate, "paper: CUBIC above")}

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure CUBIC's share while both are on one link."""
        samples = {period: competition.phases(moved_every(runs, period)) for period in self.periods_ms}
        late, whole_slots = (
            {f"{ms} ms": competition.shares(rows, "migrated", late=late) for ms, rows in samples.items()}
            for late in (True, False)
        )
        listed = ", ".join(f"{case}: {share} %" for case, share in whole_slots.items())
        return {
            "cubic-takes-over": Measured(late, f"in whole slots {listed}"),
            "cubic-takes-over was": Measured(whole_slots),
        }

    def causes(self) -> list[Cause]:
        """Return the time after which CUBIC has taken over the link."""
        return [Cause("cubic-takes-over", self.with_parameters(periods_ms=(100, 50, 25, 10)), competition.takeover)]
