# SPDX-License-Identifier: Apache-2.0
"""Figure 10(a): reordering events by optical day, if the two networks differ only in latency. Sec. 5.3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import over_seeds
from rdcnlab.fields.units import NS_PER_US
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import folded
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import Variants, Weeks
from rdcnlab_papers.tdtcp.space import PACED, Difference, both_differences

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Events that a day must not have to be quiet: reordering, and retransmission.
_DISTURBING = ("duplicates", "retransmit")
#: End of the names of cases with the difference of the networks with which the figure was judged before.
_FORMER = " with both differences"


class Fig10a(Weeks):
    """Reordering events in every day of the circuit. Networks are figure 9's, because Sec. 5.3 is about latency.

    An event is a sequence of ACKs that acknowledge nothing new, because later data arrived before earlier data. Events
    of all flows count, if they are inside the day.
    """

    difference: ClassVar[Difference] = "latency"
    reads: ClassVar[tuple[str, ...]] = ("flows", "events")
    #: Days, nights and the packet network's RTTs are multiples of it, in ns of network time, so it leaves each event in
    #: its day.
    tick_ns: ClassVar[int] = 20 * NS_PER_US
    event: ClassVar[str] = "duplicates"
    label: ClassVar[str] = "reordering events in a day"

    variants: Variants = ("cubic", "mptcp", "tdtcp")

    @property
    def read_parts(self) -> dict[str, Part]:
        """Events without their order in a tick. The hosts, whose time events have, run slower than the network."""
        return {"events": Part(("event", "t_ns", "flow"), tick=self.dilation * self.tick_ns, sort=True)}

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: the variants; in the paper profile also with both differences, as judged before."""
        former = self.variants if self.profile == "paper" else ()
        return (*self.variants, *(f"{variant}{_FORMER}" for variant in former))

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case."""
        return self.base(name.removesuffix(_FORMER), "both" if name.endswith(_FORMER) else None)

    def compared_cases(self, runs: Runs, *, former: bool = False) -> Iterator[folded.Case]:
        """Iterate over the cases with runs, named after their variants: the figure's, or those judged before."""
        for case in self.present_cases(runs):
            if case.name.endswith(_FORMER) == former:
                yield case._replace(name=case.name.removesuffix(_FORMER))

    def counts(
        self, runs: Runs, *names: str, by_flow: bool = False, former: bool = False, until_later: bool = False
    ) -> dict[str, pd.DataFrame]:
        """Return ``run``, ``begin_ns`` and ``count`` of the named events for each variant, or for each of its flows.

        With `until_later`, events up to a round trip after a day count, too, as in the first wordings.
        """
        options: dict[str, Any] = {"dilation": self.dilation, "by_flow": by_flow}
        return {
            case.name: folded.events_by_day(
                case, names, "circuit", after_us=self.round_trip_us(case.scenario) if until_later else 0, **options
            )
            for case in self.compared_cases(runs, former=former)
        }

    @staticmethod
    def round_trip_us(scenario: Scenario) -> int:
        """Return a round trip of the packet network: so much of a day passes before the circuit alone reorders."""
        # of a full packet it is a fraction of a ns less than what the paper states, which is a multiple of the tick
        return round(folded.rtt_us(scenario, "packet"))

    def with_both(self, column: str) -> Self:
        """Return the same item on the testbed of a column, with networks that differ in bandwidth and latency."""
        settings = {"column": column, "profile": self.profile, "seeds": self.seeds}
        return self.with_parameters(**settings, changes=both_differences(self.with_parameters(**settings).first))

    def plot(self, runs: Runs) -> Figure:
        """Draw the distribution over days."""
        with figures.single(4.2, 2.8, columns=2) as (figure, ax):
            for name, counts in self.counts(runs, self.event).items():
                figures.distribution(ax, counts["count"], name)
            self.mark(ax)
            ax.set(xlabel=self.label, ylabel="share of days")
        return self.caption(figure, runs, "difference of latency only")

    def mark(self, ax: Axes) -> None:
        """Mark the paper's share of days without reordering and without retransmission."""
        expected = self.expected("quiet-days")
        if expected and expected.at_least is not None and "tdtcp" in self.variants:
            figures.draw_stated(ax, "tdtcp", [(0, expected.at_least / 100)])

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure TDTCP's share of days without reordering and retransmission, and what MPTCP says of a network."""
        by_networks = self._inside_a_network(runs, former=False)
        return {
            "quiet-days": self._quietness(runs),
            "quiet-days was": self._quietness(runs, former=True),
            "quiet-days was 1": self._quietness(runs, former=True, until_later=True),
            "mptcp-baseline": by_networks,
            "mptcp-baseline was": self._inside_a_network(runs, former=True),
            "mptcp-baseline was 1": by_networks,
        }

    def _inside_a_network(self, runs: Runs, *, former: bool) -> Measured:
        """Measure MPTCP's reordering over CUBIC's, later than a round trip after the circuit's day has begun."""
        by_day = {}
        for case in self.compared_cases(runs, former=former):
            options: dict[str, Any] = {"dilation": self.dilation, "skipped_us": self.round_trip_us(case.scenario)}
            by_day[case.name] = folded.events_by_day(case, ["duplicates"], "circuit", **options)
        if not {"cubic", "mptcp"} <= by_day.keys():
            return Measured()
        mean = {name: over_seeds(by_day[name].groupby("run")["count"].mean()) for name in ("cubic", "mptcp")}
        return Measured.one(mean["mptcp"] / mean["cubic"], ", ".join(f"{name}: {mean[name]} a day" for name in mean))

    def causes(self) -> list[Cause]:
        """Return the share of days for single flows, also in an experiment that spreads a stored window's burst."""
        paced = self.with_parameters(variants=("tdtcp",), changes=PACED)
        causes = [Cause("quiet-days", item, item.quiet_flows) for item in (self, paced)]
        return [*causes, Cause("mptcp-baseline", self.as_run)] if self.column == "text" else causes

    def quiet_flows(self, runs: Runs) -> Measured:
        """Measure the share in % of a single flow's days without reordering and without retransmission."""
        return Measured(folded.quiet_shares(self.counts(runs, *_DISTURBING, by_flow=True)))

    def _quietness(self, runs: Runs, *, former: bool = False, until_later: bool = False) -> Measured:
        counts = self.counts(runs, *_DISTURBING, former=former, until_later=until_later)
        quiet = folded.quiet_shares(counts)
        note = ", ".join(f"{name}: {share} %" for name, share in quiet.items())
        return Measured.one(quiet["tdtcp"], note) if "tdtcp" in quiet else Measured()
