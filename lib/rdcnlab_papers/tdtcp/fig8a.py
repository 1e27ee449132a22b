# SPDX-License-Identifier: Apache-2.0
"""Figure 8(a): throughput of all variants if the two networks differ only in bandwidth. Sec. 5.2."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import estimates
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import folded, weeks
from rdcnlab_papers.analysis.measured import Measured, lowest, percent_above
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import Throughput
from rdcnlab_papers.tdtcp.space import (
    DELAYS_US,
    FORMER_RTT_US,
    LATE_US,
    RTT_US,
    Difference,
    equal_rtts,
    late,
    late_at_former_rtt,
    rtt_text,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SWEPT = "retcpdyn"
Microseconds = Annotated[tuple[Annotated[int, whole(15, 100)], ...], Listed]


class Fig8a(Throughput):
    """Sequence graphs; and goodput by the RTT of both networks and by the delay of notifications, which are not stated.

    The graphs have the RTT of the column (`space.RTT_US`), and hosts are notified at once or as late as the column
    says (`space.LATE_US`).

    Parameters
    ----------
    rtts_us : tuple of int
        RTTs of both networks with reTCPdyn.
    compared_us : tuple of int or None
        RTTs of both networks with all variants, beside that of the column. None means none in the quick profile and in
        columns whose hosts are notified late, otherwise the one at which the figure was judged before.
    delays_us : tuple of int or None
        Delays of notifications with TDTCP. None means none in the quick profile, and in the paper profile the
        candidates (`space.DELAYS_US`) that are smaller than the delay of the column.
    """

    difference: ClassVar[Difference] = "bandwidth"
    more_runs: ClassVar[dict[str, int]] = {"text": 16}

    rtts_us: Microseconds = (20, 40, 55, 70, 85, 100)
    compared_us: Microseconds | None = None
    delays_us: Microseconds | None = None

    @property
    def compared(self) -> tuple[int, ...]:
        """RTTs of both networks with all variants, beside that of the column."""
        if self.compared_us is not None:
            return self.compared_us
        return (FORMER_RTT_US,) if self.profile == "paper" and self.column not in LATE_US else ()

    @property
    def delays(self) -> tuple[int, ...]:
        """Delays [us] of notifications with TDTCP, beside that of the column."""
        if self.delays_us is not None:
            return self.delays_us
        used_us = LATE_US.get(self.column, 0) if self.profile == "paper" else 0
        return tuple(delay for delay in DELAYS_US if delay < used_us)

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: the variants, those with another RTT, and TDTCP with each delay of notifications."""
        own = RTT_US[self.column]
        compared = self.compared
        rtts = {name: (*compared, *(self.rtts_us if name == _SWEPT else ())) for name in self.variants}
        swept = [f"{name} {rtt} us" for name in self.variants for rtt in dict.fromkeys(rtts[name]) if rtt != own]
        delays = self.delays if "tdtcp" in self.variants else ()
        return (*self.variants, *swept, *(f"tdtcp {delay} us late" for delay in delays))

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case."""
        variant, *words = name.split()
        base = self.base(variant)
        if not words:
            return base
        number = int(words[0])
        return base.with_(**(late(base, number) if words[-1] == "late" else equal_rtts(base, number)))

    def at_rtt(self, goodput: pd.DataFrame, rtt_us: int) -> pd.DataFrame:
        """Return the rows of `goodput` with an RTT of both networks, by variant."""
        suffix = "" if rtt_us == RTT_US[self.column] else f" {rtt_us} us"
        names = {f"{name}{suffix}": name for name in self.variants}
        return goodput[goodput.index.isin(names)].rename(index=names)

    def swept(self, goodput: pd.DataFrame) -> pd.DataFrame:
        """Return reTCPdyn's goodput as a share of the optimum: ``rtt_us``, ``mean``, ``low``, ``high``, ``n``."""
        rows = {rtt: self.at_rtt(goodput, rtt) for rtt in sorted({*self.rtts_us, RTT_US[self.column]})}
        chosen = pd.concat([of_rtt[of_rtt.index == _SWEPT].assign(rtt_us=rtt) for rtt, of_rtt in rows.items()])
        share = chosen[["mean", "low", "high"]] / weeks.bound_gbps(self.first)
        return share.assign(n=chosen["n"], rtt_us=chosen["rtt_us"]).set_index("rtt_us", drop=False)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the goodput of other variants against that of TDTCP, and reTCPdyn's share of the optimum."""
        goodput = self.goodput(runs)
        own = RTT_US[self.column]
        now, before = (self._compared(self.at_rtt(goodput, rtt)) for rtt in (own, FORMER_RTT_US))
        shares = estimates(self.swept(goodput))
        note = ", ".join(f"{rtt} us: {share}" for rtt, share in shares.items())
        by_rtt = {rtt: Measured.one(share, note) for rtt, share in shares.items()}
        return {
            **now,
            **{f"{claim} was": measurement for claim, measurement in before.items()},
            "slightly-below": replace(now["slightly-below"], note=self._elsewhere(goodput)),
            "retcpdyn-optimal": by_rtt.get(own, Measured()),
            "retcpdyn-optimal was": by_rtt.get(FORMER_RTT_US, Measured()),
        }

    def _compared(self, goodput: pd.DataFrame) -> dict[str, Measured]:
        """Measure the claims that compare variants with one RTT."""
        return {
            "slightly-below": _below(goodput),
            "mptcp-last": lowest(goodput, "mptcp"),
            "retcp-as-cubic": percent_above(goodput, "retcp", "cubic"),
        }

    def delayed(self, goodput: pd.DataFrame) -> dict[int, Measured]:
        """Measure by delay [us] of notifications how far CUBIC and DCTCP are below TDTCP, at the RTT of the column."""
        here = self.at_rtt(goodput, RTT_US[self.column]).drop(index="tdtcp", errors="ignore")
        delayed = {delay: goodput[goodput.index == f"tdtcp {delay} us late"] for delay in self.delays}
        return {
            delay: _below(pd.concat([here, rows.rename(index={rows.index[0]: "tdtcp"})]))
            for delay, rows in delayed.items()
            if len(rows)
        }

    def _elsewhere(self, goodput: pd.DataFrame) -> str:
        """Return the numbers of `slightly-below` with other RTTs and delays, in words."""
        rtts = [rtt for rtt in self.compared if rtt != RTT_US[self.column]]
        parts = {f"RTT {rtt} us": _below(self.at_rtt(goodput, rtt)) for rtt in rtts}
        parts |= {f"{delay} us late": measurement for delay, measurement in self.delayed(goodput).items()}
        return "; ".join(f"{name}: {measurement.text('%')}" for name, measurement in parts.items() if measurement.cases)

    def causes(self) -> list[Cause]:
        """Return the artefact's testbed; there, and where hosts are late, experiments on the delay of notifications."""
        if self.column == "text-late":
            return [Cause("mptcp-last", self.at_once), Cause("retcp-as-cubic", self.as_run)]
        if self.column == "text":
            return [Cause("retcp-as-cubic", self.as_run)]
        if self.column == "artefact-late":
            return []
        variants = ("tdtcp", "cubic", "dctcp")
        return [
            Cause(
                "slightly-below",
                self.with_parameters(variants=variants, changes=late_at_former_rtt(self.first), compared_us=()),
            )
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw the sequence graphs of the variants, and in a corner reTCPdyn's share of the optimum by RTT."""
        all_lines = self.lines(runs)
        lines = {name: all_lines[name] for name in map(str, self.variants) if name in all_lines}
        figure = folded.plot_sequences(lines, self.first, "packet", "circuit")
        swept = self.swept(self.goodput(runs))
        if len(swept) > 1:
            with figures.style():
                inside = figure.axes[0].inset_axes((0.12, 0.6, 0.24, 0.29))
                figures.band(inside, swept.reset_index(drop=True), "rtt_us", _SWEPT)
                expected = self.expected("retcpdyn-optimal")
                if expected is not None:
                    inside.axhspan(*expected.bounds, color=figures.REFERENCE, alpha=0.25, linewidth=0)
                    point = (float(swept["rtt_us"].max()), sum(expected.bounds) / 2)
                    inside.text(*point, "paper", fontsize="x-small", ha="right", va="center")
                inside.set_title(f"{figures.look(_SWEPT).label} by RTT", fontsize="x-small", pad=2)
                inside.set_xlabel("RTT of both networks [us]", fontsize="x-small")
                inside.set_ylabel("goodput / optimal", fontsize="x-small")
                inside.set_ylim(0.6, 1.02)
                inside.tick_params(labelsize="x-small")
        return self.caption(figure, runs, rtt_text(self.column))


def _below(goodput: pd.DataFrame) -> Measured:
    """Measure by how many % CUBIC and DCTCP are below TDTCP."""
    differences = {name: percent_above(goodput, name, "tdtcp") for name in ("cubic", "dctcp")}
    return Measured({name: difference.cases[""] for name, difference in differences.items() if difference.cases})
