# SPDX-License-Identifier: Apache-2.0
"""What the layer above draws, compares and says of runs. `Run` and `Runs` offer it as methods, and cannot draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from rdcnlab.analysis.drawing import Drawing
    from rdcnlab.analysis.results.comparison import RunComparison
    from rdcnlab.analysis.results.slowdown import Slowdown
    from rdcnlab.analysis.results.timeline import Timeline
    from rdcnlab.runs.frame import Runs
    from rdcnlab.runs.run import Run


class Views(Protocol):
    """Views of runs; the methods of `Run` and `Runs` describe them."""

    def plot(self, run: Run, *, span_ms: tuple[float, float] | None, sequence: bool) -> Drawing:
        """Draw a run over time; see `Run.plot`."""

    def timeline(self, run: Run) -> Timeline:
        """Return a run as a page that can be zoomed; see `Run.timeline`."""

    def limits(self, run: Run) -> pd.DataFrame:
        """Say what limited each flow; see `Run.limits`."""

    def hints(self, run: Run) -> list[str]:
        """Say what a run's tables show that its user may want to change."""

    def compare(self, runs: Runs, by: str | Sequence[str] | None) -> RunComparison:
        """Compare runs; see `Runs.compare`."""

    def slowdown(self, runs: Runs, by: str | None, edges: Sequence[int | str] | None) -> Slowdown:
        """Divide the completion time of flows by the ideal one; see `Runs.slowdown`."""


#: The views of `rdcnlab.analysis`, from the import of `rdcnlab` on.
current: Views
