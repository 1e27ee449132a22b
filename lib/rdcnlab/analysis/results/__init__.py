# SPDX-License-Identifier: Apache-2.0
"""Runs as pictures, as tables of a comparison, and in words; `rdcnlab.runs.views` gives them to `Run` and `Runs`.

The modules that draw are imported when they are used: ``import rdcnlab`` needs neither pandas nor matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdcnlab.runs import views
from rdcnlab.scenario.senders import equal

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from rdcnlab.analysis.results.comparison import RunComparison
    from rdcnlab.analysis.results.slowdown import Slowdown
    from rdcnlab.analysis.results.timeline import Timeline
    from rdcnlab.runs.frame import Runs
    from rdcnlab.runs.run import Run


def _plot(run: Run, **options: Any) -> Figure:
    from rdcnlab.analysis.results.overview import overview

    return overview(run, **options)


def _limits(run: Run) -> pd.DataFrame:
    from rdcnlab.analysis.results.limits import limits

    return limits(run)


def _compare(runs: Runs, by: Any = None) -> RunComparison:
    from rdcnlab.analysis.results.comparison import compare

    return compare(runs, by)


def _timeline(run: Run) -> Timeline:
    from rdcnlab.analysis.results.timeline import timeline

    return timeline(run)


def _slowdown(runs: Runs, by: Any = None, edges: Any = None) -> Slowdown:
    from rdcnlab.analysis.results.slowdown import EDGES, slowdown

    return slowdown(runs, by, EDGES if edges is None else edges)


def _hints(run: Run) -> list[str]:
    if not equal(run.scenario):
        return []
    from rdcnlab.analysis.results.phase import effects

    return [str(effect) for effect in effects(run)]


def register() -> None:
    """Make the functions of this package the methods of `Run` and `Runs` that draw and compare."""
    views.register(plot=_plot, limits=_limits, timeline=_timeline, compare=_compare, slowdown=_slowdown, hints=_hints)
