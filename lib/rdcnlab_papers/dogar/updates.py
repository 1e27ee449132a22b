# SPDX-License-Identifier: Apache-2.0
"""Common parts of figures 2 to 13: flows of three variants under updates, and the distribution of a quantity."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import estimates
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.fields.units import NS_PER_MS, NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.dogar import space, testbeds
from rdcnlab_papers.dogar.space import Group, Inputs, Setting, Variant, Variants
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The points of distributions that the text names (Sec. 2.2 and 2.3), as shares.
SHARES = (0.2, 0.8, 1.0)
#: Factor on all times of updates, by profile, and number of updates in the quick one. docs/decisions/dogar.md says why.
_SCALES, _QUICK_UPDATES = {"quick": 0.1, "paper": 1.0}, 4
#: The paper counts losses in runs of 120 to 300 s, with an update every second (Table 1).
STATED_UPDATES = 300


class Experiment(Item):
    """Two groups of flows that swap their links at network updates.

    Parameters
    ----------
    variants : tuple of str
        Congestion controls; all flows of a run have the same.
    updates : int or None
        Number of updates in a run; None: 12 in the paper profile, 5 in the columns ``calibrated`` and ``cards``.
    scale : float or None
        Factor on all times of updates; None: 1 in the paper profile.
    per_group : int or None
        Number of flows of each group. None, here and below: that of the column, see `rdcnlab_papers.dogar.testbeds`.
    rtt_us : int or None
        RTT without queues.
    change_ms : float or None
        Longest duration of a route change; 0: both groups swap at one instant.
    dark_ms : int or None
        Time for which no rule matches while the route of a group changes; see `rdcnlab_papers.dogar.space.Inputs`.
    dark_groups : tuple of str or None
        The groups that have this gap.
    red_percent : tuple of int or None
        Thresholds of RED in % of the buffer.
    mark_percent : int or None
        Marking threshold in % of the buffer.
    host_gbps : float or None
        Rate of the hosts, in Gb/s.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 5}
    parts: ClassVar[dict[str, Part]] = {
        "tcp": Part(("t_ns", "flow", "cwnd_B", "srtt_us"), tick=1_000_000),
        "events": Part(("t_ns", "event"), tick=1_000_000, sort=True),
        "throughput": Part(("bin", "where", "flow", "bytes"), "links"),
    }
    #: Settings: the figure draws the first, and its claims compare it with the others.
    settings: ClassVar[tuple[Setting, ...]] = (Setting(),)

    variants: Variants = ("cubic", "bbr", "dctcp")
    updates: Annotated[int, whole(1, 10_000)] | None = None
    scale: Annotated[float, Field(gt=0.001, le=10)] | None = None
    per_group: Annotated[int, whole(1, 100)] | None = None
    rtt_us: Annotated[int, whole(10, 100_000)] | None = None
    change_ms: Annotated[float, Field(ge=0, le=100_000)] | None = None
    dark_ms: Annotated[int, whole(0, 10_000)] | None = None
    dark_groups: Annotated[tuple[Group, ...], Listed] | None = None
    red_percent: Annotated[tuple[int, int], Listed] | None = None
    mark_percent: Annotated[int, whole(1, 100)] | None = None
    host_gbps: Annotated[float, Field(ge=0.1, le=100)] | None = None

    @property
    def inputs(self) -> Inputs:
        """The inputs that the paper does not give: those of the column, unless a parameter replaces them."""
        given = {name: getattr(self, name, None) for name in Inputs._fields}
        return testbeds.inputs(self.column)._replace(
            **{name: value for name, value in given.items() if value is not None}
        )

    @property
    def times(self) -> float:
        """Factor on all times of updates."""
        return _SCALES[self.profile] if self.scale is None else self.scale

    @property
    def width_ns(self) -> int:
        """Time between two updates of Table 1, and the interval of a sample."""
        return round(NS_PER_S * self.times)

    @property
    def from_ns(self) -> int:
        """Instant from which flows are observed: that of the first update."""
        return round(space.SETTLE_NS * self.times)

    def update_count(self, interval_s: float = 1.0) -> int:  # noqa: ARG002  (figure 2 has several intervals)
        """Return the number of updates in a run."""
        usual = testbeds.updates(self.column) if self.profile == "paper" else _QUICK_UPDATES
        return usual if self.updates is None else self.updates

    def scenario(self, cc: str, setting: Setting, seed: int) -> Scenario:
        """Return the scenario of a variant, with an update every second."""
        options = {"setting": setting, "inputs": self.inputs, "scale": self.times}
        return space.updates(cc, seed=seed, count=self.update_count(), **options)  # type: ignore[arg-type]

    def brief(self) -> Self:
        """Return the experiment with updates that take 0.5 ms at most, and RED that drops late."""
        # the time in which a buffer fills does not scale with the times of updates
        change = space.BRIEF_MS / self.times
        return self.with_parameters(profile=self.profile, change_ms=change, red_percent=(90, 100), updates=4)

    def gap(self) -> Self:
        """Return the experiment in which no rule matches for 10 ms, and the groups swap at one instant."""
        # timeouts do not scale, so the times of updates must be those of the paper
        return self.with_parameters(profile=self.profile, change_ms=0, dark_ms=10, scale=1.0, updates=2)

    def without_gap(self) -> Self:
        """Return the experiment in which the calibrated column has no gap, only its meetings."""
        # without a gap there are no timeouts, so an update may come every 0.1 s; meetings are as long as before
        scale = 0.1
        change = testbeds.inputs(self.column).change_ms / scale
        return self.with_parameters(profile=self.profile, dark_ms=0, scale=scale, change_ms=change, updates=10)

    def two_flows(self, *variants: Variant) -> Self:
        """Return the experiment in which groups of the calibrated column have two flows, by default for DCTCP alone."""
        return self.with_parameters(profile=self.profile, per_group=2, updates=2, variants=variants or ("dctcp",))

    def candidates(
        self, *claims: str, calibrated: Sequence[str] = ("numbers",), elsewhere: Sequence[str] = ()
    ) -> list[Cause]:
        """Return two experiments for each of the claims: brief updates first, then a gap.

        In the calibrated column each claim, and each of `calibrated`, has one experiment: the column without its gap.
        Claims about numbers have another one before it: two flows in each group. The claims of `elsewhere` hold there,
        so only the other columns have experiments for them. In the column ``cards`` the experiment is the calibrated
        column, which has no cards.
        """
        if self.column == testbeds.CARDS:
            without = type(self)(profile=self.profile, column=testbeds.CALIBRATED)
            return [Cause(claim, without) for claim in dict.fromkeys((*claims, *calibrated))]
        if self.column == testbeds.CALIBRATED:
            both = self.two_flows(), self.without_gap()
            return [
                Cause(claim, one)
                for claim in (*claims, *calibrated)
                for one in (both if claim == "numbers" else both[1:])
            ]
        return [Cause(claim, shown_by) for claim in (*claims, *elsewhere) for shown_by in (self.brief(), self.gap())]

    def points(self) -> list[Scenario]:
        """Return all settings, variants and seeds."""
        return [
            self.scenario(cc, setting, seed)
            for setting in self.settings
            for cc in self.variants
            for seed in self.seed_range
        ]

    @property
    def seed_range(self) -> range:
        """The seeds."""
        return range(self.count)

    def runs_of(self, runs: Runs, setting: Setting) -> Runs:
        """Return the runs of a setting."""
        return self.only(runs, (self.scenario(cc, setting, seed) for cc in self.variants for seed in self.seed_range))


