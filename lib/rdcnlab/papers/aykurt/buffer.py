# SPDX-License-Identifier: Apache-2.0
"""The buffer of a loopback link, determined from figure 5's statements alone. Sec. IV-B and V-B.

The paper does not state the buffer. Its figure 5 says three things that can depend on it: the peaks of the windows, a
loss at each move onto the shared link, and the window of a single flow. The receive window is that of the paper's Linux
4.15, 3 MiB.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import calibration, meetings, windows
from rdcnlab.analysis.calibration import Bounds
from rdcnlab.analysis.measured import Measured, means
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.papers import claims
from rdcnlab.papers.aykurt.space import Volume, buffers, grid, shared_buffer
from rdcnlab.papers.item import Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

#: Sizes in kB. A link's own buffer has all of them; a shared buffer has every third, to show that it is the same.
_SIZES_KB = (700, 1000, 1500, 2000, 2250, 2500, 2750, 3000, 3500, 4000, 4500, 5000, 6000, 7000, 10_000)
_SHARED_KB = (1000, 2500, 4000, 7000)
#: A single flow finds no queue on its link, so a few sizes show that its window does not depend on them.
_SINGLE_KB = (700, 2500, 10_000)
#: Half of the largest receive buffer, as Linux 4.15 offers it: 6.12 offers 91 % of 3450 kB with frames of 9000 B.
_WINDOW: dict[str, Any] = {"transport.rmem": ["4096 B", "131072 B", "3450 kB"]}
#: The share of moves that is taken for "each", as in figure 5's claim about falls.
_EACH = (95.0, 100.0)
_PEAKS = ("main", "migrated")
Sizes = Annotated[tuple[Annotated[int, whole(100, 100_000)], ...], Field(min_length=1), Listed]


class Buffer(Item):
    """Figure 5's flows at a move every 50 ms, and a single flow, in buffers of many sizes.

    Parameters
    ----------
    sizes_kB : tuple of int
        Sizes of each link's own buffer, kB of 1000 B.
    shared_kB : tuple of int
        Sizes of one buffer that both links share without a limit of their own.
    single_kB : tuple of int
        Sizes of a link's own buffer for the single flow.
    size, single_size : str
        Volume of each of the two flows, and of the single flow.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "tcp", "queues")
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 6}

    sizes_kB: Sizes = _SIZES_KB  # noqa: N815  (unit)
    shared_kB: Sizes = _SHARED_KB  # noqa: N815  (unit)
    single_kB: Sizes = _SINGLE_KB  # noqa: N815  (unit)
    size: Volume = "2 GB"
    single_size: Volume = "4 GB"

    def points(self) -> list[Scenario]:
        """Return the pair with own and with shared buffers, and the single flow, for each size and seed."""
        seeds = {"cc": "cubic", "seed": range(self.count)}
        own, single = ([{**_WINDOW, **buffers(f"{kB} kB")} for kB in of] for of in (self.sizes_kB, self.single_kB))
        shared = [{**_WINDOW, **shared_buffer(f"{kB} kB")} for kB in self.shared_kB]
        pairs = [each for changes in own + shared for each in grid(changes, period_ms=50, size=self.size, **seeds)]
        return pairs + [each for changes in single for each in grid(changes, flows=1, size=self.single_size, **seeds)]

    def plot(self, runs: Runs) -> Figure:
        """Draw figure 5's numbers over the size of the buffer, with the bounds of its statements."""
        labels = {
            "peaks, main": "peaks, main / single", "peaks, migrated": "peaks, migrated / single",
            "loss at each move": "moves with a loss [%]", "alone": "largest window, single [kB]",
        }  # fmt: skip
        stats = {"own buffer": self.stats(runs, shared=False), "shared buffer": self.stats(runs, shared=True)}
        preset = self.points()[0].with_(**{"network": "aykurt"}).network.links[0].buffer or 0
        return calibration.plot(stats, self.bounds, labels, "buffer [kB]", preset / 1000)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure at how many sizes all statements hold, and whether a shared buffer behaves otherwise."""
        stats = self.stats(runs, shared=False)
        states = calibration.judged(stats, self.bounds)
        chosen = states[[name for name in states.columns if name in calibration.varying(stats)]]
        found = calibration.together(chosen)
        inside = calibration.interval(found)
        return {"satisfied": Measured.one(float((found == "holds").sum()), _words(found, inside, chosen))}

    @property
    def bounds(self) -> dict[str, Bounds]:
        """The bounds of figure 5's statements, from its claims."""
        figure5 = {claim.id: claim.expect for claim in claims.paper(self.paper).item("fig5").claims}
        peaks, alone = (
            (float(of.near or 0) - of.slack, float(of.near or 0) + of.slack)
            for of in (figure5["peaks-at-50"], figure5["largest-window"])
        )
        return {**{f"peaks, {flow}": peaks for flow in _PEAKS}, "loss at each move": _EACH, "alone": alone}

    def stats(self, runs: Runs, *, shared: bool) -> pd.DataFrame:
        """Return mean and interval over seeds of each statement's number, by statement and size in kB."""
        single = runs.select(lambda scenario: len(scenario.flows) == 1)
        pairs = runs.select(lambda scenario: len(scenario.flows) == 2 and bool(scenario.network.pools) == shared)
        alone = windows.largest_of_runs(windows.sampled(single))
        inside = windows.together(windows.sampled(pairs), pairs)
        peaks = windows.teeth(inside).groupby(["run", "flow"])["peak"].mean() / alone["cwnd_B"].mean()
        numbers = [
            *(peaks.xs(flow, level="flow").reset_index(name="value").assign(name=f"peaks, {flow}") for flow in _PEAKS),
            meetings.with_drops(pairs).rename(columns={"percent": "value"}).assign(name="loss at each move"),
        ]
        table = pd.concat([each.assign(kB=each["run"].map(_sizes(pairs))) for each in numbers])
        if not shared:
            kilobytes = alone.assign(kB=alone["run"].map(_sizes(single)), value=alone["cwnd_B"] / 1e3, name="alone")
            table = pd.concat([table, kilobytes])
        return means(table, ["name", "kB"], "value")


def _sizes(runs: Runs) -> dict[int, float]:
    """Return the size of the links' buffer in kB, by the number of the run."""
    networks = [run.scenario.network for run in runs]
    return {
        place: (network.pools[0].size if network.pools else network.links[0].buffer or 0) / 1000
        for place, network in enumerate(networks)
    }


def _words(found: pd.Series[str], inside: tuple[float, float] | None, states: pd.DataFrame) -> str:
    failing = ", ".join(f"{name}: {at}" for name, at in calibration.failures(states).items())
    fails = f"fails at (kB) {failing}"
    if inside is None:
        return f"no size; {fails}"
    below, above = calibration.bracket(found, inside)
    return f"{inside[0]:g} to {inside[1]:g} kB, more than {below:g} and less than {above:g} kB; {fails}"
