# SPDX-License-Identifier: Apache-2.0
"""Equation 5: the longest queue when the flows of two links meet on one. Sec. 3.1(3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import bounds
from rdcnlab_papers.analysis.measured import Measured, largest, means
from rdcnlab_papers.dogar import space
from rdcnlab_papers.dogar.space import LARGE, Inputs
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Capacity of the link in bit/s, and the RTT of the paper's example in us.
RATE, EXAMPLE_US = 10e9, 250
#: An RTT with which the bound, 1.5 MB, is above the large buffer.
_LONGER_US = 400


class Eq5(Item):
    """Longest queue of two flows with constant windows, which share a link during each inconsistent update.

    Parameters
    ----------
    windows : tuple of float
        Bytes of each flow that are under way at most, in units of c t. The equation is about windows that fill a
        link: 1.
    rtts_us : tuple of int
        RTTs without queues.
    buffer_kB : int
        Buffer of each link; nothing is dropped early.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    reads: ClassVar[tuple[str, ...]] = ("queues", "events")
    parts: ClassVar[dict[str, Part]] = {"events": Part(("t_ns", "event", "link"), tick=1_000_000)}

    windows: Annotated[tuple[Annotated[float, Field(ge=0.1, le=10)], ...], Field(min_length=1), Listed] = (
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
    )
    rtts_us: Annotated[tuple[Annotated[int, whole(50, 10_000)], ...], Field(min_length=1), Listed] = (
        EXAMPLE_US,
        _LONGER_US,
    )
    buffer_kB: space.Buffer = LARGE  # noqa: N815  (unit)

    def scenario(self, window: float, rtt_us: int, seed: int) -> Scenario:
        """Return two flows whose receivers limit the windows; each update takes half of the time until the next."""
        inputs = Inputs(per_group=1, rtt_us=rtt_us, change_ms=0, red_percent=(100, 100))
        scenario = space.meetings(rtt_us, window, inputs, buffer_kB=self.buffer_kB)
        return scenario.with_(seed=seed)

    def points(self) -> list[Scenario]:
        """Return all windows, RTTs and seeds."""
        return [self.scenario(w, rtt, seed) for rtt in self.rtts_us for w in self.windows for seed in range(self.count)]

    def queues(self, runs: Runs) -> pd.DataFrame:
        """Return for each run: ``rtt_us``, ``window``, ``seed``, ``longest`` and ``drops``.

        ``window`` and ``longest``, the longest queue of the ends where data enter, are in units of c t.
        """
        data = runs.queues[runs.queues["link"].astype(str).str.endswith("@left")]
        longest = data.groupby("run")["max_B"].max()
        lost = runs.events[runs.events["event"].astype(str).str.startswith("drop")].groupby("run").size()
        rows = []
        for rtt in self.rtts_us:
            unit = bounds.capacity(RATE, rtt / 1e6)
            for window in self.windows:
                for seed in sorted({run.scenario.seed for run in runs}):
                    run = self.index_of(runs, self.scenario(window, rtt, seed))
                    row = {"rtt_us": rtt, "window": window, "seed": seed}
                    rows.append({**row, "longest": longest.get(run, 0) / unit, "drops": float(lost.get(run, 0))})
        return pd.DataFrame(rows)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the longest queues with the bound, and count the losses on both sides of it."""
        queues = self.queues(runs)
        example, other = (queues[queues["rtt_us"] == rtt] for rtt in (EXAMPLE_US, _LONGER_US))
        filling, beyond = example[example["window"] <= 1], example[example["window"] > 2]
        filling = filling.assign(share=filling["longest"] / 3)
        expected = example[example["window"].between(1, 1.5)]
        expected = expected.assign(ratio=expected["longest"] / (2 * expected["window"] - 1).clip(lower=1))
        return {
            "value": Measured.one(bounds.longest_queue(RATE, EXAMPLE_US / 1e6) / 1000),
            "below": Measured.by_case(means(filling, "window", "share"), "{:g} c t"),
            "no-drop": largest(filling, "window", "drops", "{:g} c t"),
            "standing": Measured.by_case(means(expected, "window", "ratio"), "{:g} c t"),
            "broken-beyond": Measured.by_case(means(beyond, "window", "drops"), "{:g} c t"),
            "longer-rtt": Measured.by_case(means(other[other["window"] == 2], "window", "drops"), "{:g} c t"),
        }

    def plot(self, runs: Runs) -> Figure:
        """Draw the longest queue over the window, both in units of c t, with the bound and the buffer."""
        queues = self.queues(runs)
        with figures.single(5.2, 3.2, columns=3) as (figure, ax):
            for (rtt,), rows in tables.groups(queues, ["rtt_us"]):
                mean = means(rows, "window", "longest")
                (line,) = ax.plot(mean.index, mean["mean"], "o-", markersize=4, label=f"RTT {rtt} us")
                full = self.buffer_kB * 1000 / bounds.capacity(RATE, rtt / 1e6)
                ax.axhline(full, color=line.get_color(), linestyle=":", linewidth=0.8, label=f"buffer, {rtt} us")
            sums = sorted(self.windows)
            ax.plot(sums, [max(2 * w - 1, 0) for w in sums], color=figures.REFERENCE, label="windows less c t")
            ax.axhline(3, color="black", linestyle="--", linewidth=1, label="Eq. 5")
            ax.set(xlabel="window of each flow [c t]", ylabel="longest queue [c t]", ylim=(0, None))
        return figure
