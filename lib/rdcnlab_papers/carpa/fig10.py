# SPDX-License-Identifier: Apache-2.0
"""Figure 10: the window with and without rerouting at an RTT of 170 ms. Sec. IV-D."""

from __future__ import annotations

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import over_seeds
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import recoveries, reordering
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.carpa.curves import Traces
from rdcnlab_papers.carpa.space import CALIBRATED, CALIBRATED_EXTRA_MS, Periods, Rtts
from rdcnlab_papers.items.causes import Cause

#: Reductions before this time, in s after the flow's start, belong to slow start.
_SLOW_START_S = 10.0
#: The least window in segments before a loss that is compared with those of the paper.
_LEAST = 1000
#: Sec. IV-D: from this time on, in s after the flow's start, the window is in an equilibrium.
_SETTLED_S = 120.0


class Fig10(Traces):
    """Windows of a flow at an RTT of 170 ms: rerouted every 0.6 s, and not rerouted."""

    rtts_ms: Rtts | None = (170,)
    periods_s: Periods | None = (0.6,)

    def reductions(self, runs: Runs) -> pd.DataFrame:
        """Return the reductions after slow start, with ``seed``; see `recoveries.of_runs`."""
        reductions = recoveries.of_runs(runs)
        starts = runs.flows.set_index("run")["start_s"]
        reductions = reductions[reductions["t_s"] >= reductions["run"].map(starts) + _SLOW_START_S]
        return tables.with_seeds(reductions, runs.scenarios)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure undone reductions and the deepest ones."""
        (rtt,), (period,) = self.rtts, self.periods
        moved, static = self.moved(runs, rtt)[period], self.still(runs, rtt)
        reductions = {"rerouted": self.reductions(moved), "not rerouted": self.reductions(static)}
        undone = reordering.undone(moved)
        seeds = {"rerouted": moved.scenarios["seed"], "not rerouted": static.scenarios["seed"]}
        # in a run without a reduction the deepest one is 0 %
        deepest = {
            name: over_seeds(100 * rows.groupby("seed")["share"].max().reindex(sorted(set(seeds[name])), fill_value=0))
            for name, rows in reductions.items()
            if len(seeds[name])
        }
        steps = reductions["not rerouted"].assign(step=lambda rows: rows["step"] / (rows["before"] - rows["after"]))
        offsets = recoveries.offsets(static, self.stated_at_s("as-traced"), _LEAST)
        return {
            "undo": Measured.one(over_seeds(undone["undone"]), reordering.words(moved)),
            "collapse": Measured({"": deepest["not rerouted"]}) if "not rerouted" in deepest else Measured(),
            "no-collapse": Measured({"": deepest["rerouted"]}) if "rerouted" in deepest else Measured(),
            "stepwise": Measured.one(over_seeds(steps.groupby("seed")["step"].mean())),
            "undo-at-8": self._nearest_undo(moved),
            "equilibrium": Measured.one(over_seeds(recoveries.trend_from(moved, _SETTLED_S))),
            "as-traced": Measured.by_case(means(offsets, "instant_s", "offset_s"), "at {:g} s"),
        }

    def _nearest_undo(self, moved: Runs) -> Measured:
        """Measure how far the nearest reduction that was undone is from the instant that the paper states."""
        (instant,) = self.stated_at_s("undo-at-8")
        offsets = recoveries.offsets(moved, [instant], 0, undone=True)
        distances = offsets.set_index("seed")["offset_s"].abs()
        # a run in which nothing is undone has no undo until its end
        ends = tables.with_seeds(moved.flows, moved.scenarios).set_index("seed")["fct_s"] - instant
        distances = distances.reindex(ends.index).fillna(ends)
        note = ", ".join(f"{instant + offset:.3g}" for offset in offsets["offset_s"])
        return Measured.one(over_seeds(distances), f"nearest at {note} s" if note else "no reduction was undone")

    def causes(self) -> list[Cause]:
        """Return an experiment with the difference of the two paths of Sec. IV-C; in its column, as Linux 4.4."""
        if self.column == CALIBRATED:
            older = self.as_older()
            return [Cause(claim, older) for claim in ("undo", "undo-at-8")]
        wider = self.with_parameters(extra_ms=CALIBRATED_EXTRA_MS, profile=self.profile)
        return [Cause(claim, wider) for claim in ("undo", "no-collapse", "undo-at-8")]
