# SPDX-License-Identifier: Apache-2.0
"""The buffer of a loopback link, determined from figure 5's statements alone. Sec. IV-B and V-B.

The paper does not state the buffer. Its figure 5 restricts it: by the peaks of the windows, by their fall at each move
onto the shared link, and by the largest window of a single flow. The receive window is that of the paper's Linux 4.15,
3 MiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import tables
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import calibration, meetings, windows
from rdcnlab_papers.analysis.calibration import Bounds
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.aykurt.space import Volume, buffers, grid, shared_buffer
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Sizes in kB. A link's own buffer has all of them. A shared buffer has a few, to show that the result is the same.
_SIZES_KB = (700, 1000, 1500, 2000, 2250, 2500, 2750, 3000, 3500, 4000, 4500, 5000, 6000, 7000, 10_000)
_SHARED_KB = (1000, 2500, 4000, 7000)
#: Sizes that six seeds leave open, and the number of seeds that they have in the paper profile.
_CLOSE_KB, _CLOSE = (2500, 2750, 3000, 3500), 20
#: A single flow finds no queue on its link, so a few sizes show that its window does not depend on them.
_SINGLE_KB = (700, 2500, 10_000)
#: Half of the largest receive buffer, as Linux 4.15 offers it: 6.12 offers 91 % of 3450 kB with frames of 9000 B.
_WINDOW: dict[str, Any] = {"transport.rmem": ["4096 B", "131072 B", "3450 kB"]}
#: The share of moves that is taken for "each", as in figure 5's claim about falls.
_EACH = (95.0, float("inf"))
_PEAKS = ("main", "migrated")
#: The statements about windows that depend on the buffer. The paper infers from the falls that packets are lost.
_WINDOWS = ("peaks, main", "peaks, migrated", "fall at each move")
_LOSS = "loss at each move"
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
    parts: ClassVar[dict[str, Part]] = {
        "tcp": Part(("t_ns", "flow", "cwnd_B"), tick=1000),
        "queues": Part(("bin", "link", "drops")),
    }
    undivided: ClassVar[str] = "it counts sizes by the widths of intervals"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 6}

    sizes_kB: Sizes = _SIZES_KB  # noqa: N815  (unit)
    shared_kB: Sizes = _SHARED_KB  # noqa: N815  (unit)
    single_kB: Sizes = _SINGLE_KB  # noqa: N815  (unit)
    size: Volume = "2 GB"
    single_size: Volume = "4 GB"

    def points(self) -> list[Scenario]:
        """Return the pair with own and with shared buffers, and the single flow, for each size and seed."""
        pair, single = {"period_ms": 50, "size": self.size}, {"flows": 1, "size": self.single_size}
        cases = [
            *((self._seeds(kB), buffers(f"{kB} kB"), pair) for kB in self.sizes_kB),
            # a shared buffer is compared seed by seed, and a single flow never waits: few seeds are enough
            *((min(self.count, self.count_for_causes), shared_buffer(f"{kB} kB"), pair) for kB in self.shared_kB),
            *((min(self.count, self.count_for_causes), buffers(f"{kB} kB"), single) for kB in self.single_kB),
        ]
        return [
            scenario
            for seeds, buffer, flows in cases
            for scenario in grid({**_WINDOW, **buffer}, cc="cubic", **flows, seed=range(seeds))
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw figure 5's numbers over the size of the buffer, with the bounds of its statements."""
        labels = {
            "peaks, main": "peaks, main / single", "peaks, migrated": "peaks, migrated / single",
            "fall at each move": "moves with a fall [%]", _LOSS: "moves with a loss [%]",
            "alone": "largest window, single [kB]",
        }  # fmt: skip
        stats = {"own buffer": self.stats(runs, shared=False), "shared buffer": self.stats(runs, shared=True)}
        network = grid(cc="cubic", flows=2)[0].network
        preset = network.links[0].buffer_bytes(network.mtu)
        return calibration.plot(stats, self.bounds, labels, "buffer [kB]", preset / 1000, chosen=_WINDOWS)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Count the sizes at which statements hold, and compare a shared buffer with own buffers."""
        own = self.numbers(runs, shared=False)
        stats = means(own, ["name", "kB"], "value")
        states = calibration.judge(stats, self.bounds)
        window = tables.list_estimates(stats.loc[["alone"]].droplevel("name"), "kB", "in {:g} kB")
        return {
            "satisfied": calibration.count_satisfied(
                states[[*_WINDOWS, _LOSS]], "kB", f"the window of a single flow is {window}"
            ),
            "satisfied-by-windows": calibration.count_satisfied(states[list(_WINDOWS)], "kB"),
            "shared-alike": self._differences(own, self.numbers(runs, shared=True)),
        }

    def causes(self) -> list[Cause]:
        """Return the comparison of a shared buffer with own buffers."""

        def differences(runs: Runs) -> Measured:
            return self._differences(*(self.numbers(runs, shared=shared) for shared in (False, True)))

        return [Cause("satisfied", self, differences)]

    def _differences(self, own: pd.DataFrame, shared: pd.DataFrame) -> Measured:
        """Compare the peaks in a shared buffer with those in an own one of the same size, seed by seed."""
        pairs = own.merge(shared, on=["name", "kB", "seed"], suffixes=("", "_shared"))
        pairs = pairs[pairs["name"].str.startswith("peaks")]
        apart = pairs.assign(apart=(pairs["value"] - pairs["value_shared"]).abs())
        return Measured.by_case(means(apart, ["name", "kB"], "apart"), "{}, {:g} kB")

    def _seeds(self, size_kB: int) -> int:  # noqa: N803  (unit)
        is_close = self.profile == "paper" and self.seeds is None and size_kB in _CLOSE_KB
        return _CLOSE if is_close else self.count

    @property
    def bounds(self) -> dict[str, Bounds]:
        """The bounds of figure 5's statements, from its claims."""
        figure5 = {claim.id: claim.expect.bounds for claim in claims.paper(self.paper).item("fig5").claims}
        peaks, largest = figure5["peaks-at-50"], figure5["largest-window"]
        return {_WINDOWS[0]: peaks, _WINDOWS[1]: peaks, _WINDOWS[2]: _EACH, _LOSS: _EACH, "alone": largest}

    def stats(self, runs: Runs, *, shared: bool) -> pd.DataFrame:
        """Return mean and interval over seeds of each statement's number, by statement and size in kB."""
        return means(self.numbers(runs, shared=shared), ["name", "kB"], "value")

    def numbers(self, runs: Runs, *, shared: bool) -> pd.DataFrame:
        """Return each statement's number (``value``) in each run, by ``name``, size (``kB``) and ``seed``."""
        single = runs.select(lambda scenario: len(scenario.flows) == 1)
        pairs = runs.select(lambda scenario: len(scenario.flows) == 2 and bool(scenario.network.pools) == shared)
        largest = windows.largest_of_runs(windows.sample(single))
        inside = windows.together(windows.sample(pairs), pairs)
        peaks = windows.teeth(inside).groupby(["run", "flow"])["peak"].mean() / largest["cwnd_B"].mean()
        series = [
            *(peaks.xs(flow, level="flow").reset_index(name="value").assign(name=f"peaks, {flow}") for flow in _PEAKS),
            meetings.with_falls(pairs, windows.falls(pairs, inside)).assign(name=_WINDOWS[2]),
            meetings.with_drops(pairs).assign(name=_LOSS),
        ]
        parts = [_placed(rows.rename(columns={"percent": "value"}), pairs) for rows in series]
        if not shared:
            parts.append(_placed(largest.assign(value=largest["cwnd_B"] / 1e3, name="alone"), single))
        return pd.concat(parts)[["name", "kB", "seed", "value"]]


def _placed(numbers: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """Add the seed of each row's run, and the size of its links' buffer in kB."""
    networks = [run.scenario.network for run in runs]
    sizes = [
        (network.pools[0].size if network.pools else network.links[0].buffer_bytes(network.mtu)) / 1000
        for network in networks
    ]
    return tables.with_seeds(numbers, runs.scenarios).assign(kB=numbers["run"].map(dict(enumerate(sizes))))
