# SPDX-License-Identifier: Apache-2.0
"""Runs as pictures, as tables of a comparison, and in words.

The modules that draw are imported when they are used: ``import rdcnlab`` needs neither pandas nor matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rdcnlab.runs.views import Views
from rdcnlab.scenario.senders import equal

if TYPE_CHECKING:
    import pandas as pd

    from rdcnlab.analysis.drawing import Drawing
    from rdcnlab.analysis.results.comparison import RunComparison
    from rdcnlab.analysis.results.slowdown import Slowdown
    from rdcnlab.analysis.results.timeline import Timeline
    from rdcnlab.runs.frame import Runs
    from rdcnlab.runs.run import Run


class ResultViews(Views):
    """The functions of this package as views of `Run` and `Runs`."""

    def plot(self, run: Run, *, span_ms: tuple[float, float] | None, sequence: bool) -> Drawing:  # noqa: D102
        from rdcnlab.analysis.results.overview import overview

        return overview(run, span_ms=span_ms, sequence=sequence)

    def timeline(self, run: Run) -> Timeline:  # noqa: D102
        from rdcnlab.analysis.results.timeline import timeline

        return timeline(run)

    def limits(self, run: Run) -> pd.DataFrame:  # noqa: D102
        from rdcnlab.analysis.results.limits import limits

        return limits(run)

    def hints(self, run: Run) -> list[str]:  # noqa: D102
        if not equal(run.scenario):
            return []
        from rdcnlab.analysis.results.phase import effects

        return [str(effect) for effect in effects(run)]

    def compare(self, runs: Runs, by: str | Sequence[str] | None) -> RunComparison:  # noqa: D102
        from rdcnlab.analysis.results.comparison import compare

        return compare(runs, by)

    def slowdown(self, runs: Runs, by: str | None, edges: Sequence[int | str] | None) -> Slowdown:  # noqa: D102
        from rdcnlab.analysis.results.slowdown import EDGES, slowdown

        return slowdown(runs, by, EDGES if edges is None else edges)
