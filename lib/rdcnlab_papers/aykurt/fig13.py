# SPDX-License-Identifier: Apache-2.0
"""Figure 13: a migrated TCP flow against a QUIC flow that stays, at 50 ms. Sec. V-I."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import estimates
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import competition, curves, rivals
from rdcnlab_papers.analysis.measured import Measured, difference, means
from rdcnlab_papers.aykurt.space import NO_ACKS, Period, Volume, delays, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Mover = Literal["cubic", "bbr", "reno", "westwood"]
Movers = Annotated[tuple[Mover, ...], Field(min_length=1), Listed]
LOSS_BASED: tuple[Mover, ...] = ("cubic", "reno")
#: A delay of the hosts' cables that makes the base RTT 3 ms.
FAR = delays("750 us")
_LABEL = {"main": "QUIC, CUBIC", "migrated": "TCP, migrated"}
#: A fair share of a link [Gb/s].
_HALF = 0.5


class Fig13(Item):
    """A TCP flow that moves onto the link of a QUIC flow with CUBIC, at 1 Gb/s.

    Parameters
    ----------
    cc : tuple of str
        Variants of the TCP flow; one panel for each.
    size : str
        Volume of each flow.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "throughput")
    #: A run takes almost a minute, because QUIC needs several system calls for every packet.
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 30}
    period_ms: ClassVar[Period] = 50

    cc: Movers = ("cubic", "bbr", "reno", "westwood")
    size: Volume = "128 MB"

    def points(self) -> list[Scenario]:
        """Return one scenario for each variant and seed."""
        return self.at_period(self.period_ms)

    def at_period(self, period_ms: Period) -> list[Scenario]:
        """Return one scenario for each variant and seed at a period."""
        axes = {"period_ms": period_ms, "size": self.size, "seed": range(self.count)}
        return grid(NO_ACKS, protocol="QUIC", cc=self.cc, **axes)

    def runs_by_variant(self, runs: Runs, period_ms: int) -> dict[str, Runs]:
        """Return the runs of each variant of TCP at one period."""
        of_period = rivals.moved_every(runs, period_ms)
        return {cc: rivals.of_variants(of_period, migrated=cc) for cc in self.cc}

    def plot(self, runs: Runs) -> Figure:
        """Draw the throughput of both flows over time, one line for each run, one panel for each variant of TCP."""
        cases = {
            f"{figures.look(cc).label}, period {self.period_ms} ms": (cc_runs, self.period_ms)
            for cc, cc_runs in self.runs_by_variant(runs, self.period_ms).items()
        }
        return curves.plot(cases, width=2.5, labels=_LABEL, each_run=True)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure completion times relative to QUIC's, and the rates while both flows are on one link."""
        loss_based = [cc for cc in self.cc if cc in LOSS_BASED]
        by_variant = self.runs_by_variant(runs, 50)
        times = rivals.times(by_variant, "cc")
        ratio = means(times.assign(ratio=times["migrated_s"] / times["main_s"]), "cc", "ratio")
        measured = {"far-behind": Measured.by_case(ratio.loc[loss_based])}
        measured |= self._completion(means(times, "cc", "migrated_s").reindex(self.cc), loss_based)
        for late, key in ((False, "{}"), (True, "{} was")):
            shared_rates = self._rates(competition.rates_on_one_link(by_variant, "cc", late=late), loss_based)
            measured |= {key.format(claim): value for claim, value in shared_rates.items()}
        return measured

    def _completion(self, ends: pd.DataFrame, loss_based: list[Mover]) -> dict[str, Measured]:
        """Measure how the completion times of TCP's variants differ."""
        listed, numbers = tables.list_estimates(ends, "s"), estimates(ends)
        measured = {}
        if "bbr" in self.cc and loss_based:
            measured["bbr-sooner"] = Measured({cc: numbers[cc] - numbers["bbr"] for cc in loss_based}, listed)
        others = [cc for cc in self.cc if cc != "westwood"]
        if "westwood" in self.cc and others:
            measured["westwood-soonest"] = Measured({cc: numbers[cc] / numbers["westwood"] for cc in others}, listed)
        return measured

    def _rates(self, shared: pd.DataFrame, loss_based: list[Mover]) -> dict[str, Measured]:
        """Measure the rates of TCP on the shared link, from its rate in each run."""
        rates = means(shared, "cc", "gbps").reindex(self.cc)
        deviations = means(shared.assign(off=(shared["gbps"] - _HALF).abs()), "cc", "off").reindex(self.cc)
        listed = tables.list_estimates(rates, "Gb/s")
        measured = {"below-half": Measured.by_case(rates.loc[loss_based], note=listed)}
        if "bbr" in self.cc and loss_based:
            measured["bbr-gets-more"] = Measured.one(difference(rates.loc[["bbr"]], rates.loc[loss_based]), listed)
        if "westwood" in self.cc and len(self.cc) > 1:
            nearer = difference(deviations.drop("westwood"), deviations.loc[["westwood"]])
            measured["westwood-competes"] = Measured.one(nearer, listed)
        return measured

    def causes(self) -> list[Cause]:
        """Return experiments with a longer RTT, in which the bound on the QUIC flow's window is wider."""
        far = self.with_parameters(cc=self.cc, size=self.size, changes=FAR)
        return [
            Cause(claim, far)
            for claim in (
                "below-half",
                "far-behind",
                "bbr-gets-more",
                "westwood-competes",
                "bbr-sooner",
                "westwood-soonest",
            )
        ]
