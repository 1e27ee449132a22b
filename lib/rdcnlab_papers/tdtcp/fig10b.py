# SPDX-License-Identifier: Apache-2.0
"""Figure 10(b): packets to be retransmitted by optical day, if the two networks differ only in latency. Sec. 5.3."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import Estimate
from rdcnlab.analysis.resampling import Floats, bootstrap_by_weight
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import folded
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.fig10a import Fig10a

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Fig10b(Fig10a):
    """Retransmissions in every day of the circuit; everything else is as in `Fig10a`.

    The paper counts packets that are marked for retransmission. The kernel traces retransmissions, but not
    when they were marked, so retransmissions are drawn and judged. A packet is marked after it was lost and before it
    is retransmitted, so the note lists the losses of queues in the days.
    """

    event: ClassVar[str] = "retransmit"
    label: ClassVar[str] = "retransmissions in a day"

    def mark(self, ax: Axes) -> None:
        """Mark the paper's 90th percentiles and maxima. The claims allow a factor in both directions."""
        for name in self.variants:
            points = [(self.expected(f"{claim}-{name}"), share) for claim, share in (("p90", 0.9), ("most", 1.0))]
            marks = [
                (math.sqrt(math.prod(expectation.between)), share)
                for expectation, share in points
                if expectation and expectation.between
            ]
            figures.draw_stated(ax, name, marks)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the 90th percentile and the maximum."""
        now = self._of_variants(runs)
        inside, until_later = (self._of_variants(runs, former=True, until_later=later) for later in (False, True))
        return {
            **now,
            **{f"{claim} was": inside.get(claim, Measured()) for claim in now},
            **{f"{claim} was 1": until_later.get(claim, Measured()) for claim in now},
        }

    def _of_variants(self, runs: Runs, *, former: bool = False, until_later: bool = False) -> dict[str, Measured]:
        counts, lost = (
            self.counts(runs, event, former=former, until_later=until_later) for event in (self.event, "drop_tail")
        )
        words = "retransmitted; lost in the queue"
        measured = {}
        for name in [name for name in ("cubic", "tdtcp") if name in counts]:
            p90, most = _p90(lost[name]), lost[name]["count"].max()
            measured[f"p90-{name}"] = Measured.one(_p90(counts[name]), f"{words}: {p90}")
            measured[f"most-{name}"] = Measured.one(counts[name]["count"].max(), f"{words}: {most}")
        return measured

    def causes(self) -> list[Cause]:
        """Return networks that differ in bandwidth, too, where fewer are lost; and how many are sent for each loss."""
        cubic = [Cause("p90-cubic", self.with_both("text"))] if self.column == "text" else []
        tdtcp = Cause("p90-tdtcp", self.with_both("artefact"))
        return [*cubic, tdtcp, Cause("most-cubic", self, self._for_each_lost)]

    def _for_each_lost(self, runs: Runs) -> Measured:
        return Measured(folded.retransmissions_for_each_loss(self.compared_cases(runs)))


def _p90(counts: pd.DataFrame) -> Estimate:
    """Return the 90th percentile of the counts of days, with its interval over runs."""
    # all runs have the same days
    of_runs = np.stack([days["count"].to_numpy() for _, days in counts.groupby("run")])
    indices = np.arange(len(of_runs))

    def p90(times: Floats) -> Floats:
        chosen = np.repeat(np.tile(indices, len(times)), times.astype(int).ravel()).reshape(times.shape)
        drawn: Floats = np.percentile(of_runs[chosen].reshape(len(times), -1), 90, axis=1)
        return drawn

    return bootstrap_by_weight(len(of_runs), p90)
