# SPDX-License-Identifier: Apache-2.0
"""Common parts of figures 15 to 20: DCTCP and NUFTCP under inconsistent updates in the Clos network, two buffers."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import whole
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Queue, Scenario
from rdcnlab_papers.analysis import evenness
from rdcnlab_papers.analysis.measured import Measured, difference, largest, means
from rdcnlab_papers.dogar import clos, testbeds
from rdcnlab_papers.dogar.clos import LARGE, SMALL, Inputs, Pattern, Readings
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Number of updates by profile.
COUNTS = {"quick": 4, "paper": clos.UPDATES}
#: The beginning of a run ends before this update.
BEGINNING = 4
BUFFERS = {"large": LARGE, "small": SMALL}
PAIR: tuple[clos.Variant, ...] = ("dctcp", "nuftcp")
#: Claims that may fail in the column ``literal`` because only f_n loses packets of DCTCP there.
_OF_ONE_LOSER = ("both-fall", "more-with-small", "fewer-with-small", "longer", "worse")


class Simulated(Item):
    """Flows of DCTCP, or of NUFTCP, that change their spines every 25 ms.

    Parameters
    ----------
    updates : int or None
        Number of updates in a run; None: 15 in the paper profile.
    per_group : int
        Number of flows of each group.
    pattern : {'swap', 'down', 'alternate'} or None
        Effect of an update; see `rdcnlab_papers.dogar.clos.Inputs`. None: that of the column.
    mark_kB : float
        Marking threshold in kB.
    late_us : int
        Largest delay with which a leaf applies an update, in us.
    hold_us : int
        T of NUFTCP's receiver in us.
    hold_sack : bool or None
        Whether the receiver leaves out SACK while it may hold ACKs. None: as in the column.
    readings : tuple of int or None
        Rows of docs/decisions/nuftcp.md in which NUFTCP follows the paper's algorithm 2. None: those of the column.
    jitter_us : float
        Jitter of each link in us; see `rdcnlab_papers.dogar.clos.Inputs`.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 10}
    parts: ClassVar[dict[str, Part]] = {
        "events": Part(("t_ns", "event", "link", "flow", "value"), tick=NS_PER_MS),
        "throughput": evenness.RECEIVED,
    }
    #: Names of the buffers, and variants, that the item needs; the figure draws the first.
    buffers: ClassVar[tuple[str, ...]] = tuple(BUFFERS)
    variants: ClassVar[tuple[clos.Variant, ...]] = PAIR
    #: Claims that are not reproduced in the column ``literal``; each has an experiment there.
    unmet: ClassVar[tuple[str, ...]] = ()

    updates: Annotated[int, whole(1, 1000)] | None = None
    per_group: Annotated[int, whole(1, 40)] = Inputs().per_group
    pattern: Pattern | None = None
    mark_kB: Annotated[float, Field(ge=1.5, le=1000)] = 97.5  # noqa: N815  (unit)
    late_us: Annotated[int, whole(0, 20_000)] = Inputs().late_us
    hold_us: Annotated[int, whole(0, 100_000)] = Inputs().hold_us
    hold_sack: bool | None = None
    readings: Readings | None = None
    jitter_us: Annotated[float, Field(ge=0, le=1000)] = Inputs().jitter_us

    def down(self) -> Self:
        """Return the experiment with Sec. 4.1's updates: f_n's spine is taken down, and its flows join f_m's line."""
        return self.with_parameters(profile=self.profile, pattern="down")

    def literal(self) -> Self:
        """Return the experiment with Sec. 4.1's updates and the threshold of algorithm 2."""
        return self.with_parameters(profile=self.profile, pattern="down", readings=(3,))

    def without_rack(self) -> Self:
        """Return the experiment without RACK, which ns-3 lacks."""
        return self.with_parameters(profile=self.profile, changes={"transport.recovery": 0})

    def prose(self) -> Self:
        """Return the experiment of the column ``literal`` in which NUFTCP has the threshold of the prose."""
        return self.with_parameters(profile=self.profile, readings=())

    def without_rhythm(self) -> Self:
        """Return the experiment with a jitter of a packet or two, so that packets of the two flows have no rhythm."""
        return self.with_parameters(profile=self.profile, jitter_us=2)

    def two_flows(self) -> Self:
        """Return the experiment with two flows a group."""
        return self.with_parameters(profile=self.profile, per_group=2)

    def causes(self) -> list[Cause]:
        """Return the experiments of the column: without RACK for the claims that do not hold in ``literal``."""
        if self.column != testbeds.LITERAL:
            return self.causes_of_defaults()
        one_loser = [claim for claim in self.unmet if claim in _OF_ONE_LOSER]
        return [
            *(Cause(claim, self.without_rhythm()) for claim in one_loser),
            *(Cause(claim, self.without_rack()) for claim in self.unmet),
            *(Cause(claim, self.two_flows()) for claim in one_loser),
        ]

    def causes_of_defaults(self) -> list[Cause]:
        """Return the experiments of the other columns."""
        return []

    @property
    def inputs(self) -> Inputs:
        """The inputs that the paper does not give."""
        usual = testbeds.simulated(self.column)
        return Inputs(
            per_group=self.per_group,
            pattern=usual.pattern if self.pattern is None else self.pattern,
            mark_kB=self.mark_kB,
            late_us=self.late_us,
            hold_us=self.hold_us,
            hold_sack=usual.hold_sack if self.hold_sack is None else self.hold_sack,
            readings=usual.readings if self.readings is None else self.readings,
            jitter_us=self.jitter_us,
        )

    @property
    def number(self) -> int:
        """Number of updates."""
        return COUNTS[self.profile] if self.updates is None else self.updates

    def points(self) -> list[Scenario]:
        """Return all buffers, variants and seeds."""
        return [
            clos.updates(cc, seed=seed, count=self.number, buffer_kB=BUFFERS[buffer], inputs=self.inputs)
            for buffer in self.buffers
            for cc in self.variants
            for seed in range(self.count)
        ]

    def runs_of(self, runs: Runs, buffer: str) -> Runs:
        """Return the runs with a buffer."""
        size = 1000 * BUFFERS[buffer]
        return runs.select(lambda scenario: scenario.network.links[0].buffer == Queue(bytes=size))


