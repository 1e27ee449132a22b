# SPDX-License-Identifier: Apache-2.0
"""The relation between retransmission timeouts and the order in which two flows end."""

from __future__ import annotations

from collections.abc import Mapping

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import rivals
from rdcnlab_papers.analysis.measured import Measured


def later_by_timeouts(runs: Mapping[str, Runs]) -> Measured:
    """Fit a line by case: the time in s by which the main flow takes longer, over its number of additional timeouts."""
    from scipy import stats  # its import takes a second, and this is its only use

    texts = []
    for case, of_case in runs.items():
        flows = of_case.flows[of_case.flows["flow"].isin(rivals.FLOWS)].set_index(["run", "flow"])
        delays, extra_timeouts = (
            (by["main"] - by["migrated"]) for by in (flows[c].unstack() for c in ("fct_s", "timeouts"))
        )
        if extra_timeouts.min() < extra_timeouts.max():
            fit = stats.linregress(extra_timeouts.astype(float), delays)
            texts.append(f"{case}: {fit.intercept:.3g} s and {fit.slope:.3g} s a timeout (r = {fit.rvalue:.2f})")
        else:
            texts.append(f"{case}: {delays.mean():.3g} s, the same number of timeouts")
    return Measured(note=", ".join(texts))


def more_timeouts(runs: Mapping[str, Runs], reference: Mapping[str, Runs]) -> Measured:
    """Measure the main flow's mean timeouts per run, minus those in the `reference` runs of the same case."""
    mean = [
        {case: of_case.flows.query("flow == 'main'")["timeouts"].mean() for case, of_case in by_case.items()}
        for by_case in (runs, reference)
    ]
    return Measured({case: float(mean[0][case] - mean[1][case]) for case in runs})