class Distribution(Experiment):
    """The distribution of a quantity, by variant."""

    #: Label of the axis, with the unit, and its scale.
    label: ClassVar[str]
    #: What a sample is, for the axis of shares.
    sample: ClassVar[str]
    xscale: ClassVar[str] = "linear"
    #: Numbers of the text, by variant, at `SHARES`.
    stated_numbers: ClassVar[dict[str, tuple[float, ...]]] = {}

    @abc.abstractmethod
    def samples(self, runs: Runs) -> pd.DataFrame:
        """Return the samples of the quantity; see `rdcnlab_papers.analysis.updates`."""

    def at(self, runs: Runs, setting: Setting | None = None, shares: tuple[float, ...] = SHARES) -> pd.DataFrame:
        """Return points of the distributions in a setting, by default the one that is drawn."""
        return updates.quantiles(self.samples(self.runs_of(runs, setting or self.settings[0])), shares)

    def ratios(self, runs: Runs) -> Measured:
        """Measure the ratio of each stated number: measured over stated, by variant and share."""
        points = self.at(runs)
        cases: dict[str, float] = {}
        for cc, numbers in self.stated_numbers.items():
            values = estimates(means(points[points["cc"] == cc], "share", "value"))
            paper = dict(zip(SHARES, numbers, strict=True))
            cases |= {f"{cc} at {share:.0%}": value / paper[share] for share, value in values.items()}
        return Measured(cases)

    def plot(self, runs: Runs) -> Figure:
        """Draw the distributions over all seeds, with the points that the text names."""
        samples = self.samples(self.runs_of(runs, self.settings[0]))
        with figures.single(5.2, 3.2, columns=3) as (figure, ax):
            for cc in self.variants:
                figures.distribution(ax, samples.loc[samples["cc"] == cc, "value"], cc)
            for name, numbers in self.stated_numbers.items():
                figures.draw_stated(ax, name, list(zip(numbers, SHARES, strict=True)))
            ax.set(xlabel=self.label, ylabel=f"share of\n{self.sample}", xscale=self.xscale, ylim=(0, 1.02))
            ax.set_xlim(left=0)
        return figure


