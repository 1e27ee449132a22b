# SPDX-License-Identifier: Apache-2.0
"""Figures 13 and 14: a migrated TCP flow against a QUIC flow that stays, at 50 and at 25 ms. Sec. V-I."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import competition, figures, tables
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.papers.aykurt.space import Period, Point, Volume, delays
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

Mover = Literal["cubic", "bbr", "reno", "westwood"]
_LOSS_BASED: tuple[Mover, ...] = ("cubic", "reno")
_LABEL = {"main": "QUIC, CUBIC", "migrated": "TCP, migrated"}
#: A hosts' delay that makes the base RTT 3 ms.
_FAR = "750 us"
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
        cases = {f"{figures.look(cc).label}, {self.period_ms} ms": cc for cc in self.cc}

        def one(ax: Axes, title: str) -> None:
            rates = tables.rates(self._of(runs, cases[title], self.period_ms).throughput, NS_PER_MS, 5 * NS_PER_MS)
            for (flow, run), of_run in tables.groups(rates, ["flow", "run"]):
                label = _LABEL[flow] if run == 0 else None
                color = figures.look(flow).color
                ax.plot(of_run["t_s"], of_run["rate_bps"] / 1e9, color=color, linewidth=0.6, alpha=0.35, label=label)
            figures.reference(ax, _HALF, "half the line rate")
            ax.set_ylim(0, 2.16 * _HALF)

        return competition.panels(list(cases), one, columns=2, width=3.6)

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
        """Return the completion times, one row a run: ``cc`` of TCP, ``main_s``, ``migrated_s`` and their ``ratio``."""
        parts = [tables.completion(self._of(runs, cc, period_ms).flows).assign(cc=cc) for cc in self.cc]
        times = pd.concat(parts, ignore_index=True)
        return times.assign(ratio=times["migrated_s"] / times["main_s"])


class Fig13(_AgainstQuic):
    """A move every 50 ms."""

    id: ClassVar[str] = "fig13"
    period_ms: ClassVar[Period] = 50

    def points(self) -> list[Scenario]:
        """Return variants times seeds."""
        return self._scenarios(50)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure completion times against QUIC's, and the rate while both are on one link."""
        loss_based = [cc for cc in self.cc if cc in _LOSS_BASED]
        ratio = self._times(runs, 50).groupby("cc")["ratio"].mean()
        shared = self._shared(runs)
        rates = tables.mean_ci(shared, ["cc"], "gbps").set_index("cc").reindex(self.cc)
        off = (
            tables.mean_ci(shared.assign(off=(shared["gbps"] - _HALF).abs()), ["cc"], "off")
            .set_index("cc")
            .reindex(self.cc)
        )
        listed = tables.listed(rates, "Gb/s")
        measured = {
            "far-behind": Measured(tables.cases(ratio[loss_based])),
            "below-half": Measured(tables.cases(rates["high"][loss_based]), listed),
        }
        if "bbr" in self.cc and loss_based:
            measured["bbr-gets-more"] = Measured.one(tables.margin(rates.loc[["bbr"]], rates.loc[loss_based]), listed)
        if "westwood" in self.cc and len(self.cc) > 1:
            nearer = tables.margin(off.drop("westwood"), off.loc[["westwood"]])
            measured["westwood-competes"] = Measured.one(nearer, listed)
        return measured

    def causes(self) -> list[Cause]:
        """Return what bounds the window of the QUIC flow, where that is wider."""
        far = Fig13(cc=self.cc, size=self.size, seeds=self.few, changes=delays(_FAR))
        return [
            Cause(
                "below-half",
                "No packet of QUIC is lost and no flow control holds it: ngtcp2 of Debian 12 (0.12) ends the growth of "
                "its window at 2.89 times its largest delivery rate times its smallest RTT (target_cwnd in "
                "lib/ngtcp2_cc.c, gone in 1.9), and TCP fills the buffer. The bound grows with the base RTT: with one "
                "of 3 ms TCP gets",
                far,
            ),
            Cause("far-behind", "It is the same bound. With a base RTT of 3 ms the ratio is", far),
            Cause("bbr-gets-more", "Not found. Not even where the bound is wider, with a base RTT of 3 ms", far),
            Cause("westwood-competes", "Not found. Where the bound is wider, with a base RTT of 3 ms", far),
        ]

    def _shared(self, runs: Runs) -> pd.DataFrame:
        """Return the migrated flow's mean rate while both run and are on one link: ``cc``, ``run``, ``gbps``.

        In the last fifth of a slot only: for as long as the queue of the link it left drains, 3 MB or 24 ms at 1 Gb/s,
        it gets that link's rate as well.
        """
        parts = []
        for cc in self.cc:
            seen = competition.on_one_link(self._of(runs, cc, 50))
            rates = seen[seen["late"] & (seen["flow"] == "migrated")].groupby("run")["gbps"].mean()
            parts.append(rates.reset_index().assign(cc=cc))
        return pd.concat(parts, ignore_index=True)


class Fig14(_AgainstQuic):
    """A move every 25 ms, compared with one every 50 ms."""

    id: ClassVar[str] = "fig14"
    period_ms: ClassVar[Period] = 25

    def points(self) -> list[Scenario]:
        """Return variants times seeds at both periods."""
        return self._scenarios(25) + self._scenarios(50)

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return completion times, and at 25 ms the throughput."""
        return ("flows", "throughput") if scenario.flows[-1].period == 25 * NS_PER_MS else ("flows",)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how completion times change from 50 to 25 ms."""
        at_25, at_50 = (
            tables.mean_ci(self._times(runs, period), ["cc"], "migrated_s").set_index("cc") for period in (25, 50)
        )
        loss_based = [cc for cc in self.cc if cc in _LOSS_BASED]
        others = [cc for cc in self.cc if cc not in _LOSS_BASED]
        return {
            "suffer-more": Measured({cc: tables.margin(at_25.loc[[cc]], at_50.loc[[cc]]) for cc in loss_based}),
            "others-stay": Measured(tables.cases((at_25["mean"] / at_50["mean"])[others])),
        }

    def causes(self) -> list[Cause]:
        """Return what bounds the window of the QUIC flow, where that is wider."""
        return [
            Cause(
                "suffer-more",
                "Not found for Reno. CUBIC's time grows more where the window of the QUIC flow is wider (see figure "
                "13). With a base RTT of 3 ms",
                Fig14(cc=_LOSS_BASED, size=self.size, seeds=self.few, changes=delays(_FAR)),
            )
        ]
