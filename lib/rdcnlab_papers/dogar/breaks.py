# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: where five transports break under ever more frequent updates, consistent and not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import NS_PER_MS, NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import LINKS, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import evenness, updates
from rdcnlab_papers.analysis.measured import Measured, difference, means
from rdcnlab_papers.dogar import clos
from rdcnlab_papers.dogar.clos import MEETINGS, Variants
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Intervals in s between updates, by profile; in the column of ns-3, where a packet takes ten times as long, shorter
#: ones.
_INTERVALS = {"quick": (0.1, 0.01, 0.001), "paper": (10.0, 1.0, 0.1, 0.03, 0.01, 0.003, 0.001)}
_NS3_LONGEST = {"quick": 0.01, "paper": 0.1}
#: Time without updates at the start of a run, and time with updates that are more frequent, by column and profile.
_SETTLE_NS = {"quick": 200 * NS_PER_MS, "paper": 500 * NS_PER_MS}
_SPAN_NS = {"quick": 200 * NS_PER_MS, "paper": NS_PER_S}
_NS3_SETTLE_NS = {"quick": 50 * NS_PER_MS, "paper": 200 * NS_PER_MS}
_NS3_SPAN_NS = {"quick": 50 * NS_PER_MS, "paper": 300 * NS_PER_MS}
#: Share of the throughput without updates, in %, below which a variant has broken.
BROKEN = 90.0
#: Intervals in s that claims are about.
FREQUENT, MOST_FREQUENT = 0.01, 0.001
#: A threshold in kB that the queue of two windows which meet (625 kB) does not reach, and that is below the buffer.
_UNMARKED_KB = 700
#: Lateness as a share of the time between updates in an experiment: the largest that can be run.
_LATEST = 0.95
KINDS = {"consistent": 0, "inconsistent": 1000}


