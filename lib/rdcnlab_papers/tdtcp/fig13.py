# SPDX-License-Identifier: Apache-2.0
"""Figure 13: the queue under CUBIC and MPTCP. Sec. A.3."""

from __future__ import annotations

import numpy as np

from rdcnlab.analysis.intervals import Estimate, estimates
from rdcnlab.analysis.resampling import Floats, bootstrap_by_weight
from rdcnlab.fields.units import NS_PER_US
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import folded
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import Occupancy, Variants
from rdcnlab_papers.tdtcp.space import CIRCUIT, DAY, NIGHT, STEADY


class Fig13(Occupancy):
    """Queues of CUBIC and MPTCP."""

    variants: Variants = ("cubic", "mptcp")

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure CUBIC's queue in packet days and in circuit days, as shares of the limit, and MPTCP's dip."""
        room = float(folded.limit(self.first) or 1)
        measured = {"mptcp-dip": self.longer(runs, "mptcp", STEADY, (0, 100))}
        if "cubic" in self.variants:
            empty = estimates(self.waiting(runs, CIRCUIT))["cubic"]
            measured["cubic-stable"] = Measured.one(self._largest_distance(runs, 0))
            measured["cubic-empty"] = Measured.one(empty / room)
        return measured

    def _largest_distance(self, runs: Runs, begin_us: int) -> Estimate:
        """Return the largest distance of CUBIC's queue from its mean in packet days, from a time of the week on."""
        lengths = self.lengths(runs)["cubic"]
        into = folded.into_week(lengths["t_us"], self.first)
        chosen = lengths[(into >= begin_us) & (into < STEADY[1])]
        of_runs = chosen.pivot(index="run", columns="t_us", values="mean").to_numpy()

        def largest_distance(times: Floats) -> Floats:
            """Return the largest distance of the queue, as a mean over the drawn runs, from its mean over time."""
            # no matrix product, so that equal runs have equal means
            total = sum(weight[:, None] * curve for weight, curve in zip(times.T, of_runs, strict=True))
            curves = np.asarray(total) / len(of_runs)
            distances: Floats = np.abs(curves - curves.mean(axis=1, keepdims=True)).max(axis=1)
            return distances

        return bootstrap_by_weight(len(of_runs), largest_distance) / float(folded.limit(self.first) or 1)

    def causes(self) -> list[Cause]:
        """Return the other testbed, on which MPTCP's queue dips, or CUBIC's queue from the second packet day on."""
        if self.column == "text":
            return [Cause("mptcp-dip", self.as_run)]
        second_us = (DAY + NIGHT) // NS_PER_US
        return [Cause("cubic-stable", self, lambda runs: Measured.one(self._largest_distance(runs, second_us)))]
