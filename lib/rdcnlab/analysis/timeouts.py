# SPDX-License-Identifier: Apache-2.0
"""The relation between retransmission timeouts and the order in which two flows end."""

from __future__ import annotations

from collections.abc import Mapping

from scipy import stats

from rdcnlab.analysis import competition
from rdcnlab.analysis.measured import Measured
from rdcnlab.runs.frame import Runs


def later_by_timeouts(runs: Mapping[str, Runs]) -> Measured:
    """Fit a line by case: the time in s by which the main flow takes longer, over its number of additional timeouts."""
    texts = []
    for case, of in runs.items():
        flows = of.flows[of.flows["flow"].isin(competition.FLOWS)].set_index(["run", "flow"])
        behind, more = ((by["main"] - by["migrated"]) for by in (flows[c].unstack() for c in ("fct_s", "timeouts")))
        if more.min() < more.max():
            fit = stats.linregress(more.astype(float), behind)
            texts.append(f"{case}: {fit.intercept:.3g} s and {fit.slope:.3g} s a timeout (r = {fit.rvalue:.2f})")
        else:
            texts.append(f"{case}: {behind.mean():.3g} s, the same number of timeouts")
    return Measured(note=", ".join(texts))


def more_timeouts(runs: Mapping[str, Runs], than: Mapping[str, Runs]) -> Measured:
    """Measure the main flow's mean timeouts per run, minus those in other runs (`than`) of the same case."""
    mean = [
        {case: of.flows.query("flow == 'main'")["timeouts"].mean() for case, of in each.items()}
        for each in (runs, than)
    ]
    return Measured({case: float(mean[0][case] - mean[1][case]) for case in runs})
