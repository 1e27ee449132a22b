# SPDX-License-Identifier: Apache-2.0
"""Questions about transports whose answers were predicted, and are judged on other networks."""

from __future__ import annotations

import abc
import functools
from typing import ClassVar

import pandas as pd

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.benchmarks.compared import Comparison
from rdcnlab_papers.items.causes import Cause


class Question(Comparison):
    """A question that is answered by the numbers of a comparison.

    A claim that does not hold is measured again by two other numbers of the same runs: by all retransmissions in place
    of those without a loss, and by the median of slowdown in place of its mean.
    """

    #: Claims that are measured by other numbers, too, in the order of the claims.
    measured_otherwise: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def measured_by(self, totals: pd.DataFrame, repeats: str, slowdown: str) -> dict[str, Measured]:
        """Return the measurement of each claim.

        Parameters
        ----------
        totals : DataFrame
            As `Comparison.totals` returns it.
        repeats, slowdown : str
            The columns that count retransmissions and that describe the slowdown of flows.
        """

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure on networks that were not used for the predictions, by the numbers that the predictions name."""
        return self.measured_by(self.totals(runs), "reordered", "mean")

    def causes(self) -> list[Cause]:
        """Return the measurements by other numbers, in the runs of the item."""
        return [Cause(claim, self, functools.partial(self._otherwise, claim)) for claim in self.measured_otherwise]

    def _otherwise(self, claim: str, runs: Runs) -> Measured:
        return self.measured_by(self.totals(runs), "retransmits", "median")[claim]
