# SPDX-License-Identifier: Apache-2.0
"""Finding: moves make receivers discard good data (PAWS), if the queue is longer than the ticks of timestamps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import Estimate, estimates
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import discards
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.aykurt.space import NO_ACKS, Periods, Variant, buffers, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A receiver accepts a timestamp that is one tick old (TCP_PAWS_WINDOW of Linux). A timestamp that is two ticks of 1 ms
#: old was sent more than 1 ms before, so a shorter queue causes no discard. After more than 2 ms it is two ticks old.
_NEVER_MS, _SURE_MS = 1.0, 2.0
#: Names a case by the longest wait and the period.
_CASE = "{:g} ms, a move every {:g} ms"
Sizes = Annotated[tuple[Annotated[int, whole(100, 100_000)], ...], Field(min_length=1), Listed]


class Discards(Item):
    """A main and a migrated flow by the size of both links' buffers and the period, with and without timestamps.

    Parameters
    ----------
    cc : str
        Variant of both flows.
    buffers_kB : tuple of int
        Sizes of the buffers, kB of 1000 B.
    without_kB : tuple of int
        Sizes of the buffers for the runs without timestamps.
    periods_ms : tuple of int
        Periods; one column of panels for each.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "events")
    parts: ClassVar[dict[str, Part]] = {"events": Part(("t_ns", "event", "flow"), tick=1_000_000)}
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}

    cc: Variant = "cubic"
    buffers_kB: Sizes = (500, 1000, 1500, 2000, 2250, 2500, 3000, 4000, 6000)  # noqa: N815  (unit)
    without_kB: Sizes = (1000, 2000, 3000, 4000)  # noqa: N815  (unit)
    periods_ms: Periods = (50, 25)

    def points(self) -> list[Scenario]:
        """Return buffers times periods and seeds, with timestamps and without."""
        axes = {"cc": self.cc, "period_ms": self.periods_ms, "seed": range(self.count)}
        cases: tuple[tuple[tuple[int, ...], dict[str, Any]], ...] = (
            (self.buffers_kB, {}),
            (self.without_kB, {"transport.timestamps": False}),
        )
        settings = [
            {**NO_ACKS, "probes.discards": True, **buffers(f"{kB} kB"), **timestamps}
            for sizes, timestamps in cases
            for kB in sizes
        ]
        return [scenario for changes in settings for scenario in grid(changes, **axes)]

    def plot(self, runs: Runs) -> Figure:
        """Draw discarded segments, needless retransmissions and the migrated flow's completion time over the queue."""
        return discards.plot(discards.by_move(runs), (_NEVER_MS, _SURE_MS))

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure discards per move in short and long queues, and compare them with retransmissions."""
        counts = discards.by_move(runs)
        on, off = counts[counts["timestamps"]], counts[~counts["timestamps"]]
        short, long = on[on["queue_ms"] < _NEVER_MS], on[on["queue_ms"] > _SURE_MS]
        discarding = on[on["discards"] > 0]  # if nothing was discarded, there is no number, and the claim does not hold
        return {
            "none-in-short-queues": _largest(short, "discards"),
            "some-in-long-queues": Measured.by_case(_stats(long, "discards"), _CASE),
            "none-without-timestamps": _largest(off, "discards"),
            "sent-again": Measured.one((discarding["needless"] - discarding["discards"]).min()),
            "books-balance": Measured.by_case(_stats(short, "needless"), _CASE),
            "stands-still": self._standstill(on, off),
        }

    def causes(self) -> list[Cause]:
        """Return the measurement of needless retransmissions without timestamps."""
        return [Cause("stands-still", self, self._more_retransmitted)]

    def _more_retransmitted(self, runs: Runs) -> Measured:
        """Measure the needless retransmissions without timestamps, minus those with timestamps."""
        counts = discards.by_move(runs)
        counts = counts[counts["queue_ms"] > _SURE_MS]
        on, off = (counts[counts["timestamps"] == timestamps] for timestamps in (True, False))
        return Measured.by_case(_differences(off, on, "needless"), _CASE)

    def _standstill(self, on: pd.DataFrame, off: pd.DataFrame) -> Measured:
        """Measure by how many seconds timestamps delay the migrated flow where receivers discard."""
        on, off = (counts[counts["queue_ms"] > _SURE_MS] for counts in (on, off))
        return Measured.by_case(_differences(on, off, "fct_s"), _CASE)


def _stats(counts: pd.DataFrame, value: str) -> pd.DataFrame:
    return means(counts, ["queue_ms", "period_ms"], value)


def _differences(first: pd.DataFrame, second: pd.DataFrame, value: str) -> dict[tuple[float, float], Estimate]:
    """Return the first mean minus the second, for each case that both have."""
    first_means, second_means = (estimates(_stats(rows, value)) for rows in (first, second))
    return {case: first_means[case] - second_means[case] for case in first_means if case in second_means}


def _largest(counts: pd.DataFrame, value: str) -> Measured:
    """Measure the largest number of any run."""
    if not len(counts):
        return Measured()
    return Measured.one(float(counts[value].max()), tables.list_estimates(_stats(counts, value), template=_CASE))
