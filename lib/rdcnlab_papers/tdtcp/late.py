# SPDX-License-Identifier: Apache-2.0
"""Finding: how late hosts may learn of a change, and why TDTCP's gain falls by a step.

When the circuit's day ends, TDTCP must leave the window of the circuit. On the artefact's testbed ACKs wait then,
because their own network is dark for a night. They reach the senders a night and one way of light after the day. A
notification that comes after them finds the whole window of the circuit sent into the packet network's short queue.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import Estimate, estimates
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.fields.units import NS_PER_US
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.timetable import DARK
from rdcnlab_papers.analysis import weeks
from rdcnlab_papers.analysis.measured import Measured, means, trend
from rdcnlab_papers.tdtcp.graphs import FEWER, Throughput, Variants
from rdcnlab_papers.tdtcp.space import Difference, equal_rtts, scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The instants of notifications before and after the step, from it, in ns.
BEFORE, AFTER = -500, 500
_TESTBEDS = {"artefact": "ACKs wait for a night", "text": "ACKs go on"}
#: With this night of ACKs the step is earlier by as much.
_SHORT_NIGHT = 10_000
_RTT_OF_FIGURE = 40
#: At these RTTs single runs had no less goodput after the step.
_NOT_SEEN_TO_FALL = ("RTT 20 us", "RTT 60 us")

Rtt = Annotated[int, whole(10, 100)]
Delay = Annotated[int, whole(0, 100)]


class Case(NamedTuple):
    """A case: testbed, RTT of both networks in us (0: those of figure 7), delay in ns, and what is special."""

    testbed: str
    rtt_us: int
    delay_ns: int
    kind: str = "tdtcp"

    @property
    def name(self) -> str:
        """The name that the case has among the item's."""
        return f"{self.testbed} {self.rtt_us} {self.delay_ns} {self.kind}"


