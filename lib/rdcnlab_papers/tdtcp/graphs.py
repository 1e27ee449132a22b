# SPDX-License-Identifier: Apache-2.0
"""Common parts of the figures: one run for each variant and seed, and sequence graphs or queues over three weeks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import over_seeds
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import ACKNOWLEDGED, Part
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.dilation import dilate
from rdcnlab_papers.analysis import folded
from rdcnlab_papers.analysis.folded import Case
from rdcnlab_papers.analysis.measured import Measured, lowest
from rdcnlab_papers.items.item import Item, Profile
from rdcnlab_papers.items.judged import JudgedClaim
from rdcnlab_papers.tdtcp.space import RTT_US, Difference, Variant, equal_rtts, scenario, testbed_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Variants = Annotated[tuple[Variant, ...], Field(min_length=1), Listed]
Duration = Literal["300 ms", "500 ms", "1 s", "2 s"]
#: Number of runs of each scenario, for figures that need fewer.
FEWER: dict[str, int] = {"quick": 1, "paper": 3}


class Weeks(Item):
    """Runs of the variants of a figure.

    Parameters
    ----------
    variants : tuple of str
        Variants.
    duration : str or None
        Duration of a run in network time. None means the default of the profile, see `of_profile`.
    dilation : int
        How many times slower the hosts' clocks run than the network's: 20 in the paper (Sec. 5.1), 1 for hosts that
        are as fast as the network. All drawn and measured values are in network time.
    """

    difference: ClassVar[Difference] = "both"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 6}
    #: Duration of a run in network time. A quarter of the paper's 2 s has 257 weeks after the first hundred, and ten
    #: seeds together have more weeks than the paper's run; docs/decisions/tdtcp-network.md has the intervals.
    of_profile: ClassVar[dict[str, str]] = {"quick": "300 ms", "paper": "500 ms"}
    #: Number of runs of each variant in the paper profile, by column, where fewer runs leave a claim undecided.
    more_runs: ClassVar[dict[str, int]] = {}

    variants: Variants = ("tdtcp", "cubic", "dctcp", "mptcp", "retcp", "retcpdyn")
    duration: Duration | None = None
    dilation: Literal[1, 20] = 20

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases to compare: the variants, unless a figure defines others."""
        return self.variants

    @property
    def as_run(self) -> Self:
        """The same item on the testbed that the artefact ran, for causes that this testbed shows."""
        return self.with_parameters(column="artefact", profile=self.profile, seeds=self.seeds)

    @property
    def at_once(self) -> Self:
        """The same item with hosts that are notified at once, for causes in the columns where they are late."""
        return self.with_parameters(column=testbed_of(self.column), profile=self.profile, seeds=self.seeds)

    def base(self, variant: str, difference: Difference | None = None) -> Scenario:
        """Return the scenario of a variant, in network time, with the first seed.

        The networks have the difference of the figure, unless another is given.
        """
        difference = difference or self.difference
        duration = self.duration or self.of_profile[self.profile]
        base = scenario(self.column, variant, difference, duration)
        return base.with_(**equal_rtts(base, RTT_US[self.column])) if difference == "bandwidth" else base

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case, in network time, with the first seed."""
        return self.base(name)

    def _usual_count(self, profile: Profile) -> int:
        usual = super()._usual_count(profile)
        return self.more_runs.get(self.column, usual) if profile == "paper" else usual

    def count_of(self, name: str) -> int:
        """Return the number of runs of a case. Only the variants have `more_runs`, and not what a sweep adds."""
        if self.seeds is not None or name in self.variants:
            return self.count
        return super()._usual_count(self.profile)

    def points(self) -> list[Scenario]:
        """Return one scenario for each case and seed, in network time."""
        return [self.case(name).with_(seed=seed) for name in self.cases for seed in range(self.count_of(name))]

    def scenarios(self) -> list[Scenario]:
        """Return the scenarios in the time of the hosts."""
        return [host_scenario for _, host_scenario in self.pairs]

    @functools.cached_property
    def pairs(self) -> list[tuple[Scenario, Scenario]]:
        """Each scenario twice, with its changes: in network time, and in the time of the hosts."""
        return [(network_scenario, dilate(network_scenario, self.dilation)) for network_scenario in super().scenarios()]

    @property
    def first(self) -> Scenario:
        """The first scenario in network time."""
        return self.pairs[0][0]

    def present_cases(self, runs: Runs) -> Iterator[Case]:
        """Iterate over the cases that have runs."""
        pairs_left = iter(self.pairs)
        for name in self.cases:
            pairs = list(itertools.islice(pairs_left, self.count_of(name)))
            selected = runs.among(host_scenario for _, host_scenario in pairs)
            if len(selected):
                yield Case(name, selected, pairs[0][0])

    def starved_text(self, runs: Runs) -> str:
        """Return in words how many flows were starved: have not received a single byte at the limit, by case."""
        return f"starved flows: {self._starved(runs)}"

    def _starved(self, runs: Runs) -> str:
        counts = {case.name: (case.runs.rows("flows")["received_B"] == 0) for case in self.present_cases(runs)}
        texts = [f"{int(mask.sum())} of {len(mask)} of {name}" for name, mask in counts.items() if mask.any()]
        total = sum(len(mask) for mask in counts.values())
        return ", ".join(texts) or f"0 of {total}"

    def rows(self, runs: Runs | None) -> list[JudgedClaim]:
        """Return the scorecard. The field ``measured`` includes the number of starved flows."""
        rows = super().rows(runs)
        if runs is not None:
            note = self.starved_text(runs)
            rows = [replace(row, measured=f"{row.measured}; {note}") if row.measured else row for row in rows]
        return rows

    def caption(self, figure: Figure, runs: Runs, *more: str) -> Figure:
        """Write below a figure which testbed it shows, what else is said of it, and how many flows were starved."""
        starved = f"flows that received nothing until the end: {self._starved(runs)}"
        figures.note(figure, "; ".join([f"Testbed: {self.testbed.title}", *more, starved]) + ".")
        return figure


class Throughput(Weeks):
    """Sequence graphs of the mean flow over three weeks, with the bounds of both networks and of the packet network."""

    reads: ClassVar[tuple[str, ...]] = ("flows", "throughput")
    parts: ClassVar[dict[str, Part]] = {"throughput": ACKNOWLEDGED}

    def lines(self, runs: Runs) -> dict[str, pd.DataFrame]:
        """Return the sequence graph of each case; see `folded.sequences`."""
        return folded.sequences(self.present_cases(runs))

    def goodput(self, runs: Runs) -> pd.DataFrame:
        """Return by case the total goodput of all flows; see `folded.goodput`."""
        return folded.goodput(self.present_cases(runs))

    def goodput_of_runs(self, runs: Runs) -> pd.DataFrame:
        """Return by case and seed the total goodput of all flows; see `folded.goodput_of_runs`."""
        return folded.goodput_of_runs(self.present_cases(runs))

    def plot(self, runs: Runs) -> Figure:
        """Draw the sequence graphs and their bounds."""
        return self.caption(folded.plot_sequences(self.lines(runs), self.first, "packet", "circuit"), runs)


class Occupancy(Weeks):
    """Mean length of the virtual output queue over three weeks."""

    reads: ClassVar[tuple[str, ...]] = ("flows", "queues")

    def lengths(self, runs: Runs) -> dict[str, pd.DataFrame]:
        """Return the queue of each case; see `folded.queues`."""
        return folded.queues(self.present_cases(runs))

    def waiting(self, runs: Runs, part_us: tuple[float, float] = (0.0, float("inf"))) -> pd.DataFrame:
        """Return by case the mean queue length in a part of each week; see `folded.waiting`."""
        return folded.waiting(self.lengths(runs), self.first, part_us)

    def without_mptcp(self, runs: Runs) -> Measured:
        """Measure by how much the queues of all others but MPTCP are above that of TDTCP: no verdict on a claim."""
        return lowest(self.waiting(runs).drop(index="mptcp", errors="ignore"), "tdtcp")

    def longer(self, runs: Runs, case: str, part_us: tuple[float, float], than_us: tuple[float, float]) -> Measured:
        """Measure by how many packets a case's queue in one part of each week is above that in another part.

        The two parts of a run are compared.
        """
        lengths = {name: curve for name, curve in self.lengths(runs).items() if name == case}
        if not lengths:
            return Measured()
        parts = [
            folded.waiting_of_runs(lengths, self.first, part).set_index("run")["mean"] for part in (part_us, than_us)
        ]
        first, second = map(over_seeds, parts)
        return Measured.one(over_seeds(parts[0] - parts[1]), f"{first} against {second}")

    def plot(self, runs: Runs) -> Figure:
        """Draw the lengths of queues and their limit."""
        return self.caption(folded.plot_queues(self.lengths(runs), self.first, "circuit"), runs)
