# SPDX-License-Identifier: Apache-2.0
"""Table 3: BBR, CUBIC, DCTCP and NUFTCP; each row that a run can show is measured. Sec. 3.2."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import whole
from rdcnlab.fields.units import NS_PER_MS, NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import LINKS, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import evenness, updates
from rdcnlab_papers.analysis.measured import Measured, difference, largest, means
from rdcnlab_papers.dogar import clos, testbeds
from rdcnlab_papers.dogar.clos import LARGE, MEETINGS, Pattern, Variants
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VARIANTS: tuple[clos.Variant, ...] = ("bbr", "cubic", "dctcp", "nuftcp")
#: All but CUBIC, of which the table says other things.
_OTHERS = tuple(cc for cc in VARIANTS if cc != "cubic")
#: The variants that react to marks; the others have the same run with marks and without.
_MARKED: tuple[clos.Variant, ...] = ("dctcp", "nuftcp")
#: Flows of a group where scalability is measured.
MANY = 8
#: Length of a run without updates in s, and number of updates, by profile.
_LENGTHS, _COUNTS = {"quick": 0.3, "paper": 2.0}, {"quick": 4, "paper": clos.UPDATES}
#: Length of a run in the quick profile with ns-3, where a packet takes ten times as long.
_NS3_QUICK_S = 0.1
#: A buffer in kB: two windows of twice the line's capacity times the RTT (625 kB), and as much for other segments.
_DEEP_KB = 4000
#: Length of the runs in s that show several cycles of CUBIC: after a loss it needs 0.7 s to its window before, as Reno.
_SEVERAL_CYCLES_S = 10.0
#: Width of the bins of rates: longer than a round trip with a full buffer, which is 1.3 ms.
_BIN_NS = 10 * NS_PER_MS
#: Panels: quantity, label of the axis, and whether that is logarithmic.
PANELS = {
    "queue": ("mean queue\n[% of the buffer]", False),
    "drops": ("packets lost", True),
    "unmarked": ("packets lost\nwithout marks", True),
    "filled": ("throughput\n[% of the line]", False),
    "variation": ("variation of a\nflow's throughput [%]", False),
    "scaled": (f"throughput of {MANY} flows\na group [% of that of 1]", False),
    "cost": ("cost of updates\n[% of throughput]", False),
    "again": ("packets retransmitted\nunder updates", True),
}


class Tab3(Item):
    """Four variants on one shared line, with few and many flows, with and without marks, and under updates.

    Parameters
    ----------
    length_s : float or None
        Length of a run without updates; its first half is left out. None: 2 s in the paper profile.
    updates : int or None
        Number of inconsistent updates in a run with updates; None: 15 in the paper profile.
    mark_kB : float
        Marking threshold in kB.
    buffer_kB : int
        Size of the buffers in kB.
    pattern : {'swap', 'down', 'alternate'} or None
        Effect of an update; see `rdcnlab_papers.dogar.clos.Inputs`. None: that of the column.
    variants : tuple of str
        Variants of TCP. Claims that compare others are not measured.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    reads: ClassVar[tuple[str, ...]] = ("events", "throughput", "queues")
    parts: ClassVar[dict[str, Part]] = {
        "events": Part(("t_ns", "event", "link", "flow"), tick=1_000_000),
        "throughput": Part(("bin", "where", "flow", "bytes"), LINKS),
    }

    length_s: Annotated[float, Field(ge=0.1, le=60)] | None = None
    updates: Annotated[int, whole(1, 1000)] | None = None
    mark_kB: Annotated[float, Field(ge=1.5, le=1000)] = 97.5  # noqa: N815  (unit)
    buffer_kB: Annotated[int, whole(100, 100_000)] = LARGE  # noqa: N815  (unit)
    pattern: Pattern | None = None
    variants: Variants = VARIANTS

    @property
    def length_ns(self) -> int:
        """Length of a run without updates in ns."""
        short = self.profile == "quick" and self.column == "ns3"
        usual = _NS3_QUICK_S if short else _LENGTHS[self.profile]
        return round(NS_PER_S * (usual if self.length_s is None else self.length_s))

    @property
    def number(self) -> int:
        """Number of updates."""
        return _COUNTS[self.profile] if self.updates is None else self.updates

    @property
    def _inputs(self) -> clos.Inputs:
        usual = testbeds.simulated(self.column)
        return usual._replace(mark_kB=self.mark_kB, pattern=usual.pattern if self.pattern is None else self.pattern)

    def still(self, cc: clos.Variant, seed: int, *, per_group: int = 1, marks: bool = True) -> Scenario:
        """Return flows that share a line."""
        inputs = self._inputs._replace(per_group=per_group)
        settings: dict[str, Any] = {"length_ns": self.length_ns, "buffer_kB": self.buffer_kB, "inputs": inputs}
        return clos.still(cc, seed=seed, together=True, marks=marks, counted_ns=_BIN_NS, **settings)

    def apart(self, cc: clos.Variant, seed: int) -> Scenario:
        """Return flows that have a line each, for as long as the run with updates."""
        length = clos.EVERY_NS * (self.number + 1)
        settings: dict[str, Any] = {"length_ns": length, "buffer_kB": self.buffer_kB, "inputs": self._inputs}
        return clos.still(cc, seed=seed, counted_ns=_BIN_NS, **settings)

    def move_flows(self, cc: clos.Variant, seed: int) -> Scenario:
        """Return the flows of `apart` under inconsistent updates."""
        settings: dict[str, Any] = {"count": self.number, "buffer_kB": self.buffer_kB, "inputs": self._inputs}
        return clos.updates(cc, seed=seed, counted_ns=_BIN_NS, **settings)

    def points(self) -> list[Scenario]:
        """Return all conditions, variants and seeds."""
        return [
            scenario
            for seed in range(self.count)
            for cc in self.variants
            for scenario in (
                self.still(cc, seed),
                *((self.still(cc, seed, marks=False),) if cc in _MARKED else ()),
                self.still(cc, seed, per_group=MANY),
                self.apart(cc, seed),
                self.move_flows(cc, seed),
            )
        ]

    def quantities(self, runs: Runs) -> pd.DataFrame:
        """Return one row for each variant and seed: ``cc``, ``seed`` and the keys of `PANELS`."""
        half = self.length_ns // 2
        lost = updates.lost(runs, half).set_index("run")["value"]
        retransmissions = updates.retransmitted(runs, clos.EVERY_NS).set_index("run")["value"]
        second_half, updated = (_described(runs, from_ns) for from_ns in (half, clos.EVERY_NS))
        queue = updates.mean_queue(runs, MEETINGS[0], half).set_index("run")["value"]
        rows = []
        for cc in self.variants:
            for seed in sorted({run.scenario.seed for run in runs}):

                def number_of(scenario: Scenario) -> int:
                    return self.index_of(runs, scenario)

                static, many_flows = number_of(self.still(cc, seed)), number_of(self.still(cc, seed, per_group=MANY))
                unmarked = number_of(self.still(cc, seed, marks=False)) if cc in _MARKED else static
                moved, separate = number_of(self.move_flows(cc, seed)), number_of(self.apart(cc, seed))
                rows.append(
                    {
                        "cc": cc,
                        "seed": seed,
                        "queue": 100 * queue[static] / (1000 * self.buffer_kB),
                        "drops": lost[static],
                        "unmarked": lost[unmarked],
                        "filled": 100 * second_half["gbps"][static] / evenness.line_gbps(runs[static].scenario),
                        "variation": 100 * second_half["variation"][static],
                        "scaled": _percent(second_half["gbps"][many_flows], second_half["gbps"][static]),
                        "cost": 100 - _percent(updated["gbps"][moved], updated["gbps"][separate]),
                        "again": retransmissions[moved],
                    }
                )
        return pd.DataFrame(rows)

    def stats(self, quantities: pd.DataFrame, value: str, variants: Iterable[str] | None = None) -> pd.DataFrame:
        """Return the means of a quantity by variant."""
        return means(quantities, "cc", value).loc[list(self.variants if variants is None else variants)]

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the rows of the table; those that compare variants only if all four are there."""
        quantities = self.quantities(runs)

        def by_variant(value: str, *names: str) -> Measured:
            chosen = [cc for cc in names or self.variants if cc in self.variants]
            return Measured.by_case(self.stats(quantities, value, chosen)) if chosen else Measured()

        def of_runs(value: str, *names: str) -> Measured:
            rows = quantities[quantities["cc"].isin(names)]
            return largest(rows, "cc", value) if len(rows) else Measured()

        measured = {
            "reactive": by_variant("drops", "cubic"),
            "proactive": of_runs("drops", *_OTHERS),
            "by-marks": by_variant("unmarked", "dctcp"),
            "by-feedback": of_runs("unmarked", "nuftcp"),
            "fills": by_variant("filled"),
            "bloat": by_variant("queue", "cubic"),
            "no-bloat": by_variant("queue", *_OTHERS),
            "scales": by_variant("scaled"),
        }
        if set(self.variants) == set(VARIANTS):
            cost, retransmissions = self.stats(quantities, "cost"), self.stats(quantities, "again")
            variation = {cc: self.stats(quantities, "variation", [cc]) for cc in VARIANTS}
            differences = {f"over {cc}": difference(variation["cubic"], variation[cc]) for cc in _OTHERS}
            measured |= {
                "oscillates": Measured(differences),
                "aware": Measured(_pairs(cost)),
                "aware-again": Measured(_pairs(retransmissions)),
            }
        return measured

    def causes(self) -> list[Cause]:
        """Return the column's experiments: a buffer that holds all that BBR sends, or slow start that never returns."""
        never = self.with_parameters(profile=self.profile, variants=("nuftcp",), changes={"transport.nuftcp_quiet": 0})
        if self.column == "ns3":
            return [Cause(claim, never) for claim in ("by-feedback", "fills")]
        is_literal = self.column == testbeds.LITERAL
        # only BBR loses packets of a shared line, and only its queue takes more than half of the buffer
        variants = ("bbr",) if is_literal else self.variants
        deep = self.with_parameters(profile=self.profile, buffer_kB=_DEEP_KB, variants=variants)

        def kilobytes(runs: Runs) -> Measured:
            """Measure the queue itself: its share of a larger buffer is smaller whatever it does."""
            queues = deep.quantities(runs)
            return Measured.by_case(
                means(queues.assign(queue=queues["queue"] * _DEEP_KB / 100), "cc", "queue").loc[["bbr"]]
            )

        of_bbr = [Cause("proactive", deep), Cause("no-bloat", deep, kilobytes)]
        if not is_literal:
            longer = self.with_parameters(profile=self.profile, length_s=_SEVERAL_CYCLES_S)
            literal = self.with_parameters(profile=self.profile, column=testbeds.LITERAL)
            others = [("by-feedback", deep), ("oscillates", longer), ("aware", literal)]
            return [*of_bbr, *(Cause(claim, shown_by) for claim, shown_by in others)]
        swapped = self.with_parameters(profile=self.profile, pattern="swap")
        return [*of_bbr, Cause("by-feedback", never), *(Cause(claim, swapped) for claim in ("aware", "aware-again"))]

    def table(self, runs: Runs) -> pd.DataFrame:
        """Return the means of all quantities, a column for each variant."""
        mean = self.quantities(runs).drop(columns="seed").groupby("cc").mean().loc[list(self.variants)].T
        names = {name: label.replace("\n", " ") for name, (label, _) in PANELS.items()}
        return mean.rename(index=names).round(1)

    def plot(self, runs: Runs) -> Figure:
        """Draw each quantity by variant."""
        quantities = self.quantities(runs)
        with figures.style():
            figure = figures.drawing(10.4, 4.4)
            axes = figure.subplots(2, 4).ravel()
            for ax, (name, (label, wide)) in zip(axes, PANELS.items(), strict=True):
                mean, ticks = self.stats(quantities, name), [figures.look(cc).label for cc in self.variants]
                ax.set(ylabel=label)
                ax.tick_params(axis="x", labelsize=7)
                if wide:
                    figures.counts(ax, mean, ticks)
                    continue
                error = figures.error_lengths(mean, least=0)
                colors = [figures.look(cc).color for cc in self.variants]
                ax.bar(range(len(mean)), mean["mean"], color=colors, yerr=error, error_kw={"linewidth": 0.8})
                ax.set_xticks(range(len(mean)), ticks)
                top = float(mean["high"].max(skipna=True))
                # room above the bars; an axis of its own if there is nothing, or no number
                ax.set(xlim=(-0.6, len(mean) - 0.4), ylim=(0, 1.08 * top if top > 0 else 1))
                ax.grid(axis="x", visible=False)
        return figure


def _pairs(stats: pd.DataFrame) -> dict[str, float]:
    """Return the cost of updates for each variant, minus that for the variant that is more aware of them (Table 3)."""
    pairs = (("dctcp", "nuftcp"), ("cubic", "dctcp"), ("bbr", "dctcp"))
    return {f"{higher} over {lower}": difference(stats.loc[[higher]], stats.loc[[lower]]) for higher, lower in pairs}


def _percent(part: float, whole_of_it: float) -> float:
    """Return a part in percent; NaN of nothing."""
    return 100 * part / whole_of_it if whole_of_it else math.nan


def _described(runs: Runs, from_ns: int) -> pd.DataFrame:
    return evenness.evenness(runs, from_ns, MEETINGS).set_index("run")