class Counts(Simulated):
    """Numbers of packets, by variant and buffer."""

    reads: ClassVar[tuple[str, ...]] = ("events",)
    #: Label of the axis.
    label: ClassVar[str]
    #: Numbers of the text, by variant and buffer.
    stated_numbers: ClassVar[dict[str, dict[str, int]]]

    @abc.abstractmethod
    def counts(self, runs: Runs) -> pd.DataFrame:
        """Return ``run``, ``seed``, ``cc`` and ``value`` of each run."""

    def by_buffer(self, runs: Runs) -> dict[str, pd.DataFrame]:
        """Return the means by variant, for each buffer."""
        return {buffer: means(self.counts(self.runs_of(runs, buffer)), "cc", "value") for buffer in self.buffers}

    def ratios(self, runs: Runs, cc: str) -> Measured:
        """Measure the ratio of each stated number of a variant: measured over stated, by buffer."""
        measured = {buffer: Measured.by_case(stats).cases for buffer, stats in self.by_buffer(runs).items()}
        return Measured({buffer: measured[buffer][cc] / self.stated_numbers[cc][buffer] for buffer in measured})

    def plot(self, runs: Runs) -> Figure:
        """Draw the numbers beside those of the paper."""
        by_buffer = self.by_buffer(runs)
        pairs = [(cc, buffer) for cc in self.variants for buffer in self.buffers]
        measured = pd.concat([by_buffer[buffer].loc[[cc]] for cc, buffer in pairs])
        numbers = [float(self.stated_numbers[cc][buffer]) for cc, buffer in pairs]
        with figures.single(4.6, 3.0) as (figure, ax):
            figures.counts(
                ax, measured, [f"{figures.look(cc).label},\n{buffer} buffer" for cc, buffer in pairs], numbers
            )
            ax.set(ylabel=f"{self.label} in {self.number} updates")
        return figure


class Curve(Simulated):
    """Throughput of both flows over time, of one variant."""

    reads: ClassVar[tuple[str, ...]] = ("throughput",)
    #: The variant that is drawn.
    drawn: ClassVar[str]

    def describe(self, runs: Runs, buffer: str) -> pd.DataFrame:
        """Describe the throughput with a buffer from the first update on; see `evenness.evenness`."""
        return evenness.evenness(self.runs_of(runs, buffer), clos.EVERY_NS)

    def stats(self, runs: Runs, value: str, buffer: str | None = None) -> pd.DataFrame:
        """Return the mean of a quantity by variant, with the buffer that is drawn by default."""
        return means(self.describe(runs, buffer or self.buffers[0]), "cc", value)

    def plot(self, runs: Runs) -> Figure:
        """Draw the rate of each flow in the first run, with the updates and the rate of a full line."""
        chosen = self.runs_of(runs, self.buffers[0])
        numbers = [index for index, run in enumerate(chosen) if run.scenario.flows[0].cc == self.drawn]
        number = numbers[0]
        curves, scenario = evenness.curves(chosen, number), chosen[number].scenario
        with figures.single(6.4, 2.8) as (figure, ax):
            for index, (name, rate) in enumerate(zip(curves.flows, curves.gbps, strict=True)):
                color = figures.look("main" if index < self.per_group else "migrated").color
                ax.plot(curves.t_ms, rate, color=color, linewidth=0.9, label=name if self.per_group == 1 else None)
            for update in range(1, self.number + 1):
                ax.axvline(update * clos.EVERY_NS / NS_PER_MS, color=figures.REFERENCE, linewidth=0.5, alpha=0.5)
            figures.reference(ax, evenness.line_gbps(scenario), "a full line")
            look = figures.look(self.drawn)
            ax.set(xlabel="time [ms]; updates are vertical lines", ylabel="throughput [Gb/s]", ylim=(0, None))
            ax.set_title(f"{look.label}, the first of {len(numbers)} runs", fontsize=9)
        return figure


class Steadier(Curve):
    """Claims of figures 18 and 20: NUFTCP's throughput is steadier than that of DCTCP."""

    drawn: ClassVar[str] = "nuftcp"
    unmet: ClassVar[tuple[str, ...]] = ("more",)

    def causes(self) -> list[Cause]:
        """Return also an experiment with the threshold of the prose, in the column ``literal``."""
        return [*([Cause("more", self.prose())] if self.column == testbeds.LITERAL else []), *super().causes()]

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Look for intervals without a packet, and compare the variation and the throughput with DCTCP's."""
        described, rate = self.describe(runs, self.buffers[0]), self.stats(runs, "gbps")
        variation = Measured.by_case(self.stats(runs, "variation")).cases
        return {
            "no-zero": largest(described[described["cc"] == "nuftcp"], "cc", "zero"),
            "steadier": Measured.one(variation["dctcp"] / variation["nuftcp"], _listed(variation)),
            "more": Measured.one(difference(rate.loc[["nuftcp"]], rate.loc[["dctcp"]])),
        }


def _listed(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{figures.look(name).label} {value:.3g}" for name, value in numbers.items())