class Retransmissions(Distribution):
    """Retransmissions of all flows between two updates."""

    reads: ClassVar[tuple[str, ...]] = ("events",)
    label: ClassVar[str] = "retransmissions between two updates"
    sample: ClassVar[str] = "times between two updates"
    #: Variants differ by more than a factor of ten, and some intervals have none.
    xscale: ClassVar[str] = "symlog"

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return the tables; with segmentation offload an event is a packet, and ``flows`` counts segments."""
        return (*self.reads, "flows") if scenario.offload.tso else self.reads

    @property
    def read_parts(self) -> Mapping[str, Part]:
        """The parts of tables that are read; with segmentation offload also the flow of each event."""
        if not self.scenarios()[0].offload.tso:
            return self.parts
        events = self.parts["events"]
        return {**self.parts, "events": replace(events, columns=(*(events.columns or ()), "flow"))}

    def samples(self, runs: Runs) -> pd.DataFrame:
        """Return the retransmissions in each interval."""
        return updates.retransmissions(runs, self.width_ns, self.from_ns)


class Throughput(Distribution):
    """Rates of single flows between two updates."""

    reads: ClassVar[tuple[str, ...]] = ("throughput",)
    label: ClassVar[str] = "throughput of a flow [Gb/s]"
    sample: ClassVar[str] = "flows between two updates"

    def samples(self, runs: Runs) -> pd.DataFrame:
        """Return the rate of each flow in each interval."""
        return updates.throughput(runs, self.width_ns, self.from_ns)

    def plot_update(self, runs: Runs) -> Figure:
        """Draw the throughput of both groups around the first update of the first run, by variant."""
        bin_ns, after = 10 * NS_PER_MS, 0.98
        with figures.style():
            figure, axes = figures.panels(len(self.variants), 1, width=5.6, height=1.3)
            for ax, cc in zip(axes[:, 0], self.variants, strict=True):
                rates = updates.throughput(self.only(runs, [self.scenario(cc, self.settings[0], 0)]), bin_ns, 0)
                by_group = rates.groupby([rates["flow"].str.split("-").str[0], "interval"])["value"].sum()
                for group, role in zip(space.GROUPS, ("main", "migrated"), strict=True):
                    gbps, look = by_group[group], figures.look(role)
                    after_s = (gbps.index.to_numpy() * bin_ns - self.from_ns) / NS_PER_S
                    ax.plot(after_s, gbps, color=look.color, label=group.replace("f", "f_"), linewidth=1.2)
                figures.reference(ax, 0, "update", along="x")
                ax.set(title=figures.look(cc).label, ylabel="throughput\n[Gb/s]", ylim=(0, None))
                ax.set_xlim(-0.3 * self.times, after * self.times)
            axes[-1, 0].set_xlabel("time after an update [s]")
            figures.legend(figure, axes[0, 0])
            inputs = self.inputs
            names = " and ".join(group.replace("f", "f_") for group in inputs.dark_groups)
            gap = f"; then {inputs.dark_ms} ms without a rule for {names}"
            meeting = f"both groups share a link for {inputs.change_ms * self.times:g} ms at most"
            figures.note(figure, f"payload in bins of 10 ms; {meeting}{gap if inputs.dark_ms else ''}")
        return figure


class Windows(Distribution):
    """Congestion windows of single flows."""

    reads: ClassVar[tuple[str, ...]] = ("tcp",)
    label: ClassVar[str] = "congestion window [kB]"
    sample: ClassVar[str] = "flows, every 10 ms"

    def samples(self, runs: Runs) -> pd.DataFrame:
        """Return the window of each flow, every 10 ms."""
        return updates.windows(runs, self.from_ns)


class Drops(Experiment):
    """Packets that queues lose, by variant."""

    reads: ClassVar[tuple[str, ...]] = ("events",)
    #: Numbers of the text, by variant.
    stated_numbers: ClassVar[dict[str, int]] = {}

    def lost(self, runs: Runs, setting: Setting | None = None) -> pd.DataFrame:
        """Return the losses of each run in a setting, scaled to the number of updates of the paper."""
        setting_runs = self.runs_of(runs, setting or self.settings[0])
        return updates.drops(setting_runs, self.from_ns, STATED_UPDATES, self.width_ns)

    def plot(self, runs: Runs) -> Figure:
        """Draw the losses beside those of the paper."""
        measured = means(self.lost(runs), "cc", "value").reindex(list(self.variants))
        numbers = [float(self.stated_numbers.get(cc, float("nan"))) for cc in self.variants]
        with figures.single(4.2, 3.0) as (figure, ax):
            figures.counts(ax, measured, [figures.look(cc).label for cc in self.variants], numbers)
            ax.set(ylabel=f"packets lost in {STATED_UPDATES} updates")
        return figure

    def ratios(self, runs: Runs) -> Measured:
        """Measure the ratio of each stated number: measured over stated, by variant."""
        mean = means(self.lost(runs), "cc", "value")
        numbers = Measured.by_case(mean).cases
        return Measured({cc: numbers[cc] / paper for cc, paper in self.stated_numbers.items() if cc in numbers})
