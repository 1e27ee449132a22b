# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: the same transports and workloads on the five papers' own networks."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from rdcnlab.analysis import tables
from rdcnlab.analysis.resampling import Means, bootstraps_of_means
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.benchmarks import compared
from rdcnlab_papers.benchmarks.compared import SPECIAL, TransportName
from rdcnlab_papers.benchmarks.laboratories import LABORATORIES
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.architectures import Architectures

#: Networks whose ways differ in delay, and networks whose ways are alike.
_DIFFERING, _ALIKE = ("carpa", "tdtcp"), ("aykurt", "dogar", "vargas")
#: The network whose order of transports the others are compared with.
_FROM = "aykurt"
#: Ten times the queues of the paper, for the experiment of a cause.
_ROOM = {f"network.schedules.{way}.queue": "160 packets" for way in ("forward", "reverse")}
_EVERYWHERE: tuple[TransportName, ...] = ("cubic", "reno", "dctcp", "bbr")


class Five(Architectures):
    """Slowdown, retransmissions and queues on the papers' own networks, by transport and workload.

    Parameters
    ----------
    architectures, transports, workloads : tuple of str
        Names. TDTCP and NUFTCP run on the network of ``tdtcp`` only.
    loads : tuple of int
        Further loads of web search in % of uncut sizes, with CUBIC and DCTCP; all else runs at 30 % of what the ways
        can carry. Flows offer less, because they are cut: see `Comparison.offered`.
    """

    lower_row: ClassVar[str] = "retransmits"
    widest: ClassVar[float] = 15_000

    architectures: compared.Architectures = LABORATORIES
    transports: compared.Transports = (*_EVERYWHERE, *SPECIAL)
    workloads: compared.Workloads = ("web-search", "data-mining", "hadoop")
    loads: Annotated[tuple[Annotated[int, whole(1, 100)], ...], Listed] = ()

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure reordering where ways differ and where they do not, the order of transports, and TDTCP at home."""
        totals = self.totals(runs)
        at_home = compared.ratios(totals[totals["architecture"] == "tdtcp"], "mean", "tdtcp", "cubic", ["workload"])
        return {
            "differing-reorders": Measured(_needless(runs, self, _DIFFERING)),
            "alike-keeps-order": Measured(_needless(runs, self, _ALIKE)),
            "ranking-holds": Measured(self._agreement(runs)),
            "tdtcp-at-home": Measured({workload: ratio for (workload,), ratio in at_home.items()}),
        }

    def causes(self) -> list[Cause]:
        """Return TDTCP beside CUBIC with queues in which the first windows of some flows have room."""
        roomy = self.with_parameters(
            profile=self.profile, architectures=("tdtcp",), transports=("cubic", "tdtcp"), changes=_ROOM
        )
        return [Cause("tdtcp-at-home", roomy)]

    def _agreement(self, runs: Runs) -> dict[Any, Any]:
        """Return how the order of transports by mean slowdown agrees with that on the first network (Spearman)."""
        rows = self.totals(runs)
        rows = rows[rows["transport"].isin(_EVERYWHERE)]
        if _FROM not in set(rows["architecture"]):
            return {}

        def of_networks(means: Means) -> dict[Any, Any]:
            mean = means["mean"]
            workloads = mean.columns.get_level_values("workload").unique()
            others = mean.columns.get_level_values("architecture").unique().drop(_FROM)
            pairs = {name: [tables.spearmans(mean[_FROM][w], mean[name][w]) for w in workloads] for name in others}
            # where all transports are equally fast there is no order
            return {name: np.nanmean(values, axis=0) for name, values in pairs.items()}

        return dict(bootstraps_of_means(rows, ["architecture", "workload", "transport"], ["mean"], of_networks))


def _needless(runs: Runs, item: Five, names: tuple[str, ...]) -> dict[Any, Any]:
    """Return CUBIC's retransmissions without a loss, of 1000 segments, under web search, by network."""
    totals = item.totals(runs)
    rows = totals[(totals["transport"] == "cubic") & (totals["workload"] == "web-search")]
    estimates = compared.estimates_of(rows, "reordered", ["architecture"])
    return {name: estimates[name,] for name in names if (name,) in estimates}
