# SPDX-License-Identifier: Apache-2.0
"""Section 2.1: a link fails, and both groups take the other one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured, means, means_of_seeds
from rdcnlab_papers.dogar import space
from rdcnlab_papers.dogar.updates import Experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Number of failures in a run, by profile.
_COUNTS = {"quick": 2, "paper": 3}


class Failures(Experiment):
    """Throughput of both groups while a link has failed, which it does every other second.

    Parameters
    ----------
    links : tuple of str
        The links that fail, one in each run.
    notice_ms : int
        Time for which packets are lost until the route changes.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    reads: ClassVar[tuple[str, ...]] = ("throughput", "events")

    links: Annotated[tuple[str, ...], Field(min_length=1), Listed] = ("l_n", "l_m")
    notice_ms: Annotated[int, whole(0, 999)] = 0

    def failing(self, cc: str, link: str, seed: int) -> Scenario:
        """Return the scenario in which a link fails."""
        count = _COUNTS[self.profile] if self.updates is None else self.updates
        options = {"inputs": self.inputs, "notice_ms": self.notice_ms, "scale": self.times}
        return space.failure(cc, link, seed=seed, count=count, **options)  # type: ignore[arg-type]

    def points(self) -> list[Scenario]:
        """Return all variants, links and seeds."""
        return [self.failing(cc, link, seed) for link in self.links for cc in self.variants for seed in self.seed_range]

    def halves_of_time(self, runs: Runs) -> pd.DataFrame:
        """Return ``link``, ``cc``, ``seed``, ``before`` and ``failed``: the throughput of all flows in Gb/s."""
        parts = []
        for link in self.links:
            link_runs = self.only(
                runs, (self.failing(cc, link, seed) for cc in self.variants for seed in self.seed_range)
            )
            rates = updates.throughput(link_runs, self.width_ns, 0)
            # the first second is that of slow start
            total = rates[rates["interval"] > 0].groupby(["cc", "seed", "interval"])["value"].sum().reset_index()
            state = total["interval"].mod(2).map({0: "before", 1: "failed"})
            by_state = total.groupby(["cc", "seed", state.rename("state")])["value"].mean().unstack("state")
            parts.append(by_state.reset_index().assign(link=link))
        return pd.concat(parts, ignore_index=True)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the throughput while a link has failed with that before, and the two links."""
        halves = self.halves_of_time(runs)
        halves["ratio"] = halves["failed"] / halves["before"]
        failed = halves.pivot_table(index=["cc", "seed"], columns="link", values="failed")
        alike = Measured()
        if failed.shape[1] == 2:
            first, second = self.links[:2]
            alike = Measured.by_case(
                means((failed[second] / failed[first]).rename("value").reset_index(), "cc", "value")
            )
        return {"halved": Measured.by_case(means_of_seeds(halves, "cc", "ratio")), "alike": alike}

    def plot(self, runs: Runs) -> Figure:
        """Draw the throughput of all flows before and during failures, by variant."""
        halves = self.halves_of_time(runs)
        stats = {}
        for label, column in (("both links", "before"), ("one link", "failed")):
            rows = means_of_seeds(halves, "cc", column).reindex(list(self.variants)).reset_index()
            stats[label] = rows.assign(place=range(len(rows)))
        with figures.single(4.2, 3.0) as (figure, ax):
            figures.bars(ax, stats, "place", [figures.look(cc).label for cc in self.variants])
            ax.set(ylabel="throughput of all flows [Gb/s]")
        return figure