class Breaks(Item):
    """Throughput under updates every 10 s to 1 ms, compared with that without updates.

    Segments that are retransmitted although no queue has lost them do not count.

    Parameters
    ----------
    variants : tuple of str
        Transports. ns-3 has no TDTCP, which is left out there.
    intervals_s : tuple of float or None
        Times between updates. None: 10 s to 1 ms in the paper profile, 100 ms to 1 ms with ns-3.
    mark_kB : float
        Marking threshold in kB; 1000 is the end of the buffer, where nothing is marked.
    late_share : float
        Largest lateness of a leaf, as a share of the time between updates; 1 ms at most.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    reads: ClassVar[tuple[str, ...]] = ("events", "throughput")
    parts: ClassVar[dict[str, Part]] = {
        "events": Part(("t_ns", "event"), tick=1_000_000, sort=True),
        "throughput": Part(("bin", "where", "flow", "bytes"), LINKS),
    }

    variants: Variants = ("nuftcp", "tdtcp", "dctcp", "cubic", "bbr")
    intervals_s: Annotated[tuple[Annotated[float, Field(ge=0.001, le=60)], ...], Field(min_length=1), Listed] | None = (
        None
    )
    mark_kB: Annotated[float, Field(ge=1.5, le=1000)] = 97.5  # noqa: N815  (unit)
    late_share: Annotated[float, Field(gt=0, le=0.95)] = 0.5

    @property
    def chosen(self) -> tuple[clos.Variant, ...]:
        """The variants that the column's engine has."""
        return tuple(cc for cc in self.variants if self.column != "ns3" or cc != "tdtcp")

    @property
    def intervals(self) -> tuple[float, ...]:
        """Times between updates in s."""
        if self.intervals_s is not None:
            return self.intervals_s
        longest = _NS3_LONGEST[self.profile] if self.column == "ns3" else math.inf
        return tuple(interval for interval in _INTERVALS[self.profile] if interval <= longest)

    @property
    def settle_ns(self) -> int:
        """Time without updates at the start of a run."""
        return _NS3_SETTLE_NS[self.profile] if self.column == "ns3" else _SETTLE_NS[self.profile]

    @property
    def span_ns(self) -> int:
        """Time with updates; at least that between two."""
        return _NS3_SPAN_NS[self.profile] if self.column == "ns3" else _SPAN_NS[self.profile]

    def late_us(self, interval_s: float, kind: str) -> int:
        """Return the largest lateness of a leaf in us."""
        return min(KINDS[kind], round(self.late_share * interval_s * 1e6))

    def number(self, interval_s: float) -> int:
        """Return the number of updates of a run."""
        return max(1, self.span_ns // round(interval_s * NS_PER_S))

    def at(self, cc: clos.Variant, interval_s: float, kind: str, seed: int) -> Scenario:
        """Return the scenario of a variant, an interval and a kind of updates."""
        interval_ns = round(interval_s * NS_PER_S)
        # flows start within a millisecond, so that seeds differ without updates, too
        return clos.updates(
            cc,
            seed=seed,
            count=self.number(interval_s),
            inputs=clos.Inputs(late_us=self.late_us(interval_s, kind), mark_kB=self.mark_kB),
            every_ns=interval_ns,
            first_ns=self.settle_ns,
            starts_ns=clos.STARTS_NS,
            counted_ns=NS_PER_MS,
        )

    def still(self, cc: clos.Variant, seed: int) -> Scenario:
        """Return the scenario without updates."""
        inputs = clos.Inputs(mark_kB=self.mark_kB)
        length_ns = self.settle_ns + self.span_ns
        return clos.still(cc, seed=seed, length_ns=length_ns, inputs=inputs, counted_ns=NS_PER_MS)

    def left_over(self, interval_s: float, kind: str) -> float:
        """Return the share of the throughput that is left if an idle line is lost throughput, because nothing waits.

        While leaves differ, both flows are on one line. The lateness of both is uniform, so they differ for a third of
        the largest one on average.
        """
        return 1 - self.late_us(interval_s, kind) / 3 / 2 / (interval_s * 1e6)

    def points(self) -> list[Scenario]:
        """Return the runs without updates, and all intervals, kinds of updates, variants and seeds."""
        return [
            scenario
            for seed in range(self.count)
            for cc in self.chosen
            for scenario in (
                self.still(cc, seed),
                *(self.at(cc, interval, kind, seed) for interval in self.intervals for kind in KINDS),
            )
        ]

    def kept_throughput(self, runs: Runs) -> pd.DataFrame:
        """Return the throughput in % of that without updates, by run.

        Columns: ``cc, seed, kind, interval_s, value``, and ``again``, the retransmissions for each update.
        """
        rates = evenness.evenness(runs, self.settle_ns, MEETINGS).set_index("run")["gbps"]
        surplus = updates.spurious(runs, self.settle_ns).set_index("run")["gbps"]
        gbps = rates - surplus
        retransmissions = updates.retransmitted(runs, self.settle_ns).set_index("run")["value"]
        rows = []
        for seed in sorted({run.scenario.seed for run in runs}):
            for cc in self.chosen:
                static = gbps[self.index_of(runs, self.still(cc, seed))]
                for interval in self.intervals:
                    for kind in KINDS:
                        moved = self.index_of(runs, self.at(cc, interval, kind, seed))
                        row = {"cc": cc, "seed": seed, "kind": kind, "interval_s": interval}
                        value = 100 * gbps[moved] / static if static else math.nan
                        rows.append({**row, "value": value, "again": retransmissions[moved] / self.number(interval)})
        return pd.DataFrame(rows)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare variants and kinds of updates."""
        shares = self.kept_throughput(runs)
        late = shares[shares["kind"] == "inconsistent"]
        longest = shares[shares["interval_s"] == max(self.intervals)]
        measured = {"rare": Measured.by_case(means(longest, ["cc", "kind"], "value"), "{}, {}")}
        if FREQUENT in self.intervals:
            frequent = shares[shares["interval_s"] == FREQUENT]
            consistent, inconsistent = (means(frequent[frequent["kind"] == kind], "cc", "value") for kind in KINDS)
            measured["consistent-better"] = Measured(
                {cc: difference(consistent.loc[[cc]], inconsistent.loc[[cc]]) for cc in self.chosen}
            )
            if "nuftcp" in self.chosen:
                others = [cc for cc in self.chosen if cc != "nuftcp"]
                best = inconsistent.loc[["nuftcp"]]
                measured["nuftcp-best"] = Measured(
                    {f"over {cc}": difference(best, inconsistent.loc[[cc]]) for cc in others}
                )
        if MOST_FREQUENT in self.intervals:
            most_frequent = late[late["interval_s"] == MOST_FREQUENT]
            measured["all-break"] = Measured.by_case(means(most_frequent, "cc", "value"))
        return measured

    def causes(self) -> list[Cause]:
        """Return experiments without marks, and with leaves as late as can be, where claims do not hold: on Linux."""
        if self.column == "ns3":
            return []
        unmarked = {"variants": ("nuftcp", "cubic"), "intervals_s": (FREQUENT,), "mark_kB": _UNMARKED_KB}
        late = {"variants": self.variants, "intervals_s": (MOST_FREQUENT,), "late_share": _LATEST}
        return [
            Cause("nuftcp-best", self.with_parameters(profile=self.profile, **unmarked)),
            Cause("all-break", self.with_parameters(profile=self.profile, **late)),
        ]

    def table(self, runs: Runs) -> pd.DataFrame:
        """Return where each variant breaks (`breaking_point`); throughput [%] and retransmissions at 10 and 1 ms."""
        shares = self.kept_throughput(runs)
        rows = {}
        for cc in self.chosen:
            row: dict[tuple[str, str], str] = {}
            for kind in KINDS:
                chosen = shares[(shares["cc"] == cc) & (shares["kind"] == kind)]
                row[kind, "breaks at"] = breaking_point(means(chosen, "interval_s", "value"))
                mean = chosen.groupby("interval_s")[["value", "again"]].mean()
                for interval in (FREQUENT, MOST_FREQUENT):
                    if interval in mean.index:
                        row[kind, f"kept at {1000 * interval:g} ms"] = f"{mean['value'][interval]:.0f} %"
                        row[kind, f"again per update, {1000 * interval:g} ms"] = f"{mean['again'][interval]:.3g}"
            rows[figures.look(cc).label] = row
        return pd.DataFrame(rows).T

    def plot(self, runs: Runs) -> Figure:
        """Draw each variant's share of the throughput over the time between updates, for both kinds."""
        shares, looks = self.kept_throughput(runs), figures.looks(self.chosen)
        ends = 1000 * min(self.intervals) / 1.5, 1000 * max(self.intervals) * 1.5
        with figures.style():
            figure, axes = figures.panels(1, len(KINDS), width=3.6, height=3.0)
            for ax, kind in zip(axes[0], KINDS, strict=True):
                ax.set(xscale="log", xlim=ends)
                for cc in self.chosen:
                    rows = shares[(shares["cc"] == cc) & (shares["kind"] == kind)]
                    mean, look = means(rows, "interval_s", "value").reset_index(), looks[cc]
                    x = 1000 * mean["interval_s"]
                    ax.plot(x, mean["mean"], marker=look.marker, markersize=4, color=look.color, label=look.label)
                    ax.fill_between(x, mean["low"], mean["high"], color=look.color, alpha=0.2, linewidth=0)
                figures.reference(ax, BROKEN, f"{BROKEN:.0f} %")
                between = np.geomspace(*ends)
                left = [100 * self.left_over(interval_ms / 1000, kind) for interval_ms in between]
                ax.plot(between, left, color=figures.REFERENCE, linewidth=0.8, linestyle="--", label="if nothing waits")
                ax.set(title=f"{kind} updates", xlabel="time between updates [ms]")
            axes[0, 0].set_ylim(0, None)  # after all panels, which share the axis
            axes[0, 0].set_ylabel("throughput\n[% of that without updates]")
            figures.legend(figure, axes[0, 0])
        return figure


def breaking_point(stats: pd.DataFrame) -> str:
    """Say at which times between updates a variant breaks.

    Parameters
    ----------
    stats : DataFrame
        Index: times between updates in s; columns ``mean``, ``low`` and ``high`` in % of the throughput without
        updates, as `rdcnlab_papers.analysis.measured.means` returns them. Without an interval the mean decides.

    Returns
    -------
    str
        The longest time at which it surely breaks, longer ones that are undecided, and shorter ones that hold again.
    """
    ordered = stats.sort_index(ascending=False)
    high, low = ordered["high"].fillna(ordered["mean"]), ordered["low"].fillna(ordered["mean"])
    broken, holds = high < BROKEN, low >= BROKEN
    first = float(ordered.index[broken].max()) if broken.any() else 0.0
    unsure = ordered.index[~broken & ~holds & (ordered.index > first)]
    also_holds = ordered.index[holds & (ordered.index < first)]
    words = [f"{1000 * first:g} ms" if first else "none of these"]
    words += [f"undecided at {_listed(unsure)} ms"] if len(unsure) else []
    words += [f"holds again at {_listed(also_holds)} ms"] if len(also_holds) else []
    return ", ".join(words)


def _listed(intervals_s: pd.Index[float]) -> str:
    return ", ".join(f"{1000 * interval:g}" for interval in intervals_s)
