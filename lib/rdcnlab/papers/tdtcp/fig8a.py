# SPDX-License-Identifier: Apache-2.0
"""Figure 8(a): throughput of all variants if the two networks differ only in bandwidth. Sec. 5.2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures, folded, weeks
from rdcnlab.analysis.intervals import estimates
from rdcnlab.analysis.measured import Measured, lowest, percent_above
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.papers.causes import Cause
from rdcnlab.papers.tdtcp.graphs import Throughput
from rdcnlab.papers.tdtcp.space import LATE, Difference
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.rtts import with_rtts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SWEPT = "retcpdyn"
#: RTT of the other cases in us, that of the packet network.
_RTT = 100


class Fig8a(Throughput):
    """Sequence graphs, and reTCPdyn by the RTT that both networks have, which the paper does not state.

    Parameters
    ----------
    rtts_us : tuple of int
        RTTs of both networks with reTCPdyn, beside 100 us, that of all variants.
    """

    difference: ClassVar[Difference] = "bandwidth"

    rtts_us: Annotated[tuple[Annotated[int, whole(30, 99)], ...], Listed, Field()] = (40, 55, 70, 85)

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: the variants, and reTCPdyn with each RTT."""
        swept = self.rtts_us if _SWEPT in self.variants else ()
        return (*self.variants, *(f"{_SWEPT} {rtt} us" for rtt in swept))

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case."""
        variant, *rtt = name.split()
        base = self.base(variant)
        if not rtt:
            return base
        return base.with_(**with_rtts(base, {"packet": (int(rtt[0]), 10), "circuit": (int(rtt[0]), 100)}))

    def swept(self, runs: Runs) -> pd.DataFrame:
        """Return reTCPdyn's goodput as a share of the optimum: ``rtt_us``, ``mean``, ``low``, ``high``, ``n``."""
        goodput = self.goodput(runs)
        chosen = goodput[goodput.index.str.split().str[0] == _SWEPT]
        rtts = [int(name.split()[1]) if " " in name else _RTT for name in chosen.index]
        share = chosen[["mean", "low", "high"]] / weeks.bound_gbps(self.first)
        return share.assign(n=chosen["n"], rtt_us=rtts).sort_values("rtt_us").set_index("rtt_us", drop=False)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the goodput of other variants against that of TDTCP, and reTCPdyn's share of the optimum."""
        goodput_of_cases = self.goodput(runs)
        goodput = goodput_of_cases[goodput_of_cases.index.isin(self.variants)]
        differences = {name: percent_above(goodput, name, "tdtcp") for name in ("cubic", "dctcp")}
        shares = estimates(self.swept(runs))
        note = ", ".join(f"{rtt} us: {share}" for rtt, share in shares.items())
        by_rtt = {rtt: Measured.one(share, note) for rtt, share in shares.items()}
        return {
            "slightly-below": Measured(
                {name: measurement.cases[""] for name, measurement in differences.items() if measurement.cases}
            ),
            "mptcp-last": lowest(goodput, "mptcp"),
            "retcpdyn-optimal": by_rtt.get(min(self.rtts_us, default=_RTT), Measured()),
            "retcpdyn-optimal was": by_rtt.get(_RTT, Measured()),
            "retcp-as-cubic": percent_above(goodput, "retcp", "cubic"),
        }

    def causes(self) -> list[Cause]:
        """Return an experiment on the effect of late notifications, and the artefact's testbed."""
        late = Cause("slightly-below", self.with_parameters(variants=("tdtcp", "cubic", "dctcp"), changes=LATE))
        if self.column != "text":
            return [late]
        return [late, *(Cause(claim, self.as_run) for claim in ("retcpdyn-optimal", "retcp-as-cubic"))]

    def plot(self, runs: Runs) -> Figure:
        """Draw the sequence graphs of the variants, and in a corner reTCPdyn's share of the optimum by RTT."""
        all_lines = self.lines(runs)
        lines = {name: all_lines[name] for name in map(str, self.variants) if name in all_lines}
        figure = folded.plot_sequences(lines, self.first, "packet", "circuit")
        swept = self.swept(runs)
        if len(swept) > 1:
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
        return self.caption(figure, runs)