class Late(Throughput):
    """Goodput and retransmissions of TDTCP by the time after which hosts learn of a change.

    Parameters
    ----------
    rtts_us : tuple of int
        RTTs of both networks, which differ in bandwidth, as in figure 8.
    delays_us : tuple of int
        Delays of notifications, beside those next to the step.
    """

    difference: ClassVar[Difference] = "bandwidth"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 6}

    variants: Variants = ("tdtcp",)
    rtts_us: Annotated[tuple[Rtt, ...], Field(min_length=1), Listed] = (20, 30, 40, 50, 60)
    delays_us: Annotated[tuple[Delay, ...], Field(min_length=1), Listed] = (0, 10, 20, 30, 40, 50, 60)

    @functools.cached_property
    def all_cases(self) -> list[Case]:
        """The sweep of each RTT, both sides of each step, a shorter night, and figure 7's networks."""
        beds = [*(("artefact", rtt) for rtt in self.rtts_us), *((bed, 0) for bed in _TESTBEDS)]
        swept = [Case(bed, rtt, delay * NS_PER_US) for bed, rtt in beds for delay in sorted(set(self.delays_us))]
        plain = [Case(bed, 0, 0, "cubic") for bed in _TESTBEDS]
        return [*swept, *plain, *(case for pair in self.steps.values() for case in pair)]

    @functools.cached_property
    def steps(self) -> dict[str, tuple[Case, Case]]:
        """The cases before and after each step, and where there should be none, by name."""
        expected = {rtt: self._step_ns(rtt) for rtt in self.rtts_us}
        pairs = {
            f"{bed}, RTT {rtt} us": (bed, rtt, step, "tdtcp") for bed in _TESTBEDS for rtt, step in expected.items()
        }
        short = self._step_ns(_RTT_OF_FIGURE, short=True)
        pairs["short night, its step"] = ("artefact", _RTT_OF_FIGURE, short, "short")
        pairs["short night, former step"] = ("artefact", _RTT_OF_FIGURE, self._step_ns(_RTT_OF_FIGURE), "short")
        return {
            name: (Case(bed, rtt, step + BEFORE, kind), Case(bed, rtt, step + AFTER, kind))
            for name, (bed, rtt, step, kind) in pairs.items()
        }

    def _step_ns(self, rtt_us: int, *, short: bool = False) -> int:
        """Return after how many ns the first of the ACKs that waited arrives on the artefact's testbed."""
        made = self._at("artefact", rtt_us)
        arrival = weeks.first_held(made.with_(**short_night(made)) if short else made, "circuit", back="reverse")
        assert arrival is not None
        return arrival

    def _at(self, testbed: str, rtt_us: int, variant: str = "tdtcp") -> Scenario:
        duration = self.duration or self.of_profile[self.profile]
        made = scenario(testbed, variant, "bandwidth" if rtt_us else "both", duration)
        return made.with_(**equal_rtts(made, rtt_us)) if rtt_us else made

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases."""
        return tuple(case.name for case in self.all_cases)

    def count_of(self, name: str) -> int:
        """Return the number of runs of a case: all for both sides of a step, half for the sweep."""
        beside = {case.name for pair in self.steps.values() for case in pair}
        return self.count if self.seeds is not None or name in beside else FEWER[self.profile]

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case."""
        case = next(case for case in self.all_cases if case.name == name)
        made = self._at(case.testbed, case.rtt_us, "cubic" if case.kind == "cubic" else "tdtcp")
        changes: dict[str, Any] = short_night(made) if case.kind == "short" else {}
        if case.kind != "cubic":
            changes["notify.delay"] = f"{case.delay_ns} ns"
        return made.with_(**changes)

    def table(self, runs: Runs) -> pd.DataFrame:
        """Return one row for each run.

        Returns
        -------
        DataFrame
            ``case``, ``testbed``, ``rtt_us`` (0: figure 7's networks), ``delay_us``, ``kind``, ``seed``, ``gbps`` of
            all flows after the first hundred weeks, and ``retransmits`` of the whole run.
        """
        known = {case.name: case for case in self.all_cases}
        parts = []
        for case in self.present_cases(runs):
            seeds = dict(enumerate(run.scenario.seed for run in case.runs))
            sent = case.runs.rows("flows").groupby("run")["retransmits"].sum().rename(seeds).rename_axis("seed")
            about = known[case.name]
            fields: dict[str, Any] = {"testbed": about.testbed, "rtt_us": about.rtt_us, "kind": about.kind}
            parts.append(sent.reset_index().assign(case=case.name, delay_us=about.delay_ns / NS_PER_US, **fields))
        return pd.concat(parts).merge(self.goodput_of_runs(runs), on=["case", "seed"])

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure what half a microsecond before and after the step changes, and TDTCP's gain by delay."""
        rows = self.table(runs)
        again, goodput = (estimates(means(rows, "case", column)) for column in ("retransmits", "gbps"))
        more: dict[str, float] = {}
        less: dict[str, float] = {}
        for name, pair in self.steps.items():
            before, after = (case.name for case in pair)
            if before in again and after in again:
                more[name], less[name] = again[after] / again[before], goodput[after] / goodput[before]
        steps = [name for name in more if name.startswith("artefact")]
        without = [name for name in more if name.startswith("text")]
        return {
            "step": Measured({name: more[name] for name in steps}),
            "falls": Measured({name: less[name] for name in steps if not name.endswith(_NOT_SEEN_TO_FALL)}),
            "no-step": Measured({name: more[name] for name in without}),
            "moves-with-night": Measured({name: more[name] for name in more if name == "short night, its step"}),
            "not-where-it-was": Measured({name: more[name] for name in more if name == "short night, former step"}),
            "gain-falls": self._trends(rows),
            "gain-at-60": self._gains(goodput),
        }

    def _trends(self, rows: pd.DataFrame) -> Measured:
        of_figure = rows[(rows["rtt_us"] == 0) & (rows["kind"] == "tdtcp")]
        return Measured.by_case(
            {bed: trend(of_bed, "delay_us", "gbps") for bed, of_bed in of_figure.groupby("testbed")}
        )

    def _gains(self, goodput: dict[str, Estimate]) -> Measured:
        """Measure by how many % TDTCP is above CUBIC with the longest delay, on the networks of figure 7."""
        longest = max(self.delays_us) * NS_PER_US
        found: dict[str, float] = {}
        for bed in _TESTBEDS:
            tdtcp, cubic = Case(bed, 0, longest).name, Case(bed, 0, 0, "cubic").name
            if tdtcp in goodput and cubic in goodput:
                found[bed] = (goodput[tdtcp] / goodput[cubic] - 1) * 100
        return Measured(found)

    def plot(self, runs: Runs) -> Figure:
        """Draw goodput and retransmissions over the delay, with the predicted steps, and the gain of figure 7."""
        rows = self.table(runs)
        with figures.style():
            figure = figures.drawing(9.6, 3.4)
            left, middle, right = figure.subplots(1, 3)
            self._draw(left, rows, "gbps", "goodput [Gb/s]")
            self._draw(middle, rows, "retransmits", "segments sent again")
            self._draw_gain(right, rows)
            figures.legend(figure, left, columns=len(self.rtts_us))
        return figure

    def _draw(self, ax: Axes, rows: pd.DataFrame, value: str, label: str) -> None:
        colors = figures.shades(len(self.rtts_us))
        for rtt, color in zip(self.rtts_us, colors, strict=True):
            chosen = rows[(rows["testbed"] == "artefact") & (rows["rtt_us"] == rtt) & (rows["kind"] == "tdtcp")]
            mean = means(chosen, "delay_us", value)["mean"]
            ax.plot(mean.index, mean, color=color, marker=".", label=f"RTT {rtt} us")
            ax.axvline(self._step_ns(rtt) / NS_PER_US, color=color, linestyle=":", linewidth=0.9)
        ax.set(xlabel="hosts learn of a change after [us]", ylabel=label, ylim=(0, None))

    def _draw_gain(self, ax: Axes, rows: pd.DataFrame) -> None:
        of_figure = rows[rows["rtt_us"] == 0]
        for (bed, words), line in zip(_TESTBEDS.items(), ("-", "--"), strict=True):
            chosen = of_figure[of_figure["testbed"] == bed]
            plain = float(chosen.loc[chosen["kind"] == "cubic", "gbps"].mean())
            mean = means(chosen[chosen["kind"] == "tdtcp"], "delay_us", "gbps")["mean"]
            look = figures.look("tdtcp")
            ax.plot(mean.index, (mean / plain - 1) * 100, color=look.color, marker=look.marker, markersize=4,
                    linestyle=line, label=f"{bed}: {words}")  # fmt: skip
        ax.axhline(0, color=figures.REFERENCE, linewidth=0.8)
        ax.set(xlabel="hosts learn of a change after [us]", ylabel="TDTCP over CUBIC, figure 7 [%]")
        ax.legend(fontsize="x-small")


def short_night(base: Scenario) -> dict[str, Any]:
    """Return the changes with which the ACKs' last night of a week is shorter, and their circuit opens sooner."""
    slots = [slot.model_dump(mode="json") for slot in weeks.schedule(base, "reverse").slots]
    *before, night = slots
    assert night["link"] == DARK
    first = before[0]
    opened = {**first, "duration": night["duration"] - _SHORT_NIGHT}
    return {"network.schedules.reverse.slots": [*before, {**night, "duration": _SHORT_NIGHT}, opened]}
