# SPDX-License-Identifier: Apache-2.0
"""Figure 10(a): reordering events by optical day. Sec. 5.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from rdcnlab.analysis import figures, folded
from rdcnlab.analysis.intervals import over_seeds
from rdcnlab.analysis.measured import Measured
from rdcnlab.papers.causes import Cause
from rdcnlab.papers.tdtcp.graphs import Variants, Weeks
from rdcnlab.papers.tdtcp.space import PACED
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Events that a day must not have to be quiet: reordering, and retransmission.
_DISTURBING = ("duplicates", "retransmit")


class Fig10a(Weeks):
    """Reordering events in every day of the circuit.

    An event is a sequence of ACKs that acknowledge nothing new, because later data arrived before earlier data. Events
    of all flows count, if they are inside the day.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "events")
    parts: ClassVar[dict[str, Part]] = {"events": Part(("t_ns", "event", "flow", "value"))}
    event: ClassVar[str] = "duplicates"
    label: ClassVar[str] = "reordering events in a day"

    variants: Variants = ("cubic", "mptcp", "tdtcp")

    def counts(
        self, runs: Runs, *names: str, by_flow: bool = False, until_later: bool = False
    ) -> dict[str, pd.DataFrame]:
        """Return ``run``, ``begin_ns`` and ``count`` of the named events for each variant, or for each of its flows.

        With `until_later`, events up to a round trip after the day count, too.
        """
        after_us = int(folded.rtt_us(self.first, "packet")) if until_later else 0
        options: dict[str, Any] = {"dilation": self.dilation, "after_us": after_us, "by_flow": by_flow}
        return {case.name: folded.events_by_day(case, names, "circuit", **options) for case in self.present_cases(runs)}

    def plot(self, runs: Runs) -> Figure:
        """Draw the distribution over days."""
        with figures.single(4.2, 2.8, columns=2) as (figure, ax):
            for name, counts in self.counts(runs, self.event).items():
                figures.distribution(ax, counts["count"], name)
            self.mark(ax)
            ax.set(xlabel=self.label, ylabel="share of days")
        return self.caption(figure, runs)

    def mark(self, ax: Axes) -> None:
        """Mark the paper's share of days without reordering and without retransmission."""
        expected = self.expected("quiet-days")
        if expected and expected.at_least is not None and "tdtcp" in self.variants:
            figures.draw_stated(ax, "tdtcp", [(0, expected.at_least / 100)])

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the share of days without reordering and without retransmission with TDTCP."""
        return {
            "quiet-days": self._quietness(runs),
            "quiet-days was": self._quietness(runs, until_later=True),
            "mptcp-baseline": self._inside_a_network(runs),
        }

    def _inside_a_network(self, runs: Runs) -> Measured:
        """Measure MPTCP's reordering over CUBIC's, later than a round trip after the circuit's day has begun."""
        cases = {case.name: case for case in self.present_cases(runs) if case.name in ("cubic", "mptcp")}
        if len(cases) < 2:
            return Measured()
        skipped_us = int(folded.rtt_us(self.first, "packet"))
        options: dict[str, Any] = {"dilation": self.dilation, "after_us": 0, "skipped_us": skipped_us}
        by_day = {
            name: folded.events_by_day(case, ["duplicates"], "circuit", **options) for name, case in cases.items()
        }
        mean = {name: over_seeds(days.groupby("run")["count"].mean()) for name, days in by_day.items()}
        return Measured.one(mean["mptcp"] / mean["cubic"], ", ".join(f"{name}: {mean[name]} a day" for name in mean))

    def causes(self) -> list[Cause]:
        """Return the share of days for single flows, also in an experiment that spreads a stored window's burst."""
        paced = self.with_parameters(variants=("tdtcp",), changes=PACED)
        causes = [Cause("quiet-days", item, item.quiet_flows) for item in (self, paced)]
        return [*causes, Cause("mptcp-baseline", self.as_run)] if self.column == "text" else causes

    def quiet_flows(self, runs: Runs) -> Measured:
        """Measure the share in % of a single flow's days without reordering and without retransmission."""
        return Measured(folded.quiet_shares(self.counts(runs, *_DISTURBING, by_flow=True)))

    def _quietness(self, runs: Runs, *, until_later: bool = False) -> Measured:
        quiet = folded.quiet_shares(self.counts(runs, *_DISTURBING, until_later=until_later))
        note = ", ".join(f"{name}: {share} %" for name, share in quiet.items())
        return Measured.one(quiet["tdtcp"], note) if "tdtcp" in quiet else Measured()
