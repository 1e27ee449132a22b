# SPDX-License-Identifier: Apache-2.0
"""Figure 11: the goodput that TDTCP loses if hosts are notified late of a change of the network. Sec. 5.4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.measured import Measured, means, percent_above, trend
from rdcnlab_papers.tdtcp.graphs import Throughput, Variants

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Delays are inputs, because computation takes no time on hosts and switches here. For its three optimisations the
#: paper gives only ratios (a prepared packet; flows look up the network instead of being notified one by one; a
#: separate network for messages). Our values without them: 20 us until a message leaves, 2 us for each notified flow,
#: and messages queue behind the data to the host.
NONE: dict[str, Any] = {"delay": "20 us", "model": "push", "each": "2 us", "channel": "data"}


class Fig11(Throughput):
    """Goodput by the delay of notifications, and without the optimisations.

    Parameters
    ----------
    delays_us : tuple of int
        Delays in us; 0 means all optimisations.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 6}

    variants: Variants = ("tdtcp",)
    delays_us: Annotated[tuple[int, ...], Field(min_length=2), Listed] = (0, 5, 10, 20, 40, 80, 180)

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: the delays, and the case without optimisations."""
        return (*(f"{delay} us" for delay in self.delays_us), "none")

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case: TDTCP with a delay of notifications."""
        return self.base("tdtcp").with_(notify=NONE if name == "none" else {"delay": name})

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the gain of the optimisations, and whether goodput falls with the delay."""
        of_runs = self.goodput_of_runs(runs)
        goodput = means(of_runs, "case", "gbps")
        delays = {f"{delay} us": delay for delay in self.delays_us}
        delayed = of_runs.assign(delay=of_runs["case"].map(delays)).dropna()
        falls = Measured()
        if delayed["delay"].nunique() > 2:
            falls = Measured.one(trend(delayed, "delay", "gbps"), tables.list_estimates(goodput, "Gb/s"))
        return {"all-over-none": percent_above(goodput, "0 us", "none"), "falls-with-delay": falls}

    def plot(self, runs: Runs) -> Figure:
        """Draw goodput over the delay."""
        goodput = self.goodput(runs).reset_index()
        delayed = goodput[goodput["case"] != "none"]
        delay = delayed["case"].str.split().str[0].astype(int)
        with figures.single(4.6, 3.0) as (figure, ax):
            figures.band(ax, delayed.assign(delay=delay).sort_values("delay"), "delay", "tdtcp")
            for without in goodput.loc[goodput["case"] == "none", "mean"]:
                figures.reference(ax, without, "no optimisation")
            ax.set(xlabel="delay of notifications [us]", ylabel="goodput [Gb/s]", ylim=(0, None))
        return self.caption(figure, runs)
