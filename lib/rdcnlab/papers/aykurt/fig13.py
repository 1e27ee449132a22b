# SPDX-License-Identifier: Apache-2.0
"""Figures 13 and 14: a migrated TCP flow against a QUIC flow that stays, at 50 and at 25 ms. Sec. V-I."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar, Literal

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab import competition, figures, tables
from rdcnlab.claims import Measured
from rdcnlab.items import Item
from rdcnlab.papers.aykurt.space import Period, Point, Volume
from rdcnlab.runs import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.fields import Listed

Mover = Literal["cubic", "bbr", "reno", "westwood"]
_LOSS_BASED = ("cubic", "reno")
_MS = 1_000_000
_LABEL = {"main": "QUIC, CUBIC", "migrated": "TCP, migrated"}
#: A fair share of a link [Gb/s].
_HALF = 0.5


class _AgainstQuic(Item):
    """TCP variants that are moved onto the link of a QUIC flow with CUBIC, 1 Gb/s.

    Parameters
    ----------
    cc : tuple of str
        Variants of the TCP flow; a panel each.
    size : str
        Volume of each flow.
    """

    paper: ClassVar[str] = "aykurt"
    #: every packet of QUIC is a handful of system calls: a run takes most of a minute
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 30}
    #: Period that is drawn.
    period_ms: ClassVar[Period]

    cc: Annotated[tuple[Mover, ...], Field(min_length=1), Listed] = ("cubic", "bbr", "reno", "westwood")
    size: Volume = "128 MB"

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return throughput and completion times."""
        return ("flows", "throughput")

    def plot(self, runs: Runs) -> Figure:
        """Draw the throughput of both flows over time, one line a run, one panel a variant of TCP."""
        with figures.style():
            figure, axes = figures.panels(2 if len(self.cc) > 2 else 1, min(2, len(self.cc)), width=3.6)
            panels = [ax for row in axes for ax in row]
            for ax, cc in zip(panels, self.cc, strict=False):
                rates = tables.rates(self._of(runs, cc, self.period_ms).throughput, _MS, 5 * _MS)
                for (flow, run), of_run in tables.groups(rates, ["flow", "run"]):
                    label = f"{'QUIC, CUBIC' if flow == 'main' else 'TCP, migrated'}" if run == 0 else None
                    color = figures.look(flow).color
                    ax.plot(
                        of_run["t_s"], of_run["rate_bps"] / 1e9, color=color, linewidth=0.6, alpha=0.35, label=label
                    )
                figures.reference(ax, _HALF, "half the line rate")
                ax.set(title=f"{figures.look(cc).label}, {self.period_ms} ms", ylim=(0, 1.08))
            for ax in axes[-1]:
                ax.set_xlabel("time [s]")
            for ax in axes[:, 0]:
                ax.set_ylabel("throughput [Gb/s]")
            figures.legend(figure, panels[0])
        return figure

    def _scenarios(self, period_ms: Period) -> list[Scenario]:
        """Return variants times seeds."""
        return [
            Point(protocol="QUIC", cc=cc, period_ms=period_ms, size=self.size, seed=seed).scenario(
                **{"probes.tcp": "none"}
            )
            for cc, seed in product(self.cc, range(self.count))
        ]

    def _of(self, runs: Runs, cc: str, period_ms: int) -> Runs:
        """Return the runs of one variant of TCP at one period."""
        of_period = competition.moved_every(runs, period_ms)
        return of_period.select(lambda scenario: any(f.name == "migrated" and f.cc == cc for f in scenario.flows))

    def _times(self, runs: Runs, period_ms: int) -> pd.DataFrame:
        """Return the mean completion times, ``main_s`` and ``migrated_s``, by the variant of TCP."""
        means = {
            cc: tables.completion(self._of(runs, cc, period_ms).flows)[["main_s", "migrated_s"]].mean()
            for cc in self.cc
        }
        return pd.DataFrame(means).T


class Fig13(_AgainstQuic):
    """A move every 50 ms."""

    id: ClassVar[str] = "fig13"
    period_ms: ClassVar[Period] = 50

    def points(self) -> list[Scenario]:
        """Return variants times seeds."""
        return self._scenarios(50)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure completion times against QUIC's, and the rate while both are on one link."""
        times = self._times(runs, 50)
        ratio = (times["migrated_s"] / times["main_s"]).loc[[cc for cc in self.cc if cc in _LOSS_BASED]]
        shared = pd.Series({cc: self._shared(self._of(runs, cc, 50)) for cc in self.cc})
        low = shared.loc[[cc for cc in self.cc if cc in _LOSS_BASED]]
        listed = ", ".join(f"{cc}: {value:.3g} Gb/s" for cc, value in shared.items())
        measured = {"far-behind": Measured(tables.cases(ratio)), "below-half": Measured(tables.cases(low))}
        if "bbr" in shared.index and len(low):
            measured["bbr-gets-more"] = Measured.one(float(shared["bbr"] - low.max()), listed)
        if "westwood" in shared.index and len(shared) > 1:
            off = (shared - _HALF).abs()
            measured["westwood-competes"] = Measured.one(float(off["westwood"] - off.drop("westwood").min()), listed)
        return measured

    def _shared(self, runs: Runs) -> float:
        """Return the migrated flow's mean rate [Gb/s] while both run and are on one link."""
        seen = competition.phases(runs)
        chosen = seen[(seen["flow"] == "migrated") & seen["both_run"] & (seen["phase"] == "shared")]
        return float(chosen["gbps"].mean())


class Fig14(_AgainstQuic):
    """A move every 25 ms, compared with one every 50 ms."""

    id: ClassVar[str] = "fig14"
    period_ms: ClassVar[Period] = 25

    def points(self) -> list[Scenario]:
        """Return variants times seeds at both periods."""
        return self._scenarios(25) + self._scenarios(50)

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return completion times, and at 25 ms the throughput."""
        return ("flows", "throughput") if scenario.flows[-1].period == 25 * _MS else ("flows",)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how completion times change from 50 to 25 ms."""
        ratio = self._times(runs, 25)["migrated_s"] / self._times(runs, 50)["migrated_s"]
        suffering = ratio.loc[[cc for cc in self.cc if cc in _LOSS_BASED]]
        others = ratio.drop(suffering.index)
        return {"suffer-more": Measured(tables.cases(suffering)), "others-stay": Measured(tables.cases(others))}
